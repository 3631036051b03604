"""What was judged before: a mutant is not judged again while nothing that decides has changed.

For one that survived that is the heart and all tests; for one that was killed, the heart and the
file of the test that killed it.
"""

import hashlib
import json
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.measure.planting import Mutant

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "mutants" / "judged.json"
SAVED_EVERY = 20


class Memory:
    """Outcomes, each under a digest of all that decided it; and which test killed."""

    def __init__(self, path: Path = KEPT) -> None:
        self._path = path
        kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        self._outcomes: dict[str, int] = kept.get("outcomes", {})
        self._killers: dict[str, str] = kept.get("killers", {})
        self._around: dict[tuple[str, str | None], str] = {}

    def outcome(self, mutant: Mutant) -> int | None:
        """What came out, if all is as it was then."""
        of_all = self._outcomes.get(self._digest(mutant, None))
        killer = self._killers.get(_name(mutant))
        if of_all is not None or killer is None:
            return of_all
        return self._outcomes.get(self._digest(mutant, _file_of(killer)))

    def killer(self, mutant: Mutant) -> str | None:
        """The test that killed it last, or one like it: it may well do so again."""
        return self._killers.get(_name(mutant))

    def keep(self, mutant: Mutant, outcome: int, test: str | None) -> None:
        """``test`` is the one that killed it, where one did."""
        if test is not None:
            self._killers[_name(mutant)] = test
        self._outcomes[self._digest(mutant, _file_of(test) if test else None)] = outcome
        if len(self._outcomes) % SAVED_EVERY == 0:
            self.save()

    def save(self) -> None:
        self._path.parent.mkdir(exist_ok=True)
        kept = {"outcomes": self._outcomes, "killers": self._killers}
        new = self._path.with_suffix(".new")
        new.write_text(json.dumps(kept, indent=0), encoding="utf-8")
        new.replace(self._path)

    def _digest(self, mutant: Mutant, tests: str | None) -> str:
        place = mutant.file, tests
        if place not in self._around:
            self._around[place] = _digest(_around(*place))
        return _digest([self._around[place], *mutant.key, mutant.source])


def _name(mutant: Mutant) -> str:
    return " ".join(mutant.key)


def _file_of(test: str) -> str:
    return test.partition("::")[0]


def _around(file: str, tests: str | None) -> Iterable[str]:
    """All that may decide about a mutant of ``file``, but that file; of the tests only ``tests``.

    Files of tests know nothing of one another.
    """
    heart = ROOT / "measure"
    yield sys.version
    for path in sorted([*heart.rglob("*.py"), *(ROOT / "tests" / "measure").glob("*.py")]):
        other = tests is not None and path.name.startswith("test_") and path != ROOT / tests
        if path != heart / file and not other:
            yield f"{path.relative_to(ROOT)}\n{path.read_text(encoding='utf-8')}"


def _digest(texts: Iterable[str]) -> str:
    whole = hashlib.sha256()
    for text in texts:
        whole.update(hashlib.sha256(text.encode()).digest())
    return whole.hexdigest()
