"""The six ways in which a provider fails, each from the HTTP status or the Close that says so."""

import pytest

from measure.faults import FaultKind, Whose
from providers.codec import fault_of_close, fault_of_status

KINDS = {
    FaultKind.AUTH: ([401, 403], [3000, 3003]),
    FaultKind.QUOTA: ([402], []),
    FaultKind.RATE: ([429], [1013]),
    FaultKind.PROTOCOL: ([], [1002, 1003, 1007, 1008, 1009]),
    FaultKind.SERVER: ([500, 502, 503], [1011, 1012, 1014, 4000]),
    FaultKind.TIMEOUT: ([408, 504], [3008]),
}
"""Each kind, the statuses and the codes that mean it."""


@pytest.mark.parametrize("kind", KINDS)
def test_each_way_of_failing_is_told_by_a_status_or_a_close(kind: FaultKind) -> None:
    statuses, codes = KINDS[kind]
    faults = [fault_of_status(status, {}) for status in statuses]
    faults += [fault for code in codes if (fault := fault_of_close(code, "why")) is not None]
    assert len(faults) == len(statuses) + len(codes) > 0
    assert {(fault.whose, fault.kind) for fault in faults} == {(Whose.PROVIDER, kind)}


def test_what_a_provider_says_of_it_is_kept() -> None:
    assert fault_of_status(429, {}, "slow down").detail == "HTTP 429, slow down"
    fault = fault_of_close(1013, "busy")
    assert fault is not None
    assert fault.detail == "Close 1013, busy"
