"""The plainest corpus: a recording, and beside it a text of the same name."""

from scoring.corpora.entry import Draft, Entry, Folder, Manifest

AUDIO = (
    ".wav", ".flac", ".mp3", ".ogg", ".opus", ".oga", ".aiff", ".aif", ".au", ".sph", ".w64",
)  # fmt: skip
TEXT = ".txt"


class Pairs:
    """Recordings with texts beside them."""

    def found(self, folder: Folder) -> list[str]:
        if folder.chosen is not None:
            return []
        texts = {name for name in folder.names if name.endswith(TEXT)}
        return [name for name in _recordings(folder) if _stem(name) + TEXT in texts]

    def read(self, folder: Folder) -> Manifest:
        draft = Draft()
        texts = {name for name in folder.names if name.endswith(TEXT)}
        used = set()
        for name in _recordings(folder):
            text = _stem(name) + TEXT
            if text in texts:
                used.add(text)
                draft.add(Entry(_stem(name), name, folder.text(text).strip(), name))
            else:
                draft.problem(name, f"no text beside it; it must be in {text}")
        for text in sorted(texts - used):
            draft.problem(text, "no recording beside it")
        return draft.manifest()


def _recordings(folder: Folder) -> list[str]:
    return [name for name in folder.names if name.lower().endswith(AUDIO)]


def _stem(name: str) -> str:
    return name.rpartition(".")[0]
