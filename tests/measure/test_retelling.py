"""Telling a session again without most of its frames changes nothing at all."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measure.definitions.retelling import Retelling, Told, told_of
from measure.definitions.retelling import retold as retold_session
from measure.events import Event, FrameSent, SpeechEnd, SpeechStart, StreamClosed, Transcript
from measure.records import MS, SECOND, ForceAt, Remark, Rule, Verdict
from measure.replay import Recorded
from measure.stopwatch import Stopwatch
from measure.wire import FRAMES, FrameColumns, Record, Recorder, columns_of
from tests.measure.stories import (
    END_MS,
    FALLBACK,
    KNOWN_MS,
    MARKED,
    START_MS,
    ZERO,
    final,
    force,
    forced_final,
    frame,
    later,
    partial,
    rules,
    stories,
    told,
)


def recorded(story: Iterable[Event], frames_in_one_record: int = 50) -> list[Record]:
    records: list[Record] = []
    recorder = Recorder("s", records.append, frames_in_one_record)
    for event in story:
        recorder.note(event)
    recorder.flush()
    return records


def retold(rule: Rule, story: Iterable[Event], frames_in_one_record: int = 50) -> Retelling:
    return Retelling(rule, told_of(recorded(story, frames_in_one_record)))


def paced(last_ms: float, *, late_ns: dict[int, int] | None = None) -> list[FrameSent]:
    """Frames of 20 ms up to ``last_ms``; that one leaves at ZERO. Some are late."""
    count = int(last_ms // 20)
    late = late_ns or {}
    return [
        frame(ZERO - (count - n) * 20 * MS, n * 20.0, late_ns=late.get(n, 0))
        for n in range(1, count + 1)
    ]


class Counting(Stopwatch):
    """Counts what it is fed."""

    fed = 0

    def feed(self, event: Event) -> None:
        type(self).fed += 1
        super().feed(event)


SPEECH = (SpeechStart(0, START_MS, START_MS + 64), SpeechEnd(0, END_MS, KNOWN_MS))
STORY: list[Event] = [
    *SPEECH,
    *paced(1000),
    force(),
    *(frame(ZERO + n * 20 * MS, 1000 + n * 20.0, padding=True) for n in range(1, 20)),
    forced_final(ZERO + 400 * MS, "good day"),
]


def test_a_session_is_read_as_it_was() -> None:
    assert retold(MARKED, STORY).replayed().reading == told(MARKED, STORY).reading()


def test_most_frames_are_left_out(monkeypatch) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    monkeypatch.setattr("measure.definitions.retelling.Stopwatch", Counting)
    Counting.fed = 0
    retold(MARKED, STORY)
    assert Counting.fed < 12


def test_a_late_frame_is_seen_wherever_it_stands() -> None:
    for number in range(1, 51):
        story = [*SPEECH, *paced(1000, late_ns={number: 21 * MS, 3: MS}), force()]
        story.append(forced_final(ZERO + MS, "good day"))
        assert retold(MARKED, story).replayed().reading == told(MARKED, story).reading()


def test_where_there_is_no_force_the_frame_that_completes_the_endpoint_is_zero() -> None:
    story = [*SPEECH, *(replace(one, at_ns=one.at_ns - 9 * 20 * MS) for one in paced(1180))]
    assert (
        retold(FALLBACK, story, 100).watch.zero_ns
        == told(FALLBACK, story).zero_ns
        == ZERO - 18 * 20 * MS
    )


def test_the_frame_that_completes_a_place_is_found() -> None:
    replayed = retold(MARKED, STORY).replayed()
    assert replayed.sent_ns(881.0) == ZERO - 100 * MS
    assert replayed.first_sent_ns == ZERO - 980 * MS
    assert replayed.sent_ns(99_999.0) is None


def test_what_comes_after_the_watch_is_done_is_not_heard() -> None:
    story = [*STORY, partial(ZERO + 20 * SECOND, "again")]
    assert [said.text for said in retold(MARKED, story).replayed().said or ()] == ["good day"]


class Seeing(Stopwatch):
    """Notes which frames it is shown, and how often it is told something else."""

    frames_ms: ClassVar[list[float]] = []
    others: ClassVar[list[str]] = []

    def feed(self, event: Event) -> None:
        if isinstance(event, FrameSent):
            self.frames_ms.append(event.audio_ms)
        else:
            self.others.append(event.kind)
        super().feed(event)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Where the frames end that a stopwatch is shown."""
    monkeypatch.setattr("measure.definitions.retelling.Stopwatch", Seeing)
    Seeing.frames_ms.clear()
    Seeing.others.clear()
    return Seeing.frames_ms


