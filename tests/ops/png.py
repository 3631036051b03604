"""A picture in fewer bytes: a browser packs for speed, and keeps millions of colours."""

import struct
import zlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

SIGNATURE = b"\x89PNG\r\n\x1a\n"
COLOURS = 256
_COLOUR_TYPES = {2: 3, 6: 4}
"""Bytes a pixel of RGB and of RGBA."""


def packed(png: bytes) -> bytes:
    """The same picture in its 256 most frequent colours; others become the nearest of them."""
    pixels = rgb(png)
    height, width, _ = pixels.shape
    wide = pixels.astype(np.uint32)
    codes = wide[:, :, 0] << 16 | wide[:, :, 1] << 8 | wide[:, :, 2]
    found, places, counts = np.unique(codes, return_inverse=True, return_counts=True)
    every = np.stack([found >> 16, found >> 8, found], axis=1).astype(np.int64) & 255
    colours = every[np.argsort(-counts, kind="stable")[:COLOURS]]
    places = _nearest(every, colours)[places]
    rows = places.reshape(height, width).astype(np.uint8)
    lines = np.hstack([np.zeros((height, 1), np.uint8), rows])
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = [(b"IHDR", header), (b"PLTE", colours.astype(np.uint8).tobytes())]
    parts += [(b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b"")]
    return SIGNATURE + b"".join(chunk(kind, body) for kind, body in parts)


def _nearest(every: NDArray[np.int64], colours: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each colour the place of the one that is most like it."""
    found = [((colours - one) ** 2).sum(axis=1).argmin() for one in every]
    return np.array(found, np.int64)


def rgb(png: bytes) -> NDArray[np.uint8]:
    """The pixels of a picture with 8 bits a colour: height, width, three."""
    bodies: dict[bytes, bytes] = {}
    for kind, body in _chunks(png):
        bodies[kind] = bodies.get(kind, b"") + body
    width, height, depth, colour_type = struct.unpack(">IIBB", bodies[b"IHDR"][:10])
    size = _COLOUR_TYPES[colour_type]
    if depth != 8:
        raise ValueError(f"{depth} bits a colour")
    raw = zlib.decompress(bodies[b"IDAT"])
    above = bytes(width * size)
    rows = []
    for y in range(height):
        start = y * (width * size + 1)
        above = _unfiltered(raw[start], raw[start + 1 : start + 1 + width * size], above, size)
        rows.append(above)
    return np.frombuffer(b"".join(rows), np.uint8).reshape(height, width, size)[:, :, :3]


def _unfiltered(kind: int, row: bytes, above: bytes, size: int) -> bytes:
    """One row as it was before PNG took the difference to its neighbours."""
    if kind == 0:
        return row
    if kind == 2:
        return (np.frombuffer(row, np.uint8) + np.frombuffer(above, np.uint8)).tobytes()
    made = bytearray(size) + bytearray(row)
    higher = bytes(size) + above
    for i in range(size, len(made)):
        left, up, corner = made[i - size], higher[i], higher[i - size]
        guess = {1: left, 3: (left + up) // 2}.get(kind)
        made[i] = (made[i] + (_paeth(left, up, corner) if guess is None else guess)) & 255
    return bytes(made[size:])


def _paeth(left: int, up: int, corner: int) -> int:
    to_left, to_up, to_corner = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
    if to_left <= to_up and to_left <= to_corner:
        return left
    return up if to_up <= to_corner else corner


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(SIGNATURE)
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += length + 12


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
