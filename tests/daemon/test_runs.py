"""What a run of the daemon cost, and what it says of the provider."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.budget import cost_usd
from daemon.rounds import Outcome as RunOutcome
from daemon.runs import finished_record, outcome_of, sent_s, started_record
from daemon.schedule import Job
from daemon.session_records import finish_records
from measure.faults import Fault, FaultKind, Whose
from measure.measurement import Circumstances, Measurement
from measure.records import Flow, Reading, Verdict

JOB = Job("daily", "deepgram/nova-3", "calls")
REFUSED = Fault(Whose.PROVIDER, FaultKind.QUOTA, "enough")
OURS = Fault(Whose.HOST, FaultKind.HARNESS, "late")


def measured(
    session: str = "s1", *, sent_ms: float = 6000.0, fault: Fault | None = None, turn: int = 1
) -> Measurement:
    verdict = Verdict.FORCED_FINAL if fault is None else Verdict.PROVIDER_ERROR
    reading = Reading(1, verdict, None, None, None, None, None, None, "", (), fault)
    return Measurement(
        session,
        "r1",
        JOB.model,
        JOB.corpus,
        "a",
        5000.0,
        Flow.FORCED,
        reading,
        Circumstances(sent_ms=sent_ms),
        0,
        0,
        "",
        turn=turn,
    )


def test_of_a_lost_session_nobody_knows_what_it_cost() -> None:
    assert outcome_of([measured()], 5.0).whole
    assert not outcome_of([measured()], 5.0, lost=1).whole


def test_what_was_sent_is_what_it_cost() -> None:
    outcome = outcome_of([measured("a"), measured("b")], 5.0)
    assert outcome.cost_usd == pytest.approx(cost_usd(12, 5.0))
    assert outcome.answered
    assert outcome_of([measured()], None).cost_usd == 0


def test_the_turns_of_one_session_are_one_stream() -> None:
    turns = [measured("a", sent_ms=2000, turn=1), measured("a", sent_ms=5000, turn=2)]
    assert sent_s(turns) == 5


@pytest.mark.parametrize(
    ("faults", "answered", "left"),
    [
        ([None], True, []),
        ([REFUSED], False, [REFUSED]),
        ([None, REFUSED], False, [REFUSED]),
        ([REFUSED, None], True, []),
        ([OURS], False, []),
        ([None, OURS], True, []),
        ([], False, []),
    ],
)
def test_the_last_word_of_the_provider_counts(
    faults: Sequence[Fault | None], answered: bool, left: list[Fault]
) -> None:
    outcome = outcome_of([measured(str(n), fault=one) for n, one in enumerate(faults)], None)
    assert (outcome.answered, list(outcome.faults)) == (answered, left)


async def test_a_run_is_complete_where_all_of_it_began_and_none_was_lost() -> None:
    outcome = RunOutcome(measured=[measured("a"), measured("b", fault=REFUSED)])
    record = finished_record(JOB, "r1", 0, outcome)
    assert (record["sessions"], record["failures"], record["complete"]) == (2, 1, True)
    for incomplete in (RunOutcome(unmeasured=1), RunOutcome(lost=["s1"])):
        assert finished_record(JOB, "r1", 0, incomplete)["complete"] is False


async def test_both_ends_of_a_run_name_it_alike() -> None:
    both = [started_record(JOB, "r1", 6), finished_record(JOB, "r1", 0, RunOutcome())]
    for record in both:
        assert {record[name] for name in ("run_id", "schedule", "dataset")} == {
            "r1",
            "daily",
            "calls",
        }


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=5), st.none() | st.floats(0, 1e4))
def test_a_session_says_its_cost_once_however_many_turns_it_has(
    sent_ms: list[float], price: float | None
) -> None:
    turns = [measured(sent_ms=one, turn=nth) for nth, one in enumerate(sorted(sent_ms), start=1)]
    records = finish_records(turns, 7, price)
    assert [record["k"] for record in records] == [
        *["turn_finished"] * (len(turns) - 1),
        "session_finished",
    ]
    cost = None if price is None else pytest.approx(cost_usd(max(sent_ms) / 1000, price))
    assert [record["cost_usd"] for record in records] == [*[None] * (len(turns) - 1), cost]
