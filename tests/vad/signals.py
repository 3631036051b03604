"""Sounds that can be made anywhere, sample for sample, and recordings that may be installed."""

import hashlib
import importlib.util
import math
import wave
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from measure.records import AudioClip

Samples = NDArray[np.int16]


def zeros(samples: int) -> Samples:
    return np.zeros(samples, np.int16)


def noise(samples: int, seed: int = 1) -> Samples:
    """White noise at -24 dB from a linear congruential generator: no library's random numbers."""
    made = zeros(samples)
    state = seed
    for i in range(samples):
        state = (1103515245 * state + 12345) & 0x7FFFFFFF
        made[i] = (((state >> 15) & 0xFFFF) - 32768) // 16
    return made


def square(samples: int) -> Samples:
    """A square wave of 200 Hz at 16 kHz."""
    halves = np.arange(samples) // 40
    return np.where(halves % 2 == 0, 8000, -8000).astype(np.int16)


def vowels(samples: int, rate_hz: int = 16_000) -> Samples:
    """An "a" sung in syllables: a pulse train with a moving pitch through three formants."""
    seconds = np.arange(samples) / rate_hz
    pitch_hz = 120 * (1 + 0.15 * np.sin(2 * math.pi * 1.7 * seconds))
    sound = np.diff(np.floor(np.cumsum(pitch_hz) / rate_hz), prepend=0.0)
    for formant_hz, width_hz in ((700, 90), (1200, 110), (2600, 160)):
        sound = _resonance(sound, formant_hz, width_hz, rate_hz)
    sound *= np.sqrt(np.clip(np.sin(2 * math.pi * 3.5 * seconds), 0, 1))
    loud: Samples = np.round(sound / np.abs(sound).max() * 13_000).astype(np.int16)
    return loud


def _resonance(
    sound: NDArray[np.float64], formant_hz: int, width_hz: int, rate_hz: int
) -> NDArray[np.float64]:
    radius = math.exp(-math.pi * width_hz / rate_hz)
    turn, decay = 2 * radius * math.cos(2 * math.pi * formant_hz / rate_hz), -radius * radius
    made = np.empty_like(sound)
    last = before = 0.0
    for i, push in enumerate(sound.tolist()):
        last, before = push + turn * last + decay * before, last
        made[i] = last
    return made


def speech(rate_hz: int = 16_000) -> Samples:
    """2.1 s that Silero takes for speech: twice two syllables, with silence around them."""
    said = vowels(rate_hz // 2, rate_hz)
    pause, tail = zeros(rate_hz * 3 // 10), zeros(rate_hz * 4 // 10)
    return np.concatenate([pause, said, tail, said, tail])


def clip(samples: Samples, rate_hz: int = 16_000) -> AudioClip:
    pcm = samples.astype("<i2").tobytes()
    return AudioClip("made", pcm, rate_hz, hashlib.sha256(pcm).hexdigest())


def beckett() -> AudioClip:
    """10 s of read English at 16 kHz, out of the package of the embedded engine."""
    spec = importlib.util.find_spec("moonshine_voice")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("the recording comes with moonshine-voice, which is not installed")
    path = Path(spec.submodule_search_locations[0]) / "assets" / "beckett.wav"
    if not path.is_file():
        pytest.skip("this moonshine-voice has no beckett.wav")
    with wave.open(str(path)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (16_000, 1, 2)
        return clip(np.frombuffer(file.readframes(file.getnframes()), "<i2"))
