"""Providers on loopback that anyone can run: to test a client without a key or a network.

Each speaks its provider's wire shapes, checks what it is sent as its provider would, follows a
script of words over audio time, and does wrong whatever it is told to.
"""

from daemon.fakes.assemblyai import FakeAssemblyAI
from daemon.fakes.aws import FakeAws
from daemon.fakes.azure import FakeAzure
from daemon.fakes.cartesia import FakeCartesia
from daemon.fakes.deepgram import FakeDeepgram
from daemon.fakes.deepgram_flux import FakeDeepgramFlux
from daemon.fakes.elevenlabs import FakeElevenLabs
from daemon.fakes.fireworks import FakeFireworks
from daemon.fakes.gladia import FakeGladia
from daemon.fakes.google import FakeGoogle
from daemon.fakes.gradium import FakeGradium
from daemon.fakes.inworld import FakeInworld
from daemon.fakes.kyutai import FakeKyutai
from daemon.fakes.mistral import FakeMistral
from daemon.fakes.realtime import (
    FakeClone,
    FakeOpenai,
    FakeQwen,
    FakeSglang,
    FakeSpeaches,
    FakeTogether,
)
from daemon.fakes.revai import FakeRevAi
from daemon.fakes.riva import FakeRiva
from daemon.fakes.sarvam import FakeSarvam
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
from daemon.fakes.sherpa import FakeSherpa
from daemon.fakes.smallest import FakeSmallest
from daemon.fakes.soniox import FakeSoniox
from daemon.fakes.speechmatics import FakeSpeechmatics
from daemon.fakes.visit import Stamped, Visit
from daemon.fakes.vllm import FakeVllm
from daemon.fakes.vosk import FakeVosk
from daemon.fakes.whisper_streaming import FakeWhisperStreaming
from daemon.fakes.whisperlive import FakeWhisperLive
from daemon.fakes.wyoming import FakeWyoming
from daemon.fakes.xai import FakeXai

FAKES: dict[str, type[Fake]] = {
    "deepgram": FakeDeepgram,
    "gladia": FakeGladia,
    "cartesia": FakeCartesia,
    "deepgram-flux": FakeDeepgramFlux,
    "assemblyai": FakeAssemblyAI,
    "speechmatics": FakeSpeechmatics,
    "soniox": FakeSoniox,
    "elevenlabs": FakeElevenLabs,
    "smallest": FakeSmallest,
    "openai": FakeOpenai,
    "together": FakeTogether,
    "qwen": FakeQwen,
    "mistral": FakeMistral,
    "xai": FakeXai,
    "vllm": FakeVllm,
    "sglang": FakeSglang,
    "speaches": FakeSpeaches,
    "realtime": FakeClone,
    "fireworks": FakeFireworks,
    "gradium": FakeGradium,
    "inworld": FakeInworld,
    "revai": FakeRevAi,
    "sarvam": FakeSarvam,
    "aws": FakeAws,
    "azure": FakeAzure,
    "vosk": FakeVosk,
    "sherpa": FakeSherpa,
    "whisperlive": FakeWhisperLive,
    "google": FakeGoogle,
    "riva": FakeRiva,
    "kyutai": FakeKyutai,
    "whisper-streaming": FakeWhisperStreaming,
    "wyoming": FakeWyoming,
}
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
