"""Kaldi's data folders: wav.scp, text, and where recordings are divided, segments.

wav.scp    RECORDING path        text       UTTERANCE what is said
segments   UTTERANCE RECORDING start end    utt2dur, reco2dur   NAME seconds
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from scoring.corpora.entry import MAX_S, Draft, Entry, Folder, Manifest, beside

SCP = "wav.scp"


@dataclass(frozen=True, slots=True)
class Stretch:
    """One line of segments."""

    recording: str
    start_s: Decimal
    end_s: Decimal | None
    """None: to the end of the recording."""
    where: str


class Kaldi:
    """Folders that hold a wav.scp and a text."""

    def found(self, folder: Folder) -> list[str]:
        scps = [
            name
            for name in folder.names
            if name.rpartition("/")[2] == SCP and beside(name, "text") in folder.names
        ]
        return scps if folder.chosen is None else [name for name in scps if name == folder.chosen]

    def read(self, folder: Folder) -> Manifest:
        draft = Draft()
        for scp in self.found(folder):
            for entry in _entries(folder, scp, draft):
                draft.add(entry)
        return draft.manifest()


def _entries(folder: Folder, scp: str, draft: Draft) -> Iterator[Entry]:
    paths = _paths(folder, scp, draft)
    stretches = _stretches(folder, beside(scp, "segments"), draft)
    lengths = _lengths(folder, scp, draft)
    for utterance, said, where in _lines(folder, beside(scp, "text")):
        stretch = stretches.get(utterance)
        recording = utterance if stretch is None else stretch.recording
        path = paths.get(recording)
        if path is None:
            if recording not in paths:
                draft.problem(where, f"{utterance}: no recording {recording!r} in {scp}")
            continue
        if stretch is None:
            length = lengths.get(utterance, None if stretches else lengths.get(recording))
            yield Entry(utterance, path, said, where, length)
        else:
            length = None if stretch.end_s is None else stretch.end_s - stretch.start_s
            yield Entry(utterance, path, said, where, length, stretch.start_s)


def _paths(folder: Folder, scp: str, draft: Draft) -> dict[str, str | None]:
    """The file of each recording; None where there is one that is not to be used."""
    paths: dict[str, str | None] = {}
    for recording, path, where in _lines(folder, scp):
        paths[recording] = None
        if path.endswith("|") or path.startswith("|"):
            draft.problem(
                where, f"{recording}: a command, which is not run; write the audio to files"
            )
        elif not path:
            draft.problem(where, f"{recording}: no file is named")
        elif ".ark:" in path:
            draft.problem(where, f"{recording}: a place in an archive; write the audio to files")
        else:
            paths[recording] = beside(scp, path)
    return paths


def _stretches(folder: Folder, name: str, draft: Draft) -> dict[str, Stretch]:
    stretches: dict[str, Stretch] = {}
    for utterance, rest, where in _lines(folder, name):
        words = rest.split()
        places = [_number(word) for word in words[1:3]]
        if len(words) < 3 or places[0] is None or places[1] is None:
            draft.problem(where, f"{utterance}: write UTTERANCE RECORDING START END, in seconds")
            continue
        start, end = places[0], places[1]
        if start < 0 or (end != -1 and end <= start):
            draft.problem(where, f"{utterance}: from {start} to {end} s; the end must come later")
            continue
        stretches[utterance] = Stretch(words[0], start, None if end == -1 else end, where)
    return stretches


def _lengths(folder: Folder, scp: str, draft: Draft) -> Mapping[str, Decimal]:
    lengths: dict[str, Decimal] = {}
    for name in ("reco2dur", "utt2dur"):
        for key, said, where in _lines(folder, beside(scp, name)):
            length = _number(said)
            if length is None or not 0 <= length <= MAX_S:
                draft.problem(where, f"{key}: {said[:40]!r} is no number of seconds")
            else:
                lengths[key] = length
    return lengths


def _number(word: str) -> Decimal | None:
    try:
        number = Decimal(word)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _lines(folder: Folder, name: str) -> Iterator[tuple[str, str, str]]:
    """First word, the rest, and the place of each line; nothing of a file that is not there."""
    if name not in folder.names:
        return
    for number, line in enumerate(folder.text(name).split("\n"), start=1):
        key, _, rest = line.strip().replace("\t", " ", 1).partition(" ")
        if key:
            yield key, rest.strip(), f"{name}:{number}"
