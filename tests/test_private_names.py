"""A name that begins with an underscore belongs to its file: no other uses it, or makes it anew.

What is there for others, to call or to override, has a name without one. Tests may look inside.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = (
    *("measure", "pacer", "vad", "providers", "scoring", "exporters", "daemon"),
    "benchmarks",
)
FOR_ALL = {"_replace", "_exit"}
"""Of named tuples, and of ``os``: the standard library's, and meant to be used."""

Lines = dict[str, int]
"""Private names, and in which line each is found first."""


@dataclass(slots=True)
class Names:
    """The private names in a class or in a whole file: those it makes, and those it only uses."""

    made: Lines = field(default_factory=dict)
    used: Lines = field(default_factory=dict)

    @classmethod
    def of(cls, tree: ast.AST) -> "Names":
        names = cls()
        for node in ast.walk(tree):
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    _note(names.made, node.name, node.lineno)
                case ast.Name(id=name, ctx=ast.Store()):
                    _note(names.made, name, node.lineno)
                case ast.Attribute(value=ast.Name("self" | "cls"), attr=name, ctx=ast.Store()):
                    _note(names.made, name, node.lineno)
                case ast.Attribute(attr=name):
                    _note(names.used, name, node.lineno)
        return names


def _note(lines: Lines, name: str, line: int) -> None:
    if is_private(name):
        lines.setdefault(name, line)


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__") and name != "_"


@dataclass(frozen=True, slots=True)
class Source:
    """One file."""

    names: Names
    classes: Mapping[str, ast.ClassDef]
    imported: Mapping[str, tuple[str, str, int]]
    """What a name in it is: of which module, which name there, imported in which line."""

    @classmethod
    def read(cls, text: str) -> "Source":
        nodes = list(ast.walk(tree := ast.parse(text)))
        imported = {
            one.asname or one.name: (node.module or "", one.name, node.lineno)
            for node in nodes
            if isinstance(node, ast.ImportFrom)
            for one in node.names
        }
        classes = {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}
        return cls(Names.of(tree), classes, imported)


Found = Iterator[tuple[str, int]]
"""A private name of another file, and the line in which it is."""


def reach_ins(texts: Mapping[str, str]) -> list[str]:
    """Every use of another file's private name, in files by their modules."""
    sources = {module: Source.read(text) for module, text in texts.items()}
    found = {
        (module, line, name)
        for module in sources
        for names in (_imported, _looked_into, _inherited)
        for name, line in names(module, sources)
    }
    return [f"{module}, line {line}: {name}" for module, line, name in sorted(found)]


def _imported(module: str, sources: Mapping[str, Source]) -> Found:
    for owner, name, line in sources[module].imported.values():
        if owner in sources and is_private(name):
            yield name, line


def _looked_into(module: str, sources: Mapping[str, Source]) -> Found:
    """Names of whatever thing that nothing in this file makes."""
    names = sources[module].names
    for name in names.used.keys() - names.made.keys() - FOR_ALL:
        yield name, names.used[name]


def _inherited(module: str, sources: Mapping[str, Source]) -> Found:
    """Names of a class that a base in another file makes: used, overridden, or taken twice."""
    for tree in sources[module].classes.values():
        own = Names.of(tree)
        lines = {**own.used, **own.made}
        for where, base in _bases(module, tree, sources):
            if where != module:
                yield from ((name, lines[name]) for name in Names.of(base).made if name in lines)


def _bases(
    module: str, tree: ast.ClassDef, sources: Mapping[str, Source]
) -> Iterator[tuple[str, ast.ClassDef]]:
    """Those of a class, and theirs, and in which modules they are."""
    for base in tree.bases:
        named = ast.unparse(base).partition("[")[0]
        where, name, _ = sources[module].imported.get(named, (module, named, 0))
        found = sources[where].classes.get(name) if where in sources else None
        if found is not None and found is not tree:
            yield where, found
            yield from _bases(where, found, sources)


def texts_of(rooms: tuple[str, ...]) -> dict[str, str]:
    """All files of these rooms, by their modules."""
    paths = [path for room in rooms for path in (ROOT / room).rglob("*.py")]
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths]
    return {
        name.removesuffix(".__init__"): path.read_text(encoding="utf-8")
        for name, path in zip(names, paths, strict=True)
    }


def test_no_file_uses_a_private_name_of_another() -> None:
    texts = texts_of(ROOMS)
    assert len(texts) > 100
    assert reach_ins(texts) == []


BASE = "class Base:\n    def __init__(self):\n        self._kept = 1\n    def _act(self): ...\n"
HEIR = "from room.base import Base\nclass Middle(Base): ...\nclass Heir(Middle):\n    "
OTHER = "class Other:\n    _kept = 1\n    def _act(self): ...\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("from room.base import _hidden", "line 1: _hidden"),
        ("def act(other):\n    return other._kept", "line 2: _kept"),
        ("def act(other):\n    other._kept = 2", "line 2: _kept"),
        (HEIR + "def _act(self): ...", "line 4: _act"),
        (HEIR + "def act(self): return self._act()", "line 4: _act"),
        (HEIR + "def act(self): self._kept = 2", "line 4: _kept"),
        (HEIR + "_kept: int", "line 4: _kept"),
        (HEIR + f"def act(self): return self._act()\n{OTHER}", "line 4: _act"),
    ],
)
def test_every_way_of_reaching_in_is_found(text: str, said: str) -> None:
    assert reach_ins({"room.base": BASE, "room.other": text}) == [f"room.other, {said}"]


@pytest.mark.parametrize(
    "text",
    [
        "def act(pair):\n    return pair._replace(left=1)",
        OTHER + "def act(other):\n    other._act()",
        HEIR + "def act(self): return self.kept",
        HEIR + f"def act(self): ...\n{OTHER}",
        OTHER + "class Heir(Other):\n    _kept = 2",
        "from elsewhere import _hidden",
        "_, __kept__ = 1, 2",
    ],
)
def test_what_is_ones_own_or_nobodys_here_is_no_reaching_in(text: str) -> None:
    assert reach_ins({"room.base": BASE, "room.other": text}) == []
