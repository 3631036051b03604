"""``speechbench score REF HYP``: counts word errors, and shows how it came to them.

With ``--pairs FILE`` each line of the file is one pair, and each line written is its score::

    {"id": "a-1", "ref": "call Jo at 7:00pm", "hyp": "call Joe at seven PM",
     "aliases": [["Jo", "Joe"]]}
    {"id": "a-1", "errors": 0, "reference_words": 5, "substitutions": 0, "insertions": 0,
     "deletions": 0}

``--summary`` writes the sums and the most frequent confusions of all pairs instead, ``--rules``
also what each rule of the normaliser is worth there, and ``--diff`` the pairs that another
normaliser, or an earlier version's output, counts otherwise.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from daemon.errors import UserError
from scoring.normalize import NORMALIZERS, Normalizer, NormalizerUnavailableError, Token
from scoring.normalize.speechbench import SpeechbenchNormalizer
from scoring.tally import Scorer, Tally, TextPair, effects
from scoring.words import Alignment, Outcome, Row, WordErrors

HELP = "count word errors of a text, or of many"

KEYS = {"id": (str, int), "ref": (str,), "hyp": (str,), "aliases": (list,)}
NEEDED = ("id", "ref", "hyp")
COLOURS = {
    Outcome.EQUAL: "",
    Outcome.SUBSTITUTED: "bold yellow",
    Outcome.DELETED: "bold red",
    Outcome.INSERTED: "bold magenta",
}
SIGNS = {
    Outcome.EQUAL: "=",
    Outcome.SUBSTITUTED: "≠",
    Outcome.DELETED: "-",
    Outcome.INSERTED: "+",
}
NO_WORD = "∅"
CASE = "case"
"""The rule that everybody expects; it is not shown."""
DEFAULT_TOP = 20


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("reference", nargs="?", metavar="REF", help="what was said")
    parser.add_argument("hypothesis", nargs="?", metavar="HYP", help="what was recognised")
    parser.add_argument("--files", action="store_true", help="REF and HYP are files with the texts")
    parser.add_argument(
        "--pairs", metavar="FILE", help="many pairs, one JSON object a line: id, ref, hyp, aliases"
    )
    parser.add_argument(
        "--normalizer",
        choices=sorted(NORMALIZERS),
        default="speechbench",
        help="what counts as the same word (default: speechbench)",
    )
    parser.add_argument(
        "--alias",
        action="append",
        default=[],
        metavar="NAME,NAME",
        help="spellings that are taken for the same name; may be given again",
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="show the texts word by word, and which rule did what",
    )
    parser.add_argument(
        "--summary", action="store_true", help="of many pairs: sums and frequent confusions"
    )
    parser.add_argument(
        "--rules", action="store_true", help="of many pairs: what each rule is worth there"
    )
    parser.add_argument(
        "--diff",
        metavar="BASELINE",
        help="what BASELINE counts otherwise: a normaliser's name, or a file that --pairs wrote",
    )
    parser.add_argument(
        "--top",
        type=int,
        default=DEFAULT_TOP,
        metavar="N",
        help=f"how many confusions or differences are shown (default: {DEFAULT_TOP})",
    )
    parser.add_argument("--json", action="store_true", help="one JSON document instead of text")


def run(args: argparse.Namespace) -> int:
    """Score what was given."""
    normalizer = NORMALIZERS[args.normalizer].with_aliases(_aliases(args.alias))
    try:
        if args.pairs is None:
            _one(args, normalizer)
        else:
            _many(args, normalizer)
    except NormalizerUnavailableError as error:
        raise UserError(str(error)) from error
    return 0


def _aliases(given: Sequence[str]) -> list[tuple[str, ...]]:
    groups = [tuple(name.strip() for name in group.split(",")) for group in given]
    for group, text in zip(groups, given, strict=True):
        if len(group) < 2 or not all(group):
            raise UserError(f"--alias {text!r}: give at least two names with a comma between them")
    return groups


# --- one pair


def _one(args: argparse.Namespace, normalizer: Normalizer) -> None:
    if args.reference is None or args.hypothesis is None:
        raise UserError("give REF and HYP, or --pairs FILE")
    if args.summary or args.rules:
        raise UserError("--summary and --rules are for many pairs; give --pairs FILE")
    texts = [args.reference, args.hypothesis]
    if args.files:
        texts = [_text(Path(name)) for name in texts]
    pair = TextPair("", texts[0], texts[1])
    alignment = Scorer(normalizer).align(pair)
    baseline = _baseline_normalizer(args.diff) if args.diff else None
    if args.json:
        _write_json(_document(alignment, normalizer, explain=args.explain))
        return
    console = Console(highlight=False)
    if args.explain:
        _explain(console, alignment)
    console.print(_sentence(alignment.errors), soft_wrap=True)
    if baseline is not None:
        other = Scorer(baseline).align(pair)
        if args.explain:
            console.print(Text(f"\n{baseline.signature}:"))
            _explain(console, other)
        console.print(Text(f"{baseline.signature}: {_sentence(other.errors)}"), soft_wrap=True)
    console.print(Text(f"normaliser: {normalizer.signature}", style="dim"), soft_wrap=True)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file") from error
    except IsADirectoryError as error:
        raise UserError(f"{path}: a directory, not a file") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not a text in UTF-8 (byte {error.start})") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error


def _sentence(errors: WordErrors) -> str:
    """The counts in words; a rate only where there is one."""
    parts = (
        f"{errors.substitutions} substituted, {errors.insertions} inserted, "
        f"{errors.deletions} deleted"
    )
    if errors.rate is None:
        return f"WER undefined: the reference has no words; {errors.insertions} inserted"
    words = f"{errors.errors} errors in {errors.reference_words} words"
    return f"WER {errors.rate:.2%}: {words} ({parts})"


# --- many pairs


def _many(args: argparse.Namespace, normalizer: Normalizer) -> None:
    if args.reference is not None or args.files:
        raise UserError("give either REF and HYP or --pairs FILE, not both")
    scorer = Scorer(normalizer)
    if args.diff:
        pairs = list(_pairs(args.pairs))
        _diff(args, scorer, pairs)
    elif args.summary or args.rules or (args.json and not args.explain):
        pairs = list(_pairs(args.pairs))
        _summary(args, normalizer, scorer, pairs)
    elif args.explain:
        _explain_all(args, normalizer, scorer)
    else:
        for pair in _pairs(args.pairs):
            line = {"id": pair.name} | _counts(scorer.score(pair))
            sys.stdout.write(json.dumps(line) + "\n")


def _explain_all(args: argparse.Namespace, normalizer: Normalizer, scorer: Scorer) -> None:
    if args.json:
        found = [(pair.name, scorer.align(pair)) for pair in _pairs(args.pairs)]
        _write_json([{"id": n} | _document(a, normalizer, explain=True) for n, a in found])
        return
    console = Console(highlight=False)
    for pair in _pairs(args.pairs):
        alignment = scorer.align(pair)
        console.print(Text(str(pair.name), style="bold"))
        _explain(console, alignment)
        console.print(_sentence(alignment.errors) + "\n", soft_wrap=True)


def _pairs(name: str) -> Iterator[TextPair]:
    """Each line of the file, or of standard input for "-", as a pair."""
    if name == "-":
        yield from _read_pairs(sys.stdin, "standard input")
        return
    try:
        with Path(name).open(encoding="utf-8") as lines:
            yield from _read_pairs(lines, name)
    except FileNotFoundError as error:
        raise UserError(f"{name}: no such file") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{name}: not a text in UTF-8 (byte {error.start})") from error
    except OSError as error:
        raise UserError(f"{name}: cannot be read: {error.strerror}") from error


def _read_pairs(lines: TextIO, name: str) -> Iterator[TextPair]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _pair(_object(line, f"{name}:{number}"), f"{name}:{number}")


def _object(line: str, place: str) -> dict[str, object]:
    try:
        said = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{place}: not JSON: {error}") from error
    if not isinstance(said, dict):
        raise UserError(f"{place}: not a JSON object")
    return said


def _pair(said: Mapping[str, object], place: str) -> TextPair:
    for key in NEEDED:
        if key not in said:
            raise UserError(f"{place}: {key!r} is missing; needed are {', '.join(NEEDED)}")
    for key, kinds in KEYS.items():
        value = said.get(key)
        wrong = not isinstance(value, kinds) or isinstance(value, bool)
        if wrong and (key in NEEDED or value is not None):
            raise UserError(f"{place}: {key!r} must be a {' or '.join(k.__name__ for k in kinds)}")
    aliases = said.get("aliases") or []
    assert isinstance(aliases, list)
    if not all(isinstance(g, list) and all(isinstance(n, str) for n in g) for g in aliases):
        raise UserError(f"{place}: 'aliases' must be a list of lists of names")
    name = said["id"]
    assert isinstance(name, str | int)
    groups = tuple(tuple(group) for group in aliases if group)
    return TextPair(name, str(said["ref"]), str(said["hyp"]), groups)


def _counts(errors: WordErrors) -> dict[str, int]:
    return {
        "errors": errors.errors,
        "reference_words": errors.reference_words,
        "substitutions": errors.substitutions,
        "insertions": errors.insertions,
        "deletions": errors.deletions,
    }


# --- sums


def _summary(
    args: argparse.Namespace, normalizer: Normalizer, scorer: Scorer, pairs: Sequence[TextPair]
) -> None:
    tally = Tally()
    for pair in pairs:
        tally.add(scorer.align(pair))
    worth = _worth(normalizer, pairs) if args.rules else {}
    top = tally.confusions.most_common(max(0, args.top))
    if args.json:
        document = {
            "pairs": tally.pairs,
            "pairs_without_reference": tally.without_reference,
            "words_without_reference": tally.words_without_reference,
            "wer": tally.errors.rate,
            **_counts(tally.errors),
            "confusions": [
                {"reference": a, "hypothesis": b, "count": count} for (a, b), count in top
            ],
            "normalizer": normalizer.signature,
        }
        _write_json(document | ({"rules": worth} if args.rules else {}))
        return
    console = Console(highlight=False)
    console.print(f"{tally.pairs} pairs, {_sentence(tally.errors)}", soft_wrap=True)
    if tally.without_reference:
        console.print(
            f"{tally.without_reference} pairs without a word in the reference left out, "
            f"with {tally.words_without_reference} words inserted",
            soft_wrap=True,
        )
    if top:
        rows = [(str(count), a or NO_WORD, b or NO_WORD) for (a, b), count in top]
        console.print(_table(("count", "reference", "hypothesis"), rows))
    if worth:
        ranked = sorted(worth.items(), key=lambda item: -item[1])
        rules = [(name, f"{more:+d}") for name, more in ranked if more]
        console.print(_table(("rule", "errors without it"), rules))
    console.print(Text(f"normaliser: {normalizer.signature}", style="dim"), soft_wrap=True)


def _worth(normalizer: Normalizer, pairs: Sequence[TextPair]) -> dict[str, int]:
    if not isinstance(normalizer, SpeechbenchNormalizer):
        raise UserError(f"--rules: the normaliser {normalizer.name!r} has no rules to switch off")
    return dict(effects(pairs, normalizer))


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in titles:
        table.add_column(title, overflow="fold")
    for row in rows:
        table.add_row(*(Text(_shown(cell)) for cell in row))
    return table


# --- differences


def _baseline_normalizer(name: str) -> Normalizer:
    if name not in NORMALIZERS:
        allowed = ", ".join(sorted(NORMALIZERS))
        raise UserError(f"--diff {name}: for one pair a normaliser's name is needed: {allowed}")
    return NORMALIZERS[name]


def _baseline(name: str, pairs: Sequence[TextPair]) -> dict[str | int, int]:
    """The errors of each pair by the baseline."""
    if name in NORMALIZERS:
        scorer = Scorer(NORMALIZERS[name])
        return {pair.name: scorer.score(pair).errors for pair in pairs}
    if not Path(name).exists():
        allowed = ", ".join(sorted(NORMALIZERS))
        raise UserError(f"--diff {name}: neither a file nor a normaliser ({allowed})")
    known: dict[str | int, int] = {}
    for number, line in enumerate(_text(Path(name)).splitlines(), 1):
        if not line.strip():
            continue
        place = f"{name}:{number}"
        said = _object(line, place)
        key, errors = said.get("id"), said.get("errors")
        if not isinstance(key, str | int) or not isinstance(errors, int):
            raise UserError(f"{place}: 'id' and 'errors' are needed, as --pairs writes them")
        if key in known:
            raise UserError(f"{place}: the id {key!r} stands there twice")
        known[key] = errors
    return known


def _diff(args: argparse.Namespace, scorer: Scorer, pairs: Sequence[TextPair]) -> None:
    before = _baseline(args.diff, pairs)
    now = [(pair, scorer.score(pair).errors) for pair in pairs]
    changed = [(p, before[p.name], n) for p, n in now if p.name in before and before[p.name] != n]
    changed.sort(key=lambda row: row[2] - row[1])
    missing = sum(pair.name not in before for pair in pairs)
    sums = {
        "pairs": len(pairs),
        "missing_in_baseline": missing,
        "errors": sum(n for pair, n in now if pair.name in before),
        "baseline_errors": sum(before[pair.name] for pair in pairs if pair.name in before),
        "fewer": sum(n < b for _, b, n in changed),
        "more": sum(n > b for _, b, n in changed),
    }
    if args.json:
        rows = [{"id": p.name, "baseline_errors": b, "errors": n} for p, b, n in changed]
        _write_json(sums | {"changed": rows})
        return
    console = Console(highlight=False)
    console.print(
        f"{sums['errors']} errors, {sums['baseline_errors']} by {args.diff}: "
        f"{sums['fewer']} pairs have fewer, {sums['more']} more, of {len(pairs)}"
        + (f"; {missing} are not in it" if missing else ""),
        soft_wrap=True,
    )
    half = max(1, args.top // 2)
    shown = changed if len(changed) <= args.top else [*changed[:half], *changed[-half:]]
    cells = [(str(p.name), str(b), str(n), p.reference, p.hypothesis) for p, b, n in shown]
    if cells:
        console.print(_table(("id", "baseline", "now", "reference", "hypothesis"), cells))


# --- word by word


def _explain(console: Console, alignment: Alignment) -> None:
    """Both originals with their errors coloured, and a line for each word that was changed."""
    for name, text, side in (
        ("reference ", alignment.reference, 0),
        ("hypothesis", alignment.hypothesis, 1),
    ):
        console.print(Text(f"{name} ", style="dim") + _coloured(text, alignment.rows, side))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("", "reference", "as", "rules", "hypothesis", "as", "rules", "same by"):
        table.add_column(title, overflow="fold")
    for row in alignment.rows:
        if row.outcome is not Outcome.EQUAL or _is_changed(row, alignment):
            table.add_row(*_cells(row, alignment), style=COLOURS[row.outcome])
    if table.row_count:
        console.print(table)


def _coloured(text: str, rows: Sequence[Row], side: int) -> Text:
    shown = Text(_shown(text))
    for row in rows:
        if row.outcome is not Outcome.EQUAL:
            for token in row.hypothesis if side else row.reference:
                shown.stylize(COLOURS[row.outcome], token.start, token.end)
    return shown


def _is_changed(row: Row, alignment: Alignment) -> bool:
    pairs = ((row.reference, alignment.reference), (row.hypothesis, alignment.hypothesis))
    return row.rule is not None or any(
        text[token.start : token.end].lower() != token.text
        for tokens, text in pairs
        for token in tokens
    )


def _cells(row: Row, alignment: Alignment) -> list[Text]:
    cells = [SIGNS[row.outcome]]
    for tokens, text in (
        (row.reference, alignment.reference),
        (row.hypothesis, alignment.hypothesis),
    ):
        cells.extend([_original(tokens, text), _canonical(tokens), _rules(tokens)])
    return [Text(_shown(cell)) for cell in [*cells, row.rule or ""]]


def _shown(text: str) -> str:
    """The text, of the same length, without what a terminal cannot show."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _original(tokens: Sequence[Token], text: str) -> str:
    if not tokens:
        return NO_WORD
    start, end = min(t.start for t in tokens), max(t.end for t in tokens)
    if start == end:  # a normaliser that cannot say where a word came from
        return " ".join(token.raw for token in tokens)
    return " ".join(text[start:end].split())


def _canonical(tokens: Sequence[Token]) -> str:
    return " ".join(token.text for token in tokens)


def _rules(tokens: Sequence[Token]) -> str:
    fired = dict.fromkeys(rule for token in tokens for rule in token.rules)
    return ", ".join(rule for rule in fired if rule != CASE)


# --- JSON


def _document(alignment: Alignment, normalizer: Normalizer, *, explain: bool) -> dict[str, object]:
    errors = alignment.errors
    document: dict[str, object] = {
        "wer": errors.rate,
        **_counts(errors),
        "normalizer": normalizer.signature,
    }
    if explain:
        document["alignment"] = [
            {
                "outcome": row.outcome,
                "rule": row.rule,
                "reference": [_described(token) for token in row.reference],
                "hypothesis": [_described(token) for token in row.hypothesis],
            }
            for row in alignment.rows
        ]
    return document


def _described(token: Token) -> dict[str, object]:
    return {
        "text": token.text,
        "start": token.start,
        "end": token.end,
        "readings": sorted(token.readings),
        "rules": list(token.rules),
    }


def _write_json(document: object) -> None:
    sys.stdout.write(json.dumps(document, indent=2) + "\n")
