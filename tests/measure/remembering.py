"""What was judged before: a mutant under the same heart and the same tests is not judged again."""

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
    """Outcomes, each valid while nothing it could depend on has changed; and which test killed."""

    def __init__(self, path: Path = KEPT) -> None:
        self._path = path
        kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        self._outcomes: dict[str, int] = kept.get("outcomes", {})
        self._killers: dict[str, str] = kept.get("killers", {})
        self._around: dict[str, str] = {}

    def outcome(self, mutant: Mutant) -> int | None:
        """What came out, if all is as it was then."""
        return self._outcomes.get(self._digest(mutant))

    def killer(self, mutant: Mutant) -> str | None:
        """The test that killed it last, or one like it: it may well do so again."""
        return self._killers.get(_name(mutant))

    def keep_killer(self, name: str, test: str) -> None:
        self._killers[name] = test

    def keep(self, mutant: Mutant, outcome: int) -> None:
        self._outcomes[self._digest(mutant)] = outcome
        if len(self._outcomes) % SAVED_EVERY == 0:
            self.save()

    def save(self) -> None:
        self._path.parent.mkdir(exist_ok=True)
        kept = {"outcomes": self._outcomes, "killers": self._killers}
        new = self._path.with_suffix(".new")
        new.write_text(json.dumps(kept, indent=0), encoding="utf-8")
        new.replace(self._path)

    def _digest(self, mutant: Mutant) -> str:
        if mutant.file not in self._around:
            self._around[mutant.file] = _digest(_around(mutant.file))
        return _digest([self._around[mutant.file], *mutant.key, mutant.source])


def _name(mutant: Mutant) -> str:
    return " ".join(mutant.key)


def _around(file: str) -> Iterable[str]:
    """All that may decide about a mutant of ``file``, but that file."""
    heart = ROOT / "measure"
    yield sys.version
    for path in sorted([*heart.rglob("*.py"), *(ROOT / "tests" / "measure").glob("*.py")]):
        if path != heart / file:
            yield f"{path.relative_to(ROOT)}\n{path.read_text(encoding='utf-8')}"


def _digest(texts: Iterable[str]) -> str:
    whole = hashlib.sha256()
    for text in texts:
        whole.update(hashlib.sha256(text.encode()).digest())
    return whole.hexdigest()
