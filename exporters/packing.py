"""Records as bytes: the one place that says how they are packed (msgpack)."""

from collections.abc import Mapping

import msgpack  # type: ignore[import-untyped, unused-ignore]

from measure.wire import Record

MAX_RECORD_BYTES = 1 << 24
"""The largest record that is carried or kept: 16 MiB. A longer one is dropped and counted."""

_NAMES = frozenset({str})


def pack(record: Mapping[str, object]) -> bytes:
    """The bytes of one record. Raises ValueError where it holds what cannot be packed.

    Half surrogate pairs, which JSON may carry into a text, pass both ways.
    """
    try:
        packed: bytes = msgpack.packb(record, unicode_errors="surrogatepass")
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"record of kind {record.get('k')!r}: {error}") from error
    return packed


def unpack(payload: bytes) -> Record:
    """The record in these bytes. Raises ValueError where they are none."""
    try:
        record = msgpack.unpackb(payload, unicode_errors="surrogatepass", strict_map_key=False)
    except Exception as error:  # msgpack's own errors have no common ancestor below this one
        raise ValueError(f"not a record: {type(error).__name__}") from error
    if not isinstance(record, dict) or not set(map(type, record)) <= _NAMES:
        raise ValueError("not a record: no map of names")
    return record
