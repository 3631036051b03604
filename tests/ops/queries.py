"""Looks over a query: can it be read, and is every metric and label in it one that there is?"""

from collections.abc import Iterator

import promql_parser

from exporters.metric_table import METRICS, PREFIX

SCRAPED = frozenset({"instance", "job", "region"})
"""Labels that Prometheus adds."""
OF_OTHERS = {
    "up": frozenset[str](),
    "process_start_time_seconds": frozenset[str](),
    "process_resident_memory_bytes": frozenset[str](),
    "process_cpu_seconds_total": frozenset[str](),
    "speechbench:schedule_seconds": frozenset[str](),
}
"""Series that are not in the table of metrics: Prometheus's, its client's, and a setting."""
_PARTS = {
    "counter": ("",),
    "gauge": ("",),
    "info": ("",),
    "histogram": ("_bucket", "_sum", "_count"),
}


def known(recorded: list[str]) -> dict[str, frozenset[str]]:
    """Every series there is, with its labels; ``recorded`` are the names of recording rules."""
    names = dict(OF_OTHERS)
    for metric in METRICS:
        for part in _PARTS[metric.kind]:
            more = {"le"} if part == "_bucket" else set()
            names[PREFIX + metric.name + part] = frozenset({*metric.labels, *more})
    for name in recorded:
        names.setdefault(name, frozenset(name.partition(":")[0].split("_")))
    return names


def complaints(expr: str, names: dict[str, frozenset[str]]) -> list[str]:
    """What is wrong with a query, a line each."""
    try:
        tree = promql_parser.parse(expr)
    except ValueError as error:
        return [f"{expr}: {error}"]
    return list(_complaints(tree, names))


def _complaints(node: object, names: dict[str, frozenset[str]]) -> Iterator[str]:
    if isinstance(node, promql_parser.VectorSelector):
        if node.name not in names:
            yield f"there is no series {node.name}"
            return
        used = {matcher.name for matcher in node.matchers.matchers}
        yield from (
            f"{node.name} has no label {label}" for label in used - names[node.name] - SCRAPED
        )
        return
    modifier = getattr(node, "modifier", None)
    for label in _labels(modifier):
        if not any(label in names.get(name, ()) for name in _series(node)) and label not in SCRAPED:
            yield f"nothing in {node} has a label {label}"
    for part in _below(node):
        yield from _complaints(part, names)


def _labels(modifier: object) -> list[str]:
    matching = getattr(modifier, "matching", None)
    return [*(getattr(modifier, "labels", None) or []), *(getattr(matching, "labels", None) or [])]


def _below(node: object) -> Iterator[object]:
    for name in ("lhs", "rhs", "expr", "vector_selector"):
        part = getattr(node, name, None)
        if part is not None:
            yield part
    yield from getattr(node, "args", None) or ()


def _series(node: object) -> Iterator[str]:
    if isinstance(node, promql_parser.VectorSelector):
        yield node.name or ""
    for part in _below(node):
        yield from _series(part)
