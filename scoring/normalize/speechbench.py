"""Our own normaliser: tokens, families of rules in order, and a look at each pair of texts.

text ─fold─> ─tags out─> ─lexer─> tokens ─family─> tokens ─family─> … ─aliases─> tokens
                                             two texts ─where they differ─> what is the same
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from scoring.normalize.families.aliases import Names, aliased, names_of
from scoring.normalize.families.clock import clock
from scoring.normalize.families.fractions import fractions
from scoring.normalize.families.letters import letters
from scoring.normalize.families.marks import ranges, signs, symbols
from scoring.normalize.families.money import amounts, money, shared
from scoring.normalize.families.numbers import numbers
from scoring.normalize.families.ordinals import dates, decades, ordinals
from scoring.normalize.families.phrases import phrases
from scoring.normalize.families.units import percent, units
from scoring.normalize.families.words import contractions, fillers, spelling, titles
from scoring.normalize.fold import Folded, folded
from scoring.normalize.lexer import lexed
from scoring.normalize.pairs import same_spans
from scoring.normalize.shape import Normalizer, Region, Same, Token
from scoring.normalize.tables import Tables, tables
from scoring.normalize.tags import without_tags

VERSION = "1"
Family = Callable[[list[Token], Tables], list[Token]]
FAMILIES: dict[str, Family] = {
    "fillers": fillers,
    "contractions": contractions,
    "titles": titles,
    "spelling": spelling,
    "symbols": symbols,
    "ordinals": ordinals,
    "signs": signs,
    "ranges": ranges,
    "amounts": amounts,
    "numbers": numbers,
    "decades": decades,
    "dates": dates,
    "fractions": fractions,
    "clock": clock,
    "letters": letters,
    "percent": percent,
    "units": units,
    "money": money,
    "shared": shared,
    "phrases": phrases,
}
"""Every family by its name, in the order in which they work."""
STAGES = ("tags", "technical", *FAMILIES, "aliases", "pairs")
"""What can be switched off by name."""


@dataclass(frozen=True, slots=True)
class SpeechbenchNormalizer:
    """See docs/normaliser.md for what it takes for the same and what not."""

    aliases: tuple[tuple[str, ...], ...] | None = None
    """Groups of spellings of one name; None: the ones that the tables bring."""
    off: frozenset[str] = frozenset()
    """Stages that do nothing."""
    name: str = "speechbench"
    version: str = VERSION
    _names: Names = field(default_factory=dict, repr=False, compare=False)
    _longest: int = field(default=0, repr=False, compare=False)

    @property
    def data_sha256(self) -> str:
        digest = hashlib.sha256(tables().sha256.encode())
        if self.aliases is not None:
            digest.update(repr(self.aliases).encode())
        digest.update(" ".join(sorted(self.off)).encode())
        return digest.hexdigest()

    @property
    def signature(self) -> str:
        switched = "".join(f" -{stage}" for stage in STAGES if stage in self.off)
        return f"{self.name} {self.version} {self.data_sha256[:8]}{switched}"

    def tokens(self, text: str) -> tuple[Token, ...]:
        """The words of one text. Never raises, whatever the text holds."""
        plain = folded(text)
        made = self._canonical(plain.text)
        if self._names and "aliases" not in self.off:
            made = aliased(made, self._names, self._longest)
        return tuple(made) if plain.starts is None else tuple(_placed(made, plain))

    def _canonical(self, text: str) -> list[Token]:
        table = tables()
        if "tags" not in self.off:
            text = without_tags(text, table)
        made = lexed(text, table, technical="technical" not in self.off)
        for name, family in FAMILIES.items():
            if name not in self.off:
                made = family(made, table)
        return made

    def same(
        self, reference: Sequence[Token], hypothesis: Sequence[Token], region: Region
    ) -> Iterable[Same]:
        """What is the same within the region though its words are divided differently."""
        if "pairs" in self.off:
            return ()
        return same_spans(reference, hypothesis, region, tables())

    def with_aliases(self, groups: Iterable[Sequence[str]]) -> Normalizer:
        """The same normaliser that also takes the spellings within each group for one."""
        every = (*(self.aliases or tables().aliases), *(tuple(group) for group in groups))
        words = [[tuple(t.text for t in self._canonical(n)) for n in group] for group in every]
        names = names_of(words)
        longest = max((len(name) for name in names), default=0)
        return replace(self, aliases=every, _names=names, _longest=longest)

    def without(self, *stages: str) -> "SpeechbenchNormalizer":
        """The same normaliser with some stages switched off. Raises ValueError for a wrong name."""
        unknown = set(stages) - set(STAGES)
        if unknown:
            raise ValueError(f"no such stage: {', '.join(sorted(unknown))}; {', '.join(STAGES)}")
        return replace(self, off=self.off | frozenset(stages))

    def text(self, text: str) -> str:
        """The canonical text: the words with blanks between them.

        A comma stands between two numbers, or two letters, that are not one.
        """
        return rendered(self.tokens(text))


def rendered(tokens: Sequence[Token]) -> str:
    """Tokens as a text that reads back as the same tokens."""
    pieces: list[str] = []
    for at, token in enumerate(tokens):
        before = tokens[at - 1] if at else None
        apart = before is not None and _would_join(before.text, token.text)
        pieces.append(f"{',' if apart else ''}{' ' if at else ''}{token.text}")
    return "".join(pieces)


def _would_join(before: str, after: str) -> bool:
    numbers_meet = before[-1:].isdecimal() and after[:1].isdecimal()
    return numbers_meet or (len(before) == len(after) == 1 and (before + after).isalpha())


def _placed(tokens: list[Token], plain: Folded) -> Iterable[Token]:
    """The tokens with their places in the original text."""
    for token in tokens:
        start, end = plain.span(token.start, token.end)
        yield replace(token, start=start, end=end)


def _default() -> SpeechbenchNormalizer:
    normalizer = SpeechbenchNormalizer().with_aliases(())
    assert isinstance(normalizer, SpeechbenchNormalizer)
    return replace(normalizer, aliases=None)


SPEECHBENCH = _default()
