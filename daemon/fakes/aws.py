"""Amazon Transcribe's streaming as a provider that anyone can run.

The address must be signed; where the fake has a key, ID:SECRET, the signature must be that key's.
What is wrong in the stream is told in an exception, and then the fake hangs up.
"""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from urllib.parse import parse_qsl, urlsplit

from daemon.conformance.talker import Talker, TalkingFake
from daemon.fakes.dialect import Audio, Finish, Order, Wrong
from daemon.fakes.server import path_of, query_of
from providers.aws import PATH, RATE_HZ, SERVICE
from providers.codec import HttpRequest, HttpResponse, Message, ProviderError
from providers.event_stream import EventMessage, decoded, encoded
from providers.sigv4 import ALGORITHM, Credentials, Scope, signed_query

RATES_HZ = range(8_000, 48_001)
LONGEST_S = 1.0
SIGNED = ("Algorithm", "Credential", "Date", "Expires", "SignedHeaders", "Signature")
IN_EVENT = {":content-type": "application/json", ":event-type": "TranscriptEvent"}
NOT_UNDERSTOOD = Wrong(1003, "BadRequestException: not an event of this service")
TOO_LONG = Wrong(1008, "BadRequestException: a piece of audio of more than a second")


class FakeAws(TalkingFake):
    """Its one service."""

    has_force = False

    def talk(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Talker:
        asked = query_of(request)
        if any(not asked.get(f"X-Amz-{name}") for name in SIGNED):
            return _refusal(403, "MissingAuthenticationToken")
        if not self._is_signed(request, asked):
            return _refusal(403, "InvalidSignatureException")
        if path_of(request) != PATH:
            return _refusal(404, "UnknownOperationException")
        rate = asked.get("sample-rate", "")
        right = asked.get("media-encoding") == "pcm" and "-" in asked.get("language-code", "")
        if not right or not rate.isdecimal() or int(rate) not in RATES_HZ:
            return _refusal(400, "BadRequestException")
        return Stream(int(rate))

    def _is_signed(self, request: HttpRequest, asked: dict[str, str]) -> bool:
        """By the right key, if there is only one; the time is not looked at."""
        name, *scope = asked["X-Amz-Credential"].split("/")
        if len(scope) != 4 or scope[2:] != [SERVICE, "aws4_request"]:
            return False
        if asked["X-Amz-Algorithm"] != ALGORITHM or not asked["X-Amz-Expires"].isdecimal():
            return False
        if self.key is None:
            return True
        try:
            day = datetime.strptime(asked["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        except ValueError:
            return False
        key_id, _, secret = self.key.partition(":")
        secret, _, token = secret.partition(":")
        pairs = parse_qsl(urlsplit(request.url).query, keep_blank_values=True)
        query = signed_query(
            Credentials(key_id, secret, token),
            Scope(scope[1], SERVICE, day.timestamp()),
            host=request.headers.get("host", ""),
            path=path_of(request),
            settings=[pair for pair in pairs if not pair[0].startswith("X-Amz-")],
            expires_s=int(asked["X-Amz-Expires"]),
        )
        return key_id == name and query.endswith(f"X-Amz-Signature={asked['X-Amz-Signature']}")


def _refusal(status: int, name: str) -> HttpResponse:
    headers = {"Content-Type": "application/json", "x-amzn-ErrorType": name}
    return HttpResponse(status, headers, json.dumps({"Message": name}).encode())


class Stream(Talker):
    """One stream."""

    forces = False
    idle_s = 15.0

    def __init__(self, rate_hz: int = RATE_HZ) -> None:
        self.rate_hz = rate_hz
        self._number = 1
        self._from_s = 0.0

    def heard(self, message: Message) -> Order:
        if isinstance(message, str):
            return NOT_UNDERSTOOD
        try:
            event = decoded(message)
        except ProviderError:
            return NOT_UNDERSTOOD
        if event.headers.get(":event-type") != "AudioEvent" or len(event.payload) % 2:
            return NOT_UNDERSTOOD
        if len(event.payload) > LONGEST_S * self.rate_hz * 2:
            return TOO_LONG
        return Audio(event.payload) if event.payload else Finish()

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        to_s = round(audio_ms / 1000, 3)
        items = [{"Content": word, "Type": "pronunciation"} for word in text.split()]
        result = {
            "ResultId": f"result-{self._number}",
            "StartTime": self._from_s,
            "EndTime": to_s,
            "IsPartial": not final,
            "Alternatives": [{"Transcript": text, "Items": items}],
        }
        yield _event({"Transcript": {"Results": [result]}})
        if final:
            self._number += 1
            self._from_s = to_s

    def farewell(self, rest: str, audio_ms: float) -> Iterable[Message]:
        yield from super().farewell(rest, audio_ms)
        yield _event({"Transcript": {"Results": []}})

    def idle(self) -> Wrong:
        return Wrong(1008, "BadRequestException: no new audio was received for 15 seconds")


def _event(said: dict[str, object]) -> bytes:
    headers = {":message-type": "event", **IN_EVENT}
    return encoded(EventMessage(headers, json.dumps(said).encode()))
