"""The two cleaned public corpora as they are published: JSON lines and a folder audio/.

    {"id": "20140414-…_22:40:11_0", "duration": …, "transcript": …, "url": "audio/<file_name>", …}

One of them is published in parts as well, without their texts: those are the whole calls'.

    {"parent_id": "4483046", "chunk_index": 0, "file_name": …}
"""

from collections.abc import Iterator
from dataclasses import replace

from scoring.corpora.entry import CallEntry, Draft, Entry, Folder, Manifest, beside, seconds
from scoring.corpora.nemo import json_names
from scoring.corpora.rows import Row, columns, entry_of, json_rows

ROW = {"id", "transcript"}
PART = {"parent_id", "chunk_index", "file_name"}
AUDIO = "audio/"


class Cleaned:
    """Rows with an id, a transcript and a file; each is a whole recording."""

    def found(self, folder: Folder) -> list[str]:
        return [name for name in json_names(folder) if _is_whole(columns(folder.text(name)))]

    def read(self, folder: Folder) -> Manifest:
        draft = Draft()
        for name in self.found(folder):
            for entry in _wholes(folder.text(name), name, draft):
                draft.add(replace(entry, audio=beside(name, entry.audio)))
        return draft.manifest()


class CleanedParts:
    """Rows with a parent and an index; the references are those of the parents."""

    def found(self, folder: Folder) -> list[str]:
        return [name for name in json_names(folder) if columns(folder.text(name)) >= PART]

    def read(self, folder: Folder) -> Manifest:
        draft = Draft()
        calls = {call.id: call for call in _calls(folder, draft)}
        parts: dict[str, list[Entry]] = {}
        for name in self.found(folder):
            for where, row in json_rows(folder.text(name), name, draft):
                part = _part(row, where, name, draft)
                if part is not None:
                    parts.setdefault(part.call or "", []).append(part)
        for call, entries in parts.items():
            _check(call, entries, calls, draft)
            for entry in sorted(entries, key=lambda entry: entry.index):
                draft.add(entry)
        return draft.manifest(calls[call] for call in parts if call in calls)


def _is_whole(named: frozenset[str]) -> bool:
    return named >= ROW and bool(named & {"url", "file_name"}) and "audio_filepath" not in named


def _wholes(text: str, name: str, draft: Draft) -> Iterator[Entry]:
    for where, row in json_rows(text, name, draft):
        file = row.get("url") or row.get("file_name")
        if isinstance(file, str) and "/" not in file:
            file = AUDIO + file
        entry = entry_of(row, where, draft, audio=str(file or ""))
        if entry is not None:
            yield entry


def _calls(folder: Folder, draft: Draft) -> Iterator[CallEntry]:
    """The whole calls: in the file that was named for them, or in one beside the parts."""
    texts = {name: folder.text(name) for name in folder.names if name.endswith((".jsonl", ".json"))}
    found = [(name, text) for name, text in texts.items() if _is_whole(columns(text))]
    if folder.calls is not None:
        found = [("calls", folder.calls)]
    if not found:
        draft.problem(
            "calls", "parts have no texts; name the manifest of the whole recordings as well"
        )
    for name, text in found:
        for entry in _wholes(text, name, draft):
            yield CallEntry(entry.id, entry.reference or "", entry.duration_s)


def _part(row: Row, where: str, name: str, draft: Draft) -> Entry | None:
    call, index, file = (row.get(column) for column in ("parent_id", "chunk_index", "file_name"))
    length = seconds(row.get("duration"), "duration")
    whole = isinstance(index, int) and not isinstance(index, bool) and index >= 0
    if not isinstance(index, int) or not whole or not isinstance(file, str) or call is None:
        draft.problem(where, "it needs parent_id, file_name, and chunk_index from 0")
        return None
    if isinstance(length, str):
        draft.problem(where, length)
        return None
    audio = beside(name, file if "/" in file else AUDIO + file)
    return Entry(f"{call} {index}", audio, None, where, length, call=str(call), index=index)


def _check(call: str, parts: list[Entry], calls: dict[str, CallEntry], draft: Draft) -> None:
    """All parts are there, once, and so is the text of the whole."""
    if calls and call not in calls:
        draft.problem(parts[0].where, f"call {call}: no recording of this id has a text")
    indexes = sorted(part.index for part in parts)
    missing = sorted(set(range(indexes[-1] + 1)) - set(indexes))
    if missing:
        said = ", ".join(str(index) for index in missing)
        draft.problem(parts[0].where, f"call {call}: part {said} is missing")
