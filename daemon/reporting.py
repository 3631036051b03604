"""Recorded sessions summed up for a buyer: corpora and models, with intervals, then all together.

sessions ─taken─> samples ─parts to calls─> recordings ─> lines of a corpus ─> overall
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from math import fsum
from typing import TypeVar

from daemon.errors import UserError
from daemon.rescoring import told_under
from daemon.results import worst_error
from exporters.definition_table import ENOUGH
from exporters.report_table import (
    SHARES,
    Chapter,
    Estimate,
    Latency,
    Line,
    PriceTag,
    ranked,
)
from measure.definitions import DEFINITIONS, Measured, Missing
from measure.definitions.retelling import Replayed
from measure.measurement import reference_of
from measure.records import MS, OUR_FAULT
from measure.replay import Recorded
from scoring.interval import Interval, of_mean, of_quantile, of_rate
from scoring.normalize import Normalizer
from scoring.profiles import Figure, Overall, Profile, misnamed, overall
from scoring.rejoin import Call, Part, PartName, part_name, score_call
from scoring.signature import (
    SignatureError,
    normalizer_part,
    parsed,
    split_error,
)
from scoring.weigh import (
    SHARES as QUANTILES,
)
from scoring.weigh import (
    CorpusRate,
    Scored,
    call_latency,
    corpus_rate,
    mean,
    quantile,
)
from scoring.words import WordErrors, score

K = TypeVar("K")
V = TypeVar("V")

MADE_AGAIN = ("error", "norm", "window")
"""Parts of a signature in which measurements may differ: the newest self-test is no other way of
measuring, and words are counted anew."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One turn of one session, as much of it as a table needs. Durations as published, in ms."""

    session_id: str
    run_id: str
    model: str
    corpus: str
    clip: str
    audio_s: float
    flow: str
    wall_ns: int
    signature: str
    verdict: str
    valid: bool
    voided: bool
    early: bool
    time_ms: float | None
    first_partial_ms: float | None
    text: str | None
    """None where nothing counts as the final text."""
    first_partial_text: str | None
    reference: str | None
    part: PartName | None = None
    call_reference: str | None = None
    """Of the whole call that it is a part of."""

    @property
    def recording(self) -> str:
        """What is scored as a whole."""
        return self.clip if self.part is None else self.part.call


def samples_of(recorded: Recorded, turns: Sequence[Replayed], definition: str) -> Iterator[Sample]:
    """The turns of a session. Raises ValueError where its beginning is damaged."""
    started = recorded.started
    texts = {
        name: _text(started, name) for name in ("run_id", "model", "dataset", "clip", "signature")
    }
    reference = _optional(started, "reference")
    part = part_name(texts["clip"]) if reference is None else None
    for turn in turns:
        reading, first = turn.reading, turn.reading.first_partial
        time_ms, early = _published(turn, definition)
        yield Sample(
            session_id=recorded.session_id,
            run_id=texts["run_id"],
            model=texts["model"],
            corpus=texts["dataset"],
            clip=texts["clip"],
            audio_s=_number(started, "audio_ms") / 1000,
            flow=turn.rule.flow.value,
            wall_ns=int(_number(started, "wall_unix_ns")),
            signature=texts["signature"],
            verdict=reading.verdict.value,
            valid=reading.valid,
            voided=reading.verdict in OUR_FAULT,
            early=early,
            time_ms=time_ms,
            first_partial_ms=_first_partial_ms(turn),
            text=reading.transcript if reading.valid else None,
            first_partial_text=first.text if first is not None and reading.valid else None,
            reference=reference_of(reference, turn.rule),
            part=part,
            call_reference=_optional(started, "call_reference"),
        )


def _published(turn: Replayed, definition: str) -> tuple[float | None, bool]:
    """A duration as it is published, and whether it had been over before it began to count."""
    chosen = DEFINITIONS[definition]
    value = chosen.of(turn)
    if isinstance(value, Missing):
        return None, False
    assert isinstance(value, Measured)
    least = chosen.published_from
    if least is None or value.value >= least:
        return value.value / MS, False
    return least / MS, True


def _first_partial_ms(turn: Replayed) -> float | None:
    since_ns = turn.reading.time_to_first_partial_ns
    return None if since_ns is None or not turn.reading.valid else max(0.0, since_ns / MS)


