"""Which small faults can be planted in the heart: mutants, each a file with one change.

A comparison, a sign, a constant, a condition, a statement, a member of an enum, a default.
"""

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import CodeType

from measure.faults import FaultKind, Whose
from measure.records import Endpoint, FinalRule, Flow, ForceAt, Remark, Verdict

Mutate = Callable[[], None]
Edit = tuple[str, Mutate]
"""What is changed, in words, and how; it works on a tree of its own."""
Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one file."""

    file: str
    line: int
    where: str
    """The function that is changed, or the class, or the file."""
    change: str
    """In words; what is changed alike further on in the same place has a number behind it."""
    source: str = field(repr=False)

    @property
    def key(self) -> Key:
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
    enum.__name__: enum
    for enum in (Verdict, Remark, Flow, FinalRule, ForceAt, Endpoint, Whose, FaultKind)
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
    tree = ast.parse(source)
    original = ast.unparse(tree)
    machine_code = _bare(compile(original, "", "exec"))
    for where, line, node in _sites(tree):
        if where == "the file" and isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            continue  # a type
        for change, mutate in list(edits(node)):
            kept = [
                (one, type(one), dict(vars(one))) for one in (node, *ast.iter_child_nodes(node))
            ]
            mutate()
            text = ast.unparse(tree)
            for one, kind, fields in kept:
                one.__class__ = kind
                one.__dict__.clear()
                one.__dict__.update(fields)
            if text != original and _bare(compile(text, "", "exec")) != machine_code:
                found.setdefault(text, Mutant(file, line, where, change, text + "\n"))
    return _numbered(sorted(found.values(), key=lambda mutant: mutant.line))


def _bare(code: CodeType) -> CodeType:
    """What it does, wherever it stands: a last ``return None`` does nothing, say."""
    consts = tuple(_bare(one) if isinstance(one, CodeType) else one for one in code.co_consts)
    return code.replace(co_consts=consts, co_linetable=b"", co_firstlineno=0)


def _numbered(mutants: list[Mutant]) -> list[Mutant]:
    """What is changed alike in one place gets numbers, so that each has a name of its own."""
    seen: Counter[Key] = Counter()
    numbered = []
    for mutant in mutants:
        seen[mutant.key] += 1
        nth = seen[mutant.key]
        change = mutant.change if nth == 1 else f"{mutant.change} ({nth})"
        numbered.append(replace(mutant, change=change))
    return numbered


def _sites(tree: ast.Module) -> list[tuple[str, int, ast.AST]]:
    """Every node that runs when the heart does: (function, line, node). No types among them."""
    return list(_walk(tree, (), 0))


def _walk(node: ast.AST, names: tuple[str, ...], line: int) -> Iterator[tuple[str, int, ast.AST]]:
    line = getattr(node, "lineno", line)
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        names = (*names, node.name)
    yield ".".join(names) or "the file", line, node
    skipped = {"annotation", "returns", "decorator_list"}
    for name, value in ast.iter_fields(node):
        children = value if isinstance(value, list) else [value]
        for child in children:
            if name not in skipped and isinstance(child, ast.AST):
                yield from _walk(child, names, line)