def test_only_frames_with_which_something_happens_are_seen(seen: list[float]) -> None:
    retold(MARKED, STORY)
    assert seen == [20.0, 220.0, 900.0, 1000.0, 1020.0, 1380.0]
    assert Seeing.others == ["speech_start", "speech_end", "force_sent", "transcript"]


def test_until_the_endpoint_is_near_a_second_shows_nothing(seen: list[float]) -> None:
    far = [SpeechStart(0, START_MS, START_MS), SpeechEnd(0, 4900.0, 5000.0)]
    retold(MARKED, [*far, *paced(6000)])
    assert seen == [20.0, 220.0, 4900.0, 5000.0, 6000.0]
    seen.clear()
    retold(MARKED, [*far, *paced(6000, late_ns={60: 3 * MS, 130: 2 * MS, 170: 3 * MS + 1})])
    assert seen == [20.0, 220.0, 1200.0, 3400.0, 4900.0, 5000.0, 6000.0]


def test_late_frames_are_seen_and_from_then_on_how_far_time_has_come(seen: list[float]) -> None:
    far = [SpeechStart(0, START_MS, START_MS), SpeechEnd(0, 4900.0, 5000.0)]
    retold(MARKED, [*far, *paced(4000, late_ns={60: 20 * MS, 70: 20 * MS + 1, 80: 21 * MS})])
    assert seen == [20.0, 220.0, 1400.0, 1600.0, 2000.0, 3000.0, 4000.0]


def test_frames_at_whose_moments_the_watch_may_be_done_are_all_seen(seen: list[float]) -> None:
    answered = [*SPEECH, *paced(1000), force(), forced_final(ZERO + MS, "good day")]
    after = [frame(ZERO + n * FRAME, 1000 + n * 20.0) for n in range(1, 101)]
    watch = retold(MARKED, [*answered, *after]).watch
    assert seen == [20.0, 220.0, 900.0, 1000.0, *(1000 + n * 20.0 for n in range(1, 51))]
    assert watch.done


def test_the_frame_before_the_padding_is_seen(seen: list[float]) -> None:
    frames = [replace(one, padding=one.audio_ms > 500) for one in paced(800)]
    retold(MARKED, [*SPEECH, *frames])
    assert seen == [20.0, 220.0, 500.0, 520.0]


FAR = (SpeechStart(0, START_MS, START_MS), SpeechEnd(0, 4900.0, 5000.0))
"""Speech that ends long after what is told."""


def test_a_frame_as_late_as_is_allowed_is_not_late(seen: list[float]) -> None:
    retold(MARKED, [*FAR, *paced(3000, late_ns={60: 20 * MS})])
    assert seen == [20.0, 220.0, 1200.0]


def test_from_the_first_place_that_may_be_the_endpoint_the_last_frame_is_seen(
    seen: list[float],
) -> None:
    retold(MARKED, [*SPEECH, *paced(960)])
    assert seen == [20.0, 220.0, 900.0, 960.0]
    seen.clear()
    retold(MARKED, [*SPEECH, *paced(1180)], 100)
    assert seen == [20.0, 220.0, 900.0, 1000.0, 1180.0]


def test_after_zero_the_last_frame_is_seen_wherever_the_endpoint_is(seen: list[float]) -> None:
    more = [frame(ZERO + n * FRAME, 1000 + n * 20.0) for n in range(1, 51)]
    retold(MARKED, [*FAR, *paced(1000), force(), *more])
    assert seen == [20.0, 220.0, 2000.0]


def test_only_where_padding_begins_it_is_seen(seen: list[float]) -> None:
    more = [frame(ZERO + n * FRAME, 1000 + n * 20.0, padding=True) for n in range(1, 101)]
    retold(MARKED, [*SPEECH, *paced(1000), force(), *more])
    assert seen == [20.0, 220.0, 900.0, 1000.0, 1020.0, 2000.0, 3000.0]


def test_frames_behind_zero_are_seen_where_the_wait_may_end_among_them(seen: list[float]) -> None:
    hasty = replace(FALLBACK, grace_ns=100 * MS)
    retold(hasty, [*SPEECH, *paced(1400)], 100)
    assert seen == [20.0, 220.0, 900.0, 1000.0, *(1000 + n * 20.0 for n in range(1, 21))]


