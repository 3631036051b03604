"""Small stories on the points where a reading tips over, each for a fault that could be planted."""

import pytest

from measure.events import Event, ForceAcknowledged, StreamClosed, StreamDone
from measure.records import Rule, Verdict
from tests.measure.stories import (
    ACKED,
    FALLBACK,
    MARKED,
    ZERO,
    final,
    forced,
    forced_final,
    read,
    spoken,
)


@pytest.mark.parametrize("end", [StreamDone(ZERO + 9), StreamClosed(ZERO + 9, 1000)])
def test_where_nothing_is_asked_for_nothing_is_confirmed(end: StreamDone | StreamClosed) -> None:
    story = [*spoken(), final(ZERO + 1, "good"), end]
    assert read(FALLBACK, story).confirmed_ns is None
    assert read(FALLBACK, [*spoken(), end]).confirmed_ns is None


@pytest.mark.parametrize("code", [1000, None])
@pytest.mark.parametrize(
    ("rule", "confirmation"),
    [(MARKED, forced_final(ZERO + 1, "")), (ACKED, ForceAcknowledged(ZERO + 1))],
)
def test_a_stream_that_ends_after_a_confirmation_alone_is_lost(
    rule: Rule, confirmation: Event, code: int | None
) -> None:
    reading = read(rule, [*forced(), confirmation, StreamClosed(ZERO + 2, code)])
    assert (reading.verdict, reading.confirmed_ns) == (Verdict.CONNECTION_LOST, ZERO + 1)
