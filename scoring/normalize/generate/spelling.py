"""Makes ``tables/spelling.tsv``: British spellings and the American ones they stand for.

    python -m scoring.normalize.generate.spelling

A pair is made where one rule of spelling turns a word of the British list into a word of the
American list and the word lists themselves say that the two are a pair: the British word is not
American, or the American word is not British (``totalled`` stands in both lists, ``totaled`` only
in the American one). So no word is paired with another word: filled / filed, scrapped / scraped.
The word lists are Debian's wbritish-large, wamerican-large and the two -huge ones (SCOWL).
"""

import re
from collections.abc import Iterator
from pathlib import Path

DICTIONARIES = Path("/usr/share/dict")
TABLE = Path(__file__).parents[1] / "tables" / "spelling.tsv"

RULES = (
    # what the British word has, what the American one has in its place
    (r"our", "or"),
    (r"(?<=[bcdghkpstv])re(?=s?$|f|w|p|b)", "er"),
    (r"(?<=[bcdghkpstv])r(?=ed$|ing$)", "er"),
    (r"(?<=.{3})is(?=e|a|i)", "iz"),
    (r"lys(?=e|i|a)", "lyz"),
    (r"(?<=[aeiouy])ll(?=ed|ing|er|or|ist|ous|ery|ity|ation|able|at)", "l"),
    (r"(?<=[ik])l(?=ful|ness)", "ll"),
    (r"(?<=[aio])l(?=s?$|ment|fil)", "ll"),
    (r"ae(?=.)", "e"),
    (r"oe(?=.)", "e"),
    (r"ence(?=s?$|less)", "ense"),
    (r"sulph", "sulf"),
    (r"mme(?=s?$)", "m"),
    (r"(?<=[ms])ou(?=l[dt])", "o"),
    (r"(?<=s)c(?=ept)", "k"),
    (r"ogue(?=s?$|d$)", "og"),
    (r"xion(?=s?$)", "ction"),
    (r"(?<=[sk])e(?=able)", ""),
    (r"(?<=dg)e(?=ment)", ""),
    (r"(?<=gr)e(?=y)", "a"),
    (r"(?<=dna|shi)pp", "p"),
    (r"(?<=wa)gg(?=on)", "g"),
    (r"(?<=ure)tt", "t"),
    (r"quebook", "ckbook"),
)
EITHER = "\teither"
_NEVER = (
    # rules that hit on another word, and words that are spoken differently
    "arse arses tae mucosae cardiae carboniferous filial hospitaller caballer prologue prologues"
    " demagogue demagogues pedagogue pedagogues travelogue travelogues homologue homologues"
    " epilogue epilogues monologue monologues tabourin notre hure pures prese"
)
NEVER = frozenset(_NEVER.split())


def words(name: str) -> frozenset[str]:
    """The plain lower-case words of one list."""
    lines = (DICTIONARIES / name).read_text(encoding="utf-8").split()
    return frozenset(w for w in lines if w.isascii() and w.isalpha() and w.islower())


def respelled(word: str) -> Iterator[str]:
    """What one rule, applied at one place, makes of the word."""
    for pattern, replacement in RULES:
        for found in re.finditer(pattern, word):
            yield word[: found.start()] + replacement + word[found.end() :]


def pairs() -> dict[str, str]:
    """Every British word that has an American spelling, with one rule or with two."""
    british, american = words("british-english-large"), words("american-english-large")
    all_british, all_american = words("british-english-huge"), words("american-english-huge")
    found: dict[str, str] = {}
    for word in british - NEVER:
        once = set(respelled(word))
        twice = {again for first in once for again in respelled(first)}
        for other in sorted(once) + sorted(twice - once):
            is_pair = word not in all_american or other not in all_british
            if other in american and other != word and is_pair and len(word) > 3:
                found.setdefault(word, other)
                break
    return found


def main() -> None:
    """Write the table."""
    head = (
        "# British spelling, American spelling. Made by scoring/normalize/generate/spelling.py\n"
        "# from Debian's word lists (SCOWL); irregular pairs stand in words.toml. Where a third\n"
        "# column says so, the first word is American too (analyses, of the noun analysis).\n"
    )
    lines = [
        f"{word}\t{other}{EITHER if word.endswith('lyses') else ''}\n"
        for word, other in sorted(pairs().items())
    ]
    TABLE.write_text(head + "".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
