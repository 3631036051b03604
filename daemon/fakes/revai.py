"""Rev.ai's streaming speech to text as a provider that anyone can run.

The key is in the address. A segment ends by itself; what EOS finds open is lost.
"""

import json
from collections.abc import Iterable, Iterator

from daemon.conformance.talker import Talker, TalkingFake
from daemon.fakes.dialect import Audio, Finish, Order, Wrong
from daemon.fakes.server import JSON, path_of, query_of
from providers.codec import HttpRequest, HttpResponse, Message

PATH = "/speechtotext/v1/stream"
RATES_HZ = (8000, 16_000, 24_000, 44_100, 48_000)
NOT_UNDERSTOOD = Wrong(4002, "not a message of this service")
WORD_S = 0.2


class FakeRevAi(TalkingFake):
    """Its transcribers behind one address."""

    has_force = False

    def talk(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Talker:
        asked = query_of(request)
        if not self.is_good(asked.get("access_token")):
            return HttpResponse(401, JSON, b'{"title": "Authorization has been denied"}')
        if path_of(request) != PATH:
            return HttpResponse(404, JSON, b'{"title": "no such path"}')
        rate_hz = _rate_hz(asked.get("content_type", ""))
        wrong = None if rate_hz else Wrong(4002, "content_type is missing or wrong")
        return Stream(rate_hz or RATES_HZ[0], f"job-{next(self.numbers)}", wrong)


def _rate_hz(content_type: str) -> int | None:
    """The rate of the raw audio that is announced; None where it is not such audio."""
    kind, *parts = content_type.split(";")
    said = dict(part.partition("=")[::2] for part in parts)
    same = (kind, said.get("layout"), said.get("format"), said.get("channels"))
    known = {str(rate): rate for rate in RATES_HZ}
    fits = same == ("audio/x-raw", "interleaved", "S16LE", "1")
    return known.get(said.get("rate", "")) if fits else None


class Stream(Talker):
    """One stream."""

    forces = False

    def __init__(self, rate_hz: int, job_id: str, wrong: Wrong | None) -> None:
        self.rate_hz = rate_hz
        self._job_id = job_id
        self._wrong = wrong
        self._from_s = 0.0

    def greeting(self) -> Iterable[Message] | Wrong:
        return self._wrong or (json.dumps({"type": "connected", "id": self._job_id}),)

    def heard(self, message: Message) -> Order:
        if isinstance(message, bytes):
            return Audio(message) if len(message) % 2 == 0 else NOT_UNDERSTOOD
        return Finish() if message == "EOS" else NOT_UNDERSTOOD

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        to_s = round(audio_ms / 1000, 3)
        elements = list(self._elements(text, final=final))
        kind = "final" if final else "partial"
        yield json.dumps({"type": kind, "ts": self._from_s, "end_ts": to_s, "elements": elements})
        self._from_s = to_s if final else self._from_s

    def _elements(self, text: str, *, final: bool) -> Iterator[dict[str, object]]:
        for number, word in enumerate(text.split()):
            if not final:
                yield {"type": "text", "value": word}
                continue
            if number:
                yield {"type": "punct", "value": " "}
            ts = round(self._from_s + number * WORD_S, 3)
            end_ts = round(ts + WORD_S, 3)
            yield {"type": "text", "value": word, "ts": ts, "end_ts": end_ts, "confidence": 0.9}

    def farewell(self, rest: str, audio_ms: float) -> Iterable[Message]:
        return ()
