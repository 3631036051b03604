"""Gradium's speech to text as a provider that anyone can run: a stream of words.

It says nothing final: words come as they are heard, and ``flushed`` answers each flush. A stream
that does not begin with ``setup`` is closed.
"""

import base64
import json
from collections.abc import Iterable

from daemon.conformance.talker import Reply, Talker, TalkingFake
from daemon.fakes.dialect import Alive, Audio, Finish, Force, Order, Wrong
from daemon.fakes.server import JSON, path_of
from providers.codec import HttpRequest, HttpResponse, Message

PATH = "/api/speech/asr"
RATES_HZ = {f"pcm_{rate}": rate for rate in (8000, 16_000, 22_050, 24_000, 44_100, 48_000)}
RATES_HZ["pcm"] = 24_000
NO_SETUP = Wrong(1008, "the first message must be setup")
NOT_UNDERSTOOD = Wrong(1008, "not a message of this service")
BAD_KEY = Wrong(1008, "API key is revoked or expired")
STEP_S = 0.08


class FakeGradium(TalkingFake):
    """Its one model behind ``/api/speech/asr``."""

    def talk(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Talker:
        if path_of(request) != PATH:
            return HttpResponse(404, JSON, b'{"message": "no such path"}')
        good = self.is_good(request.headers.get("x-api-key"))
        return Words(f"request-{next(self.numbers)}", good_key=good)


class Words(Talker):
    """One stream."""

    def __init__(self, request_id: str, *, good_key: bool) -> None:
        self._request_id = request_id
        self._good_key = good_key
        self._set_up = False
        self._flush_id: object = None
        self._heard_ms = self._flushed_ms = 0.0
        self._shown: list[str] = []
        """The words of the open text that have been said."""

    def greeting(self) -> Iterable[Message] | Wrong:
        return () if self._good_key else BAD_KEY

    def heard(self, message: Message) -> Order | Reply:
        said = _object(message)
        if not self._set_up:
            return self._begin(said)
        match said:
            case {"type": "audio", "audio": str(audio)}:
                return self._audio(audio)
            case {"type": "flush", "flush_id": (str() | int()) as flush_id}:
                self._flush_id = flush_id
                self._flushed_ms = self._heard_ms
                return Force()
            case {"type": "end_of_stream"}:
                return Finish()
        return NOT_UNDERSTOOD

    def _begin(self, said: object) -> Order | Reply:
        match said:
            case {"type": "setup", "input_format": str(name)} if name in RATES_HZ:
                self._set_up = True
                self.rate_hz = RATES_HZ[name]
                more = {"request_id": self._request_id, "sample_rate": self.rate_hz}
                return Reply((_message("ready", model_name="default", **more),), Alive())
        return NO_SETUP

    def _audio(self, audio: str) -> Order:
        try:
            pcm = base64.b64decode(audio, validate=True)
        except ValueError:
            return NOT_UNDERSTOOD
        self._heard_ms += len(pcm) * 500 / self.rate_hz
        return Audio(pcm) if pcm and len(pcm) % 2 == 0 else NOT_UNDERSTOOD

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        words = text.split()
        old, new = self._shown[: len(words)], words[len(self._shown) :]
        if old != words[: len(old)]:  # the script has changed its mind, which no word here can
            new = words
        if new:
            spoken_ms = self._flushed_ms if final and self._flushed_ms else audio_ms
            start_s = max(0.0, round(spoken_ms / 1000 - STEP_S, 3))
            yield _message("text", text=" ".join(new), start_s=start_s, stream_id=0)
            yield _message("step", vad=[{"inactivity_prob": 0.1}], step_duration_s=STEP_S)
        self._shown = [*self._shown, *new]
        if final:
            self._shown = self._shown[len(words) :]
        if marked:
            yield _message("flushed", flush_id=self._flush_id)

    def farewell(self, rest: str, audio_ms: float) -> Iterable[Message]:
        yield from super().farewell(rest, audio_ms)
        yield _message("end_of_stream")


def _object(message: Message) -> object:
    try:
        return json.loads(message)
    except (ValueError, RecursionError):
        return None


def _message(name: str, **more: object) -> str:
    return json.dumps({"type": name, **more})
