"""No run begins that would cost more than may be spent, and no restart forgets what was."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.budget import Allowance, Ledger, LedgerError, cost_usd, ledger_of
from measure.records import SECOND

NONE = Allowance()


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * SECOND


NOON = at("2026-11-30T12:00:00")


def test_a_run_that_would_exceed_the_day_is_not_allowed() -> None:
    ledger = Ledger()
    ledger.spend("deepgram", 0.95, NOON)
    own = Allowance(day_usd=1.0)
    assert ledger.overrun("deepgram", 0.05, NOON, own=own, overall=NONE) is None
    overrun = ledger.overrun("deepgram", 0.06, NOON, own=own, overall=NONE)
    assert overrun is not None
    assert str(overrun) == (
        "deepgram: $0.9500 of $1.00 are spent this day, and the next run would cost $0.0600"
    )


def test_the_next_day_begins_at_midnight_utc_and_the_month_goes_on() -> None:
    ledger = Ledger()
    ledger.spend("deepgram", 1.0, at("2026-11-29T23:59:59"))
    own = Allowance(day_usd=1.0, month_usd=1.5)
    assert ledger.overrun("deepgram", 0.5, NOON, own=own, overall=NONE) is None
    overrun = ledger.overrun("deepgram", 0.6, NOON, own=own, overall=NONE)
    assert overrun is not None
    assert overrun.period == "month"
    december = at("2026-12-01T00:00:00")
    assert ledger.overrun("deepgram", 0.6, december, own=own, overall=NONE) is None


def test_all_providers_together_have_a_budget_of_their_own() -> None:
    ledger = Ledger()
    ledger.spend("deepgram", 3.0, NOON)
    overrun = ledger.overrun("gladia", 2.5, NOON, own=NONE, overall=Allowance(month_usd=5.0))
    assert overrun is not None
    assert overrun.who == "all providers"
    assert ledger.spent_usd("gladia", "day", NOON) == 0


def test_what_was_set_aside_is_replaced_by_what_it_cost() -> None:
    ledger = Ledger()
    ledger.spend("deepgram", 0.10, NOON)
    ledger.spend("deepgram", 0.07 - 0.10, NOON)
    assert ledger.spent_usd("deepgram", "day", NOON) == pytest.approx(0.07)


SPENDINGS = st.lists(
    st.tuples(
        st.sampled_from(["deepgram", "gladia"]),
        st.integers(0, 10**6).map(lambda micro: micro / 1e6),
        st.integers(0, 40 * 86_400).map(lambda s: NOON + s * SECOND),
    ),
    max_size=40,
)


@given(SPENDINGS)
def test_a_restart_forgets_nothing(spendings: list[tuple[str, float, int]]) -> None:
    ledger = Ledger()
    for provider, usd, wall_ns in spendings:
        ledger.spend(provider, usd, wall_ns)
    again = ledger_of(json.loads(json.dumps(ledger.plain())))
    assert again == ledger


@given(SPENDINGS, st.floats(0, 2))
def test_what_is_allowed_never_ends_above_the_limit(
    spendings: list[tuple[str, float, int]], limit_usd: float
) -> None:
    ledger, overall = Ledger(), Allowance(day_usd=limit_usd)
    for provider, usd, wall_ns in spendings:
        if ledger.overrun(provider, usd, wall_ns, own=NONE, overall=overall) is None:
            ledger.spend(provider, usd, wall_ns)
        assert ledger.spent_usd(None, "day", wall_ns) <= limit_usd + 1e-6


def test_months_of_days_are_forgotten_and_the_newest_kept() -> None:
    ledger = Ledger()
    for day in range(200):
        ledger.spend("deepgram", 1.0, NOON + day * 86_400 * SECOND)
    assert len(json.dumps(ledger.plain())) < 3000
    assert ledger.spent_usd("deepgram", "day", NOON + 199 * 86_400 * SECOND) == 1.0


@pytest.mark.parametrize(
    "plain",
    [
        None,
        [],
        {"version": 2},
        {"version": 1},
        {"version": 1, "spent_micro_usd": {"yesterday": {}}},
        {"version": 1, "spent_micro_usd": {"2026-11-30": 7}},
        {"version": 1, "spent_micro_usd": {"2026-11-30": {"deepgram": 0.5}}},
    ],
)
def test_what_is_no_ledger_is_refused(plain: object) -> None:
    with pytest.raises(LedgerError):
        ledger_of(plain)


def test_a_thousand_minutes_cost_their_price() -> None:
    assert cost_usd(60_000, 4.3) == pytest.approx(4.3)
