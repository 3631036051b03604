"""A folder of files that is only a dictionary."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scoring.corpora import LAYOUTS, Manifest, UnreadableError


@dataclass(frozen=True)
class Files:
    """What is in each file; empty for audio, which nobody reads here."""

    texts: Mapping[str, str] = field(default_factory=dict)
    chosen: str | None = None
    calls: str | None = None

    @property
    def names(self) -> Sequence[str]:
        return sorted(self.texts)

    def text(self, name: str) -> str:
        try:
            return self.texts[name]
        except KeyError as error:
            raise UnreadableError(f"{name}: no such file") from error


def read(kind: str, texts: Mapping[str, str], *, calls: str | None = None) -> Manifest:
    return LAYOUTS[kind].read(Files(texts, calls=calls))
