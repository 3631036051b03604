"""Protobuf's wire format, as much as a few small messages need: no schema, no generated code.

    message((1, "text"), (2, True), (3, message(…)))  ──>  bytes
    fields(bytes)  ──>  {1: [b"text"], 2: [1], 3: [b"…"]}

Numbers of fields are those of the provider's .proto. Who writes says the type; who reads knows it.
"""

from struct import pack

from providers.families import no_sense

VARINT, FIXED64, SIZED, FIXED32 = 0, 1, 2, 5
"""How a value is written."""
LONGEST_VARINT = 10
Value = int | str | bytes | float
Fields = dict[int, list[int | bytes]]


def message(*given: tuple[int, Value]) -> bytes:
    """The message with these fields in their order; a message in it is its bytes."""
    return b"".join(_field(number, value) for number, value in given)


def _field(number: int, value: Value) -> bytes:
    match value:
        case int():
            return _varint(number << 3 | VARINT) + _varint(value)
        case float():
            return _varint(number << 3 | FIXED32) + pack("<f", value)
    raw = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | SIZED) + _varint(len(raw)) + raw


def _varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first; a negative one as 64 bits."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def fields(wire: bytes) -> Fields:
    """The values of each field, in their order. Raises ProviderError where this is no message."""
    found: Fields = {}
    at = 0
    while at < len(wire):
        tag, at = _read_varint(wire, at)
        number, kind = tag >> 3, tag & 7
        if number == 0:
            raise no_sense("a protobuf field without a number")
        value: int | bytes
        if kind == VARINT:
            value, at = _read_varint(wire, at)
        else:
            value, at = _read_bytes(wire, at, kind)
        found.setdefault(number, []).append(value)
    return found


def _read_varint(wire: bytes, at: int) -> tuple[int, int]:
    """A number, and where it ends."""
    value = 0
    for nth, byte in enumerate(wire[at : at + LONGEST_VARINT]):
        value |= (byte & 0x7F) << 7 * nth
        if byte < 0x80:
            return value, at + nth + 1
    raise no_sense("a protobuf number that does not end")


def _read_bytes(wire: bytes, at: int, kind: int) -> tuple[bytes, int]:
    """A value of so many bytes, and where it ends."""
    if kind == SIZED:
        size, at = _read_varint(wire, at)
    else:
        size = {FIXED64: 8, FIXED32: 4}.get(kind, -1)
    if size < 0 or at + size > len(wire):
        raise no_sense("a protobuf field that is cut off or of no known kind")
    return wire[at : at + size], at + size


def messages_in(found: Fields, number: int) -> list[Fields]:
    """The messages in this field. Raises ProviderError where it holds anything else."""
    return [fields(_sized(value)) for value in found.get(number, ())]


def text_in(found: Fields, number: int) -> str:
    """The text in this field, the last one where there are several; empty where it is not there."""
    try:
        return _sized(found.get(number, [b""])[-1]).decode()
    except UnicodeDecodeError as error:
        raise no_sense("a protobuf text that is not UTF-8") from error


def flag_in(found: Fields, number: int) -> bool:
    """Whether this field is true; false where it is not there."""
    value = found.get(number, [0])[-1]
    if not isinstance(value, int):
        raise no_sense("a protobuf field that should be true or false")
    return value != 0


def _sized(value: int | bytes) -> bytes:
    if not isinstance(value, bytes):
        raise no_sense("a protobuf number where text or a message should be")
    return value
