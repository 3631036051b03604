"""The many characters that look alike made one, with the way back to where each stood.

"naïve 1½ m²"  ─>  "naive 1 1/2 m²"
"""

import unicodedata
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache

LOOKALIKES = {
    **dict.fromkeys("\u2018\u2019\u201b\u02bc\u02b9\u2032\uff07\u0060\u00b4\u02bb", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033\uff02", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d", "-"),
    **dict.fromkeys("\u2014\u2015\u2e3a", "--"),
    # what is not seen: zero-width marks, soft hyphen, byte-order mark, variation selectors
    **dict.fromkeys("\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad\ufe0e\ufe0f", ""),
    **dict.fromkeys("\u2122\u00ae\u00a9", " "),
    "\u00d8": "O", "\u00f8": "o", "\u0141": "L", "\u0142": "l", "\u0110": "D", "\u0111": "d",
    "\u00c6": "AE", "\u00e6": "ae", "\u0152": "OE", "\u0153": "oe", "\u00df": "ss", "\u1e9e": "SS",
    "\u00de": "Th", "\u00fe": "th", "\u00d0": "D", "\u00f0": "d", "\u0131": "i",
    "\u00ba": "\u00b0", "\u02da": "\u00b0", "\u00b5": "u", "\u03bc": "u", "\u2044": "/",
    "\u00b2": "\u00b2", "\u00b3": "\u00b3",
}  # fmt: skip
"""What compatibility decomposition does not know, or does otherwise than a reader would."""


@dataclass(frozen=True, slots=True)
class Folded:
    """A text in few characters, and where each of them stood."""

    text: str
    starts: tuple[int, ...] | None
    """For some places of the folded text, where they were before; None: all are unmoved."""
    places: tuple[int, ...] = ()

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The slice of the original that became this slice of the folded text."""
        if self.starts is None:
            return start, end
        return self._original(start), self._original(end - 1) + 1 if end > start else start

    def _original(self, place: int) -> int:
        found = bisect_right(self.places, place) - 1
        return self.starts[found] if self.starts else place


def folded(text: str) -> Folded:
    """The text without accents, typographic marks and other alphabets' digits."""
    if text.isascii():
        return Folded(text.replace("`", "'") if "`" in text else text, None)
    pieces: list[str] = []
    starts: list[int] = []
    places: list[int] = []
    length = 0
    for at, character in enumerate(text):
        piece = _piece(character)
        if "/" in piece and character != "/" and pieces and pieces[-1][-1:].isdecimal():
            piece = " " + piece  # 1½ is 1 1/2
        if piece:
            pieces.append(piece)
            starts.extend([at] * len(piece))
            places.extend(range(length, length + len(piece)))
            length += len(piece)
    return Folded("".join(pieces), tuple(starts), tuple(places))


@lru_cache(maxsize=4096)
def _piece(character: str) -> str:
    """What one character becomes."""
    if character in LOOKALIKES:
        return LOOKALIKES[character]
    if character.isspace():
        return " "
    if character.isdecimal():
        return str(unicodedata.decimal(character))
    plain = unicodedata.normalize("NFKD", character)
    kept = (c for c in plain if not unicodedata.combining(c))
    return "".join(LOOKALIKES.get(c, c) for c in kept)
