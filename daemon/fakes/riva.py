"""NVIDIA's speech servers as a provider that anyone can run, over gRPC.

Where a function is called, as in NVIDIA's cloud, a key is wanted; else it is a server of one's own.
"""

from collections.abc import Iterable

from daemon.conformance.grpc_fake import GrpcFake
from daemon.conformance.talker import ALIVE, Talker
from daemon.fakes.dialect import Audio, Finish, Force, Order, Wrong
from daemon.fakes.server import path_of
from providers.codec import HttpRequest, HttpResponse, Message, ProviderError
from providers.families_grpc import STATUS_CLOSE
from providers.protobuf import Fields, fields, message, messages_in, text_in
from providers.riva import METHOD, REQUEST_AUDIO, REQUEST_CONFIG, REQUEST_RUNTIME, Riva

NOT_UNDERSTOOD = Wrong(STATUS_CLOSE + 3, "not a request of this service")
ENDPOINTING = 25


class FakeRiva(GrpcFake):
    """Models that can be forced, and others."""

    def talk(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Talker:
        kind, _, key = request.headers.get("authorization", "").partition(" ")
        function = request.headers.get("function-id", "")
        if function and not (kind == "Bearer" and self.is_good(key)):
            return HttpResponse(401, {}, b"the key is missing or wrong")
        if path_of(request) != METHOD:
            return HttpResponse(404, {}, b"no such method")
        return Stream(forces=bool(self.script.answers))


class Stream(Talker):
    """One call."""

    def __init__(self, *, forces: bool) -> None:
        self.forces = forces
        self._configured = False

    def heard(self, said: Message) -> Order:
        if not said:
            return Finish()
        try:
            found = fields(said if isinstance(said, bytes) else said.encode())
            return self._audio(found) if self._configured else self._config(found)
        except (ProviderError, ValueError, KeyError):
            return NOT_UNDERSTOOD

    def _config(self, found: Fields) -> Order:
        (config,) = messages_in(found, REQUEST_CONFIG)
        (recognition,) = messages_in(config, 1)
        self._configured = recognition[1] == [1] and bool(text_in(recognition, 3))
        return ALIVE if self._configured else NOT_UNDERSTOOD

    def _audio(self, found: Fields) -> Order:
        """The silence beside a force counts as no audio: nobody has paced it."""
        (pcm,) = found[REQUEST_AUDIO]
        if not isinstance(pcm, bytes) or len(pcm) % 2:
            return NOT_UNDERSTOOD
        runtime = {text_in(one, 1): text_in(one, 2) for one in messages_in(found, REQUEST_RUNTIME)}
        return Force() if runtime.get("force_eou") == "true" else Audio(pcm)

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        result = message((1, message((1, text))), (2, final), (6, audio_ms / 1000))
        yield message((Riva.results_field, result))
