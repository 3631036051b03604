"""What the self-test streams: a second of something like speech, made on the spot, and its delays.

Nothing listens to it, so it only has to be as large and as irregular as speech is. Where it ends is
given and not looked for: the detector's own error is none of the harness's.
"""

import random

import numpy as np

from daemon.order import Speech
from daemon.selftest.codec import Delays
from measure.records import AudioClip
from pacer.clips import clip_from_samples

RATE_HZ = 16_000
CLIP_S = 1.0
SPEECH = Speech(start_ms=60.0, start_known_ms=120.0, end_ms=780.0, end_known_ms=890.0)
"""The force goes with the frame that ends at 900 ms."""
FINAL_US = (50_000, 400_000)
"""The least and the most that the server waits before its final: nothing is right by luck."""
PARTIAL_SHARE = (0.2, 0.8)
"""Where in that time the partial comes."""


def speech_like(seed: int) -> AudioClip:
    """A voice of a few harmonics that rises and falls four times a second, in noise."""
    noise = np.random.default_rng(seed)
    seconds = np.arange(round(CLIP_S * RATE_HZ)) / RATE_HZ
    pitch_hz = 120 + 20 * np.sin(2 * np.pi * 1.3 * seconds)
    phase = 2 * np.pi * np.cumsum(pitch_hz) / RATE_HZ
    voice = sum(np.sin(harmonic * phase) / harmonic for harmonic in range(1, 12))
    loudness = (1 - np.cos(2 * np.pi * 4 * seconds)) / 2
    spoken = (seconds > SPEECH.start_ms / 1000) & (seconds < SPEECH.end_ms / 1000)
    samples = 4000 * voice * loudness * spoken + noise.normal(0, 60, seconds.size)
    return clip_from_samples(
        "speech-like",
        np.clip(samples, -32_768, 32_767).astype(np.int16),
        rate_hz=RATE_HZ,
        reference="one two three four",
        corpus="selftest",
    )


def delays(seed: int, stream: int, number: int) -> Delays:
    """When the server answers session ``number`` of ``stream``; the same for the same seed."""
    draw = random.Random(f"{seed}/{stream}/{number}")
    final_us = draw.randrange(*FINAL_US)
    return Delays(round(final_us * draw.uniform(*PARTIAL_SHARE)), final_us)