def test_frames_that_go_on_at_the_same_moment_or_place_are_paced(seen: list[float]) -> None:
    same_time = [frame(ZERO + n * FRAME, 1020 + n * 20.0) for n in range(50)]
    retold(MARKED, [*FAR, *paced(1000), *same_time])
    assert seen == [20.0, 220.0]
    seen.clear()
    same_place = [frame(ZERO + (n + 1) * FRAME, 1000 + n * 20.0) for n in range(50)]
    retold(MARKED, [*FAR, *paced(1000), *same_place])
    assert seen == [20.0, 220.0]


def test_records_whose_moments_do_not_begin_with_nothing_are_thinned_too(seen: list[float]) -> None:
    before = columns_of(recorded(paced(1000))[0])
    moments = [10 + n * FRAME for n in range(50)]
    after = FrameColumns(ZERO - 5, moments, moments, [1020 + n * 20.0 for n in range(50)], 0)
    Retelling(MARKED, [*FAR, before, after])
    assert seen == [20.0, 220.0]
    assert Seeing.others == ["speech_start", "speech_end"]


def test_time_that_goes_back_among_frames_is_told_of() -> None:
    frames = paced(400)
    for one, other in ((15, 16), (16, 15)):
        at_ns = frames[other].at_ns
        frames[one] = replace(paced(400)[one], at_ns=at_ns, due_ns=at_ns)
    frames[16] = replace(frames[16], at_ns=frames[14].at_ns - 1, due_ns=frames[14].at_ns - 1)
    with pytest.raises(ValueError, match="time went back"):
        retold(MARKED, [*SPEECH, *frames])


@pytest.mark.parametrize("batch", [20, 100])
def test_audio_that_goes_back_among_frames_is_seen(batch: int) -> None:
    """The words came when what had been sent last was from before the start of speech."""
    back = [frame(ZERO + n * FRAME, n * 20.0) for n in range(1, 21)]
    word = partial(ZERO + 4 * FRAME + 1, "good")
    more = [replace(one, audio_ms=one.audio_ms + 40) for one in back]
    story: list[Event] = [*FAR, *paced(400), *back[:2], *more[2:], word]
    assert told(MARKED, story).reading().remarks == (Remark.PHANTOM_PARTIAL,)
    assert retold(MARKED, story, batch).replayed().reading == told(MARKED, story).reading()


def test_where_speech_begins_has_to_be_known(seen: list[float]) -> None:
    retold(MARKED, paced(200))
    assert seen == [n * 20.0 for n in range(1, 11)]


def test_where_speech_begins_has_to_be_known_also_where_its_end_is() -> None:
    frames = paced(400)
    word = partial(frames[15].at_ns + 1, "good")
    story: list[Event] = [SPEECH[1], *frames, word, SpeechStart(ZERO, START_MS, START_MS + 64)]
    assert told(MARKED, story).reading().remarks == ()
    assert retold(MARKED, story).replayed().reading == told(MARKED, story).reading()


def test_where_a_live_detector_has_yet_to_tell_the_end_every_frame_is_seen() -> None:
    frames = [frame(ZERO + n * 10 * MS, KNOWN_MS + n * 20) for n in range(-4, 5)]
    story: list[Event] = [SPEECH[0], *frames, SpeechEnd(frames[-1].at_ns, END_MS, KNOWN_MS)]
    assert told(FALLBACK, story).reading().verdict is Verdict.HARNESS_LATE
    assert retold(FALLBACK, story).replayed().reading == told(FALLBACK, story).reading()


def test_the_very_first_frame_may_be_the_start_of_speech() -> None:
    frames = paced(400, late_ns={3: MS})
    word = partial(frames[1].at_ns - 1, "good")
    story = [SpeechStart(0, 0.0, 64.0), SPEECH[1], *frames, word]
    assert told(MARKED, story).reading().remarks == ()
    assert retold(MARKED, story).replayed().reading.remarks == ()


def test_only_the_first_start_and_the_first_end_of_speech_count() -> None:
    frames = paced(1000, late_ns={3: MS})
    word = partial(frames[11].at_ns + 1, "good")
    more = [SpeechStart(0, 700.0, 700.0), SpeechEnd(0, 400.0, 500.0)]
    story = [*SPEECH, *more, *frames, word, force(), forced_final(ZERO + MS, "good")]
    replayed = retold(MARKED, story).replayed()
    assert replayed.reading == told(MARKED, story).reading()
    assert replayed.reading.remarks == ()
    assert replayed.speech_end == SPEECH[1]
    natural = [*story[:-2], partial(ZERO + 9, "day")]
    assert retold(FALLBACK, natural).watch.zero_ns == ZERO


