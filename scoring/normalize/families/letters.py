"""Letters said one by one joined to one word: S I N G H, S-I-N-G-H, S. I. N. G. H."""

from scoring.normalize.shape import Kind, Token
from scoring.normalize.tables import Tables
from scoring.normalize.tokens import SPELLED, TECHNICAL, merged, with_readings

RULE = "letters"
ALSO_WORDS = ("a", "i")
MIN_PAUSED_LETTERS = 3
"""Letters with commas or full stops between them are one name from this length on."""
TIMES = {"double": 2, "triple": 3}


def letters(tokens: list[Token], tables: Tables) -> list[Token]:
    """Runs of single letters as one token, which may also stand for them apart."""
    out: list[Token] = []
    at = 0
    while at < len(tokens):
        run = _run(tokens, at)
        if len(run) > 1:
            span = tokens[at : run[-1] + 1]
            out.append(_word(span))
            at = run[-1] + 1
        else:
            out.append(_alone(tokens[at]))
            at += 1
    return out


def _alone(token: Token) -> Token:
    """Rock n roll."""
    return with_readings(token, RULE, ["and"]) if token.text == "n" and token.raw == "n" else token


def _is_letter(token: Token) -> bool:
    return len(token.text) == 1 and token.text.isalpha() and token.kind is not Kind.NUMBER


def _run(tokens: list[Token], at: int) -> list[int]:
    """The places of the letters that belong together, the first one here."""
    if not _is_letter(tokens[at]) and not _is_times(tokens, at):
        return []
    places = [at]
    paused = False
    while (place := places[-1] + 1) < len(tokens):
        gap = tokens[place].gap
        pause = gap.strip() in (",", ".")
        lettered = _is_letter(tokens[place]) or _is_times(tokens, place)
        if not lettered or not (pause or gap.strip() in ("", "-")) or _turns(tokens, places, place):
            break
        if TECHNICAL in tokens[place].flags and not gap:
            break
        paused = paused or pause
        places.append(place)
    if paused and len(places) < MIN_PAUSED_LETTERS:
        places = _before_pause(tokens, places)
    return _without_articles(tokens, places)


def _is_times(tokens: list[Token], at: int) -> bool:
    """Double L."""
    return tokens[at].text in TIMES and at + 1 < len(tokens) and _is_letter(tokens[at + 1])


def _turns(tokens: list[Token], places: list[int], place: int) -> bool:
    """A capital after a small letter, or the other way round, where the one may be a word."""
    last, here = tokens[places[-1]], tokens[place]
    mixed = last.raw.isupper() != here.raw.isupper() and not (
        _is_times(tokens, places[-1]) or here.text in TIMES
    )
    return mixed and (here.raw in ALSO_WORDS or last.raw in ALSO_WORDS)


def _before_pause(tokens: list[Token], places: list[int]) -> list[int]:
    for n, place in enumerate(places[1:], 1):
        if tokens[place].gap.strip() in (",", "."):
            return places[:n]
    return places


def _without_articles(tokens: list[Token], places: list[int]) -> list[int]:
    """A small a or i before capitals is a word; a run of two that ends in "a" or "i" too."""
    raws = [tokens[place].raw for place in places]
    if len(places) == 2 and raws[0].isupper() and raws[1] == "I":
        return places[:1]
    if (
        len(places) == 2
        and any(raw in ALSO_WORDS for raw in raws)
        and "-" not in tokens[places[1]].gap
    ):
        return places[:1]
    return places


def _word(span: list[Token]) -> Token:
    texts: list[str] = []
    times = 1
    for token in span:
        if token.text in TIMES:
            times = TIMES[token.text]
            continue
        texts.extend([token.text] * times)
        times = 1
    text = "".join(texts)
    readings = {
        " ".join(texts),
        f"{texts[0]} {''.join(texts[1:])}",
        f"{''.join(texts[:-1])} {texts[-1]}",
    }
    return merged(span, text, RULE, kind=Kind.LETTERS, readings=readings, flags=[SPELLED])
