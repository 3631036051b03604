"""whisper_streaming's server on a plain connection: samples go in, lines come out.

A line holds two moments in the audio, in milliseconds, and the words that the server is sure of
since the last one. No word is ever taken back, nothing is marked as the end of anything, and what
it is not yet sure of when the connection ends is lost. So the words so far are partials here.

    we:    <pcm> <pcm> <pcm> <pcm> <pcm>                      (hang up)
    they:                  0 1720 the blue     1720 2400 kettle
"""

from collections.abc import Iterator

from measure.events import Event, Transcript
from measure.records import Flow, Rule
from providers.codec import (
    AudioFormat,
    Ending,
    Facts,
    Limits,
    Message,
    OpenRequest,
    Options,
    PlainCodec,
    Source,
    TextMode,
    Transport,
)
from providers.families import Segments, no_sense
from providers.families_tcp import line_cut, tcp_address

URL = "tcp://localhost:43007"


class WhisperStreaming(PlainCodec):
    """One stream to a server of one's own; model and language are chosen where it is started."""

    facts = Facts(
        rule=Rule(Flow.FALLBACK),
        transport=Transport.TCP,
        audio=AudioFormat(rate_hz=16_000, chunk_ms=20),
        natural_endpointing="none: words it is sure of, without finals",
        natural_finals=False,
        text_mode=TextMode.DELTA,
        ending=Ending.HANG_UP,
        limits=Limits(streams=1),
        sources=(Source("ufal/whisper_streaming: whisper_online_server.py, 1f25a1a", "2026"),),
        why="It cannot be forced, ends no segment and says nothing more when the audio ends; so "
        "what it has said in the time that every such service gets is its answer.",
        awaits=(
            "How long another client keeps it busy: a second one waits without a word.",
            "Whether a word may be cut in two lines; lines are joined with a blank here.",
        ),
    )

    def __init__(self, options: Options) -> None:
        self._url = tcp_address(options.url or URL, port=43_007, who="whisper_streaming")
        self._words = Segments()

    def open(self, key: str) -> OpenRequest:
        return OpenRequest(self._url)

    def cut(self, come: bytes) -> int | None:
        return line_cut(come)

    def decode(self, message: Message, at_ns: int) -> Iterator[Event]:
        """What one line says. Raises ProviderError where it is none of its lines."""
        raw = message.encode("utf-8", "replace") if isinstance(message, str) else message
        line = raw.decode("utf-8", "replace").strip("\0\r\n")
        match line.split(" ", 2):
            case [start_ms, end_ms, words] if _is_moment(start_ms) and _is_moment(end_ms):
                text = self._words.add(words.strip(), joiner=" ")
                if words.strip():
                    yield Transcript(at_ns, text, final=False)
            case [""]:
                return
            case _:
                raise no_sense("a line without its two moments")


def _is_moment(text: str) -> bool:
    return text.isascii() and text.removeprefix("-").isdigit()
