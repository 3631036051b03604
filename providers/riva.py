"""NVIDIA's speech servers (Riva, now NIM): one two-way call of protobuf messages.

The first message says how to listen, all others are audio. Nemotron can be forced: one audio
message, here of silence, says so beside its samples; the next final is the answer. Other models
ignore that, so they are measured by their own ends. In NVIDIA's cloud a model is a function:

    grpc://localhost:50051                                  a server of your own, no key
    grpcs://grpc.nvcf.nvidia.com:443/FUNCTION-ID            NVIDIA's cloud

    we:    config <pcm> <pcm> <pcm> <80 ms, force_eou>         (our half of the call ends)
    they:             results  results            final result                   status OK
"""

from collections.abc import Iterable
from dataclasses import replace

from measure.records import FinalRule, Flow, Frame, Rule
from providers.codec import (
    AudioFormat,
    Ending,
    Facts,
    ForceContext,
    Forcing,
    Message,
    OpenRequest,
    Options,
    Source,
    Transport,
)
from providers.families_grpc import STATUSES, Recognizer, place_of
from providers.protobuf import message
from providers.regions import with_region

METHOD = "/nvidia.riva.asr.RivaSpeechRecognition/StreamingRecognize"
LOCAL = "grpc://localhost:50051"
CLOUD = "grpcs://grpc.nvcf.nvidia.com:443"
NEMOTRON_FUNCTION = "bb0837de-8c7b-481f-9ec8-ef5663e9c1fa"
RATE_HZ = 16_000
CHUNK_MS = 80
LINEAR_PCM = 1
STOP_HISTORY_MS = 4500
"""So much silence ends an utterance by itself; far more than a force needs."""
REQUEST_CONFIG, REQUEST_AUDIO, REQUEST_RUNTIME = 1, 2, 3
FORCE = message((1, "force_eou"), (2, "true"))
"""One entry of a map."""
SILENCE = bytes(RATE_HZ * CHUNK_MS // 1000 * 2)
SERVER_FACTS = Facts(
    rule=Rule(Flow.FALLBACK),
    audio=AudioFormat(rate_hz=RATE_HZ, chunk_ms=CHUNK_MS),
    natural_endpointing="on: as the server is set up",
    transport=Transport.GRPC,
    ending=Ending.CLOSED,
    errors=STATUSES,
    languages=("en-US",),
    prompt="speech_contexts, phrases with a boost",
    sources=(
        Source("nvidia-riva/common: riva_asr.proto", "2026-03"),
        Source("pipecat-ai/pipecat, its NVIDIA client", "2026-08-21"),
    ),
    why="This model ignores a force, so its own end of an utterance is awaited.",
    awaits=("After how much silence the server ends an utterance as it comes.",),
)
FORCED_FACTS = replace(
    SERVER_FACTS,
    rule=Rule(Flow.FORCED, FinalRule.NEXT),
    forcing=Forcing(unanswered="not known"),
    natural_endpointing=f"nearly off: after {STOP_HISTORY_MS} ms of silence",
    sources=(
        *SERVER_FACTS.sources,
        Source("nvidia-riva/tutorials: force_eou, with a map of runtime settings", "2026-05-06"),
    ),
    why="A force goes beside 80 ms of silence in one message, which is the size of piece that it "
    "is made for; nothing marks the answer, so it is the next final.",
    awaits=(
        "That runtime_config is field 3, a map: the published .proto at hand is older than it.",
        "What comes after a force where nothing was heard.",
        "Whether a force is taken in a message without samples.",
        "Whether the silence of 4500 ms is honoured.",
    ),
)


class Riva(Recognizer):
    """One stream to a model; ``forced`` for those that can be."""

    results_field = 1
    facts = SERVER_FACTS

    def __init__(self, options: Options, *, forced: bool, cloud: bool = False) -> None:
        self.facts = FORCED_FACTS if forced else SERVER_FACTS
        if cloud:
            self.facts = replace(self.facts, key_variable="NVIDIA_API_KEY")
        self._place = place_of(options.url or (CLOUD if cloud else LOCAL), "NVIDIA")
        self._function = (self._place.rest or NEMOTRON_FUNCTION) if cloud else ""
        self._forced = forced
        self._language = with_region(options.language)

    def open(self, key: str) -> OpenRequest:
        """Without a function and a key where the server is one's own."""
        names = {"function-id": self._function, "authorization": f"Bearer {key}"}
        return OpenRequest(self._place.base + METHOD, names if self._function else {})

    def hello(self) -> Iterable[Message]:
        """How to listen."""
        ends = ((25, message((3, STOP_HISTORY_MS))),) if self._forced else ()
        sound = ((1, LINEAR_PCM), (2, RATE_HZ), (3, self._language), (4, 1), (7, 1))
        config = message(*sound, (11, True), *ends)
        return (message((REQUEST_CONFIG, message((1, config), (2, True)))),)

    def audio(self, frame: Frame) -> Message:
        return message((REQUEST_AUDIO, frame.pcm))

    def force(self, context: ForceContext) -> Iterable[Message]:
        """The end of the utterance, beside a piece of silence."""
        forced = message((REQUEST_AUDIO, SILENCE), (REQUEST_RUNTIME, FORCE))
        return (forced,) if self._forced else ()
