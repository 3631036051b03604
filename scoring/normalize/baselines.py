"""Other ways to compare, for the sake of comparison: nothing at all, and Whisper's normaliser."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import cast

from scoring.normalize.shape import Normalizer, Region, Same, Token

WHISPER_MISSING = (
    "the normaliser 'whisper' needs the package whisper-normalizer, which is not installed; "
    "install it or choose 'speechbench' or 'none'"
)


class NormalizerUnavailableError(Exception):
    """A normaliser whose package is not installed; says which."""


@cache
def _whisper() -> Callable[[str], str]:
    try:
        english = import_module("whisper_normalizer.english")
    except ImportError as error:
        raise NormalizerUnavailableError(WHISPER_MISSING) from error
    return cast("Callable[[str], str]", english.EnglishTextNormalizer())


@dataclass(frozen=True, slots=True)
class PlainNormalizer:
    """Splits at white space after an optional rewriting of the whole text; no pair rules."""

    name: str
    package: str | None = None
    """The package that does the rewriting; its version is the normaliser's."""
    rewriting: Callable[[], Callable[[str], str]] | None = field(default=None, repr=False)
    data_sha256: str = ""

    @property
    def version(self) -> str:
        if self.package is None:
            return "1"
        try:
            return version(self.package)
        except PackageNotFoundError:
            return "missing"

    @property
    def signature(self) -> str:
        return f"{self.name} {self.version}"

    def tokens(self, text: str) -> tuple[Token, ...]:
        """The words between white space.

        Rewritten words have no place in the original: their span is empty.
        """
        if self.rewriting is None:
            found = re.finditer(r"\S+", text)
            return tuple(Token(m[0], m.start(), m.end(), raw=m[0]) for m in found)
        return tuple(Token(word, 0, 0, raw=word) for word in self.rewriting()(text).split())

    def same(
        self, reference: Sequence[Token], hypothesis: Sequence[Token], region: Region
    ) -> Iterable[Same]:
        """Nothing: it knows only equal words."""
        return ()

    def with_aliases(self, groups: Iterable[Sequence[str]]) -> Normalizer:
        """Itself: it has no place for aliases."""
        return self


NONE = PlainNormalizer("none")
WHISPER = PlainNormalizer("whisper", "whisper-normalizer", _whisper)
