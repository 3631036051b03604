"""NeMo's manifests: one JSON object a line, with audio_filepath, text, duration and offset.

Result manifests of speech-recognition leaderboards have the same columns and more.
"""

from dataclasses import replace

from scoring.corpora.entry import Draft, Entry, Folder, Manifest, beside
from scoring.corpora.rows import add_all, columns, entry_of, json_rows


class Nemo:
    """Files of JSON lines whose rows name an audio_filepath."""

    def found(self, folder: Folder) -> list[str]:
        return [
            name for name in json_names(folder) if "audio_filepath" in columns(folder.text(name))
        ]

    def read(self, folder: Folder) -> Manifest:
        draft = Draft()
        entries: list[Entry] = []
        for name in self.found(folder):
            for where, row in json_rows(folder.text(name), name, draft):
                entry = entry_of(row, where, draft)
                if entry is not None:
                    entries.append(replace(entry, audio=beside(name, entry.audio)))
        add_all(entries, draft)
        return draft.manifest()


def json_names(folder: Folder) -> list[str]:
    """The files of JSON lines; the one that was named, where one was."""
    if folder.chosen is not None:
        return [folder.chosen] if folder.chosen.endswith((".jsonl", ".json")) else []
    return [name for name in folder.names if name.endswith((".jsonl", ".json"))]
