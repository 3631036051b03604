"""Whether a manifest and the audio agree how long a recording lasts. The audio is always right."""

from decimal import Decimal

from scoring.corpora.entry import CallEntry, Entry

TOLERANCE_S = 0.1
"""Decoders of compressed audio differ by so much."""


def disagreement(entry: Entry, audio_s: float) -> str | None:
    """What the manifest says and what is true, where they differ; ``audio_s`` is the whole file's.

    The manifest may have rounded, to the digits that it gives.
    """
    if entry.duration_s is None:
        return None
    said_s = float(entry.duration_s)
    allowed_s = _allowed(entry.duration_s)
    if entry.start_s is not None:
        end_s = float(entry.start_s) + said_s
        if end_s <= audio_s + allowed_s:
            return None
        return f"the manifest says {entry.start_s} to {end_s:g} s, the audio lasts {audio_s:.3f} s"
    if abs(said_s - audio_s) <= allowed_s:
        return None
    return f"the manifest says {entry.duration_s} s, the audio lasts {audio_s:.3f} s"


def call_disagreement(call: CallEntry, parts_s: float, parts: int) -> str | None:
    """The same of a call and all its parts together."""
    if call.duration_s is None:
        return None
    allowed_s = max(_allowed(call.duration_s), TOLERANCE_S * parts)
    if abs(float(call.duration_s) - parts_s) <= allowed_s:
        return None
    return f"the manifest says {call.duration_s} s, its {parts} parts last {parts_s:.3f} s"


def _allowed(said: Decimal) -> float:
    exponent = said.as_tuple().exponent
    step = 10.0 ** min(exponent, 0) if isinstance(exponent, int) else 0.0
    return max(TOLERANCE_S, step)
