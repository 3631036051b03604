"""Where speech starts and ends in the clips that every start may need, known beforehand.

To hear them costs a start an eighth of a second and a library of which nothing else may be needed.
What is known holds for the very samples, the usual settings and the model that was tested; whatever
differs in any of that is heard. tests/vad/test_known.py hears them all again.
"""

from measure.records import VoiceSettings
from vad.endpoint import Edge, EdgeKind

RATE_HZ = 16_000
SETTINGS = VoiceSettings(threshold=0.5, min_silence_ms=100, speech_pad_ms=30)
MODEL_SHA256 = "9ccdacc4719d8aa7e45a77536bfabec45a03ba1f2fad5e241ab4060b24238a85"
"""The model that heard them."""

Span = tuple[int, int, int, int]
"""Samples: where speech starts, where one can know it, where it ends, where one can know it."""

# By the clip's hash, in the order of pacer/builtin.py.
SPEECH: dict[str, tuple[Span, ...]] = {
    "2cbd712b00f6cdc23aa7b0f94691b0bf92c3a403ca58e10f757258db06c176b4": (
        (7_712, 8_704, 63_456, 65_536),
        (68_640, 69_632, 90_080, 92_160),
        (94_752, 95_744, 121_824, 123_904),
    ),
    "7f428a734d9a6614400a7a11d0e663886d2052fba2342e9353a30fa87eac52b6": (
        (4_128, 5_120, 30_688, 32_768),
        (35_360, 36_352, 70_112, 72_192),
    ),
    "d9362d8738b7d64e056831a66e2987dc89db4315ee5725082dcd8f9c2c54df7b": (
        (6_176, 7_168, 54_752, 56_832),
    ),
    "64deac2560b97c0ebaa73839738b60fb55703377fda86a5bd90db1dc5811a9c7": (
        (5_152, 6_144, 51_680, 53_760),
        (59_424, 60_416, 83_936, 86_016),
        (90_144, 91_136, 119_776, 121_856),
    ),
    "9129d2400c2987b64bac9dc3b15440a593a173ca9b83013160370810448a581e": (
        (5_664, 6_656, 15_840, 17_920),
        (18_464, 19_456, 58_336, 60_416),
        (64_032, 65_024, 129_504, 131_584),
    ),
    "7e0f51e0087ce0997701d92129aec3e2561ef8254ebf49924f12601c8b25565d": (
        (6_176, 7_168, 82_912, 84_992),
    ),
}


def known_edges(
    clip_sha256: str, rate_hz: int, settings: VoiceSettings, model_sha256: str
) -> tuple[Edge, ...] | None:
    """Starts and ends by turns, as they fire; None for what has to be heard."""
    spans = SPEECH.get(clip_sha256)
    if spans is None or (rate_hz, settings, model_sha256) != (RATE_HZ, SETTINGS, MODEL_SHA256):
        return None
    return tuple(edge for span in spans for edge in _edges(span))


def _edges(span: Span) -> tuple[Edge, Edge]:
    start, start_known, end, end_known = span
    return (
        Edge(EdgeKind.START, start, start_known, RATE_HZ),
        Edge(EdgeKind.END, end, end_known, RATE_HZ),
    )
