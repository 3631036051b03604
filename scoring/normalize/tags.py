"""Annotations of the sound and of the model taken out; all that was said stays.

    [music] Good morning [everyone]. <unk>   ─>           Good morning [everyone].

What is taken out is overwritten with blanks, so that no later place moves.
"""

import re

from scoring.normalize.tables import Tables

MODEL = re.compile(r"\blanguage\s+[A-Za-z]+\s*'?<asr_text>'?", re.IGNORECASE)
"""The head that one family of models writes before its text."""
ANGLE = re.compile(r"<\|[^<>|]*\|>|</?[A-Za-z][\w:.-]*\s*/?>")
SQUARE = re.compile(r"\[([^\[\]]*)\]")
ROUND = re.compile(r"\(([^()]*)\)")
STARS = re.compile(r"\*([^*\n]{1,60})\*")
STAMP = re.compile(
    r"(?:\d{1,2}:)?\d{1,2}:\d{2}(?:[.,]\d+)?(?:\s*-+>?\s*(?:\d{1,2}:)?\d{1,2}:\d{2}(?:[.,]\d+)?)?"
)
SPEAKER = re.compile(r"speaker[ _]?[a-z0-9]{1,3}:?", re.IGNORECASE)
LABEL = re.compile(r"(?:^|(?<=\n))\s*speaker[ _]?\d{1,3}\s*:", re.IGNORECASE)
LETTERS = re.compile(r"[^\W\d]+")
MARKS = frozenset("[(<*|")


def without_tags(text: str, tables: Tables) -> str:
    """The text, of the same length, with blanks in place of every annotation."""
    if "speaker" in text.lower():
        text = LABEL.sub(_blanks, text)
    if MARKS.isdisjoint(text):
        return text
    text = ANGLE.sub(_blanks, MODEL.sub(_blanks, text))
    for pattern in (SQUARE, ROUND, STARS):
        text = pattern.sub(lambda found: _judged(found, tables), text)
    return text


def _judged(found: re.Match[str], tables: Tables) -> str:
    """Blanks for an annotation; what was said as it is."""
    content = found[1].strip().lower()
    label = found[0].startswith("[") and (STAMP.fullmatch(content) or SPEAKER.fullmatch(content))
    return _blanks(found) if label or is_sound(content, tables) else found[0]


def is_sound(content: str, tables: Tables) -> bool:
    """The words describe a sound and nothing else."""
    words = LETTERS.findall(content.replace("'", ""))
    single = [part for word in words for part in (word, *word.split("_"))]
    return (
        bool(words)
        and not tables.sounds.isdisjoint(single)
        and all(
            word in tables.sound_words or tables.sound_words.issuperset(word.split("_"))
            for word in words
        )
    )


def _blanks(found: re.Match[str]) -> str:
    return " " * len(found[0])
