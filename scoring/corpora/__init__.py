"""Corpora: recordings with their references, from what people have. Nothing is read here.

A folder of files is handed in, and what the files say comes out; where they are wrong, every
mistake is told with its place.
"""

from collections.abc import Mapping

from scoring.corpora.cleaned import Cleaned, CleanedParts
from scoring.corpora.common_voice import CommonVoice
from scoring.corpora.entry import (
    CallEntry,
    Entry,
    Folder,
    Layout,
    Manifest,
    UnreadableError,
    shown,
)
from scoring.corpora.kaldi import Kaldi
from scoring.corpora.librispeech import LibriSpeech
from scoring.corpora.nemo import Nemo
from scoring.corpora.pairs import Pairs

LAYOUTS: Mapping[str, Layout] = {
    "nemo": Nemo(),
    "kaldi": Kaldi(),
    "common-voice": CommonVoice(),
    "librispeech": LibriSpeech(),
    "cleaned-aa": Cleaned(),
    "cleaned-aa-parts": CleanedParts(),
    "pairs": Pairs(),
}
"""Every kind by its name."""
PARQUET = "parquet"
"""The one kind whose files are no text: whoever reads them hands in rows."""
KINDS = (*LAYOUTS, PARQUET)
LAST_RESORT = "pairs"
"""What a folder is only taken for where it is nothing else: texts may lie beside anything."""


def kinds_of(folder: Folder) -> list[str]:
    """As what ``folder`` could be read; empty where nobody knows. Raises UnreadableError."""
    found = [name for name, layout in LAYOUTS.items() if layout.found(folder)]
    if any(name.endswith(".parquet") for name in _looked_at(folder)):
        found.append(PARQUET)
    # A folder with parts often has the manifest of the whole recordings too.
    if "cleaned-aa-parts" in found and "cleaned-aa" in found:
        found.remove("cleaned-aa")
    return [name for name in found if name != LAST_RESORT] or found


def _looked_at(folder: Folder) -> list[str]:
    return list(folder.names) if folder.chosen is None else [folder.chosen]


__all__ = [
    "KINDS",
    "LAYOUTS",
    "PARQUET",
    "CallEntry",
    "Entry",
    "Folder",
    "Layout",
    "Manifest",
    "UnreadableError",
    "kinds_of",
    "shown",
]
