"""What a manifest says: recordings with what is said in them, and what is wrong with it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Protocol

MAX_ID = 200
MAX_S = Decimal(1_000_000)
"""A recording that is said to be longer is a mistake."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One recording, or a stretch of one, with its reference."""

    id: str
    """Any printable text: colons and blanks are part of it, and it is never a file's name."""
    audio: str
    """The file, relative to the folder of the corpus, or absolute."""
    reference: str | None
    """What is said in it; None of a part, whose call has the reference."""
    where: str
    """File and line, for people."""
    duration_s: Decimal | None = None
    """How long it is said to last, with the digits that were given; None: it is not said."""
    start_s: Decimal | None = None
    """Where the stretch begins; None: it is the whole file."""
    call: str | None = None
    """The recording that it is a part of."""
    index: int = 0
    """Which part of it, from 0."""


@dataclass(frozen=True, slots=True)
class CallEntry:
    """A recording of which only the parts are there."""

    id: str
    reference: str
    duration_s: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything that the files of a corpus say."""

    entries: tuple[Entry, ...]
    problems: tuple[str, ...] = ()
    """One line each: where, what, what is allowed. A corpus with problems is not to be used."""
    calls: tuple[CallEntry, ...] = ()


class Folder(Protocol):
    """The files of a corpus, as whoever reads them hands them in."""

    @property
    def names(self) -> Sequence[str]:
        """Every file below it, as a relative path with slashes, sorted."""

    @property
    def chosen(self) -> str | None:
        """The one file that was named, where it is not all of the folder."""

    @property
    def calls(self) -> str | None:
        """A manifest with the references of whole calls, where one was named."""

    def text(self, name: str) -> str:
        """What is in a file. Raises UnreadableError."""


class UnreadableError(Exception):
    """A file of the corpus that cannot be read; says which and why."""


class Layout(Protocol):
    """One way in which corpora are laid out."""

    def found(self, folder: Folder) -> list[str]:
        """Its manifests in ``folder``; empty where it is laid out otherwise."""

    def read(self, folder: Folder) -> Manifest:
        """All that they say. Raises UnreadableError."""


class Draft:
    """A manifest that is being read: collects entries, and refuses what cannot be used."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._problems: list[str] = []

    def problem(self, where: str, what: str) -> None:
        self._problems.append(shown(f"{where}: {what}"))

    def add(self, entry: Entry) -> None:
        """Take it in, unless there is something wrong with it."""
        wrong = _wrong(entry)
        before = self._entries.get(entry.id)
        if before is not None:
            wrong.append(f"id {entry.id!r} is there already, at {before.where}")
        for what in wrong:
            self.problem(entry.where, what)
        if not wrong:
            self._entries[entry.id] = entry

    def manifest(self, calls: Iterable[CallEntry] = ()) -> Manifest:
        if not self._entries and not self._problems:
            self._problems.append("there is not one recording in it")
        return Manifest(tuple(self._entries.values()), tuple(self._problems), tuple(calls))


def named_by_file(drafts: Sequence[Entry]) -> list[Entry]:
    """Entries without an id of their own, called by their file: as briefly as they can be told."""
    stems = [_stem(entry.audio) for entry in drafts]
    if len(set(stems)) == len(stems):
        return [replace(entry, id=stem) for entry, stem in zip(drafts, stems, strict=True)]
    return [
        replace(entry, id=f"{entry.audio} {entry.start_s or 0} s" if entry.start_s else entry.audio)
        for entry in drafts
    ]


def beside(manifest: str, path: str) -> str:
    """``path`` as a manifest in the folder means it: relative to where the manifest is."""
    home = manifest.rpartition("/")[0]
    return path if path.startswith("/") or not home else f"{home}/{path}"


def shown(text: str) -> str:
    """A text in one line that any terminal takes, whatever a file is called."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def is_url(path: str) -> bool:
    """It names something on the network, which is never fetched."""
    return "://" in path


def seconds(value: object, what: str) -> Decimal | str | None:
    """A length or a place in time; a text says what is wrong with it."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return f"{what} must be a number of seconds (it is {str(value)[:40]!r})"
    exact = Decimal(value)
    if not exact.is_finite() or not 0 <= exact <= MAX_S:
        return f"{what} must be 0 to {MAX_S:,} s (it is {str(value)[:40]})"
    return exact


def first_of(row: Mapping[str, object], names: Iterable[str]) -> object:
    """The value of the first of these columns that the row has."""
    return next((row[name] for name in names if row.get(name) is not None), None)


def _stem(path: str) -> str:
    name = path.rpartition("/")[2]
    return name.rpartition(".")[0] or name


def _wrong(entry: Entry) -> list[str]:
    wrong = []
    if not entry.id or not entry.id.isprintable() or len(entry.id) > MAX_ID:
        wrong.append(f"id {entry.id[:40]!r}: it must be printable, 1 to {MAX_ID} characters")
    if not entry.audio or "\0" in entry.audio:
        wrong.append("no file of audio is named")
    elif is_url(entry.audio):
        wrong.append("the audio is an address on the network; fetch it first and name the file")
    if entry.reference is None and entry.call is None:
        wrong.append("it has no text that says what is said")
    if entry.reference is not None and any("\ud800" <= c <= "\udfff" for c in entry.reference):
        wrong.append("the text holds half a character (a lone surrogate)")
    return wrong
