"""Recordings: what was said in them against what they say, parts joined to calls first."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import fsum

from daemon.reporting.samples import Sample
from scoring.normalize import Normalizer
from scoring.rejoin import Call, Part, score_call
from scoring.weigh import Scored
from scoring.words import WordErrors, score


class Counting:
    """Counts word errors, those of the same two texts once."""

    def __init__(self, normalizer: Normalizer) -> None:
        self.normalizer = normalizer
        self._known: dict[tuple[str, str], WordErrors] = {}

    def errors(self, reference: str, said: str) -> WordErrors:
        found = self._known.get((reference, said))
        if found is None:
            found = self._known[reference, said] = score(reference, said, self.normalizer)
        return found


@dataclass(frozen=True, slots=True)
class Recordings:
    """What was said in the recordings of one corpus, scored; each once, however often measured."""

    scored: tuple[Scored, ...]
    incomplete: int = 0
    """Calls of which a part was lost: they have no score."""
    unreferenced: int = 0
    """Calls whose reference was not recorded."""


def recordings_of(
    samples: Sequence[Sample], said: Callable[[Sample], str | None], counting: Counting
) -> Recordings:
    """Each recording with the errors and the seconds of all its measurements."""
    sums: dict[str, Scored] = {}

    def add(name: str, scored: Scored) -> None:
        known = sums.get(name)
        sums[name] = (
            scored
            if known is None
            else Scored(known.errors + scored.errors, known.audio_s + scored.audio_s)
        )

    for one in samples:
        text = said(one)
        if one.part is None and one.reference is not None and text is not None:
            add(one.clip, Scored(counting.errors(one.reference, text), one.audio_s))
    incomplete = unreferenced = 0
    for parts in calls_of(samples):
        reference = next((one.call_reference for one in parts if one.call_reference), None)
        if reference is None:
            unreferenced += 1
            continue
        scored = _call(parts, reference, said, counting.normalizer)
        if scored is None:
            incomplete += 1
        else:
            add(parts[0].recording, scored)
    return Recordings(tuple(sums[name] for name in sorted(sums)), incomplete, unreferenced)


def _call(
    parts: Sequence[Sample],
    reference: str,
    said: Callable[[Sample], str | None],
    normalizer: Normalizer,
) -> Scored | None:
    named = parts[0].part
    assert named is not None
    audio_s = fsum(one.audio_s for one in parts)  # parts lie end to end
    call = Call(named.call, reference, audio_s, named.parts)
    heard = [Part(one.part.index, said(one)) for one in parts if one.part is not None]
    return score_call(call, heard, normalizer)


def calls_of(samples: Iterable[Sample]) -> list[list[Sample]]:
    """The parts of each call, of one run together; measured again in a run, it is a call again.

    Those that are not counted must be among them, or the next time's would take their place.
    """
    times: Counter[tuple[object, ...]] = Counter()
    calls: dict[tuple[object, ...], list[Sample]] = {}
    for one in samples:
        if one.part is None:
            continue
        whole = (one.run_id, one.part.call, one.part.parts)
        times[*whole, one.part.index] += 1
        nth = times[*whole, one.part.index]
        calls.setdefault((*whole, nth), []).append(one)
    return list(calls.values())
