"""Words that are dropped, opened up or respelled: fillers, contractions, titles, spelling."""

from scoring.normalize.families.vocabulary import NUMBERS, item_at
from scoring.normalize.shape import Kind, Token
from scoring.normalize.tables import Tables
from scoring.normalize.tokens import (
    DOTTED,
    QUOTED,
    bridged,
    is_capitalised,
    is_close,
    is_number,
    listed,
    merged,
    opened,
    regapped,
    renamed,
    with_readings,
)

TITLES_BEFORE_NAMES = listed("st gen rep sen col gov pres hon rev maj adm cmdr supt mt ft fr pvt")
"""Abbreviations that a capitalised name may follow without a full stop."""
PLAIN_TITLES = TITLES_BEFORE_NAMES | {"inc", "corp", "ltd", "co", "ave", "rd", "ext"}
"""Those that may also be meant where the text has no capitals."""
DATES = listed(
    "jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun"
)


def fillers(tokens: list[Token], tables: Tables) -> list[Token]:
    """Hesitation dropped; the many ways to hum a yes made one."""
    out: list[Token] = []
    carried: str | None = None
    at = 0
    while at < len(tokens):
        token = tokens[at]
        answer = _answer(tokens, at, tables)
        if answer is not None:
            taken, text = answer
            token = merged(tokens[at : at + taken], text, "fillers", kind=Kind.WORD)
            at += taken - 1
        elif _is_filler(token, out, tables):
            carried = token.gap if carried is None else bridged(carried, token.gap)
            at += 1
            continue
        if carried is not None:
            token = regapped(token, bridged(carried, token.gap))
            carried = None
        out.append(token)
        at += 1
    return out


def _answer(tokens: list[Token], at: int, tables: Tables) -> tuple[int, str] | None:
    token = tokens[at]
    if at + 1 < len(tokens):
        nxt = tokens[at + 1]
        said = tables.answers.get(f"{token.text}-{nxt.text}")
        ends = at + 2 == len(tokens) or bool(tokens[at + 2].gap.strip())
        apart = is_close(nxt.gap) and nxt.text != "uh" and (nxt.text != "oh" or ends)
        if said and (nxt.gap == "-" or apart):
            return 2, said
    said = tables.answers.get(token.text)
    return (1, said) if said else None


def _is_filler(token: Token, before: list[Token], tables: Tables) -> bool:
    if token.text not in tables.fillers or token.raw in tables.fillers_unless:
        return False
    unit = bool(before) and is_number(before[-1]) and is_close(token.gap)
    return not unit


def contractions(tokens: list[Token], tables: Tables) -> list[Token]:
    """I'm is I am; a possessive stays, but may stand for "is" where a verb follows."""
    out: list[Token] = []
    for at, token in enumerate(tokens):
        if token.text in tables.contractions:
            out.extend(opened(token, tables.contractions[token.text].split(), "contractions"))
        elif "'" in token.text and token.kind is Kind.WORD:
            is_verb = _is_verb_like(tokens, at + 1, tables)
            out.extend(_contraction(token, tables, is_verb=is_verb))
        elif token.gap.endswith("'") and (said := _clipped(token, tables)):
            out.extend(opened(token, said.split(), "contractions"))
        else:
            out.append(token)
    return out


def _clipped(token: Token, tables: Tables) -> str | None:
    """'cause, 'em, rock 'n' roll: no quotation mark."""
    if token.text == "n":
        return "and"
    quoted = QUOTED in token.flags
    return None if quoted else tables.contractions.get("'" + token.text)


def _contraction(token: Token, tables: Tables, *, is_verb: bool = False) -> list[Token]:
    for ending, said in tables.endings.items():
        stem = token.text[: -len(ending)]
        if token.text.endswith(ending) and stem:
            short = renamed(token, stem, "contractions")
            whole = tables.contractions.get(stem)
            words = whole.split() if whole else [t.text for t in _contraction(short, tables)]
            return opened(token, [*words, said], "contractions")
    stem, ending = token.text[:-2], token.text[-2:]
    if ending == "'d" and stem:
        stemmed, verb = opened(token, [stem, "would"], "contractions")
        return [stemmed, with_readings(verb, "contractions", ["had", "did"])]
    if ending == "'s" and stem in tables.open_s:
        stemmed, verb = opened(token, [stem, "is"], "contractions")
        return [stemmed, with_readings(verb, "contractions", ["has", "does"])]
    if ending == "'s" and stem and is_verb:
        return [with_readings(token, "contractions", [f"{stem} is", f"{stem} has"])]
    return [token]


