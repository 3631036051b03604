"""How one number may be written or said in another form."""

from itertools import product

SHORT_SCALES = ((12, "t"), (9, "b"), (6, "m"), (3, "k"))
MAX_PARTITIONED = 4


def plain(digits: str) -> str:
    """Digits without the zeros before them."""
    return digits.lstrip("0") or "0"


def short_forms(text: str) -> list[str]:
    """50000 may be written 50 K."""
    for power, letter in SHORT_SCALES:
        if text.isdecimal() and len(text) > power and text.endswith("0" * power):
            return [f"{text[:-power]} {letter}"]
    return []


def ordinal_ending(value: int) -> str:
    """st, nd, rd or th."""
    if value % 100 in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")


def partitions(texts: list[str]) -> list[str]:
    """The same digits in fewer and larger numbers, and each apart: 1 20 24, 1 2024, 120 24."""
    if len(texts) > MAX_PARTITIONED:
        return [" ".join(texts)]
    found = []
    for joints in product(("", " "), repeat=len(texts) - 1):
        if " " in joints:
            pairs = zip(texts, (*joints, ""), strict=True)
            found.append("".join(text + joint for text, joint in pairs))
    return found


def written_forms(texts: list[str], *, slashed: bool) -> set[str]:
    """How numbers that were said one after the other may be written as one."""
    if len(texts) == 2:
        whole, rest = texts
        forms = {f"{whole}/{rest}"} if slashed else set()
        if len(rest) == 2:
            if whole != "0":  # which would have been said "point"
                forms.add(f"{whole}.{rest}")
            if len(whole) <= 2 and int(whole) <= 24 and rest < "60":
                forms.add(f"{whole}:{rest}")
        return forms
    if len(texts) == 3 and all(len(text) <= 2 for text in texts):
        return {"/".join(texts), ":".join(texts)}
    if len(texts) == 4 and all(len(text) <= 2 for text in texts):
        return {f"{texts[0]}/{texts[1]}/{texts[2]}{texts[3]}"}
    return set()
