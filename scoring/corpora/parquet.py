"""Tables of columns, as hubs of data keep corpora: the rows are handed in, the audio stays there.

audio {bytes, path}, text (or sentence, …), id, audio_length_s
"""

from collections.abc import Iterable
from dataclasses import replace

from scoring.corpora.entry import Draft, Entry, Manifest
from scoring.corpora.rows import Row, add_all, entry_of

MARK = "#"
"""Between the file and the number of the row: "test-0000.parquet#17"."""


def read_rows(rows: Iterable[tuple[str, int, Row]]) -> Manifest:
    """Each row with its file and its number; without its audio."""
    draft = Draft()
    entries: list[Entry] = []
    for file, number, row in rows:
        audio = f"{file}{MARK}{number}"
        entry = entry_of(row, f"{file} row {number}", draft, audio=audio)
        if entry is not None:
            entries.append(entry if entry.id else _named(entry, row, number))
    add_all(entries, draft)
    return draft.manifest()


def place_of(audio: str) -> tuple[str, int]:
    """File and row of an entry's audio."""
    file, _, number = audio.rpartition(MARK)
    return file, int(number)


def _named(entry: Entry, row: Row, number: int) -> Entry:
    path = row.get("audio_path")
    return replace(entry, id=path if isinstance(path, str) and path else f"row {number}")