def _is_verb_like(tokens: list[Token], at: int, tables: Tables) -> bool:
    """What stands here can follow "is" or "has", and hardly a possessive."""
    if at >= len(tokens) or not is_close(tokens[at].gap):
        return False
    token = tokens[at]
    coded = token.raw.isupper() and at + 1 < len(tokens) and is_number(tokens[at + 1])
    item = item_at(tokens, at)
    counted = item is not None and not item.ordinal and item.sort in NUMBERS
    money = token.text in tables.money_signs
    named = tokens[at - 1].text[:-2] in tables.open_s_named and is_capitalised(token)
    return token.text in tables.open_s_followers or counted or coded or money or named


def titles(tokens: list[Token], tables: Tables) -> list[Token]:
    """Dr. is doctor, St. is saint before a name and street after one, No. 5 is number 5."""
    out: list[Token] = []
    for at, token in enumerate(tokens):
        if token.kind is not Kind.WORD or len(token.text) > 6:
            out.append(token)
            continue
        before = tokens[at - 1] if at else None
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        said = _title(token, before, after, tables)
        if said is not None:
            first, *others = opened(token, said.split(), "titles")
            out.extend([with_readings(first, "titles", [token.text]), *others])
        elif token.raw.islower() and token.text in PLAIN_TITLES and DOTTED not in token.flags:
            said = tables.titles_dotted[token.text]
            also = [said, tables.streets[token.text]] if token.text in tables.streets else [said]
            out.append(with_readings(token, "titles", also))
        else:
            out.append(token)
    return out


def _title(token: Token, before: Token | None, after: Token | None, tables: Tables) -> str | None:
    """What the abbreviation stands for here; None where it is a word."""
    text = token.text
    if text in tables.streets and is_capitalised(token) and _is_street(before, after):
        return tables.streets[text]
    if text in tables.titles and token.raw != "VS":
        return tables.titles[text]
    if text == "no" and after is not None and is_number(after) and after.gap.strip() in ("", "."):
        inside = token.raw == "No" and before is not None and is_close(token.gap.replace(")", ""))
        return "number" if DOTTED in token.flags or inside else None
    if text not in tables.titles_dotted:
        return None
    if text in DATES and _is_date_range(token, before, after):
        return tables.titles_dotted[text]
    counted = before is not None and is_number(before) and is_close(token.gap)
    named = after is not None and is_capitalised(after) and after.gap.strip() in ("", ".")
    numbered = after is not None and is_number(after) and after.gap.strip() in ("", ".")
    if is_capitalised(token):
        dotted = DOTTED in token.flags
        name = named and text in TITLES_BEFORE_NAMES and after is not None and len(after.text) > 1
        date = text in DATES and numbered
        return tables.titles_dotted[text] if dotted or name or date else None
    sentence_end = after is None or is_capitalised(after)
    if DOTTED in token.flags and not sentence_end and not counted:
        return tables.titles_dotted[text]
    return None


def _is_date_range(token: Token, before: Token | None, after: Token | None) -> bool:
    """Mon-Fri."""
    first = after is not None and after.gap == "-" and after.text in DATES
    return first or (before is not None and token.gap == "-" and before.text in DATES)


def _is_street(before: Token | None, after: Token | None) -> bool:
    if before is None:
        return False
    numbered = before.raw[:1].isdecimal() and not before.raw.isdecimal()
    ends = after is None or not is_capitalised(after) or "," in after.gap
    return numbered or (is_capitalised(before) and len(before.text) > 2 and ends)


def spelling(tokens: list[Token], tables: Tables) -> list[Token]:
    """British spellings as American ones; the possessive follows its word."""
    out: list[Token] = []
    for token in tokens:
        text = token.text
        stem, tail = (text[:-2], "'s") if text.endswith("'s") else (text, "")
        if stem in tables.spelling and token.kind is Kind.WORD:
            out.extend(opened(token, (tables.spelling[stem] + tail).split(), "spelling"))
        elif stem in tables.spelling_either:
            out.append(with_readings(token, "spelling", [tables.spelling_either[stem] + tail]))
        else:
            out.append(token)
    return out