EMPTY: Record = {
    "k": FRAMES,
    "t": ZERO,
    "s": "s",
    "count": 0,
    "at_ns": b"",
    "due_ns": b"",
    "audio_ms": b"",
    "padding": b"",
}


def test_a_record_of_no_frames_says_nothing() -> None:
    records = recorded(STORY)
    story = [*records[:2], EMPTY, *records[2:], EMPTY]
    replayed = Retelling(MARKED, told_of(story)).replayed()
    assert replayed.reading == told(MARKED, STORY).reading()
    assert (replayed.first_sent_ns, replayed.sent_ns(5000.0)) == (ZERO - 980 * MS, None)


def test_a_session_is_told_under_the_rule_of_then_or_another_one() -> None:
    rule = {"flow": "forced", "final_rule": "marker"}
    session = Recorded({"k": "session_started", "s": "s", "rule": rule}, tuple(recorded(STORY)))
    assert retold_session(session)[0].reading.valid
    impatient = replace(MARKED, patience_ns=100 * MS)
    assert retold_session(session, impatient)[0].reading.verdict is Verdict.NO_FINAL


def test_what_comes_when_the_grace_is_over_is_heard() -> None:
    story = [*SPEECH, *paced(1000), partial(ZERO + FALLBACK.grace_ns + MS, "good")]
    assert [one.text for one in retold(FALLBACK, story).replayed().transcripts or ()] == ["good"]


def test_what_ends_the_watch_is_heard() -> None:
    hasty = replace(MARKED, settle_ns=0)
    replayed = retold(hasty, STORY).replayed()
    assert [one.text for one in replayed.transcripts or ()] == ["good day"]
    assert retold(hasty, STORY).watch.done


def test_nothing_is_shown_once_the_watch_is_done(seen: list[float]) -> None:
    closed = StreamClosed(ZERO + MS, 1000)
    after = [frame(ZERO + n * FRAME, 1000 + n * 20.0) for n in range(1, 11)]
    retelling = retold(
        MARKED, [*SPEECH, *paced(1000), force(), closed, *after, final(ZERO * 2, "")]
    )
    assert seen == [20.0, 220.0, 900.0, 1000.0]
    assert Seeing.others[-1] == "stream_closed"
    assert retelling.told == 4


def test_of_several_frames_the_first_may_have_gone_back() -> None:
    close = [frame(ZERO - SECOND + n, n * 20.0) for n in range(1, 21)]
    back = [frame(ZERO - SECOND + 15, 420.0), frame(ZERO, 440.0)]
    records = [*recorded([*SPEECH, *close]), *recorded(back)]
    with pytest.raises(ValueError, match="time went back"):
        Retelling(MARKED, told_of(records))


def test_frames_count_from_the_moment_of_their_record() -> None:
    frames = FrameColumns(ZERO - 100, [100, 100 + FRAME], [100, 100 + FRAME], [20.0, 40.0], 0)
    retelling = Retelling(MARKED, [*SPEECH, frames, partial(ZERO + FRAME, "good")])
    assert retelling.replayed().first_sent_ns == ZERO
    late = FrameColumns(ZERO - 100, [FRAME, FRAME], [FRAME, FRAME], [60.0, 80.0], 0)
    with pytest.raises(ValueError, match="time went back"):
        Retelling(MARKED, [*SPEECH, frames, late])


def dense(story: Sequence[Event]) -> list[Event]:
    """The same story with paced frames wherever there is time and place for them."""
    dense: list[Event] = []
    now_ns, sent_ms = 0, 0.0
    for event in story:
        if isinstance(event, FrameSent) and event.audio_ms >= sent_ms:
            span_ns, span_ms = event.at_ns - now_ns, event.audio_ms - sent_ms
            for n in range(1, 8):
                at_ns = now_ns + span_ns * n // 8
                late_ns = (event.at_ns - event.due_ns) * (n % 3) // 2
                dense.append(
                    replace(
                        event,
                        at_ns=at_ns,
                        due_ns=at_ns - late_ns,
                        audio_ms=sent_ms + span_ms * n / 8,
                        padding=event.padding and n > 3,
                    )
                )
            sent_ms = event.audio_ms
        now_ns = max(now_ns, event.at_ns)
        dense.append(event)
    return dense


