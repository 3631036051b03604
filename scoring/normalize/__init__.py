"""What counts as the same word: the normalisers by name."""

from scoring.normalize.baselines import NONE, WHISPER, NormalizerUnavailableError
from scoring.normalize.shape import Kind, Normalizer, Same, Token
from scoring.normalize.speechbench import SPEECHBENCH

NORMALIZERS: dict[str, Normalizer] = {
    "speechbench": SPEECHBENCH,
    "whisper": WHISPER,
    "none": NONE,
}
"""Every normaliser there is; the first is the one that published numbers use."""

__all__ = ["NORMALIZERS", "Kind", "Normalizer", "NormalizerUnavailableError", "Same", "Token"]
