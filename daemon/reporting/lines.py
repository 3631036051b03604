"""Lines: one model on one corpus, all that was measured in one way."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum

from daemon.reporting.estimates import latencies_of, latency, success, word_error_rate
from daemon.reporting.recordings import Counting, Recordings, recordings_of
from daemon.reporting.samples import Sample
from daemon.reporting.ways import Way, way_of
from daemon.results import worst_error
from exporters.report_table import Line, PriceTag
from scoring.normalize import Normalizer
from scoring.profiles import Profile, misnamed
from scoring.signature import SignatureError, normalizer_part, parsed, split_error
from scoring.weigh import corpus_rate


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What is the same for all lines of a report."""

    profile: Profile
    window: str
    stand_ins: Mapping[str, str]
    """The name of a corpus of the method, and the user's that stands in for it."""
    price: Callable[[str], PriceTag]
    sort: str


@dataclass(frozen=True, slots=True)
class Summed:
    """One line of a corpus, and what the overall figure needs of it."""

    line: Line
    corpus: str
    audio_s: float
    way: Way
    not_whole: str | None
    """Why it may not stand for the corpus of its name."""


def sum_up(group: Sequence[Sample], about: Circumstances, counting: Counting) -> Summed:
    """The line of one model on one corpus; ``group``: all its samples that were made in one way."""
    first = group[0]
    counted = [one for one in group if not one.voided]
    answered = sum(one.valid for one in counted)
    final = recordings_of(group, lambda one: one.text, counting)
    partial = recordings_of(group, lambda one: one.first_partial_text, counting)
    lengths = _lengths(group)
    error = worst_error(split_error(one.signature)[1] for one in group)
    failed = len(counted) - answered
    line = Line(
        model=first.model,
        variant=0,
        flow=first.flow,
        wer=word_error_rate(final),
        first_partial_wer=word_error_rate(partial),
        time=latency(latencies_of(group, lambda one: one.time_ms)),
        first_partial=latency(latencies_of(group, lambda one: one.first_partial_ms)),
        success=success(answered, failed),
        answered=answered,
        failed=failed,
        voided=len(group) - len(counted),
        early=sum(one.early for one in counted),
        price=about.price(first.model),
        signature=_signature(first.signature, counting.normalizer, error, about.window),
        harness_error=error,
        notes=tuple(_scoring_notes(final, len(lengths))),
    )
    not_whole = misnamed(first.corpus, clips=len(lengths), audio_s=fsum(lengths.values()))
    return Summed(line, first.corpus, fsum(lengths.values()), way_of(first), not_whole)


def _lengths(samples: Sequence[Sample]) -> dict[str, float]:
    """How long each recording is, measured or not counted; of a call, all its parts."""
    parts = {(one.recording, one.clip): one.audio_s for one in samples}
    lengths: dict[str, list[float]] = defaultdict(list)
    for (recording, _), audio_s in parts.items():
        lengths[recording].append(audio_s)
    return {recording: fsum(found) for recording, found in lengths.items()}


def _scoring_notes(final: Recordings, attempted: int) -> Iterator[str]:
    rate = corpus_rate(final.scored)
    if final.incomplete:
        yield f"{final.incomplete} calls incomplete, a part was lost: they have no score"
    if final.unreferenced:
        yield f"{final.unreferenced} calls without a recorded reference: they have no score"
    if rate.without_reference:
        yield (
            f"{rate.without_reference} recordings without words in their reference, in which "
            f"{rate.words_without_reference} words were inserted"
        )
    if 0 < rate.recordings < attempted:
        yield f"word errors of {rate.recordings} of {attempted} recordings"


def _signature(line: str, normalizer: Normalizer, error: str, window: str) -> str:
    """How the sum was made: as its measurements, but for what was made again."""
    try:
        made = parsed(line)
    except SignatureError:
        return line
    norm = normalizer_part(normalizer.name, normalizer.version, normalizer.data_sha256)
    return str(replace(made, norm=norm, error=error, window=window))


def told_apart(summed: Sequence[Summed]) -> list[Summed]:
    """Where a model was measured in several ways, they are told apart by a number."""
    ways: dict[str, dict[Way, int]] = defaultdict(dict)
    for one in summed:
        known = ways[one.line.model]
        known.setdefault(one.way.without("corpus"), len(known) + 1)
    several = Counter((one.corpus, one.line.model) for one in summed)

    def variant(one: Summed, nth: int) -> int:
        known = ways[one.line.model]
        if len(known) > 1:
            return known[one.way.without("corpus")]
        return nth if several[one.corpus, one.line.model] > 1 else 0

    seen: Counter[tuple[str, str]] = Counter()
    numbered = []
    for one in summed:
        seen[one.corpus, one.line.model] += 1
        line = replace(one.line, variant=variant(one, seen[one.corpus, one.line.model]))
        numbered.append(replace(one, line=line))
    return numbered
