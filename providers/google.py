"""Google's Speech-to-Text v2: one two-way call of protobuf messages.

The first message says the recognizer and how to listen, all others are audio. Each response holds
results; those that are not final yet are one hypothesis in several pieces, each surer than the
next. There is no force. The address names the project, for nothing else does:

    grpcs://us-speech.googleapis.com/projects/MY-PROJECT/locations/us/recognizers/_

    we:    config <pcm> <pcm> <pcm> <pcm>             (our half of the call ends)
    they:             results  results  final result                             status OK

The key is an access token, such as ``gcloud auth print-access-token`` prints for an hour.
"""

from collections.abc import Iterable
from dataclasses import replace

from measure.records import Flow, Frame, Rule
from providers.codec import (
    AudioFormat,
    Ending,
    Facts,
    Limits,
    Message,
    OpenRequest,
    Options,
    Source,
    Transport,
)
from providers.families_grpc import STATUSES, Recognizer, place_of
from providers.protobuf import message
from providers.regions import with_region

METHOD = "/google.cloud.speech.v2.Speech/StreamingRecognize"
HOST = "us-speech.googleapis.com"
RECOGNIZER = "projects/{project}/locations/{location}/recognizers/_"
NO_PROJECT = "YOUR-PROJECT"
"""Where the address names none; Google's refusal will repeat it."""
RATE_HZ = 16_000
LINEAR16 = 1
REQUEST_RECOGNIZER, REQUEST_AUDIO, REQUEST_CONFIG = 3, 5, 6


class Google(Recognizer):
    """One stream to a model."""

    results_field = 6
    facts = Facts(
        rule=Rule(Flow.FALLBACK),
        audio=AudioFormat(rate_hz=RATE_HZ, chunk_ms=100, max_chunk_ms=400),
        key_variable="GOOGLE_ACCESS_TOKEN",
        natural_endpointing="on: it ends segments by itself, as sensitive as it comes",
        transport=Transport.GRPC,
        ending=Ending.CLOSED,
        limits=Limits(session_s=300.0),
        errors=STATUSES,
        languages=("en-US", "en-GB", "de-DE", "es-ES", "fr-FR", "it-IT", "ja-JP", "pt-BR", "multi"),
        prompt="adaptation, phrases with a boost",
        sources=(
            Source("googleapis: cloud_speech.proto and its Python types, speech v2", "2026"),
            Source("pipecat-ai/pipecat, its Google client", "2026-08-21"),
            Source("livekit/agents, its Google client", "2026-08-22"),
        ),
        why="It cannot be forced, so its own end of a segment is awaited. The key is an access "
        "token, which lasts an hour; the address must name the project: "
        f"grpcs://{HOST}/projects/MY-PROJECT/locations/us/recognizers/_",
        awaits=(
            "Whether the token of a user needs the project in a header as well.",
            "Which locations have which model.",
            "With which status it ends a stream of five minutes, and one without audio.",
            "How much sooner finals come with another endpointing sensitivity.",
        ),
    )

    def __init__(self, options: Options, *, model: str = "chirp_3") -> None:
        self._place = place_of(options.url or f"grpcs://{HOST}", "Google")
        self._recognizer = self._place.rest or _recognizer_at(self._place.host)
        self._model = model
        multi = options.language == "multi"
        self._language = "auto" if multi else with_region(options.language)
        if model != "chirp_3":
            self.facts = replace(self.facts, languages=self.facts.languages[:-1])

    def open(self, key: str) -> OpenRequest:
        return OpenRequest(self._place.base + METHOD, {"authorization": f"Bearer {key}"})

    def hello(self) -> Iterable[Message]:
        """How to listen."""
        decoding = message((1, LINEAR16), (2, RATE_HZ), (3, 1))
        punctuated = message((4, True))
        config = message((8, decoding), (9, self._model), (10, self._language), (2, punctuated))
        interim = message((2, True))
        streaming = message((1, config), (2, interim))
        return (message((REQUEST_RECOGNIZER, self._recognizer), (REQUEST_CONFIG, streaming)),)

    def audio(self, frame: Frame) -> Message:
        return message((REQUEST_AUDIO, frame.pcm))


def _recognizer_at(host: str) -> str:
    """The unnamed recognizer of the host's location, in no project."""
    location = host.partition("-speech.")[0] if "-speech.googleapis" in host else "global"
    return RECOGNIZER.format(project=NO_PROJECT, location=location)