def outcome(rule: Rule, story: Iterable[Event]) -> object:
    """The reading, or what is wrong with the story."""
    try:
        return told(rule, story).reading()
    except ValueError as error:
        return str(error).partition(" at ")[0].partition(" ns")[0].rstrip("0123456789")


def retold_outcome(rule: Rule, story: Iterable[Event], batch: int) -> object:
    try:
        return retold(rule, story, batch).replayed().reading
    except ValueError as error:
        return str(error).partition(" at ")[0].partition(" ns")[0].rstrip("0123456789")


@given(rules, stories(), st.sampled_from([1, 2, 5, 50]), st.randoms(use_true_random=False))
def test_of_a_story_out_of_order_the_same_is_said(
    rule: Rule, story: list[Event], batch: int, chance: Random
) -> None:
    shuffled = dense(story)
    if len(shuffled) > 1:
        first, second = sorted(chance.sample(range(len(shuffled)), 2))
        shuffled[first], shuffled[second] = shuffled[second], shuffled[first]
    assert retold_outcome(rule, shuffled, batch) == outcome(rule, shuffled)


@given(rules, stories(), st.sampled_from([1, 2, 5, 50]))
def test_any_story_is_read_as_the_stopwatch_reads_it(
    rule: Rule, story: list[Event], batch: int
) -> None:
    for whole in (story, dense(story)):
        watch, retelling = told(rule, whole), retold(rule, whole, batch)
        assert retelling.replayed().reading == watch.reading()
        assert retelling.watch.done == watch.done
        assert retelling.watch.deadline_ns == watch.deadline_ns


@given(stories())
def test_frames_are_the_same_in_columns(story: list[Event]) -> None:
    frames = [event for event in story if isinstance(event, FrameSent)]
    batches: list[Told] = [columns_of(one) for one in recorded(frames) if one["k"] == FRAMES]
    again = [
        batch.frame(index)
        for batch in batches
        if isinstance(batch, FrameColumns)
        for index in range(len(batch))
    ]
    assert again == frames


FRAME = 20 * MS
BASE = 200 * SECOND
places = st.integers(0, 90).map(lambda number: number * 20.0)
near = st.sampled_from([-1, 0, 1])


@st.composite
def sessions(draw: st.DrawFn) -> tuple[Rule, list[Event]]:
    """Paced frames with words among them; all that could tip over lies on a frame or beside it."""
    rule = replace(
        draw(st.sampled_from([MARKED, FALLBACK])),
        force_at=draw(st.sampled_from(ForceAt)),
        grace_ns=draw(st.integers(1, 20)) * FRAME + draw(near),
        patience_ns=draw(st.integers(1, 40)) * FRAME + draw(near),
        settle_ns=draw(st.integers(0, 5)) * FRAME,
        confirm_ns=draw(st.integers(0, 9)) * FRAME + draw(near),
    )
    start_ms, end_ms, wait_ms = (
        draw(places),
        draw(places),
        draw(st.sampled_from([0.0, 40.0, 130.0])),
    )
    late = draw(
        st.dictionaries(st.integers(1, 100), st.sampled_from([FRAME, FRAME + 1]), max_size=2)
    )
    padded = draw(st.integers(1, 100))
    detected: list[Event] = [
        SpeechStart(BASE, start_ms, start_ms),
        SpeechEnd(BASE, end_ms, end_ms + wait_ms),
    ]
    frames: list[Event] = [
        frame(BASE + n * FRAME, n * 20.0, late_ns=late.get(n, 0), padding=n >= padded)
        for n in range(1, 101)
    ]
    told: list[tuple[float, Event]] = [(n + 1.0, one) for n, one in enumerate(frames)]
    if draw(st.integers(0, 4)):
        told += [(0.0, one) for one in detected]
    else:  # heard live: frames have left before anything is known
        moments = sorted(draw(st.tuples(st.integers(1, 99), st.integers(1, 99))))
        told += [
            (n + 0.1, replace(one, at_ns=BASE + n * FRAME))
            for n, one in zip(moments, detected, strict=True)
        ]
    forced_at = draw(st.integers(1, 99))
    told.append((forced_at + 0.2, force(BASE + forced_at * FRAME)))
    heard_ns = 0
    for n in sorted(draw(st.lists(st.integers(1, 100), max_size=4))):
        back_ns = draw(st.sampled_from([0, 0, 1, FRAME, FRAME + 1, 3 * FRAME]))
        heard_ns = max(heard_ns, BASE + n * FRAME + 1 - back_ns)
        final_text = draw(st.booleans())
        word = forced_final(heard_ns, "day") if final_text else partial(heard_ns, f"good {n}")
        told.append((n + 0.3, word))
    return rule, [event for _, event in sorted(told, key=lambda one: one[0])]


