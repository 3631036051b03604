"""Every way to end has one reason, out of a list that is closed."""

import pytest

from exporters.metric_table import OTHER, REASONS
from exporters.reasons import ours, reason
from measure.faults import FaultKind
from measure.records import ANSWERED, OUR_FAULT, Verdict


@pytest.mark.parametrize("verdict", Verdict)
@pytest.mark.parametrize("kind", [None, *FaultKind])
def test_every_verdict_with_every_fault_has_a_reason_or_an_answer(
    verdict: Verdict, kind: FaultKind | None
) -> None:
    fault = None if kind is None else {"whose": "provider", "kind": kind.value, "detail": "x"}
    why = reason(verdict.value, fault)
    assert (why is None) == (verdict in ANSWERED)
    assert why is None or (why in REASONS and why != OTHER)


@pytest.mark.parametrize(
    ("verdict", "kind", "why"),
    [
        ("forced_final", None, None),
        ("no_final", None, "no_final"),
        ("no_final", "server", "no_final"),
        ("harness_late", None, "harness_late"),
        ("provider_error", "auth", "auth"),
        ("provider_error", "rate", "rate"),
        ("provider_error", None, "server"),
        ("network_error", "tls", "tls"),
        ("network_error", None, "connect"),
        ("connection_lost", "closed", "closed"),
        ("connection_lost", None, "closed"),
        ("provider_error", "harness", "harness_error"),
        ("provider_error", "a kind from 2030", "other"),
        ("a verdict from 2030", None, "other"),
    ],
)
def test_the_reason_is_the_verdict_or_the_kind_of_the_fault(
    verdict: str, kind: str | None, why: str | None
) -> None:
    assert reason(verdict, None if kind is None else {"kind": kind}) == why


def test_what_is_our_fault_is_no_failure_of_the_provider() -> None:
    assert {verdict for verdict in Verdict if ours(verdict.value)} == OUR_FAULT
