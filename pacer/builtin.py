"""The clips that are always at hand: real speech with its reference, for a first measurement.

They are cut from a reading of the first page of "A Tale of Two Cities" (Charles Dickens, 1859;
public domain) that the package of the embedded recogniser carries. Each cut begins and ends in a
pause. Each reference was compared with what three recognisers hear in its cut. Two lines of the
page are left out, "It was the season of Light, it was the season of Darkness": the recognisers
do not agree whether the reader says "the season" or "a season", so no reference can be sure.
"""

from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from measure.records import AudioClip
from pacer.clips import ClipError, clip_from_samples, load_clip

PACKAGE = "moonshine_voice"
RECORDING = Path("assets", "two_cities.wav")
SHA256 = "f3348494d77cb74a02862f5e685ed09faf3e75832c5cc5c80703282c2cd8b52e"
"""Of the recording; in another one the cuts would be in other places."""
INSTALL = "install it with: pip install --no-deps moonshine-voice==0.0.73"
CORPUS = "two-cities"


@dataclass(frozen=True, slots=True)
class Cut:
    """One clip: where it lies in the recording and what is said there."""

    name: str
    start_s: float
    end_s: float
    reference: str


CUTS = (
    Cut(
        "best-of-times",
        0.70,
        8.53,
        "It was the best of times, it was the worst of times, "
        "it was the age of wisdom, it was the age of foolishness,",
    ),
    Cut(
        "epoch-of-belief",
        8.53,
        13.17,
        "it was the epoch of belief, it was the epoch of incredulity,",
    ),
    Cut(
        "spring-of-hope",
        17.17,
        20.90,
        "it was the spring of hope, it was the winter of despair,",
    ),
    Cut(
        "before-us",
        20.90,
        28.74,
        "we had everything before us, we had nothing before us, "
        "we were all going direct to Heaven, we were all going direct the other way—",
    ),
    Cut(
        "present-period",
        28.74,
        36.90,
        "in short, the period was so far like the present period, "
        "that some of its noisiest authorities insisted on its being received,",
    ),
    Cut(
        "good-or-evil",
        36.60,
        42.20,
        "for good or for evil, in the superlative degree of comparison only.",
    ),
)


def builtin_clips(rate_hz: int = 16_000) -> tuple[AudioClip, ...]:
    """All of them, 38 s together, at ``rate_hz``. Raises ClipError where they cannot be had."""
    whole = load_clip(_recording(), rate_hz=rate_hz)
    samples = np.frombuffer(whole.pcm, dtype="<i2")
    return tuple(
        clip_from_samples(
            cut.name,
            samples[round(cut.start_s * rate_hz) : round(cut.end_s * rate_hz)],
            rate_hz=rate_hz,
            reference=cut.reference,
            corpus=CORPUS,
            source=f"{RECORDING.name} {cut.start_s:.2f}-{cut.end_s:.2f} s, {whole.source}",
        )
        for cut in CUTS
    )


def _recording() -> Path:
    """Where the package keeps it. The package is found, not imported."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ClipError(f"the built-in clips are in {PACKAGE}, which is not installed; {INSTALL}")
    path = Path(spec.submodule_search_locations[0], RECORDING)
    if not path.is_file():
        raise ClipError(f"{path}: the recording of the built-in clips is missing; {INSTALL}")
    if sha256(path.read_bytes()).hexdigest() != SHA256:
        raise ClipError(
            f"{path}: not the recording that the built-in clips are cut from "
            f"(its sha256 is another); {INSTALL}"
        )
    return path