@settings(max_examples=3 * settings().max_examples)
@given(sessions(), st.sampled_from([1, 3, 7, 50, 100]))
def test_a_paced_session_is_read_as_the_stopwatch_reads_it(
    session: tuple[Rule, list[Event]], batch: int
) -> None:
    rule, story = session
    watch, retelling = told(rule, story), retold(rule, story, batch)
    assert retelling.replayed().reading == watch.reading()
    assert retelling.watch.done == watch.done
    assert retelling.watch.deadline_ns == watch.deadline_ns


def heard_in_time(rule: Rule, story: list[Event]) -> list[str]:
    """What came until the watch was done, one event after the other."""
    watch, texts = Stopwatch(rule), []
    now_ns = -1
    for event in story:
        deadline_ns = watch.deadline_ns
        now_ns = max(now_ns, event.at_ns)
        was_done = watch.done
        watch.feed(event)
        late = watch.done and deadline_ns is not None and now_ns >= deadline_ns
        if isinstance(event, Transcript) and not was_done and not late:
            texts.append(event.text)
    return texts


@given(sessions(), st.sampled_from([1, 7, 100]))
def test_what_is_heard_is_what_came_until_the_watch_was_done(
    session: tuple[Rule, list[Event]], batch: int
) -> None:
    rule, story = session
    said = retold(rule, story, batch).replayed().transcripts or ()
    assert [one.text for one in said] == heard_in_time(rule, story)


def test_time_that_goes_back_behind_a_frame_that_was_left_out_is_told() -> None:
    close = [replace(one, at_ns=ZERO - SECOND + n) for n, one in enumerate(paced(400))]
    for late in (force(ZERO - SECOND + 15), frame(ZERO - SECOND + 15, 420.0)):
        with pytest.raises(ValueError, match="time went back"):
            retold(MARKED, [*SPEECH, *close, late], len(close))


def test_frames_out_of_order_are_told_of() -> None:
    frames = paced(400)
    frames[15], frames[16] = frames[16], frames[15]
    with pytest.raises(ValueError, match="time went back"):
        retold(MARKED, [*SPEECH, *frames])


def test_audio_that_goes_back_is_seen_frame_by_frame() -> None:
    again = later(paced(180), SECOND)
    for frames in ([*paced(1000), *again], again):
        word = partial(frames[-1].at_ns + 1 - 5 * FRAME, "good")
        for batch in (len(again), 50, 100):
            story = [*SPEECH, *frames, word, force(ZERO + 2 * SECOND)]
            assert retold(MARKED, story, batch).replayed().reading == told(MARKED, story).reading()


def test_words_are_placed_among_frames_from_before_the_start_of_speech_was_known() -> None:
    word = partial(ZERO - 20 * FRAME + 1, "good")
    story = [*paced(1000), word, SpeechStart(ZERO, 590.0, 590.0), SPEECH[1], force()]
    story[-2] = replace(SPEECH[1], at_ns=ZERO)
    reading = told(MARKED, story).reading()
    assert Remark.PHANTOM_PARTIAL not in reading.remarks
    assert retold(MARKED, story).replayed().reading == reading


def test_a_late_frame_is_forgotten_after_a_second_without_zero() -> None:
    frames = [frame(ZERO + n * FRAME, n * 5.0, late_ns=(n == 3) * 21 * MS) for n in range(1, 101)]
    story = [*SPEECH, *frames]
    reading = told(MARKED, story).reading()
    assert reading.verdict is Verdict.NO_FINAL
    for batch in (1, 7, 100):
        assert retold(MARKED, story, batch).replayed().reading == reading


def test_a_transcript_at_the_deadline_is_not_heard() -> None:
    story = [*STORY[:-1], final(ZERO + MARKED.patience_ns, "good day")]
    assert retold(MARKED, story).replayed().transcripts == []
