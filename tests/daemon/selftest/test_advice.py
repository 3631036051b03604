"""What to change on a host: said where it applies, and only there."""

from dataclasses import replace

import pytest

from daemon.selftest.advice import advice
from daemon.selftest.figures import Level
from daemon.selftest.host import Conditions, Fingerprint
from tests.daemon.selftest.levels import CALM, HOST, late, level


def test_nothing_is_said_where_nothing_stands_out() -> None:
    assert advice(HOST, CALM, [level()]) == ()


@pytest.mark.parametrize(
    ("host", "conditions", "figures", "word"),
    [
        (replace(HOST, scheduling="other"), CALM, level(), "rtprio"),
        (replace(HOST, stamps="user"), CALM, level(), "SO_TIMESTAMPNS"),
        (HOST, replace(CALM, exact_timer=False), level(), "timerfd"),
        (replace(HOST, cores=1), CALM, level(), "1 processor core"),
        (HOST, replace(CALM, governor="powersave"), level(), "governor powersave"),
        (HOST, replace(CALM, load_per_core=0.71), level(), "busy"),
        (HOST, CALM, level(sentinel=late(1.001)), "stands still"),
        (HOST, CALM, level(untold=1), "held up"),
    ],
)
def test_each_cause_has_its_remedy(
    host: Fingerprint, conditions: Conditions, figures: Level, word: str
) -> None:
    (said,) = advice(host, conditions, [figures])
    assert word in said


def test_a_host_that_does_not_say_is_not_blamed() -> None:
    assert advice(HOST, Conditions(True, None, None), []) == ()
    assert advice(HOST, replace(CALM, governor="performance"), [level(sentinel=late(1.0))]) == ()
