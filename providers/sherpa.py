"""sherpa-onnx's websocket server for streaming models.

Audio goes out as binary messages of 32-bit floats; results come back as JSON, each with all of its
segment so far. The text ``Done`` ends what the server takes for the whole audio: it pads it with
silence of its own, says what is left with ``is_eof``, and then the text ``Done!``. The connection
stays open, and the next audio on it begins anew; so ``Done`` serves as a force. Audio between the
two would go into a stream that has ended.

    we:    <floats> <floats>      <floats> Done
    they:            text    text               text,is_final,is_eof  Done!
"""

from collections.abc import Iterable, Iterator

from measure.events import Event, ForceAcknowledged, Notice, Transcript, Unread
from measure.records import FinalRule, Flow, Frame, Rule
from providers.codec import (
    AudioFormat,
    Encoding,
    Ending,
    Facts,
    ForceContext,
    Forcing,
    Message,
    OpenRequest,
    Options,
    Source,
)
from providers.families import JsonCodec, address, bearer, float32_of, no_sense

URL = "ws://localhost:6006"


class Sherpa(JsonCodec):
    """One stream to a server of one's own; its model is chosen where it is started."""

    facts = Facts(
        rule=Rule(Flow.FORCED, FinalRule.ACK),
        audio=AudioFormat(rate_hz=16_000, chunk_ms=20, encoding=Encoding.F32LE),
        silence_after_force=False,
        natural_endpointing="the server's own; off where it runs with --enable-endpoint=false",
        forcing=Forcing(unanswered="Done! alone or behind an empty final"),
        ending=Ending.HANG_UP,
        sources=(
            Source("k2-fsa/sherpa-onnx: csrc/online-websocket-server-impl.cc, 040afe3", "2026"),
        ),
        why="Done makes the server decode to the end of the audio and Done! says that it has. "
        "Nothing is sent between them, and there is no other goodbye than to hang up.",
        awaits=(
            "Whether every version begins anew with the audio behind Done!, as this one does.",
            "Whether the server was started for audio of 16 kHz, --input-sample-rate=16000.",
        ),
    )

    def __init__(self, options: Options) -> None:
        self._url = address(options.url or URL, {}, path="/", who="sherpa-onnx")
        self._open = ""
        self._owed = 0

    def open(self, key: str) -> OpenRequest:
        return OpenRequest(self._url, bearer(key))

    def audio(self, frame: Frame) -> Message:
        return float32_of(frame.pcm)

    def force(self, context: ForceContext) -> Iterable[Message]:
        """Take what was heard up to here for all there is."""
        self._owed += 1
        return ("Done",)

    def decode(self, message: Message, at_ns: int) -> Iterator[Event]:
        """What one message says. Raises ProviderError where it is a failure or no sense."""
        if message == "Done!":
            yield from self._done(at_ns)
        else:
            yield from super().decode(message, at_ns)

    def read(self, said: dict[str, object], at_ns: int) -> Iterator[Event]:
        match said:
            case {"text": str(text), "is_final": bool(final), **rest}:
                text = text.strip()
                ended = rest.get("is_eof") is True
                self._open = "" if final else text
                if final:
                    yield Transcript(at_ns, text, True, True if ended and self._owed else None)
                elif text:
                    yield Transcript(at_ns, text, False)
            case {"text": _} | {"is_final": _}:
                raise no_sense("a result without its text")
            case _:
                yield Unread(at_ns, "no result")

    def _done(self, at_ns: int) -> Iterator[Event]:
        """All audio is decoded; words that no final has settled are final now."""
        if not self._owed:
            yield Notice(at_ns, "Done!")
            return
        self._owed -= 1
        text, self._open = self._open, ""
        if text:
            yield Transcript(at_ns, text, final=True, forced=True)
        yield ForceAcknowledged(at_ns)
