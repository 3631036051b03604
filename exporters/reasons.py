"""Why a session gave no usable result, as one word out of a closed list."""

from collections.abc import Mapping

from exporters.metric_table import OTHER, REASONS
from measure.faults import FaultKind
from measure.records import ANSWERED, OUR_FAULT, Verdict

_WITHOUT_FAULT: dict[str, str] = {
    Verdict.CONNECTION_LOST: FaultKind.CLOSED.value,
    Verdict.PROVIDER_ERROR: FaultKind.SERVER.value,
    Verdict.NETWORK_ERROR: FaultKind.CONNECT.value,
}


def reason(verdict: object, fault: object) -> str | None:
    """The reason of a ``session_finished`` record; None where the session has an answer.

    A verdict that says it all is the reason itself; where it only says whose fault it was, the
    fault's kind is. What is not known here is ``other``, so that the list stays closed.
    """
    word = str(verdict)
    if word in ANSWERED:
        return None
    if word not in _WITHOUT_FAULT:
        return word if word in REASONS else OTHER
    kind = fault.get("kind") if isinstance(fault, Mapping) else None
    if kind is None:
        return _WITHOUT_FAULT[word]
    if kind == FaultKind.HARNESS:
        return Verdict.HARNESS_ERROR.value
    return str(kind) if kind in REASONS else OTHER


def ours(verdict: object) -> bool:
    """The session says nothing about the provider: no success and no failure of it."""
    return verdict in OUR_FAULT
