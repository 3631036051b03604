"""The hash of a corpus: of each recording its id, its audio and its reference.

The order does not matter, every character does: another reference makes another corpus.
"""

import hashlib
from collections.abc import Iterable

Content = tuple[str, str, str | None]
"""Id, SHA-256 of the audio, and reference of one recording."""


def corpus_sha256(contents: Iterable[Content]) -> str:
    """Over all of them."""
    digest = hashlib.sha256()
    for parts in sorted(
        (name, audio, said is not None, said or "") for name, audio, said in contents
    ):
        for part in parts:
            text = str(part).encode()
            digest.update(len(text).to_bytes(8, "big"))
            digest.update(text)
    return digest.hexdigest()
