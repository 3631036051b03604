"""Protobuf's wire format: published examples, laws, and nonsense."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.codec import ProviderError
from providers.protobuf import fields, flag_in, message, messages_in, text_in

NUMBERS = st.integers(1, 2**29 - 1)


@pytest.mark.parametrize(
    ("given_fields", "wire"),
    [
        (((1, 150),), "089601"),
        (((2, "testing"),), "120774657374696e67"),
        (((3, message((1, 150))),), "1a03089601"),
        (((4, "hello"), (6, b"\x03\x8e\x02\x9e\xa7\x05")), "220568656c6c6f3206038e029ea705"),
        (((1, -2),), "08feffffffffffffffff01"),
        (((2, True), (3, 0.5)), "10011d0000003f"),
    ],
)
def test_a_message_is_written_as_protobufs_own_page_shows_it(
    given_fields: tuple[tuple[int, int | str | bytes | float], ...], wire: str
) -> None:
    assert message(*given_fields).hex() == wire


@given(st.lists(st.tuples(NUMBERS, st.integers(0, 2**64 - 1) | st.binary(max_size=200))))
def test_what_is_written_is_read_again(values: list[tuple[int, int | bytes]]) -> None:
    expected: dict[int, list[int | bytes]] = {}
    for number, value in values:
        expected.setdefault(number, []).append(value)
    assert fields(message(*values)) == expected


def test_values_of_fixed_size_are_passed_over() -> None:
    assert fields(bytes.fromhex("0900000000000000001500000000" + "0801")) == {
        1: [bytes(8), 1],
        2: [bytes(4)],
    }


@given(st.binary(max_size=60))
def test_nonsense_is_read_or_refused(wire: bytes) -> None:
    with suppress(ProviderError):
        fields(wire)


@pytest.mark.parametrize(
    "wire", ["0a", "0a05", "08", "08ffffffffffffffffffff01", "0b", "0f", "00", "0100", "8000"]
)
def test_what_is_cut_off_or_unknown_is_refused(wire: str) -> None:
    with pytest.raises(ProviderError):
        fields(bytes.fromhex(wire))


def test_fields_are_read_by_their_types() -> None:
    found = fields(message((1, "a"), (1, "b"), (2, True), (3, message((1, "c")))))
    assert text_in(found, 1) == "b"
    assert flag_in(found, 2)
    assert [text_in(one, 1) for one in messages_in(found, 3)] == ["c"]
    assert (text_in(found, 9), flag_in(found, 9), messages_in(found, 9)) == ("", False, [])


@pytest.mark.parametrize("read", [text_in, messages_in])
def test_a_number_where_text_or_a_message_should_be_is_refused(read: object) -> None:
    assert callable(read)
    with pytest.raises(ProviderError, match="number"):
        read({1: [5]}, 1)


def test_other_wrong_types_are_refused() -> None:
    with pytest.raises(ProviderError, match="true or false"):
        flag_in({1: [b"yes"]}, 1)
    with pytest.raises(ProviderError, match="UTF-8"):
        text_in({1: [b"\xff"]}, 1)
