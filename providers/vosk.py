"""Vosk's own server over one websocket: the simplest protocol there is.

Audio goes out as binary messages and each is answered by exactly one: a partial with all words of
the segment so far or, where the server itself hears an end, a final. Orders are texts that it
compares letter by letter, blanks included.

    we:    config  <pcm>     <pcm>      <pcm> reset       <pcm>      eof
    they:               partial    partial         text        partial   text Close
"""

from collections.abc import Iterable, Iterator

from measure.events import Event, StreamDone, Transcript, Unread
from measure.records import FinalRule, Flow, Rule
from providers.codec import (
    AudioFormat,
    Facts,
    ForceContext,
    Forcing,
    Message,
    OpenRequest,
    Options,
    Source,
)
from providers.families import JsonCodec, address, bearer, compact, no_sense

URL = "ws://localhost:2700"


class Vosk(JsonCodec):
    """One stream to a server of one's own; its model is chosen where it is started."""

    facts = Facts(
        rule=Rule(Flow.FORCED, FinalRule.NEXT),
        audio=AudioFormat(rate_hz=16_000, chunk_ms=100),
        natural_endpointing="on: the pause rules of its model, which no message can change",
        forcing=Forcing(unanswered="an empty final"),
        prompt="phrase_list: a grammar, nothing else is ever heard",
        sources=(
            Source("alphacep/vosk-server: websocket/asr_server.py", "2026"),
            Source("a public client of it, on published images without reset", "2026"),
        ),
        why="reset makes final what was heard, and the stream goes on. No reply says what it is "
        "the reply to, so the next final answers; a natural one on its way is taken for it.",
        awaits=(
            "Whether the server is new enough: older images do not know reset, and take it for "
            "audio; then no final comes.",
        ),
    )

    def __init__(self, options: Options) -> None:
        self._url = address(options.url or URL, {}, path="/", who="Vosk")
        self._finished = False

    def open(self, key: str) -> OpenRequest:
        return OpenRequest(self._url, bearer(key))

    def hello(self) -> Iterable[Message]:
        """Without it the server believes what it was started with, often 8 kHz."""
        config = {"sample_rate": self.facts.audio.rate_hz, "words": True, "max_alternatives": 0}
        return (compact({"config": config}),)

    def force(self, context: ForceContext) -> Iterable[Message]:
        """Make final, now, whatever was heard up to here."""
        return ('{"reset" : 1}',)

    def finish(self) -> Iterable[Message]:
        """No more audio; say what is left and close."""
        self._finished = True
        return ('{"eof" : 1}',)

    def read(self, said: dict[str, object], at_ns: int) -> Iterator[Event]:
        match said:
            case {"text": str(text)} | {"alternatives": [{"text": str(text)}, *_]}:
                yield Transcript(at_ns, text.strip(), final=True)
                if self._finished:
                    yield StreamDone(at_ns)
            case {"partial": str(text)}:
                if text:
                    yield Transcript(at_ns, text, final=False)
            case {"text": _} | {"alternatives": _} | {"partial": _}:
                raise no_sense("a result without its text")
            case _:
                yield Unread(at_ns, "neither partial nor text")
