"""Takes keys and tokens out of what people will read. A second line: nobody should put them in."""

import re
from collections.abc import Mapping
from typing import Any

GONE = "[redacted]"
LONGEST = 2000
"""Longer text is cut: no line is that long, and the search stays quick."""
_SECRET_NAME = re.compile(
    r"^(key|cookie|set[-_]cookie|(proxy[-_])?authorization|.*[-_]?(api|access|secret|private)key"
    r"|.*[-_]key|.*token|.*secret|.*password|.*passwd|.*credential)$",
    re.IGNORECASE,
)
_ADDRESS = r"[A-Za-z][A-Za-z0-9+.-]{0,20}://"
_WORD = r"\b(?:[\w-]{0,40}[-_]|api|access)?(?:key|token|secret|password)['\"]?\s*[:=]\s*['\"]?"
_SECRETS = [
    # Looked for at every place, also inside what another one has found: hence the "(?=".
    re.compile(f"(?={pattern})", re.IGNORECASE)
    for pattern in (
        rf"{_ADDRESS}([^/\s\"']+)@",  # a user
        rf"{_ADDRESS}[^\s?#\"']*[?#]([^\s\"']+)",  # a query
        r"\bauthorization['\"]?\s*[:=]\s*['\"]?(?:(?:bearer|basic|token)\s+)?([^\s'\",;}]+)",
        r"\b(?:bearer|basic|token)\s+(?=\S*\d)([A-Za-z0-9._~+/=-]{8,})",  # a digit: no plain word
        rf"{_WORD}([^\s'\"&,;}}]+)",
    )
]


def redacted(value: Any, name: str = "") -> Any:  # noqa: ANN401
    """``value`` without what looks like a secret: by its name, or by what stands in its text."""
    if _SECRET_NAME.match(name):
        return value if value is None or isinstance(value, bool) else GONE
    if isinstance(value, str):
        return redacted_text(value)
    if isinstance(value, Mapping):
        return {key: redacted(inner, str(key)) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [redacted(inner) for inner in value]
    return value


def redacted_text(text: str) -> str:
    """Without users and query strings of addresses, and what follows words like "bearer"."""
    if len(text) > LONGEST:
        text = text[:LONGEST] + "…"
    spans = sorted(found.span(1) for secret in _SECRETS for found in secret.finditer(text))
    kept: list[str] = []
    place = 0
    for start, end in spans:
        if start > place or not kept:
            kept.append(text[place:start])
        place = max(place, end)
    return GONE.join([*kept, text[place:]])
