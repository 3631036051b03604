"""Google's Speech-to-Text v2 as a provider that anyone can run, over gRPC."""

from collections.abc import Iterable

from daemon.conformance.grpc_fake import GrpcFake
from daemon.conformance.talker import ALIVE, Talker
from daemon.fakes.dialect import Audio, Finish, Order, Wrong
from daemon.fakes.server import path_of
from providers.codec import HttpRequest, HttpResponse, Message, ProviderError
from providers.families_grpc import STATUS_CLOSE
from providers.google import METHOD, REQUEST_AUDIO, REQUEST_CONFIG, REQUEST_RECOGNIZER, Google
from providers.protobuf import fields, message, messages_in, text_in

MOST_BYTES = 25_600
NOT_UNDERSTOOD = Wrong(STATUS_CLOSE + 3, "not a request of this service")
TOO_LONG = Wrong(STATUS_CLOSE + 3, "too much audio in one request")
NO_AUDIO = Wrong(STATUS_CLOSE + 11, "audio came too slowly, or not at all")
PARTS = ("projects", "locations", "recognizers")


class FakeGoogle(GrpcFake):
    """Its models behind one method."""

    def talk(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Talker:
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind != "Bearer" or not self.is_good(token):
            return HttpResponse(401, {}, b"the token is missing or wrong")
        return Stream() if path_of(request) == METHOD else HttpResponse(404, {}, b"no such method")


class Stream(Talker):
    """One call."""

    forces = False
    idle_s = 10.0

    def __init__(self) -> None:
        self._configured = False

    def heard(self, said: Message) -> Order:
        if not said:
            return Finish()
        try:
            found = fields(said if isinstance(said, bytes) else said.encode())
            if not self._configured:
                (config,) = messages_in(found, REQUEST_CONFIG)
                (recognition,) = messages_in(config, 1)
                name = text_in(found, REQUEST_RECOGNIZER).split("/")
                right = name[0:6:2] == list(PARTS) and text_in(recognition, 9)
                self._configured = True
                return ALIVE if right and text_in(recognition, 10) else NOT_UNDERSTOOD
            (pcm,) = found[REQUEST_AUDIO]
        except (ProviderError, ValueError, KeyError):
            return NOT_UNDERSTOOD
        if not isinstance(pcm, bytes) or len(pcm) % 2:
            return NOT_UNDERSTOOD
        return Audio(pcm) if len(pcm) <= MOST_BYTES else TOO_LONG

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        """A hypothesis comes in two results: the second half of its words is less sure."""
        words = text.split()
        half = len(words) if final else (len(words) + 1) // 2
        pieces = [" ".join(words[:half]), *[f" {' '.join(words[half:])}"] * (half < len(words))]
        results = [
            message((1, message((1, piece), (2, 0.9))), (2, final), *_surety(final, nth))
            for nth, piece in enumerate(pieces)
        ]
        yield message(*((Google.results_field, one) for one in results))

    def idle(self) -> Wrong:
        return NO_AUDIO


def _surety(final: bool, nth: int) -> tuple[tuple[int, float], ...]:
    return () if final else ((3, 0.9 if nth == 0 else 0.01),)
