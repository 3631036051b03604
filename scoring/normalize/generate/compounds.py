"""Makes ``tables/not_compounds.txt``: words that fall into two other words by accident.

    python -m scoring.normalize.generate.compounds

``web site`` and ``website`` are one word written two ways; ``car go`` and ``cargo`` are not. A word
is listed where it divides into two common words, one of them short, and nothing in WordNet
connects it with either: no spelling with a space or a hyphen, no more general word that is its
second half, no mention of a half in its definition. What the machine could not know is struck
out by hand below, and added by hand in compounds.toml.
The word lists are Debian's wamerican(-small) and wbritish(-small); WordNet is Debian's
wordnet-base 3.0.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

DICTIONARIES = Path("/usr/share/dict")
WORDNET = Path("/usr/share/wordnet")
TABLE = Path(__file__).parents[1] / "tables" / "not_compounds.txt"
PARTS_OF_SPEECH = ("noun", "verb", "adj", "adv")
SHORT_LETTERS = 3

Sense = tuple[str, str]
"""A part of speech and the place of a meaning in its file."""

ENDINGS = (
    ("ies", "y"), ("es", ""), ("s", ""), ("ed", ""), ("ed", "e"), ("ing", ""), ("ing", "e"),
    ("ly", ""), ("er", ""), ("ers", ""), ("men", "man"),
)  # fmt: skip
_AFFIXES = (
    "re un de non pre con pro per sub in im dis mis bi co ex em en ad ab ob tri mid mon ion ions"
    " age ages ant ants able ably ally ism ist ment ness less ship hood ward wards some tion ting"
    " ring king ling led red ted ded ping ning est ers ate ates ies ties let lets ed er or al ish"
    " bed ms hes ers"
)
AFFIXES = frozenset(_AFFIXES.split())
PARTICLES = frozenset({"up", "out", "off", "down", "back"})
_COMPOUNDS_AFTER_ALL = (
    "airliner airport artwork bitmap boyfriend catchup checkup chatterbox congressman cowboy"
    " cowgirl doorman dragonfly earshot eyesore fireman fisherman foreleg godchildren godfather"
    " godmother godparent godsend grandson gumdrop gunman hamstring hothead jaywalk keystone"
    " keyword ladybug lowdown madman mailman manpower milkman nearby network nobleman payroll"
    " pigtail pitfall policeman portray ragtime railway salesman seaman setable settable showman"
    " skylight snowman spokesman stopgap sundry sunlit sunscreen sunup toolkit trashcan warfare"
    " warhead watchman weekend woodsman workman serviceman statesman craftsman countryman"
    " clergyman chairman draftsman draughtsman layman marksman middleman freshman gentleman"
    " postman sandman cupboard firefly dustman batsman foreman catnap buttercup"
)
COMPOUNDS_AFTER_ALL = frozenset(_COMPOUNDS_AFTER_ALL.split())


@dataclass(slots=True)
class WordNet:
    """The meanings of words, what is more general than each, and how each is explained."""

    senses: dict[str, set[Sense]] = field(default_factory=lambda: defaultdict(set))
    words: dict[Sense, list[str]] = field(default_factory=dict)
    broader: dict[Sense, list[Sense]] = field(default_factory=dict)
    glosses: dict[Sense, str] = field(default_factory=dict)
    spellings: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def read(self, part_of_speech: str) -> None:
        """Take in one of the four files."""
        for line in (WORDNET / f"data.{part_of_speech}").read_text(encoding="utf-8").splitlines():
            if not line.startswith("  "):
                self._take(part_of_speech, line)

    def _take(self, part_of_speech: str, line: str) -> None:
        fields, _, gloss = line.partition("|")
        parts = fields.split(" ")
        sense = (part_of_speech, parts[0])
        count = int(parts[3], 16)
        words = [re.sub(r"\(.*\)", "", parts[4 + 2 * n].lower()) for n in range(count)]
        at = 4 + 2 * count
        pointers = [parts[at + 1 + 4 * n : at + 5 + 4 * n] for n in range(int(parts[at]))]
        self.words[sense] = words
        self.glosses[sense] = gloss.split('"')[0].lower()
        self.broader[sense] = [(part_of_speech, p[1]) for p in pointers if p[0] in ("@", "@i")]
        for word in words:
            self.senses[word].add(sense)
            self.spellings[re.sub(r"[_-]", "", word)].add(word)

    def above(self, sense: Sense, seen: set[Sense]) -> set[Sense]:
        """A meaning and everything more general."""
        if sense not in seen:
            seen.add(sense)
            for other in self.broader[sense]:
                self.above(other, seen)
        return seen


def words(name: str) -> frozenset[str]:
    """The plain lower-case words of one list."""
    lines = (DICTIONARIES / name).read_text(encoding="utf-8").split()
    return frozenset(w for w in lines if w.isascii() and w.isalpha() and w.islower())


def stems(word: str) -> set[str]:
    """The word and what may be left without its ending."""
    return {word} | {word[: -len(end)] + new for end, new in ENDINGS if word.endswith(end)}


def is_compound(net: WordNet, word: str, first: str, second: str) -> bool:
    """WordNet connects the word with one of its halves."""
    if stems(word) & COMPOUNDS_AFTER_ALL:
        return True
    forms = [form for form in stems(word) if form in net.spellings]
    if any(len(net.spellings[form]) > 1 for form in forms):
        return True
    for sense in {sense for form in forms for sense in net.senses.get(form, ())}:
        general = {w for s in net.above(sense, set()) for w in net.words[s]}
        if any(w == head or w.endswith(f"_{head}") for w in general for head in stems(second)):
            return True
        said = {stem for w in re.findall("[a-z]+", net.glosses[sense]) for stem in stems(w)}
        if any(len(half) > 2 and stems(half) & said for half in (first, second)):
            return True
    return not forms


def accidents(net: WordNet, common: frozenset[str]) -> Iterator[tuple[str, str, str]]:
    """Every word that is no compound of its two halves."""
    for word in sorted(common):
        for cut in range(2, len(word) - 1):
            first, second = word[:cut], word[cut:]
            if min(cut, len(second)) > SHORT_LETTERS or {first, second} & AFFIXES:
                continue
            if first in PARTICLES and len(second) > SHORT_LETTERS:
                continue  # upload, outbreak: what is different stands in compounds.toml
            if {first, second} <= common and not is_compound(net, word, first, second):
                yield word, first, second


def main() -> None:
    """Write the table."""
    net = WordNet()
    for part_of_speech in PARTS_OF_SPEECH:
        net.read(part_of_speech)
    common = words("american-english-small") | words("british-english-small")
    head = (
        "# Words that divide into two others by accident, at the place shown. Made by\n"
        "# scoring/normalize/generate/compounds.py from Debian's word lists and WordNet 3.0.\n"
    )
    lines = [f"{first} {second}\n" for _, first, second in accidents(net, common)]
    TABLE.write_text(head + "".join(sorted(set(lines))), encoding="utf-8")


if __name__ == "__main__":
    main()
