"""The runner does around a force what the facts of a provider ask for, in virtual time."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import pytest

from daemon.conformance.promise import Subject
from daemon.conformance.stage import (
    ANSWER_S,
    FIRST_SPEECH,
    SPEECH,
    TEXT,
    Performance,
    performed,
)
from daemon.fakes import FakeDeepgram
from daemon.fakes.script import Line, Script, spoken
from measure.events import Event, ForceSent, FrameSent
from measure.records import Endpoint, Verdict
from providers.codec import Facts, Forcing, Message, Model, OpenRequest, Options
from providers.deepgram import Deepgram

SUBJECT = Subject(
    "deepgram/nova-3", Model(partial(Deepgram, model="nova-3"), "Nova"), None, FakeDeepgram
)
ANSWER = Script(
    spoken(TEXT, SPEECH.start_ms, SPEECH.end_ms), ((Line(TEXT, after_s=ANSWER_S, final=True),),)
)


def needing(forcing: Forcing, **others: object) -> Callable[[Facts], Facts]:
    return lambda facts: replace(facts, forcing=forcing, **others)  # type: ignore[arg-type]


def place_of_force(done: Performance) -> float:
    """How much audio the provider had heard, in ms, when the force came."""
    heard_bytes = 0
    for one in done.visit.heard:
        if one.kind == "binary":
            heard_bytes += len(one.payload)
        elif b"Finalize" in one.payload:
            return heard_bytes / 32
    raise AssertionError("no force came")


def audio_after_force(done: Performance) -> float:
    heard_ms = sum(len(one.payload) for one in done.visit.heard if one.kind == "binary") / 32
    return heard_ms - place_of_force(done)


def zero_ms(done: Performance) -> float:
    """How much audio had been sent at zero."""
    zero_ns = next(event.at_ns for event in done.events if isinstance(event, ForceSent))
    return max(
        event.audio_ms
        for event in done.events
        if isinstance(event, FrameSent) and event.at_ns <= zero_ns
    )


def logged(done: Performance, event: str) -> list[object]:
    return [record["fields"] for record in done.records if record.get("event") == event]


def test_without_needs_the_force_follows_the_endpoint() -> None:
    done = performed(SUBJECT, ANSWER)
    assert place_of_force(done) == zero_ms(done) == 820.0
    assert done.reading.time_to_final_ns == 150_000_000


def test_silence_before_the_force_is_paced_and_counts_in_the_latency() -> None:
    done = performed(SUBJECT, ANSWER, facts=needing(Forcing(silence_before_ms=1600)))
    assert zero_ms(done) == 820.0
    assert place_of_force(done) == 820.0 + 1600.0
    assert done.reading.verdict is Verdict.FORCED_FINAL
    assert done.reading.time_to_final_ns == 1_750_000_000
    assert sum(isinstance(event, ForceSent) for event in done.events) == 1
    (fields,) = logged(done, "force_after_silence")
    assert isinstance(fields, dict)
    assert fields["silence_ms"] == 1600.0


def test_silence_before_the_force_is_no_more_audio_of_the_clip() -> None:
    done = performed(SUBJECT, ANSWER, facts=needing(Forcing(silence_before_ms=100)))
    heard = bytes(done.visit.audio)
    assert set(heard[820 * 32 : 920 * 32]) == {0}
    assert 0 not in memoryview(heard[: 810 * 32]).cast("h")


def test_a_chunk_is_cut_short_so_that_the_force_after_silence_is_not_late() -> None:
    def coarse(facts: Facts) -> Facts:
        audio = replace(facts.audio, chunk_ms=100)
        return replace(facts, audio=audio, forcing=Forcing(silence_before_ms=130))

    done = performed(SUBJECT, ANSWER, facts=coarse)
    assert place_of_force(done) == 820.0 + 140.0  # whole frames


@pytest.mark.parametrize(("least_ms", "place_ms"), [(500, 820.0), (820, 820.0), (1000, 1000.0)])
def test_silence_fills_up_what_must_be_buffered(least_ms: int, place_ms: float) -> None:
    done = performed(SUBJECT, ANSWER, facts=needing(Forcing(min_buffered_ms=least_ms)))
    assert place_of_force(done) == place_ms


def test_silence_after_the_force_ends_where_the_provider_wants_no_more() -> None:
    late = replace(ANSWER, answers=((Line(TEXT, after_s=1.0, final=True),),))
    done = performed(SUBJECT, late, facts=needing(Forcing(silence_after_ms=200)))
    assert audio_after_force(done) == 200.0
    assert done.reading.verdict is Verdict.FORCED_FINAL


def test_where_no_audio_is_wanted_after_a_force_the_silence_before_it_goes_all_the_same() -> None:
    facts = needing(Forcing(silence_before_ms=200), silence_after_force=False)
    done = performed(SUBJECT, ANSWER, facts=facts)
    assert place_of_force(done) == 1020.0
    assert audio_after_force(done) == 0.0


def test_signs_of_life_begin_only_after_so_long_a_silence() -> None:
    late = replace(ANSWER, answers=((Line(TEXT, after_s=2.2, final=True),),))
    done = performed(
        SUBJECT, late, facts=needing(Forcing(), silence_after_force=False, keepalive_s=1.0)
    )
    force_ns = next(one.at_ns for one in done.visit.heard if b"Finalize" in one.payload)
    alive = [
        (one.at_ns - force_ns) / 1e9 for one in done.visit.heard if b"KeepAlive" in one.payload
    ]
    assert len(alive) == 2
    assert all(after >= nth for nth, after in enumerate(alive, 1))


def test_replies_are_said_as_soon_as_they_are_asked_for() -> None:
    class Answering(Deepgram):
        def __init__(self, options: Options, *, model: str) -> None:
            super().__init__(options, model=model)
            self.waiting: list[Message] = []

        def decode(self, message: Message, at_ns: int) -> Iterator[Event]:
            self.waiting = ['{"type": "KeepAlive"}']
            return super().decode(message, at_ns)

        def replies(self) -> list[Message]:
            said, self.waiting = self.waiting, []
            return said

    subject = replace(SUBJECT, model=Model(partial(Answering, model="nova-3"), "Nova"))
    done = performed(subject, ANSWER)
    said = [one for one in done.visit.said if b"Results" in one.payload]
    answered = [one for one in done.visit.heard if b"KeepAlive" in one.payload]
    assert len(answered) >= len(said) - 1 > 2
    assert done.reading.verdict is Verdict.FORCED_FINAL


def test_a_codec_is_told_what_time_it_is_before_it_opens() -> None:
    told: list[object] = []

    class Signing(Deepgram):
        def dated(self, wall_unix_s: float) -> None:
            told.append(wall_unix_s)

        def open(self, key: str) -> OpenRequest:
            told.append("open")
            return super().open(key)

    performed(replace(SUBJECT, model=Model(partial(Signing, model="nova-3"), "Nova")), ANSWER)
    first, second = told
    assert isinstance(first, float)
    assert 1.7e9 < first < 1.9e9
    assert second == "open"


def test_a_force_that_comes_too_soon_after_the_last_waits_and_says_so() -> None:
    def hurried(facts: Facts) -> Facts:
        rule = replace(facts.rule, endpoint=Endpoint.EVERY)
        return replace(facts, rule=rule, forcing=Forcing(min_gap_s=1.0))

    answers = tuple((Line(text, after_s=0.05, final=True),) for text in ("good", "day"))
    done = performed(SUBJECT, Script(answers=answers), facts=hurried, earlier=(FIRST_SPEECH,))
    forces = [one.at_ns for one in done.visit.heard if b"Finalize" in one.payload]
    assert (forces[1] - forces[0]) / 1e9 == 1.0
    (fields,) = logged(done, "force_waited")
    assert isinstance(fields, dict)
    assert fields["waited_ms"] == 540.0
    first, second = done.measurements
    assert first.reading.verdict is Verdict.FORCED_FINAL
    assert second.reading.verdict is Verdict.HARNESS_LATE  # no reading that anybody could compare
