"""Keeps a key out of whatever is recorded, should a provider ever repeat it.

A key is looked for as it is, as JSON and addresses spell it, and, where it is made of several parts
("ID:SECRET"), by each of them. What is shorter than eight characters is no secret, but may well be
a word that somebody said: it stays.
"""

import json
from functools import lru_cache
from typing import TypeVar
from urllib.parse import quote, quote_plus

MASK = "***"
SHORTEST = 8
Said = TypeVar("Said", str, bytes, str | bytes)


def masked(said: Said, key: str) -> Said:
    """The same without the key. It must be whole: mask first, cut off afterwards."""
    for spelling in _spellings(key):
        if isinstance(said, str):
            said = said.replace(spelling, MASK)
        else:
            said = said.replace(spelling.encode(), MASK.encode())
    return said


@lru_cache(maxsize=256)
def _spellings(key: str) -> tuple[str, ...]:
    """Every way in which the key may be written, the longest first."""
    parts = [part for part in (key, *key.split(":")) if len(part) >= SHORTEST]
    spelled = {
        spelling
        for part in parts
        for spelling in (
            part,
            json.dumps(part)[1:-1],
            json.dumps(part, ensure_ascii=False)[1:-1],
            json.dumps(part)[1:-1].replace("/", "\\/"),
            quote(part, safe=""),
            quote_plus(part),
        )
    }
    return tuple(sorted(spelled, key=len, reverse=True))