@dataclass(slots=True)
class Gathering:
    """Takes sessions one after the other, and keeps their samples."""

    definition: str
    since_ns: int | None = None
    until_ns: int | None = None
    """The first moment that is no longer inside."""
    samples: list[Sample] = field(default_factory=list)
    unfinished: int = 0
    outside: int = 0

    def add(self, recorded: Recorded) -> list[Replayed]:
        """Gives the turns; none where it is not counted. Raises ValueError where it is damaged."""
        if not self._covers(int(_number(recorded.started, "wall_unix_ns"))):
            self.outside += 1
            return []
        if not any(record.get("k") == "session_finished" for record in recorded.rest):
            self.unfinished += 1  # it may still be running: that is no failure
            return []
        turns = told_under(recorded, {})
        self.samples += samples_of(recorded, turns, self.definition)
        return turns

    def _covers(self, wall_ns: int) -> bool:
        after = self.since_ns is None or wall_ns >= self.since_ns
        return after and (self.until_ns is None or wall_ns < self.until_ns)


@dataclass(frozen=True, slots=True)
class Way:
    """How a number was made, but for what may differ."""

    parts: tuple[tuple[str, str], ...]

    def without(self, name: str) -> "Way":
        return Way(tuple(part for part in self.parts if part[0] != name))


def way_of(sample: Sample) -> Way:
    """What of a signature, and of the flow, must be the same in all that is summed up."""
    parts = _parts(sample.signature)
    kept = [(name, said) for name, said in parts.items() if name not in MADE_AGAIN]
    return Way((*kept, ("flow", sample.flow)))


def _parts(line: str) -> dict[str, str]:
    try:
        signature = parsed(line)
    except SignatureError:
        return {"signature": split_error(line)[0]}
    return {part.name: getattr(signature, part.name) for part in fields(signature)}


def refuse_mixed(samples: Iterable[Sample]) -> None:
    """Raises UserError where a row would hold what was made in several ways."""
    mixed: dict[str, list[str]] = {}
    for model, several in _grouped(samples, lambda one: one.model).items():
        names = _differing({way_of(one).without("corpus") for one in several})
        for of_corpus in _grouped(several, lambda one: one.corpus).values():
            names += _differing({way_of(one) for one in of_corpus})
        if names:
            mixed[model] = names
    if not mixed:
        return
    models = ", ".join(mixed)
    parts = ", ".join(sorted({name for names in mixed.values() for name in names}))
    raise UserError(
        f"{models}: signatures are mixed that differ in {parts}; "
        "--by-signature keeps them apart, --since and --until choose some of them"
    )


def _differing(ways: Iterable[Way]) -> list[str]:
    """The names of the parts that are not the same in all of them."""
    every = [dict(way.parts) for way in ways]
    names = sorted({name for parts in every for name in parts})
    return [name for name in names if len({parts.get(name, "") for parts in every}) > 1]


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


def latencies_of(samples: Sequence[Sample], value: Callable[[Sample], float | None]) -> list[float]:
    """Each measurement once; of a call, the mean of its parts."""
    whole = [value(one) for one in samples if one.part is None]
    whole += [call_latency(value(one) for one in parts) for parts in calls_of(samples)]
    return [found for found in whole if found is not None]


def estimated(value: float | None, n: int, interval: Callable[[], Interval | None]) -> Estimate:
    """A figure with its interval; where each draw gives the same, that is no interval."""
    found = None if value is None else interval()
    if found is None or found.low == found.high:
        return Estimate(value, n)
    return Estimate(value, n, found.low, found.high)


def _latency(values: Sequence[float]) -> Latency:
    n = len(values)

    def at(name: str) -> Estimate:
        share = QUANTILES[name]
        if n < ENOUGH[name]:
            return Estimate(quantile(values, share), n)
        return estimated(quantile(values, share), n, lambda: of_quantile(values, share))

    whole = estimated(mean(values), n, lambda: of_mean(values))
    return Latency(whole, {name: at(name) for name in SHARES})


def _wer(recordings: Recordings) -> Estimate:
    rate = corpus_rate(recordings.scored)
    return estimated(rate.rate, rate.recordings, lambda: of_rate(recordings.scored))


def _success(answered: int, failed: int) -> Estimate:
    n = answered + failed
    outcomes = [1.0] * answered + [0.0] * failed
    return estimated(answered / n if n else None, n, lambda: of_mean(outcomes))


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


def chapters_of(samples: Sequence[Sample], about: Circumstances) -> list[Chapter]:
    """A chapter for each corpus, by name, and the overall one."""
    counting = Counting(about.profile.normaliser())
    samples = sorted(samples, key=lambda one: (one.model, one.wall_ns, one.session_id))
    summed = [
        _summed(group, about, counting)
        for group in _grouped(samples, lambda one: (one.corpus, one.model, way_of(one))).values()
    ]
    summed = _numbered(summed)
    by_corpus = _grouped(summed, lambda one: one.corpus)
    chapters = [
        Chapter(
            f"Corpus {corpus}", corpus, tuple(ranked([one.line for one in group], about.sort)),
            _across_notes(group),
        )
        for corpus, group in sorted(by_corpus.items())
    ]  # fmt: skip
    return [*chapters, _overall_chapter(summed, about)]


