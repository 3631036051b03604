"""Addresses, paths, files, flags and names with underscores: every mark in them is said.

j_smith@example.org  ─>  j underscore smith at example dot org
"""

import re

from scoring.normalize.shape import Kind, Token
from scoring.normalize.tables import Tables
from scoring.normalize.tokens import TECHNICAL, WRITTEN

RULE = "technical"
SPANS = (
    ("email", r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+"),
    ("url", r"(?:https?|ftp)://[^\s<>\"']*[\w/]"),
    ("drive", r"\b[A-Za-z]:(?:\\[\w.-]+)+\\?"),
    ("port", r"(?:\blocalhost|\b[\w-]+(?:\.[\w-]+)+):\d{2,5}\b"),
    ("path", r"(?<![\w.)/\]])~?\.{0,2}(?:/(?:[\w.@%+-]*[\w]|(?<=\w/)))+/?"),
    ("relative", r"(?<![\w/.-])[\w-]+(?:/[\w.-]+)*/[\w-]+\.[A-Za-z]\w*"),
    ("host", r"\b\w[\w-]*(?:\.[\w-]+)*\.[A-Za-z][\w-]*(?:/[\w./%?=&-]*[\w/])?"),
    (
        "flag",
        r"(?<!\S)(?:--[A-Za-z][\w-]*|-(?:[B-HJ-Zb-hj-z]|[b-df-hj-np-tv-xz]{2,4}|l?al?)(?![\w-]))",
    ),
    ("snake", r"\b[^\W_]+(?:_+[^\W_]+)+"),
    ("dotfile", r"(?<![\w.)])\.[A-Za-z]{2,}\w*"),
)
"""What may be technical, by name, in the order in which it is tried."""
PARTS = re.compile(r"\d+(?:\.\d+)+(?![A-Za-z])|\d+|[^\W\d_]+|.")
MARKS = {
    ".": "dot", "/": "slash", "@": "at", "_": "underscore", "-": "dash", "+": "plus", ":": "colon",
    "\\": "backslash", "#": "hash", "=": "equals", "&": "and", "~": "tilde", "?": "question mark",
}  # fmt: skip
"""What each mark is called when it is read out."""
ALSO = {
    "dash": frozenset({"hyphen", "minus"}),
    "slash": frozenset({"forward slash"}),
    "hash": frozenset({"pound"}),
    "and": frozenset({"ampersand"}),
}


def is_technical(name: str, span: str, tables: Tables) -> bool:
    """It is what its pattern took it for; only a dot between two words leaves a doubt."""
    if name == "relative":
        return span.rpartition(".")[2].lower() in tables.file_endings
    if name != "host":
        return True
    host = span.partition("/")[0]
    *before, last = host.split(".")
    known = last.lower() in tables.file_endings or last.lower() in tables.domain_endings
    if all(len(part) == 1 for part in before) and len(last) == 1:
        return False  # p.m and U.S
    if not any(part[:1].isalpha() for part in before):
        return last.lower() in tables.file_endings  # 5.mg is no file
    return last.islower() or (known and last.isupper())


def technical_tokens(span: str, start: int, gap: str) -> list[Token]:
    """Its words, its numbers and its marks, each a token."""
    tokens: list[Token] = []
    for found in PARTS.finditer(span):
        part = found[0]
        text = part.lower() if part.isalnum() or part[0].isdecimal() else MARKS.get(part)
        if text is None:
            continue
        number = part[0].isdecimal()
        tokens.append(
            Token(
                text,
                start + found.start(),
                start + found.end(),
                part,
                "" if tokens else gap,
                Kind.NUMBER if number else Kind.WORD,
                ALSO.get(text, frozenset()) if part in MARKS else frozenset(),
                frozenset({TECHNICAL, WRITTEN} if number else {TECHNICAL}),
                (RULE,),
            )
        )
    return tokens
