"""Plants one small fault after another in the heart and says which of them no test notices.

``python -m tests.measure.mutants [FILE…] [--list]``; without FILE all of ``FILES``. Each mutant is
a copy of the heart with one change: a comparison, a sign, a constant, a condition, a statement, a
member of an enum. The tests of the heart are run on it; it is killed if they fail or do not end.
What survives is either explained in ``EXPLAINED`` or asks for another story. Ends with 1 where a
survivor is not explained or fewer than ``WANTED`` are killed.

    the repository ─copy─> two workshops ─> one mutant in each ─> pytest ─> killed or survived
"""

import argparse
import ast
import copy
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from queue import Queue

from measure.faults import FaultKind, Whose
from measure.records import FinalRule, Flow, ForceAt, Remark, Verdict

ROOT = Path(__file__).parents[2]
FILES = ("heard.py", "choice.py", "health.py", "stopwatch.py")
WANTED = 0.95
AT_ONCE = 2
PATIENCE_S = 120.0
"""A mutant may make a test run for ever."""
TESTS = ("tests/measure/test_stopwatch.py", "tests/measure/test_heard.py", "tests/measure")
"""The small stories first: they kill most, and at once."""
PYTEST = ("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *TESTS)

EXPLAINED: dict[tuple[str, str, str], str] = {}
"""Why a mutant changes nothing that can be seen: (file, where, change) to one sentence."""

Mutate = Callable[[], None]
Edit = tuple[str, Mutate]
"""What is changed, in words, and how; it works on a tree of its own."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one file."""

    file: str
    line: int
    where: str
    """The function that is changed."""
    change: str
    source: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.file, self.where, self.change

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.where}: {self.change}"


# Which changes there are.

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
SIGNS: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}
NAMES = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "bisect_left": "bisect_right",
    "bisect_right": "bisect_left",
    "reversed": "list",
}
ENUMS: dict[str, type[StrEnum]] = {
    enum.__name__: enum for enum in (Verdict, Remark, Flow, FinalRule, ForceAt, Whose, FaultKind)
}
STATEMENTS = (
    *(ast.Expr, ast.Assign, ast.AugAssign, ast.Return, ast.Raise),
    *(ast.If, ast.For, ast.While, ast.Match),
)


