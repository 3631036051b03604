"""What all codecs share: JSON read with care, and refusals in the same few words."""

import pytest

from measure.faults import FaultKind, Whose
from providers.codec import ProviderError, fault_of_close, fault_of_status, parsed


@pytest.mark.parametrize(
    "message",
    ["", "[]", "7", '"x"', "{", b"\xff\xfe", '{"text": "\\ud800"}', b'{"text": "\\uDFFF x"}'],
)
def test_what_is_no_object_of_whole_characters_is_refused(message: str | bytes) -> None:
    with pytest.raises(ProviderError) as refused:
        parsed(message)
    assert refused.value.fault.kind is FaultKind.PROTOCOL


def test_a_whole_surrogate_pair_is_one_character() -> None:
    assert parsed('{"text": "\\ud83d\\ude00"}') == {"text": "\N{GRINNING FACE}"}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, FaultKind.AUTH),
        (402, FaultKind.QUOTA),
        (403, FaultKind.AUTH),
        (404, FaultKind.HANDSHAKE),
        (429, FaultKind.RATE),
        (500, FaultKind.SERVER),
        (504, FaultKind.TIMEOUT),
    ],
)
def test_a_status_says_which_fault_it_is(status: int, kind: FaultKind) -> None:
    fault = fault_of_status(status, {})
    assert (fault.whose, fault.kind) == (Whose.PROVIDER, kind)


def test_a_provider_may_ask_us_to_stay_away() -> None:
    assert fault_of_status(429, {"Retry-After": "17"}).retry_after_s == 17
    assert fault_of_status(429, {"Retry-After": "soon"}).retry_after_s is None


@pytest.mark.parametrize("code", [1000, 1001, 1005])
def test_an_ordinary_end_is_no_fault(code: int) -> None:
    assert fault_of_close(code, "") is None


@pytest.mark.parametrize(
    ("code", "whose", "kind"),
    [
        (None, Whose.NETWORK, FaultKind.CLOSED),
        (1006, Whose.NETWORK, FaultKind.CLOSED),
        (1008, Whose.PROVIDER, FaultKind.PROTOCOL),
        (1011, Whose.PROVIDER, FaultKind.SERVER),
        (4000, Whose.PROVIDER, FaultKind.SERVER),
    ],
)
def test_a_close_says_whose_fault_it_is(code: int | None, whose: Whose, kind: FaultKind) -> None:
    fault = fault_of_close(code, "why")
    assert fault is not None
    assert (fault.whose, fault.kind) == (whose, kind)
