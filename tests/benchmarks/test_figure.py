"""The verdicts: a ratio against another, a value of its own, met or not or not to be told."""

from benchmarks.clients import ABSOLUTE, OURS, C
from benchmarks.figure import Figure, Target, verdicts


def judged(target: Target, **values: float) -> tuple[float | None, bool | None]:
    names = {"ours": OURS, "c": C, "absolute": ABSOLUTE}
    figure = Figure("lateness", "µs", {names[n]: v for n, v in values.items()}, (target,))
    (verdict,) = verdicts(figure)
    return verdict.measured, verdict.met


def test_a_ratio_at_its_limit_is_met() -> None:
    assert judged(Target(2.0, C), ours=100, c=50) == (2.0, True)


def test_a_ratio_over_its_limit_is_missed() -> None:
    assert judged(Target(2.0, C), ours=101, c=50) == (2.02, False)


def test_a_ratio_that_must_be_large_is_met_at_its_limit_and_above() -> None:
    assert judged(Target(1.6, ABSOLUTE, at_least=True), ours=800, absolute=500) == (1.6, True)
    assert judged(Target(1.6, ABSOLUTE, at_least=True), ours=799, absolute=500) == (1.598, False)


def test_a_value_of_its_own_needs_nobody_else() -> None:
    assert judged(Target(20.0), ours=20.0) == (20.0, True)
    assert judged(Target(20.0), ours=20.1) == (20.1, False)
    assert judged(Target(300.0, at_least=True), ours=299.0) == (299.0, False)


def test_without_the_other_one_nothing_is_claimed() -> None:
    assert judged(Target(2.0, C), ours=1) == (None, None)
    assert judged(Target(1.6, ABSOLUTE, at_least=True), ours=800, absolute=0) == (None, None)


def test_without_ours_nothing_is_claimed() -> None:
    assert judged(Target(2.0, C), c=1) == (None, None)
    assert judged(Target(20.0)) == (None, None)


def test_each_target_has_its_own_verdict() -> None:
    figure = Figure("p", "µs", {OURS: 90.0, ABSOLUTE: 1000.0}, (Target(0.1, ABSOLUTE), Target(50)))
    assert [verdict.word for verdict in verdicts(figure)] == ["met", "MISSED"]
    assert [str(verdict.target) for verdict in verdicts(figure)] == [
        "≤ 0.1 x asyncio absolute",
        "≤ 50",
    ]
