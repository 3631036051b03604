"""Keeps a key out of whatever is recorded, should a provider ever repeat it."""

from typing import TypeVar

MASK = "***"
Said = TypeVar("Said", str, bytes, str | bytes)


def masked(said: Said, key: str) -> Said:
    """The same without the key. It must be whole: mask first, cut off afterwards."""
    if not key:
        return said
    if isinstance(said, str):
        return said.replace(key, MASK)
    return said.replace(key.encode(), MASK.encode())
