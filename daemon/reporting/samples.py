"""Samples: the turns of recorded sessions, as much of each as a table needs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from daemon.rescoring import told_under
from measure.definitions import DEFINITIONS, Measured, Missing
from measure.definitions.retelling import Replayed
from measure.measurement import reference_of
from measure.records import MS, OUR_FAULT
from measure.replay import Recorded
from scoring.rejoin import PartName, part_name


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