def edits(node: ast.AST) -> Iterator[Edit]:
    """Every small fault that can be planted at ``node`` itself."""
    match node:
        case ast.Compare():
            yield from _comparisons(node)
        case ast.BinOp(op=sign) if type(sign) in SIGNS:
            yield _set(node, "op", SIGNS[type(sign)]())
        case ast.BinOp(op=ast.BitOr()):
            yield from (_become(node, side) for side in (node.left, node.right))
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield _become(node, node.operand)
        case ast.BoolOp():
            yield _set(node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
            yield from (_drop(node, "values", number) for number in range(len(node.values)))
        case ast.Constant(value=bool(value)):
            yield _set(node, "value", not value)
        case ast.Constant(value=int() | float() as value):
            yield from (_set(node, "value", value + by) for by in (-1, 1))
        case ast.Attribute(value=ast.Name(id=enum), attr=member) if enum in ENUMS:
            yield _set(node, "attr", _next_member(ENUMS[enum], member))
        case ast.Call(func=ast.Name(id=name)) if name in NAMES:
            yield _set(node.func, "id", NAMES[name])
        case ast.If() | ast.IfExp() | ast.While():
            yield _set(node, "test", ast.UnaryOp(ast.Not(), node.test))
        case ast.comprehension(ifs=[_, *_]):
            yield from (_drop(node, "ifs", number) for number in range(len(node.ifs)))
        case ast.match_case(guard=ast.expr()):
            yield _set(node, "guard", None)
        case ast.MatchOr():
            yield from (_drop(node, "patterns", number) for number in range(len(node.patterns)))
    if isinstance(node, STATEMENTS) and not _is_docstring(node):
        yield _become(node, ast.Pass())


def _comparisons(node: ast.Compare) -> Iterator[Edit]:
    for number, comparison in enumerate(node.ops):
        for other in COMPARISONS[type(comparison)]:
            yield _set(node, "ops", [*node.ops[:number], other(), *node.ops[number + 1 :]])


def _set(node: ast.AST, field: str, value: object) -> Edit:
    changed = copy.copy(node)
    setattr(changed, field, value)
    return f"{_first_line(node)} -> {_first_line(changed)}", _setter(node, field, value)


def _drop(node: ast.AST, field: str, number: int) -> Edit:
    values = getattr(node, field)
    return _set(node, field, [*values[:number], *values[number + 1 :]])


def _become(node: ast.AST, other: ast.AST) -> Edit:
    def mutate() -> None:
        fields = copy.copy(other.__dict__)
        node.__class__ = other.__class__
        node.__dict__.clear()
        node.__dict__.update(fields)

    return f"{_first_line(node)} -> {_first_line(other)}", mutate


def _setter(node: ast.AST, field: str, value: object) -> Mutate:
    return lambda: setattr(node, field, value)


def _next_member(enum: type[StrEnum], member: str) -> str:
    members = list(enum.__members__)
    return members[(members.index(member) + 1) % len(members)]


def _is_docstring(statement: ast.AST) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
    return False


def _first_line(node: ast.AST) -> str:
    return ast.unparse(node).strip().splitlines()[0]


# Where they are planted.


def mutants_of(file: str, source: str) -> list[Mutant]:
    """Every mutant of one file, in the order of its lines."""
    found: dict[str, Mutant] = {}
    original = ast.unparse(ast.parse(source))
    for number in range(len(_sites(ast.parse(source)))):
        tree = ast.parse(source)
        where, line, node = _sites(tree)[number]
        for choice in range(len(list(edits(node)))):
            tree = ast.parse(source)
            change, mutate = list(edits(_sites(tree)[number][2]))[choice]
            mutate()
            text = ast.unparse(tree) + "\n"
            if text.strip() != original:
                found.setdefault(text, Mutant(file, line, where, change, text))
    return sorted(found.values(), key=lambda mutant: mutant.line)


def _sites(tree: ast.Module) -> list[tuple[str, int, ast.AST]]:
    """Every node that runs when the heart does: (function, line, node). No types among them."""
    return list(_walk(tree, (), 0))


def _walk(node: ast.AST, names: tuple[str, ...], line: int) -> Iterator[tuple[str, int, ast.AST]]:
    line = getattr(node, "lineno", line)
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        names = (*names, node.name)
    yield ".".join(names) or "the file", line, node
    skipped = {"annotation", "returns", "decorator_list"}
    for field, value in ast.iter_fields(node):
        children = value if isinstance(value, list) else [value]
        for child in children:
            if field not in skipped and isinstance(child, ast.AST):
                yield from _walk(child, names, line)


# What becomes of them.


def make_workshop(place: Path) -> Path:
    """A copy of the heart and its tests, alone."""
    ignored = shutil.ignore_patterns("__pycache__")
    for folder in ("measure", "tests/measure"):
        shutil.copytree(ROOT / folder, place / folder, ignore=ignored)
    for file in ("pyproject.toml", "tests/__init__.py", "tests/conftest.py"):
        shutil.copy(ROOT / file, place / file)
    return place


def survives(workshop: Path) -> bool:
    """No test fails on what lies in the workshop."""
    surroundings = os.environ | {
        "PYTHONDONTWRITEBYTECODE": "1",  # two mutants of one second must not share a cache
        "HYPOTHESIS_PROFILE": "mutants",
    }
    try:
        run = subprocess.run(
            (sys.executable, *PYTEST),
            cwd=workshop,
            env=surroundings,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    if run.returncode not in (0, 1, 2):
        raise RuntimeError(f"pytest ended with {run.returncode}: {run.stdout}{run.stderr}")
    return run.returncode == 0


def judged(mutants: Sequence[Mutant], told: Callable[[str], None]) -> list[Mutant]:
    """The survivors among ``mutants``; ``told`` hears of each and of how far it is."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        workshops: Queue[Path] = Queue()
        for number in range(AT_ONCE):
            workshops.put(make_workshop(Path(folder) / str(number)))
        workshop = workshops.get()
        if not survives(workshop):
            raise RuntimeError("the tests fail without any mutant")
        workshops.put(workshop)

        def judge(mutant: Mutant) -> bool:
            workshop = workshops.get()
            file = workshop / "measure" / mutant.file
            file.write_text(mutant.source, encoding="utf-8")
            try:
                return survives(workshop)
            finally:
                shutil.copy(ROOT / "measure" / mutant.file, file)
                workshops.put(workshop)

        survivors = []
        with ThreadPoolExecutor(AT_ONCE) as judges:
            for number, alive in enumerate(judges.map(judge, mutants), start=1):
                if alive:
                    survivors.append(mutants[number - 1])
                    told(f"survived: {survivors[-1]}")
                if number % 50 == 0:
                    told(f"{number} of {len(mutants)}")
        return survivors


def report(mutants: Sequence[Mutant], survivors: Sequence[Mutant]) -> list[str]:
    """The summary, a line each."""
    alive = defaultdict(list)
    for survivor in survivors:
        alive[survivor.file].append(survivor)
    lines = []
    for file in dict.fromkeys(mutant.file for mutant in mutants):
        planted = sum(mutant.file == file for mutant in mutants)
        lines.append(f"{file:14} {planted - len(alive[file]):4} of {planted:4} killed")
    lines += [f"{one}\n    {EXPLAINED.get(one.key, 'NOT EXPLAINED')}" for one in survivors]
    killed = len(mutants) - len(survivors)
    share = killed / len(mutants) if mutants else 1.0
    return [*lines, f"{killed} of {len(mutants)} mutants killed, {100 * share:.1f} %"]


def main(arguments: Iterable[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.measure.mutants")
    parser.add_argument("files", nargs="*", default=FILES, metavar="FILE", help=", ".join(FILES))
    parser.add_argument("--list", action="store_true", help="only say which mutants there are")
    asked = parser.parse_args(list(arguments))
    unknown = [file for file in asked.files if file not in FILES]
    if unknown:
        parser.error(f"{unknown[0]}: not one of {', '.join(FILES)}")
    mutants = [
        mutant
        for file in asked.files
        for mutant in mutants_of(file, (ROOT / "measure" / file).read_text(encoding="utf-8"))
    ]
    if asked.list:
        _say(f"{mutant}\n" for mutant in mutants)
        return 0
    survivors = judged(mutants, lambda line: _say([line + "\n"]))
    _say(line + "\n" for line in report(mutants, survivors))
    enough = len(survivors) <= (1 - WANTED) * len(mutants)
    return 0 if enough and all(mutant.key in EXPLAINED for mutant in survivors) else 1


def _say(lines: Iterable[str]) -> None:
    sys.stdout.writelines(lines)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
