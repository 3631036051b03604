"""The recordings of a corpus: loaded one after another, long ones cut, what is wrong told.

Each is decoded once for each rate that is needed, so that a corpus of hours at one rate is in
memory once. What is wrong goes to a list, a line each; nothing of a corpus with mistakes is ever
measured.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from daemon.corpora import Corpus, opened
from daemon.errors import UserError
from daemon.loaded import HEARD_RATE_HZ, AtRate, Loaded
from daemon.parquet_rows import AudioRows
from measure.records import AudioClip
from pacer.clips import ClipError, clip_from_samples, load_clip
from pacer.cut import Limits, Part, Span, parts_of
from scoring.corpora import PARQUET, CallEntry, Entry, shown
from scoring.corpora.lengths import call_disagreement, disagreement
from scoring.corpora.parquet import place_of
from scoring.profiles import misnamed
from scoring.rejoin import Call, PartName

TOLD_EVERY_S = 300.0
"""After so much audio a person is told how far it is."""


@dataclass(frozen=True, slots=True)
class Settled:
    """A corpus as a configuration names it."""

    path: Path
    kind: str | None = None
    calls: Path | None = None
    channels: str = "mix"
    name: str | None = None


def settled(
    wanted: Settled,
    rates_hz: Sequence[int],
    mistakes: list[str],
    taken: set[str],
    *,
    limits: Limits | None = None,
    speech_in: Callable[[AudioClip], Sequence[Span]],
) -> Iterator[Loaded]:
    """All of a corpus as ``loaded`` gives it; its name must not be among those ``taken``."""
    wrong: list[str] = []
    try:
        corpus = opened(wanted.path, kind=wanted.kind, calls=wanted.calls, channels=wanted.channels)
    except UserError as error:
        mistakes.append(str(error))
        return
    name = wanted.name or corpus.usual_name
    if name in taken:
        wrong.append(f"there are clips of a corpus {name!r} already; give it a name of its own")
    taken.add(name)
    wrong += corpus.manifest.problems
    size = _Size()
    if not wrong:
        for one in loaded(corpus, rates_hz, wrong, name=name, limits=limits, speech_in=speech_in):
            size.add(one)
            _tell(name, size)
            yield one
    refused = None if wrong else misnamed(name, clips=size.recordings, audio_s=size.audio_s)
    if refused is not None:
        wrong.append(f"the name {refused}")
    mistakes += [f"{wanted.path}: {line}" for line in wrong]


def loaded(
    corpus: Corpus,
    rates_hz: Sequence[int],
    mistakes: list[str],
    *,
    name: str,
    limits: Limits | None = None,
    speech_in: Callable[[AudioClip], Sequence[Span]] = lambda clip: (),
) -> Iterator[Loaded]:
    """Each recording at every rate, in order; with ``limits``, long ones in parts.

    ``speech_in`` says where speech is in a clip of HEARD_RATE_HZ. What is wrong goes to
    ``mistakes``, with the place.
    """
    shelf = _Shelf(corpus, name)
    calls = {call.id: call for call in corpus.manifest.calls}
    for entries in _by_call(corpus.manifest.entries):
        group = []
        for entry in entries:
            try:
                group.append(shelf.clips(entry, rates_hz))
            except ClipError as error:
                mistakes.append(shown(f"{entry.where}: {entry.id}: {error}"))
        if len(group) < len(entries):
            continue
        if entries[0].call is not None:
            if entries[0].call in calls:  # else that is one of the manifest's problems
                yield from _parts(calls[entries[0].call], group, mistakes)
        else:
            yield from _whole_or_cut(group[0], limits, speech_in)


class _Size:
    """How much of a corpus has been loaded."""

    def __init__(self) -> None:
        self.audio_s = self.told_s = 0.0
        self._wholes = 0
        self._calls: set[str] = set()

    def add(self, one: Loaded) -> None:
        self.audio_s += one.at_rate[HEARD_RATE_HZ].audio_s
        if one.call is None:
            self._wholes += 1
        else:
            self._calls.add(one.call.name)

    @property
    def recordings(self) -> int:
        """Parts of one call are one recording."""
        return self._wholes + len(self._calls)


def _tell(name: str, size: _Size) -> None:
    """To a person who waits; a log would only be disturbed by it."""
    if sys.stderr.isatty() and size.audio_s - size.told_s >= TOLD_EVERY_S:
        size.told_s = size.audio_s
        sys.stderr.write(f"speechbench: {name}: {size.audio_s / 60:.0f} min loaded\n")


class _Shelf:
    """Loads recordings. Keeps the last file, because stretches of one follow one another."""

    def __init__(self, corpus: Corpus, name: str) -> None:
        self._corpus, self._name = corpus, name
        self._rows = AudioRows()
        self._last: tuple[str, AtRate] | None = None

    def clips(self, entry: Entry, rates_hz: Sequence[int]) -> AtRate:
        """One entry at every rate. Raises ClipError."""
        rates = sorted({HEARD_RATE_HZ, *rates_hz})
        whole = self._file(entry, rates)
        wrong = disagreement(entry, whole[HEARD_RATE_HZ].audio_s)
        if wrong is not None:
            raise ClipError(wrong)
        return {rate: self._named(entry, whole[rate]) for rate in rates}

    def _named(self, entry: Entry, whole: AudioClip) -> AudioClip:
        named = replace(whole, name=entry.id, reference=entry.reference, corpus=self._name)
        if entry.start_s is None:
            return named
        start = round(entry.start_s * whole.rate_hz)
        length = entry.duration_s
        end = whole.samples if length is None else start + round(length * whole.rate_hz)
        said = f"{entry.start_s} s to {end / whole.rate_hz:g} s of {whole.source}"
        return cut_out(named, start, min(end, whole.samples), entry.id, source=said)

    def _file(self, entry: Entry, rates: Sequence[int]) -> AtRate:
        if self._last is None or self._last[0] != entry.audio:
            self._last = None  # what is no longer needed makes room first
            self._last = (entry.audio, {rate: self._load(entry, rate) for rate in rates})
        return self._last[1]

    def _load(self, entry: Entry, rate_hz: int) -> AudioClip:
        corpus = self._corpus
        if corpus.kind != PARQUET:
            path = corpus.root / entry.audio
            return load_clip(path, rate_hz=rate_hz, channels=corpus.channels, name=entry.id)
        file, row = place_of(entry.audio)
        with tempfile.NamedTemporaryFile(prefix="speechbench-") as copy:
            copy.write(self._rows.audio(corpus.root / file, row))
            copy.flush()
            try:
                path = Path(copy.name)
                return load_clip(path, rate_hz=rate_hz, channels=corpus.channels, name=entry.id)
            except ClipError as error:
                raise ClipError(str(error).removeprefix(f"{copy.name}: ")) from error


def cut_out(clip: AudioClip, start: int, end: int, name: str, *, source: str) -> AudioClip:
    """Some samples of ``clip`` as a clip of its own. Raises ClipError where there are none."""
    samples = np.frombuffer(clip.pcm[2 * start : 2 * end], dtype="<i2")
    made = clip_from_samples(
        name,
        samples,
        rate_hz=clip.rate_hz,
        reference=clip.reference,
        corpus=clip.corpus,
        source=source,
    )
    return replace(made, remarks=(*clip.remarks, *made.remarks))


def _by_call(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """The parts of one call together; everything else by itself."""
    group: list[Entry] = []
    for entry in entries:
        if group and (entry.call is None or entry.call != group[0].call):
            yield group
            group = []
        group.append(entry)
    if group:
        yield group


def _parts(said: CallEntry, group: Sequence[AtRate], mistakes: list[str]) -> Iterator[Loaded]:
    """The parts of a call that came as parts."""
    audio_s = sum(clips[HEARD_RATE_HZ].audio_s for clips in group)
    wrong = call_disagreement(said, audio_s, len(group))
    if wrong is not None:
        mistakes.append(f"call {said.id}: {wrong}")
        return
    call = Call(said.id, said.reference, audio_s, len(group))
    for index, clips in enumerate(group):
        name = str(PartName(call.name, index, call.parts))
        yield Loaded({rate: replace(clip, name=name) for rate, clip in clips.items()}, call)


def _whole_or_cut(
    clips: AtRate, limits: Limits | None, speech_in: Callable[[AudioClip], Sequence[Span]]
) -> Iterator[Loaded]:
    whole = clips[HEARD_RATE_HZ]
    if limits is None or whole.audio_s <= limits.most_s:
        yield Loaded(clips)
        return
    parts = parts_of(whole, speech_in(whole), limits)
    call = Call(whole.name, whole.reference or "", whole.audio_s, len(parts))
    for part in parts:
        yield Loaded({rate: _part(clip, part, call) for rate, clip in clips.items()}, call)


def _part(whole: AudioClip, part: Part, call: Call) -> AudioClip:
    placed = part.at_rate(HEARD_RATE_HZ, whole.rate_hz)
    last = part.index == call.parts - 1
    end = whole.samples if last else min(placed.end_sample, whole.samples)
    start_s, end_s = placed.start_sample / whole.rate_hz, end / whole.rate_hz
    name = str(PartName(call.name, part.index, call.parts))
    said = f"{start_s:.3f} s to {end_s:.3f} s of {whole.source}"
    clip = cut_out(replace(whole, reference=None), placed.start_sample, end, name, source=said)
    if not part.begins_in_speech:
        return clip
    return replace(clip, remarks=(*clip.remarks, "It begins within speech: no pause was near."))
