"""LibriSpeech: folders of recordings, each with one ….trans.txt that says what is said in them."""

from scoring.corpora.entry import Draft, Entry, Folder, Manifest, beside

ENDING = ".trans.txt"
AUDIO = (".flac", ".wav", ".ogg", ".opus", ".mp3")


class LibriSpeech:
    """Folders with files that end in .trans.txt; each line is an id and a text."""

    def found(self, folder: Folder) -> list[str]:
        names = [folder.chosen] if folder.chosen is not None else folder.names
        return [name for name in names if name.endswith(ENDING)]

    def read(self, folder: Folder) -> Manifest:
        draft, there = Draft(), frozenset(folder.names)
        for name in self.found(folder):
            for number, line in enumerate(folder.text(name).split("\n"), start=1):
                key, _, said = line.strip().partition(" ")
                if not key:
                    continue
                where = f"{name}:{number}"
                files = [beside(name, key + ending) for ending in AUDIO]
                audio = next((file for file in files if file in there), None)
                if audio is None:
                    draft.problem(where, f"{key}: no recording {files[0]}")
                else:
                    draft.add(Entry(key, audio, said.strip(), where))
        return draft.manifest()
