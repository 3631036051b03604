"""A provider's own names of what went wrong are data, and lead to the words that all share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measure.faults import FaultKind, Whose
from providers.errors import ErrorMap, one_line

OWN = ErrorMap(
    names={"bad_key": FaultKind.AUTH, "4040": FaultKind.QUOTA},
    closes={4001: FaultKind.AUTH, 1008: FaultKind.QUOTA},
    otherwise=FaultKind.PROTOCOL,
)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("bad_key", FaultKind.AUTH),
        (4040, FaultKind.QUOTA),
        ("4040", FaultKind.QUOTA),
        (401, FaultKind.AUTH),
        ("429", FaultKind.RATE),
        (400, FaultKind.PROTOCOL),
        (503, FaultKind.SERVER),
        (200, FaultKind.PROTOCOL),
        (1000, FaultKind.PROTOCOL),
        ("unheard-of", FaultKind.PROTOCOL),
        (None, FaultKind.PROTOCOL),
        (True, FaultKind.PROTOCOL),
        (["bad_key"], FaultKind.PROTOCOL),
    ],
)
def test_a_code_is_one_of_its_own_a_status_or_unknown(code: object, kind: FaultKind) -> None:
    assert OWN.error(code).fault.kind is kind


def test_without_a_word_for_it_an_error_is_the_servers() -> None:
    assert ErrorMap().error("unheard-of").fault.kind is FaultKind.SERVER


def test_code_and_words_are_kept_in_one_line() -> None:
    fault = OWN.error("bad_key", " no\nsuch  key ", retry_after_s=3.0).fault
    assert fault.detail == "bad_key no such key"
    assert fault.retry_after_s == 3.0
    assert OWN.error(None, {"not": "text"}).fault.detail == ""


@given(code=st.none() | st.text() | st.integers() | st.booleans(), said=st.text())
def test_whatever_a_provider_says_makes_one_short_line(code: object, said: str) -> None:
    detail = OWN.error(code, said).fault.detail
    assert len(detail) <= 200
    assert len(detail.splitlines()) <= 1


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (4001, "", FaultKind.AUTH),
        (1008, "", FaultKind.QUOTA),
        (1000, "bad_key given", FaultKind.AUTH),
        (1011, "", FaultKind.SERVER),
        (4999, "", FaultKind.SERVER),
        (1000, "", None),
    ],
)
def test_a_close_is_told_by_its_reason_then_its_code(
    code: int, reason: str, kind: FaultKind | None
) -> None:
    fault = OWN.closed(code, reason)
    assert (fault and fault.kind) == kind
    assert fault is None or fault.whose is Whose.PROVIDER


def test_a_connection_that_breaks_off_is_the_networks() -> None:
    fault = OWN.closed(None, "")
    assert fault is not None
    assert (fault.whose, fault.kind) == (Whose.NETWORK, FaultKind.CLOSED)


def test_only_text_makes_a_line() -> None:
    assert one_line(None) == one_line(7) == ""
    assert one_line("a\u2028b\tc") == "a b c"
