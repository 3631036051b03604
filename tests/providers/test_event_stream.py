"""Amazon's event stream: published examples, and laws."""

from contextlib import suppress
from struct import pack
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.codec import ProviderError
from providers.event_stream import EventMessage, decoded, encoded

EMPTY = "000000100000000005c248eb7d98c8ff"
NO_HEADERS = "0000001d00000000fd528c5a7b27666f6f273a27626172277dc3653936"
"""Both are vectors of Amazon's own suite."""
NAMES = st.text(min_size=1, max_size=20).filter(lambda name: len(name.encode()) < 256)
HEADERS = st.dictionaries(NAMES, st.text(max_size=40), max_size=4)


def framed(headers: bytes, payload: bytes = b"") -> bytes:
    """A message with these bytes as headers, and checksums that are right."""
    lengths = pack(">II", len(headers) + len(payload) + 16, len(headers))
    whole = lengths + pack(">I", crc32(lengths)) + headers + payload
    return whole + pack(">I", crc32(whole))


@pytest.mark.parametrize(("wire", "payload"), [(EMPTY, b""), (NO_HEADERS, b"{'foo':'bar'}")])
def test_a_published_message_is_read_and_written(wire: str, payload: bytes) -> None:
    assert decoded(bytes.fromhex(wire)) == EventMessage({}, payload)
    assert encoded(EventMessage({}, payload)).hex() == wire


@given(HEADERS, st.binary(max_size=60))
def test_what_is_written_is_read_again(headers: dict[str, str], payload: bytes) -> None:
    message = EventMessage(headers, payload)
    assert decoded(encoded(message)) == message


@given(HEADERS, st.binary(max_size=30), st.data())
def test_a_changed_byte_is_noticed(
    headers: dict[str, str], payload: bytes, data: st.DataObject
) -> None:
    wire = bytearray(encoded(EventMessage(headers, payload)))
    wire[data.draw(st.integers(0, len(wire) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ProviderError):
        decoded(bytes(wire))


@given(st.binary(max_size=60))
def test_headers_of_nonsense_are_read_or_refused(headers: bytes) -> None:
    with suppress(ProviderError):
        assert decoded(framed(headers, b"x")).payload == b"x"


def test_values_of_all_kinds_are_passed_over() -> None:
    sizes = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
    headers = b"".join(b"\1x" + bytes([kind]) + bytes(size) for kind, size in sizes.items())
    headers += b"\1b\6\0\2ab" + b"\1t\7\0\2ab"
    assert decoded(framed(headers)).headers == {"t": "ab"}


@pytest.mark.parametrize("headers", [b"\1", b"\1x", b"\1x\7\0", b"\1x\7\0\5ab", b"\1x\x63"])
def test_headers_that_are_cut_off_are_refused(headers: bytes) -> None:
    with pytest.raises(ProviderError, match="headers"):
        decoded(framed(headers))
