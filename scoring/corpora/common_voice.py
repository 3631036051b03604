"""Common Voice: a table with path and sentence, the recordings in clips/.

Lengths are in clip_durations.tsv, where there is one.
"""

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

from scoring.corpora.entry import MAX_S, Draft, Entry, Folder, Manifest, beside

LENGTHS = "clip_durations.tsv"
USUAL = "test.tsv"
"""Which table is taken where the folder has several."""


class CommonVoice:
    """Tables with the columns path and sentence."""

    def found(self, folder: Folder) -> list[str]:
        names = [folder.chosen] if folder.chosen is not None else list(folder.names)
        named = [name for name in names if name.endswith(".tsv")]
        usual = [name for name in named if name.rpartition("/")[2] == USUAL]
        tables = [name for name in usual if _is_table(folder, name)]
        return tables or [name for name in named if _is_table(folder, name)]

    def read(self, folder: Folder) -> Manifest:
        draft = Draft()
        tables = self.found(folder)
        if len(tables) > 1:
            draft.problem(", ".join(tables), f"several tables and no {USUAL}; name one of them")
            tables = []
        for name in tables:
            lengths = _lengths(folder, beside(name, LENGTHS), draft)
            for where, row in _rows(folder, name, draft):
                path = row["path"] if "." in row["path"] else f"{row['path']}.mp3"
                draft.add(
                    Entry(
                        id=path.rpartition(".")[0],
                        audio=beside(name, f"clips/{path}"),
                        reference=row["sentence"].strip(),
                        where=where,
                        duration_s=lengths.get(path),
                    )
                )
        return draft.manifest()


def _is_table(folder: Folder, name: str) -> bool:
    heads = folder.text(name).removeprefix("\ufeff").split("\n", 1)[0].rstrip("\r").split("\t")
    return {"path", "sentence"} <= set(heads)


def _rows(folder: Folder, name: str, draft: Draft) -> Iterator[tuple[str, dict[str, str]]]:
    """Each row with its place. A quotation mark is part of a sentence and nothing else."""
    head, *lines = folder.text(name).removeprefix("\ufeff").split("\n")
    heads = head.rstrip("\r").split("\t")
    for number, line in enumerate(lines, start=2):
        cells = line.rstrip("\r").split("\t")
        if cells == [""]:
            continue
        where = f"{name}:{number}"
        if len(cells) != len(heads):
            draft.problem(where, f"{len(cells)} columns; the first line has {len(heads)}")
            continue
        yield where, dict(zip(heads, cells, strict=True))


def _lengths(folder: Folder, name: str, draft: Draft) -> dict[str, Decimal]:
    if name not in folder.names:
        return {}
    lengths: dict[str, Decimal] = {}
    for where, row in _rows(folder, name, draft):
        clip = row.get("clip", "")
        said = row.get("duration[ms]", row.get("duration", ""))
        try:
            length = Decimal(said) / 1000
        except InvalidOperation:
            length = Decimal(-1)
        if not length.is_finite() or not 0 <= length <= MAX_S:
            draft.problem(where, f"{clip}: {said[:40]!r} is no number of milliseconds")
        else:
            lengths[clip] = length
    return lengths
