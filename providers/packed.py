"""MessagePack, as much of it as one provider speaks: maps of texts, numbers, lists and bytes.

Pure and small, because nothing in this room may depend on a package. Extension types are refused.
"""

from array import array
from collections.abc import Callable, Mapping
from struct import Struct, error, pack
from sys import byteorder
from typing import Any

from providers.families import no_sense

DEEPEST = 16
"""A message with more layers is refused."""
_FLOAT32 = b"\xca"
_NUMBERS = {
    0xCA: Struct(">f"),
    0xCB: Struct(">d"),
    0xCC: Struct(">B"),
    0xCD: Struct(">H"),
    0xCE: Struct(">I"),
    0xCF: Struct(">Q"),
    0xD0: Struct(">b"),
    0xD1: Struct(">h"),
    0xD2: Struct(">i"),
    0xD3: Struct(">q"),
}
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}
_BYTES, _TEXT, _LIST, _MAP = "bytes", "text", "list", "map"
_SIZED = {
    0xC4: (_BYTES, _NUMBERS[0xCC]),
    0xC5: (_BYTES, _NUMBERS[0xCD]),
    0xC6: (_BYTES, _NUMBERS[0xCE]),
    0xD9: (_TEXT, _NUMBERS[0xCC]),
    0xDA: (_TEXT, _NUMBERS[0xCD]),
    0xDB: (_TEXT, _NUMBERS[0xCE]),
    0xDC: (_LIST, _NUMBERS[0xCD]),
    0xDD: (_LIST, _NUMBERS[0xCE]),
    0xDE: (_MAP, _NUMBERS[0xCD]),
    0xDF: (_MAP, _NUMBERS[0xCE]),
}
"""What follows is of this kind, and as many as this number says."""


def packed(said: Mapping[str, bytes | str | int]) -> bytes:
    """A small map. Values that are bytes are packed already."""
    parts = [bytes([0x80 | len(said)])]
    for name, value in said.items():
        parts += [_packed_text(name), value if isinstance(value, bytes) else _packed(value)]
    return b"".join(parts)


def _packed(value: str | int) -> bytes:
    return _packed_text(value) if isinstance(value, str) else pack(">Bq", 0xD3, value)


def _packed_text(text: str) -> bytes:
    raw = text.encode()
    return pack(">BI", 0xDB, len(raw)) + raw if len(raw) > 31 else bytes([0xA0 | len(raw)]) + raw


def packed_floats(pcm: bytes) -> bytes:
    """16-bit little-endian samples as a list of 32-bit floats from -1 up to 1.

    Byte by byte for all samples at once: one after the other would take a millisecond.
    """
    samples = array("h", pcm)
    if byteorder == "big":
        samples.byteswap()
    floats = array("f", [sample / 32_768 for sample in samples])
    if byteorder == "little":
        floats.byteswap()
    raw = floats.tobytes()
    items = bytearray(5 * len(floats))
    items[0::5] = _FLOAT32 * len(floats)
    for nth in range(4):
        items[nth + 1 :: 5] = raw[nth::4]
    return pack(">BI", 0xDD, len(floats)) + bytes(items)


def unpacked(message: bytes) -> dict[str, Any]:
    """The one map that ``message`` is. Raises ProviderError where it is none."""
    reader = _Reader(message)
    said = reader.value(DEEPEST)
    if not isinstance(said, dict) or not all(isinstance(name, str) for name in said):
        raise no_sense("a message that is not a MessagePack map")
    reader.end()
    return said


class _Reader:
    def __init__(self, message: bytes) -> None:
        self._message = message
        self._at = 0

    def value(self, layers: int) -> object:
        """The next value, with at most so many layers in it."""
        mark = self._take(1)[0]
        if mark in _CONSTANTS:
            return _CONSTANTS[mark]
        if mark in _NUMBERS:
            return self._number(_NUMBERS[mark])
        if mark in _SIZED:
            kind, number = _SIZED[mark]
            return self._sized(kind, int(self._number(number)), layers)
        if mark <= 0x7F:
            return mark
        if mark >= 0xE0:
            return mark - 0x100
        if mark <= 0x8F:
            return self._sized(_MAP, mark & 0x0F, layers)
        if mark <= 0x9F:
            return self._sized(_LIST, mark & 0x0F, layers)
        if mark <= 0xBF:
            return self._sized(_TEXT, mark & 0x1F, layers)
        raise no_sense("a MessagePack extension")

    def _sized(self, kind: str, size: int, layers: int) -> object:
        if kind == _BYTES:
            return self._take(size)
        if kind == _TEXT:
            return self._text(size)
        if layers == 0:
            raise no_sense("a MessagePack message that is too deep")
        value: Callable[[], object] = lambda: self.value(layers - 1)  # noqa: E731
        if kind == _LIST:
            return [value() for _ in range(size)]
        return self._map(size, value)

    def _map(self, size: int, value: Callable[[], object]) -> dict[object, object]:
        said: dict[object, object] = {}
        for _ in range(size):
            name = value()
            if isinstance(name, dict | list):
                raise no_sense("a MessagePack map with a name that is no text")
            said[name] = value()
        return said

    def _text(self, size: int) -> str:
        try:
            return self._take(size).decode()
        except UnicodeDecodeError as broken:
            raise no_sense("a MessagePack text that is not UTF-8") from broken

    def _number(self, number: Struct) -> float:
        try:
            (value,) = number.unpack(self._take(number.size))
        except error as broken:
            raise no_sense("a MessagePack number that is none") from broken
        return value  # type: ignore[no-any-return]

    def _take(self, size: int) -> bytes:
        taken = self._message[self._at : self._at + size]
        if len(taken) < size:
            raise no_sense("a MessagePack message that is cut off")
        self._at += size
        return taken

    def end(self) -> None:
        """Nothing may follow. Raises ProviderError."""
        if self._at != len(self._message):
            raise no_sense("more than one MessagePack value in a message")
