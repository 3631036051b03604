"""All promises, and how one model keeps them."""

from collections.abc import Iterable, Iterator

from daemon.conformance.alone import ALONE
from daemon.conformance.failing import FAILING
from daemon.conformance.promise import Outcome, Promise, Subject, outcome_of
from daemon.conformance.staged import STAGED

PROMISES: dict[str, Promise] = {promise.name: promise for promise in (*ALONE, *STAGED, *FAILING)}
"""By their names, in the order in which they are looked at."""


def outcomes(subject: Subject, names: Iterable[str] = PROMISES) -> Iterator[Outcome]:
    """How the promises of these names turn out."""
    for name in names:
        yield outcome_of(PROMISES[name], subject)
