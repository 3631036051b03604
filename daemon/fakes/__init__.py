"""Providers on loopback that anyone can run: to test a client without a key or a network.

Each speaks its provider's wire shapes, checks what it is sent as its provider would, follows a
script of words over audio time, and does wrong whatever it is told to.
"""

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

FAKES: dict[str, type[Fake]] = {"deepgram": FakeDeepgram, "gladia": FakeGladia}
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