def _summed(group: Sequence[Sample], about: Circumstances, counting: Counting) -> Summed:
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
        wer=_wer(final),
        first_partial_wer=_wer(partial),
        time=_latency(latencies_of(group, lambda one: one.time_ms)),
        first_partial=_latency(latencies_of(group, lambda one: one.first_partial_ms)),
        success=_success(answered, failed),
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


def _numbered(summed: Sequence[Summed]) -> list[Summed]:
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


def _across_notes(group: Sequence[Summed]) -> tuple[str, ...]:
    names = _differing({one.way for one in group})
    notes = [f"the rows were made differently: {', '.join(names)}"] if names else []
    misused = next((one.not_whole for one in group if one.not_whole), None)
    return (*notes, misused) if misused else tuple(notes)


def _overall_chapter(summed: Sequence[Summed], about: Circumstances) -> Chapter:
    """One figure over all corpora, for each model that has it; why, for each that has not."""
    lines, notes, title = [], dict[str, list[str]](), about.profile.name
    ways = _grouped(summed, lambda one: (one.line.model, one.way.without("corpus")))
    for group in ways.values():
        found, line = _overall_line(group, about)
        title = found.name
        if line.wer.value is None and line.time.mean.value is None:
            why = f"no overall figure, without {', '.join(found.missing)}"
            notes.setdefault(why, []).append(line.label)
        else:
            lines.append(line)
            if found.missing:
                notes.setdefault(f"no overall word error rate, without {', '.join(found.missing)}",
                                 []).append(line.label)  # fmt: skip
    said = tuple(f"{why}: {', '.join(models)}" for why, models in notes.items())
    return Chapter(title, None, tuple(ranked(lines, about.sort)), said)


def _overall_line(group: Sequence[Summed], about: Circumstances) -> tuple[Overall, Line]:
    places = {
        place: _filling(group, about.stand_ins.get(place, place))
        for place in (one.name for one in about.profile.corpora)
    }
    filled = {place: one for place, one in places.items() if one is not None}

    def over(value: Callable[[Line], Estimate]) -> Overall:
        figures = {
            place: Figure(one.corpus, _rated(value(one.line), one.audio_s))
            for place, one in filled.items()
        }
        return overall(about.profile, figures)

    def estimate(value: Callable[[Line], Estimate]) -> Estimate:
        return Estimate(over(value).rate, sum(value(one.line).n for one in filled.values()))

    lines = [one.line for one in filled.values()]
    answered, failed = sum(one.answered for one in lines), sum(one.failed for one in lines)
    line = replace(
        group[0].line,
        wer=estimate(lambda one: one.wer),
        first_partial_wer=estimate(lambda one: one.first_partial_wer),
        time=Latency(estimate(lambda one: one.time.mean)),
        first_partial=Latency(estimate(lambda one: one.first_partial.mean)),
        success=_success(answered, failed),
        answered=answered,
        failed=failed,
        voided=sum(one.voided for one in lines),
        early=sum(one.early for one in lines),
        signature=_overall_signature(group, filled),
        harness_error=worst_error(one.harness_error for one in lines),
        notes=(),
    )
    return over(lambda one: one.wer), line


def _filling(group: Sequence[Summed], corpus: str) -> Summed | None:
    """What was found in the corpus of that name; None where it is missing, in parts, or twice."""
    found = [one for one in group if one.corpus == corpus and one.not_whole is None]
    return found[0] if len(found) == 1 else None


def _rated(estimate: Estimate, audio_s: float) -> CorpusRate:
    return CorpusRate(estimate.value, estimate.n, audio_s, 0, 0)


def _overall_signature(group: Sequence[Summed], filled: Mapping[str, Summed]) -> str:
    line = group[0].line.signature
    try:
        made = parsed(line)
        corpora = [parsed(one.line.signature).corpus for one in filled.values()]
    except SignatureError:
        return line
    error = worst_error(one.line.harness_error for one in filled.values())
    return str(replace(made, corpus=" + ".join(corpora), error=error))


def _grouped(values: Iterable[V], key: Callable[[V], K]) -> dict[K, list[V]]:
    groups: dict[K, list[V]] = {}
    for value in values:
        groups.setdefault(key(value), []).append(value)
    return groups


def _text(record: Mapping[str, object], key: str) -> str:
    value = record.get(key)
    if not isinstance(value, str):
        raise ValueError(f"session_started: {key} is missing or not a text")
    return value


def _optional(record: Mapping[str, object], key: str) -> str | None:
    return None if record.get(key) is None else _text(record, key)


def _number(record: Mapping[str, object], key: str) -> float:
    value = record.get(key)
    if not isinstance(value, int | float):
        raise ValueError(f"session_started: {key} is missing or not a number")
    return value
