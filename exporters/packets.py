"""What crosses the socket between the measuring process and the exporter process.

Each packet is one msgpack value: a map is a record, a list is a word and what belongs to it.

    measuring ─> ["settings", {…}]          first: how to export
    measuring ─> {record}                   everything that happened
    measuring ─> ["part", last, bytes]      a piece of a record too large for one packet
    measuring ─> ["sync"]                   make everything durable now, and report
    measuring ─> ["goodbye"]                the same, then end
    exporter  ─> ["ready", …] or ["failed", "one line"]      only to the first process
    exporter  ─> ["report", …]              how much is durable, how much was lost
"""

from dataclasses import astuple, dataclass
from typing import Any

import msgpack  # type: ignore[import-untyped, unused-ignore]

PACKET_BYTES = 1 << 16
"""The largest packet; a longer record goes in parts."""
RECEIVE_BYTES = PACKET_BYTES + 64
"""Room for a part with what surrounds it."""
_MAPS = frozenset({*range(0x80, 0x90), 0xDE, 0xDF})
"""How a msgpack map begins."""


@dataclass(frozen=True, slots=True)
class Report:
    """What the exporter has done so far. All counts are since its start."""

    received: int
    """Records received from this process, and, unless lost, durable."""
    lost: int = 0
    """Records received and then refused by the disk."""
    full: bool = False
    """The disk refuses records now."""
    last: bool = False
    """The answer to a goodbye: nothing comes after this."""
    untold: int = 0
    """Records refused by the disk, from any process, which the journal does not tell of yet."""


@dataclass(frozen=True, slots=True)
class Ready:
    """The exporter works: where the journal lies, and where the metrics can be had."""

    journal: str
    address: str | None
    """``host:port``; None where no metrics are served."""
    recovered: int = 0
    """How many segments of earlier runs had to be closed."""


def split(payload: bytes, largest: int = PACKET_BYTES) -> list[bytes]:
    """The packets that carry one packed record."""
    if len(payload) <= largest:
        return [payload]
    starts = range(0, len(payload), largest)
    return [
        said("part", start + largest >= len(payload), payload[start : start + largest])
        for start in starts
    ]


def said(word: str, *what: object) -> bytes:
    """The packet of a word and what belongs to it."""
    packet: bytes = msgpack.packb([word, *what])
    return packet


def is_record(packet: bytes) -> bool:
    """The packet is a whole packed record."""
    return packet[0] in _MAPS


def heard(packet: bytes) -> tuple[str, list[Any]]:
    """The word in a packet and what belongs to it. Raises ValueError where it is none."""
    try:
        word, *what = msgpack.unpackb(packet)
    except Exception as error:  # msgpack's own errors have no common ancestor below this one
        raise ValueError(f"not a packet: {type(error).__name__}") from error
    if not isinstance(word, str):
        raise ValueError("not a packet: it begins with no word")
    return word, what


def in_words(word: str, what: Report | Ready) -> bytes:
    """The packet of a report, or of being ready; the other side builds it from ``heard``."""
    return said(word, *astuple(what))
