"""Ways of measuring: what must be the same in all that is summed up."""

from collections.abc import Iterable
from dataclasses import dataclass, fields

from daemon.errors import UserError
from daemon.reporting.groups import grouped
from daemon.reporting.samples import Sample
from scoring.signature import SignatureError, parsed, split_error

MADE_AGAIN = ("error", "norm", "window")
"""Parts of a signature in which measurements may differ: the newest self-test is no other way of
measuring, and words are counted anew."""


@dataclass(frozen=True, slots=True)
class Way:
    """How a number was made, but for what may differ."""

    parts: tuple[tuple[str, str], ...]

    def without(self, name: str) -> "Way":
        return Way(tuple(part for part in self.parts if part[0] != name))


def way_of(sample: Sample) -> Way:
    """What of a signature, and of the flow, must be the same in all that is summed up."""
    parts = _parts(sample.signature)
    kept = [(name, said) for name, said in parts.items() if name not in MADE_AGAIN]
    return Way((*kept, ("flow", sample.flow)))


def _parts(line: str) -> dict[str, str]:
    try:
        signature = parsed(line)
    except SignatureError:
        return {"signature": split_error(line)[0]}
    return {part.name: getattr(signature, part.name) for part in fields(signature)}


def refuse_mixed(samples: Iterable[Sample]) -> None:
    """Raises UserError where a row would hold what was made in several ways."""
    mixed: dict[str, list[str]] = {}
    for model, several in grouped(samples, lambda one: one.model).items():
        names = differing({way_of(one).without("corpus") for one in several})
        for of_corpus in grouped(several, lambda one: one.corpus).values():
            names += differing({way_of(one) for one in of_corpus})
        if names:
            mixed[model] = names
    if not mixed:
        return
    models = ", ".join(mixed)
    parts = ", ".join(sorted({name for names in mixed.values() for name in names}))
    raise UserError(
        f"{models}: signatures are mixed that differ in {parts}; "
        "--by-signature keeps them apart, --since and --until choose some of them"
    )


def differing(ways: Iterable[Way]) -> list[str]:
    """The names of the parts that are not the same in all of them."""
    every = [dict(way.parts) for way in ways]
    names = sorted({name for parts in every for name in parts})
    return [name for name in names if len({parts.get(name, "") for parts in every}) > 1]
