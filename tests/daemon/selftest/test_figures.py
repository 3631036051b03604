"""From sessions to figures: the error is what we showed minus what was true, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.selftest.codec import Said
from daemon.selftest.figures import (
    UNSURE_NS,
    Errors,
    Heard,
    Spread,
    error_spread_of,
    errors_of,
    level_of,
    rate_error_ppm,
    spread_of,
)
from measure.events import FrameSent
from measure.measurement import Circumstances, Measurement
from measure.records import MS, SECOND, Answer, Flow, Reading, Verdict

ZERO_NS = 10 * SECOND
FORCE_HEARD_NS = ZERO_NS - 20_000


def reading(
    final_ns: int | None, partial_ns: int | None, verdict: Verdict = Verdict.FORCED_FINAL
) -> Reading:
    """Of answers so long after zero."""
    final = None if final_ns is None else Answer("a b", ZERO_NS + final_ns)
    partial = None if partial_ns is None else Answer("a", ZERO_NS + partial_ns)
    return Reading(ZERO_NS, verdict, verdict, final, partial, partial, final, None, "a b")


def heard(
    partial_after_ns: int,
    final_after_ns: int,
    *,
    forced_ns: int | None = FORCE_HEARD_NS,
    left: str | None = "",
) -> list[Heard]:
    """What a server says that answers so long after it heard the force."""
    base_ns = FORCE_HEARD_NS
    said = [
        Said("partial", "x", None, base_ns - SECOND),
        Said("partial", "a", forced_ns, base_ns + partial_after_ns),
        Said("final", "a b", forced_ns, base_ns + final_after_ns),
    ]
    said += [] if left is None else [Said("sent", left, None, base_ns + SECOND)]
    return [Heard(0, 0, one) for one in said]


@given(st.integers(-5 * MS, 400 * MS), st.integers(-5 * MS, 400 * MS), st.integers(-9999, 9999))
def test_the_error_is_the_reading_minus_the_truth(
    partial_ns: int, final_ns: int, error_ns: int
) -> None:
    errors = errors_of(
        reading(final_ns + error_ns, partial_ns - error_ns), heard(partial_ns, final_ns)
    )
    assert errors == Errors(error_ns, -error_ns)


def test_without_a_first_partial_there_is_no_error_of_it() -> None:
    assert errors_of(reading(50, None), heard(10, 40)) == Errors(10, None)


@pytest.mark.parametrize(
    "told",
    [heard(10, 40, forced_ns=None), heard(10, 40, left=None), []],
    ids=["the force came at an unknown moment", "the last message is missing", "nothing came"],
)
def test_where_the_truth_is_not_known_there_is_no_error(told: list[Heard]) -> None:
    assert errors_of(reading(50, 20), told) == Errors()


def test_a_reading_that_does_not_count_has_no_error() -> None:
    assert errors_of(reading(50, 20, Verdict.HARNESS_LATE), heard(10, 40)) == Errors()


def test_a_server_that_was_held_up_in_its_send_does_not_know_the_truth() -> None:
    just = FORCE_HEARD_NS + 40 + UNSURE_NS
    assert errors_of(reading(50, 20), heard(10, 40, left=f"final={just}")) == Errors(10, 10)
    late = errors_of(reading(50, 20), heard(10, 40, left=f"final={just + 1}"))
    assert late == Errors(None, 10)


def test_fewer_than_a_hundred_have_no_p99() -> None:
    assert spread_of(range(1, 100)) == Spread(99, 50, None, 99)
    assert spread_of(range(1, 101)) == Spread(100, 50, 99, 100)
    assert spread_of(range(1, 201)).p99_ns == 198
    assert spread_of([]) == Spread()


def test_the_tail_is_the_p99_or_else_the_largest() -> None:
    assert spread_of(range(1, 100)).tail_ns == 99
    assert spread_of(range(1, 1001)).tail_ns == 990


def test_of_errors_the_sign_is_kept_beside_the_size() -> None:
    spread = error_spread_of([-30, -20, -10, 5, 7])
    assert (spread.bias_ns, spread.worst_ns) == (-10, -30)
    assert spread.size == Spread(5, 10, None, 30)


def frames(step_ms: float, count: int = 50) -> list[FrameSent]:
    return [FrameSent(round(i * step_ms * MS), i * 20 * MS, i * 20.0) for i in range(count)]


def test_the_rate_is_that_of_all_streams_together() -> None:
    assert rate_error_ppm([frames(20), frames(20)]) == 0
    assert rate_error_ppm([frames(20.002)]) == pytest.approx(-100, abs=0.1)
    assert rate_error_ppm([]) is None
    assert rate_error_ppm([frames(20, count=1)]) is None


def session(number: int, verdict: Verdict) -> Measurement:
    return Measurement(
        f"s{number}", "r", "m/m", "c", "c", 1000.0, Flow.FORCED, reading(50, 20, verdict),
        Circumstances(force_delay_ns=number), 0, 0, "",
    )  # fmt: skip


def test_sessions_without_a_reading_and_those_without_a_truth_are_counted_apart() -> None:
    verdicts = [Verdict.HARNESS_LATE] * 2 + [Verdict.CANCELLED] + [Verdict.FORCED_FINAL] * 4
    sessions = [session(number, verdict) for number, verdict in enumerate(verdicts)]
    level = level_of(7, sessions, [], Spread())
    assert (level.streams, level.sessions) == (7, 7)
    assert level.invalid == {"harness_late": 2, "cancelled": 1}
    assert level.invalid_count == 3
    assert level.untold == 4
    assert level.final_error.size.n == 0
    assert level.force_delay == Spread(7, 3, None, 6)
