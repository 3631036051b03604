"""The circumstances of a session: small stories, then two laws."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measure.events import (
    BytesUnsent,
    Connected,
    Event,
    FinishSent,
    ForceSent,
    FrameSent,
    HostStalled,
    LoopStalled,
    MessageReceived,
    NetworkSampled,
    SendStamped,
    Tick,
)
from measure.measurement import Circumstances, Measurement, Tally, rank, reference_of
from measure.records import MS, Endpoint, Flow
from tests.measure.stories import ACKED, final, finish, force, frame, partial, read, stories


def counted(*story: Event) -> Circumstances:
    """What is known once all of it has happened."""
    tally = Tally()
    for event in story:
        tally.feed(event)
    return tally.circumstances()


def late(*late_ns: int) -> list[FrameSent]:
    """Frames that left so much too late, one after the other."""
    return [frame(n * 20 * MS, n * 20.0, late_ns=ns) for n, ns in enumerate(late_ns, start=1)]


def measured(model: str) -> Measurement:
    return Measurement(
        session_id="s",
        run_id="r",
        model=model,
        corpus="files",
        clip="good-day",
        audio_ms=1000.0,
        flow=Flow.FORCED,
        reading=read(ACKED, []),
        circumstances=Circumstances(),
        started_wall_ns=0,
        wall_ns=0,
        signature="none",
    )


def test_of_an_empty_session_nothing_is_known() -> None:
    assert counted() == Circumstances()


def test_what_has_no_part_in_it_is_not_counted() -> None:
    assert counted(Tick(5)) == Circumstances()


def test_frames_are_counted() -> None:
    assert counted(*late(0, 0, 0)).frames == 3


def test_a_frame_is_late_when_it_is_later_than_one_frame() -> None:
    assert counted(*late(20 * MS, 20 * MS + 1, 0)).frames_late == 1


def test_the_latest_frame_is_the_maximum() -> None:
    assert counted(*late(5, 9, 7)).late_max_ns == 9


def test_a_frame_that_left_early_has_a_negative_lateness() -> None:
    assert counted(*late(-5)).late_max_ns == -5


def test_half_of_the_frames_are_no_later_than_the_median() -> None:
    assert counted(*late(4, 1, 3, 2)).late_p50_ns == 2


def test_of_a_hundred_frames_one_is_later_than_the_99th_percentile() -> None:
    assert counted(*late(*range(1, 101))).late_p99_ns == 99


def test_the_end_error_is_the_lateness_of_the_last_frame() -> None:
    assert counted(*late(5, 9, 7)).end_error_ns == 7


def test_the_place_up_to_which_audio_was_sent_is_that_of_the_last_frame() -> None:
    assert counted(*late(0, 0)).sent_ms == 40.0


def test_the_delay_of_the_force_counts_from_when_it_was_due() -> None:
    assert counted(force(late_ns=70)).force_delay_ns == 70


def test_without_force_it_has_no_delay() -> None:
    assert counted(*late(0)).force_delay_ns is None


def test_partials_are_counted() -> None:
    assert counted(partial(1, "go"), partial(2, "good"), final(3, "good")).partials == 2


def test_finals_are_counted() -> None:
    assert counted(partial(1, "go"), final(2, "good"), final(3, "")).finals == 2


def test_connecting_took_the_sum_of_its_parts() -> None:
    connected = Connected(9, 1, 20, 300, 4000, 50000, "127.0.0.1:443")
    assert counted(connected).connect_ns == 54321


def test_a_part_of_connecting_that_there_was_not_adds_nothing() -> None:
    connected = Connected(9, None, None, 300, None, 50000, "127.0.0.1:80")
    assert counted(connected).connect_ns == 50300


def test_the_last_sample_of_the_network_counts() -> None:
    known = counted(NetworkSampled(1, 11, 10, 0), NetworkSampled(2, 12, 10, 3))
    assert (known.rtt_ns, known.retransmits) == (12, 3)


def test_the_delay_of_the_farewell_is_that_of_the_force_in_the_close_flow() -> None:
    assert counted(finish(late_ns=70)).force_delay_ns == 70


def test_the_shortest_round_trip_is_the_last_that_was_known_and_the_smooth_one_that_at_zero() -> (
    None
):
    known = counted(NetworkSampled(1, 11, 10, 2), NetworkSampled(2, 99, 8, 3, over=True))
    assert (known.rtt_ns, known.min_rtt_ns, known.retransmits) == (11, 8, 3)
    assert counted(NetworkSampled(1, 11, 10, 2)).min_rtt_ns == 10


def test_what_had_not_left_at_zero_is_kept() -> None:
    assert counted(BytesUnsent(1, 641, 640)).unsent_bytes == 641


def test_a_message_without_a_kernel_stamp_is_counted_and_has_no_gap() -> None:
    known = counted(MessageReceived(1, "{}"), MessageReceived(2, "{}", 9), MessageReceived(3, "{}"))
    assert (known.user_stamps, known.read_gap_max_ns) == (2, 7)
    assert counted(MessageReceived(1, "{}")).read_gap_max_ns is None


def test_the_longest_gap_between_arrival_and_reading_is_kept() -> None:
    gaps = [MessageReceived(1, "{}", 6), MessageReceived(2, "{}", 11), MessageReceived(3, "{}", 4)]
    assert counted(*gaps).read_gap_max_ns == 9
    assert counted(MessageReceived(3, "{}", 3)).read_gap_max_ns == 0
    assert counted(MessageReceived(5, "{}", 3)).read_gap_max_ns == -2


def test_the_longest_stalls_are_kept_apart() -> None:
    stalls: list[Event] = [LoopStalled(1, 5), LoopStalled(2, 7), LoopStalled(3, 6)]
    stalls += [HostStalled(4, 4, 2), HostStalled(5, 4, 3), HostStalled(6, 4, 1)]
    known = counted(*stalls)
    assert (known.loop_stall_max_ns, known.host_stall_max_ns) == (7, 3)


@pytest.mark.parametrize("order", [force, finish])
def test_what_left_this_host_counts_from_when_the_socket_had_it(
    order: Callable[[int], Event],
) -> None:
    sent = [frame(100, 20.0), order(110), BytesUnsent(111, 0, 640), frame(150, 40.0)]
    known = counted(*sent, SendStamped(200, 103, 104, 117, 119))
    assert (known.audio_left_ns, known.force_left_ns, known.force_acked_ns) == (3, 7, 9)


def test_where_the_kernel_said_nothing_of_a_send_nothing_is_known() -> None:
    sent = [frame(100, 20.0), force(110), BytesUnsent(111, 0, 640)]
    known = counted(*sent, SendStamped(200, None, 104, None, None))
    assert (known.audio_left_ns, known.force_left_ns, known.force_acked_ns) == (None, None, None)


def test_without_zero_nothing_is_known_of_what_left() -> None:
    known = counted(frame(100, 20.0), SendStamped(200, 103, 104, 117, 119))
    assert (known.audio_left_ns, known.force_left_ns, known.force_acked_ns) == (None, None, None)


def test_the_reference_of_a_clip_is_not_that_of_one_of_its_turns() -> None:
    assert reference_of("good day", ACKED) == "good day"
    assert reference_of("good day", replace(ACKED, endpoint=Endpoint.EVERY)) is None
    assert reference_of(None, ACKED) is None


@pytest.mark.parametrize(("model", "provider"), [("a/b", "a"), ("a", "a"), ("a/b/c", "a")])
def test_the_provider_is_the_first_part_of_the_model(model: str, provider: str) -> None:
    assert measured(model).provider == provider


@pytest.mark.parametrize(
    ("share", "value"), [(0.0, 10), (0.25, 10), (0.26, 20), (0.5, 20), (0.99, 40), (1.0, 40)]
)
def test_a_rank_is_one_of_the_values(share: float, value: int) -> None:
    assert rank([10, 20, 30, 40], share) == value


def test_a_rank_is_exact_among_thousands() -> None:
    assert rank(list(range(1, 1001)), 0.99) == 990
    assert rank(list(range(1, 2001)), 0.99) == 1980


def test_of_nothing_there_is_no_rank() -> None:
    assert rank([], 0.5) is None


@given(st.lists(st.integers(-99, 99), min_size=1), st.integers(1, 1000))
def test_a_rank_is_the_smallest_value_that_its_share_does_not_exceed(
    values: list[int], thousandths: int
) -> None:
    ordered = sorted(values)
    found = rank(ordered, thousandths / 1000)
    enough = [
        value
        for value in ordered
        if sum(other <= value for other in ordered) * 1000 >= thousandths * len(ordered)
    ]
    assert found == enough[0]


@given(stories())
def test_the_latest_frame_is_the_one_that_the_stopwatch_saw_or_later(story: list[Event]) -> None:
    seen_ns = read(ACKED, story).late_max_ns
    latest_ns = counted(*story).late_max_ns
    assert seen_ns is None or (latest_ns is not None and latest_ns >= seen_ns)


@given(stories())
def test_the_force_that_counts_has_a_delay(story: list[Event]) -> None:
    delayed = counted(*story).force_delay_ns is not None
    assert delayed == any(isinstance(event, ForceSent | FinishSent) for event in story)
