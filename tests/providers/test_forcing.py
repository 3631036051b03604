"""What a force needs around it, decided from how much was sent and when."""

from hypothesis import given
from hypothesis import strategies as st

from measure.records import SECOND
from providers.facts import Forcing
from providers.forcing import Forcer


def test_without_needs_a_force_is_said_where_it_becomes_due() -> None:
    forcer = Forcer(Forcing())
    assert forcer.may_begin(5, 5)
    assert forcer.begin(1000.0) == 1000.0
    assert forcer.owes(1000.0)


def test_silence_fills_up_what_was_not_sent_since_the_last_force() -> None:
    forcer = Forcer(Forcing(min_buffered_ms=300))
    assert forcer.begin(100.0) == 300.0
    assert not forcer.owes(280.0)
    assert forcer.owes(300.0)
    forcer.said(300.0, 0)
    assert forcer.begin(500.0) == 600.0


def test_the_longer_of_both_silences_counts() -> None:
    forcer = Forcer(Forcing(min_buffered_ms=300, silence_before_ms=100))
    assert forcer.begin(280.0) == 380.0
    assert Forcer(Forcing(min_buffered_ms=300, silence_before_ms=100)).begin(50.0) == 300.0


def test_a_force_that_comes_too_early_waits() -> None:
    forcer = Forcer(Forcing(min_gap_s=2.0))
    assert forcer.may_begin(0, 0)
    forcer.begin(20.0)
    forcer.said(20.0, 0)
    assert not forcer.may_begin(1 * SECOND, 1 * SECOND)
    assert not forcer.may_begin(2 * SECOND - 1, 2 * SECOND - 1)
    assert forcer.may_begin(2 * SECOND, 2 * SECOND)
    assert (forcer.due_ns, forcer.waited) == (SECOND, True)
    forcer.said(40.0, 2 * SECOND)
    assert (forcer.due_ns, forcer.waited, forcer.count) == (None, False, 2)


def test_silence_behind_a_force_ends_where_the_provider_wants_no_more() -> None:
    forcer = Forcer(Forcing(silence_after_ms=200))
    assert forcer.wants_silence(10_000.0)  # nothing was forced yet
    forcer.said(1000.0, 0)
    assert forcer.wants_silence(1199.0)
    assert not forcer.wants_silence(1200.0)


@given(
    needs=st.builds(Forcing, st.integers(0, 2000), st.integers(0, 2000)),
    sent_ms=st.floats(0, 1e6),
)
def test_a_force_is_never_said_with_too_little(needs: Forcing, sent_ms: float) -> None:
    at_ms = Forcer(needs).begin(sent_ms)
    assert at_ms >= sent_ms + needs.silence_before_ms
    assert at_ms >= needs.min_buffered_ms
