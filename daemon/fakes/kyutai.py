"""Kyutai's moshi-server as one that anyone can run: MessagePack, words, markers that come back.

It is sent its script's words as they are heard, each once, and answers each piece of audio with a
step. A key that is not the right one is refused before the websocket opens.
"""

from collections.abc import Iterable

import msgpack  # type: ignore[import-untyped, unused-ignore]

from daemon.conformance.talker import ALIVE, Reply, Talker, TalkingFake
from daemon.fakes.dialect import Audio, Force, Order, Wrong
from daemon.fakes.floats import pcm_of_samples
from daemon.fakes.server import JSON, path_of, query_of
from providers.codec import HttpRequest, HttpResponse, Message

PATH = "/api/asr-streaming"
NOT_UNDERSTOOD = Wrong(1011, "")
STEP_S = 0.08


class FakeKyutai(TalkingFake):
    """Its one model behind ``/api/asr-streaming``."""

    def talk(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Talker:
        if path_of(request) != PATH:
            return HttpResponse(404, JSON, b"")
        key = request.headers.get("kyutai-api-key") or query_of(request).get("auth_id")
        return Words() if self.is_good(key) else HttpResponse(401, JSON, b"")


class Words(Talker):
    """One stream."""

    rate_hz = 24_000

    def __init__(self) -> None:
        self._marker = 0
        self._steps = 0
        self._heard_ms = self._marked_ms = 0.0
        self._shown: list[str] = []
        """The words of the open text that have been said."""

    def greeting(self) -> Iterable[Message]:
        return (_packed("Ready"),)

    def heard(self, message: Message) -> Order | Reply:
        if isinstance(message, str):
            return ALIVE  # nobody reads it
        try:
            said = msgpack.unpackb(message)
        except (ValueError, msgpack.exceptions.ExtraData):
            return NOT_UNDERSTOOD
        match said:
            case {"type": "Audio", "pcm": [*samples]}:
                return self._audio(samples)
            case {"type": "Marker", "id": int(number)}:
                self._marker, self._marked_ms = number, self._heard_ms
                return Force()
            case {"type": "Init"}:
                return ALIVE
        return NOT_UNDERSTOOD

    def _audio(self, samples: list[float]) -> Order | Reply:
        try:
            pcm = pcm_of_samples(samples)
        except ValueError:
            return NOT_UNDERSTOOD
        self._heard_ms += len(samples) * 1000 / self.rate_hz
        self._steps += 1
        step = _packed("Step", step_idx=self._steps, prs=[0.1, 0.1, 0.1, 0.1], buffered_pcm=0)
        return Reply((step,), Audio(pcm))

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        words = text.split()
        begun = words[: len(self._shown)] == self._shown[: len(words)]
        new = words[len(self._shown) :] if begun else words
        spoken_ms = self._marked_ms if final and self._marked_ms else audio_ms
        start_s = max(0.0, spoken_ms / 1000 - STEP_S)
        for word in new:
            yield _packed("Word", text=word, start_time=start_s)
            yield _packed("EndWord", stop_time=start_s + STEP_S / 2)
        self._shown = [*self._shown, *new][len(words) if final else 0 :]
        if marked:
            yield _packed("Marker", id=self._marker)

    def farewell(self, rest: str, audio_ms: float) -> Iterable[Message]:
        return ()


def _packed(name: str, **more: object) -> bytes:
    raw: bytes = msgpack.packb({"type": name, **more})
    return raw
