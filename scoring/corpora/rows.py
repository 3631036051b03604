"""Rows with named columns: JSON lines, and what tables of several kinds have in common."""

import json
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal

from scoring.corpora.entry import Draft, Entry, first_of, named_by_file, seconds

IDS = ("id", "utt_id", "utterance_id", "sample_id")
TEXTS = ("text", "sentence", "normalized_text", "transcript", "transcription")
"""Where the reference is; the first that is there."""
AUDIO = ("audio_filepath", "audio", "path", "file", "url", "file_name")
LENGTHS = ("duration", "audio_length_s", "duration_s")
Row = Mapping[str, object]


def json_rows(text: str, source: str, draft: Draft) -> Iterator[tuple[str, Row]]:
    """Each object of a file of JSON lines, or of one list, with its place."""
    if text.lstrip("\ufeff \t\r\n").startswith("["):
        yield from _of_list(text, source, draft)
        return
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        if line.strip():
            where = f"{source}:{number}"
            row = _parsed(line, where, draft)
            if row is not None:
                yield from _object(row, where, draft)


def columns(text: str) -> frozenset[str]:
    """The columns of the first row; none where it is no JSON."""
    rows = json_rows(text, "", Draft())
    return frozenset(next((row for _, row in rows), {}))


def entry_of(row: Row, where: str, draft: Draft, *, audio: str | None = None) -> Entry | None:
    """A row with the usual columns; what is wrong with it goes to ``draft``.

    Its id is empty where it has none.
    """
    length = seconds(first_of(row, LENGTHS), "duration")
    start = seconds(row.get("offset"), "offset")
    path = audio if audio is not None else first_of(row, AUDIO)
    said = first_of(row, TEXTS)
    wrong = [value for value in (length, start) if isinstance(value, str)]
    if not isinstance(path, str):
        wrong.append(f"no file of audio is named; columns for it: {', '.join(AUDIO)}")
    if not isinstance(said, str):
        wrong.append(f"it has no text that says what is said; columns for it: {', '.join(TEXTS)}")
    if start is not None and length is None:
        wrong.append("an offset without a duration")
    for what in wrong:
        draft.problem(where, what)
    if wrong or isinstance(length, str) or isinstance(start, str):
        return None
    given = first_of(row, IDS)
    return Entry(
        id="" if given is None else str(given),
        audio=str(path),
        reference=str(said).strip(),
        where=where,
        duration_s=length,
        start_s=start,
    )


def add_all(entries: Iterable[Entry], draft: Draft) -> None:
    """Take in entries of which some may have no id yet."""
    every = list(entries)
    unnamed = iter(named_by_file([entry for entry in every if not entry.id]))
    for entry in every:
        draft.add(entry if entry.id else next(unnamed))


def _of_list(text: str, source: str, draft: Draft) -> Iterator[tuple[str, Row]]:
    whole = _parsed(text.removeprefix("\ufeff"), source, draft)
    for number, row in enumerate(whole if isinstance(whole, list) else [], start=1):
        yield from _object(row, f"{source}[{number}]", draft)


def _parsed(text: str, where: str, draft: Draft) -> object:
    try:
        return json.loads(text, parse_float=Decimal, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        draft.problem(where, f"it is not JSON: {str(error)[:80]}")
        return None


def _refused(constant: str) -> object:
    raise ValueError(f"{constant} is no number")


def _object(row: object, where: str, draft: Draft) -> Iterator[tuple[str, Row]]:
    if isinstance(row, dict):
        yield where, row
    else:
        draft.problem(where, "it must be an object with named values")
