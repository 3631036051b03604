"""Providers on loopback that anyone can run: to test a client without a key or a network.

Each speaks its provider's wire shapes, checks what it is sent as its provider would, follows a
script of words over audio time, and does wrong whatever it is told to.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module

from daemon.fakes.deepgram import FakeDeepgram
from daemon.fakes.gladia import FakeGladia
from daemon.fakes.script import (
    BINARY,
    EMPTY,
    GARBAGE,
    HUGE,
    Faults,
    Flood,
    HangUp,
    Interjection,
    Line,
    Moment,
    Pieces,
    Refusal,
    Script,
    spoken,
)
from daemon.fakes.server import Fake, listening, serve
from daemon.fakes.visit import Stamped, Visit


class Named(Mapping[str, type[Fake]]):
    """Fakes by the names of their providers; the file of each is loaded when it is asked for.

    All of them take a second, and a process is one of them.
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        """``places``: file and class of each."""
        self._places = places

    def __getitem__(self, provider: str) -> type[Fake]:
        file, _, name = self._places[provider].partition(".")
        made: type[Fake] = getattr(import_module(f"daemon.fakes.{file}"), name)
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


FAKES = Named(
    {
        "deepgram": "deepgram.FakeDeepgram",
        "gladia": "gladia.FakeGladia",
        "cartesia": "cartesia.FakeCartesia",
        "deepgram-flux": "deepgram_flux.FakeDeepgramFlux",
        "assemblyai": "assemblyai.FakeAssemblyAI",
        "speechmatics": "speechmatics.FakeSpeechmatics",
        "soniox": "soniox.FakeSoniox",
        "elevenlabs": "elevenlabs.FakeElevenLabs",
        "smallest": "smallest.FakeSmallest",
        "openai": "realtime.FakeOpenai",
        "together": "realtime.FakeTogether",
        "qwen": "realtime.FakeQwen",
        "mistral": "mistral.FakeMistral",
        "xai": "xai.FakeXai",
        "vllm": "vllm.FakeVllm",
        "sglang": "realtime.FakeSglang",
        "speaches": "realtime.FakeSpeaches",
        "realtime": "realtime.FakeClone",
        "fireworks": "fireworks.FakeFireworks",
        "gradium": "gradium.FakeGradium",
        "inworld": "inworld.FakeInworld",
        "revai": "revai.FakeRevAi",
        "sarvam": "sarvam.FakeSarvam",
        "aws": "aws.FakeAws",
        "azure": "azure.FakeAzure",
        "vosk": "vosk.FakeVosk",
        "sherpa": "sherpa.FakeSherpa",
        "whisperlive": "whisperlive.FakeWhisperLive",
        "google": "google.FakeGoogle",
        "riva": "riva.FakeRiva",
        "kyutai": "kyutai.FakeKyutai",
        "whisper-streaming": "whisper_streaming.FakeWhisperStreaming",
        "wyoming": "wyoming.FakeWyoming",
    }
)
"""Every fake by the name of its provider."""

__all__ = [
    "BINARY",
    "EMPTY",
    "FAKES",
    "GARBAGE",
    "HUGE",
    "Fake",
    "FakeDeepgram",
    "FakeGladia",
    "Faults",
    "Flood",
    "HangUp",
    "Interjection",
    "Line",
    "Moment",
    "Pieces",
    "Refusal",
    "Script",
    "Stamped",
    "Visit",
    "listening",
    "serve",
    "spoken",
]
