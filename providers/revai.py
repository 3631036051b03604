"""Rev.ai's streaming speech to text over one websocket.

Audio goes out as binary messages; JSON text comes back. A hypothesis is a list of elements: words
alone in a partial, words and what stands between them in a final. There is no force, and EOS drops
what had no endpoint yet; so silence goes on until Rev.ai has ended the segment by itself.

    we:               <pcm> <pcm> <pcm> <silence>        EOS
    they:  connected            partial partial    final     Close

The key goes into the address, for there is no header for it.
"""

from collections.abc import Iterable, Iterator

from measure.events import Event, StreamReady, Transcript, Unread
from measure.faults import FaultKind
from measure.records import Flow, Rule
from providers.codec import (
    AudioFormat,
    Ending,
    ErrorMap,
    Facts,
    Limits,
    Message,
    OpenRequest,
    Options,
    Source,
)
from providers.families import JsonCodec, address, no_sense

URL = "wss://api.rev.ai/speechtotext/v1/stream"
PATH = "/speechtotext/v1/stream"
CLOSES = {
    4001: FaultKind.AUTH,
    4002: FaultKind.PROTOCOL,
    4003: FaultKind.QUOTA,
    4010: FaultKind.SERVER,  # it is shutting down
    4013: FaultKind.SERVER,  # it has no instance left
    4029: FaultKind.RATE,
}


class RevAi(JsonCodec):
    """One stream to a transcriber."""

    facts = Facts(
        rule=Rule(Flow.FALLBACK),
        audio=AudioFormat(rate_hz=16_000, chunk_ms=250),
        key_variable="REVAI_ACCESS_TOKEN",
        greets=True,
        natural_endpointing="on: it ends segments by itself",
        ending=Ending.CLOSED,
        limits=Limits(session_s=3 * 3600.0, streams=10),
        errors=ErrorMap(closes=CLOSES),
        languages=("en",),
        prompt="custom_vocabulary_id, made beforehand",
        sources=(
            Source("docs.rev.ai and help.rev.ai: streaming, requests, billing", "2026"),
            Source("coval-ai/benchmarks, its Rev.ai client", "2026-08-21"),
        ),
        why="It cannot be forced, and ending the stream loses what it has not ended itself; "
        "transcriber machine_v2 is Reverb whatever the account's default, priority speed its own.",
        awaits=(
            "The codes 4001, 4010, 4013 and 4029 of its Close; only 4002 and 4003 have been seen.",
            "Whether 250 ms is the best piece of audio.",
            "After how much silence it ends a segment.",
            "Whether a wrong key is refused with HTTP 401 or with Close 4001.",
        ),
    )

    def __init__(self, options: Options, *, transcriber: str = "machine_v2") -> None:
        rate = f"rate={self.facts.audio.rate_hz}"
        settings = {
            "content_type": f"audio/x-raw;layout=interleaved;{rate};format=S16LE;channels=1",
            "language": options.language.partition("-")[0],
            "transcriber": transcriber,
            "skip_postprocessing": "false",
            "priority": "speed",
        }
        self._url = address(options.url or URL, settings, path=PATH, who="Rev.ai")

    def open(self, key: str) -> OpenRequest:
        return OpenRequest(address(self._url, {"access_token": key}, path=PATH, who="Rev.ai"))

    def finish(self) -> Iterable[Message]:
        """No more audio."""
        return ("EOS",)

    def read(self, said: dict[str, object], at_ns: int) -> Iterator[Event]:
        match said:
            case {"type": "connected"}:
                yield StreamReady(at_ns)
            case {"type": "partial" | "final" as kind, "elements": list(elements)}:
                text, final = _text(elements), kind == "final"
                if final or text:
                    yield Transcript(at_ns, text, final)
            case {"type": "partial" | "final"}:
                raise no_sense("a hypothesis without its elements")
            case {"type": "error"}:
                raise self.facts.errors.error(said.get("code"), said.get("message"))
            case {"type": str(name)}:
                yield Unread(at_ns, name)
            case _:
                raise no_sense("a message without a type")


def _text(elements: list[object]) -> str:
    """As it is where the elements hold the blanks between words too; else words with blanks."""
    texts, as_it_is = [], False
    for element in elements:
        match element:
            case {"type": "text" | "punct" as kind, "value": str(value)}:
                texts.append(value)
                as_it_is = as_it_is or kind == "punct"
            case {"type": str()}:
                pass  # a noise or a pause, which says nothing
            case _:
                raise no_sense("an element without a type")
    return ("" if as_it_is else " ").join(texts)
