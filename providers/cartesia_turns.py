"""Cartesia's Ink models over one websocket, where the model itself decides when a turn is over.

There is no force. ``turn.update`` repeats all of the turn so far, ``turn.end`` settles it;
``turn.eager_end`` is a guess that ``turn.resume`` may take back, so its text counts as a partial.

    we:               <pcm> <pcm> <pcm> <pcm> <pcm>                         {"type":"close"}
    they:  connected    turn.start turn.update turn.eager_end turn.end                     Close
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from measure.events import Event, Notice, StreamReady, Transcript, Unread
from measure.records import Flow, Rule
from providers.cartesia import FACTS as MANUAL
from providers.cartesia import failure, headers
from providers.codec import Ending, Forcing, Message, OpenRequest, Options
from providers.families import JsonCodec, address, no_sense

URL = "wss://api.cartesia.ai/stt/turns/websocket"
NOTICES = frozenset({"turn.start", "turn.resume", "config"})
FACTS = replace(
    MANUAL,
    rule=Rule(Flow.FALLBACK, joiner=""),
    greets=True,
    natural_endpointing="on: the model ends a turn by itself, at the latest 5.6 s after speech",
    forcing=Forcing(),
    prompt="",
    ending=Ending.CLOSED,
    why="It cannot be forced; thresholds are those of its maker, which end a turn as soon as the "
    "model is sure. What is timed is its own decision, not only its speed.",
    awaits=(
        "Which Cartesia-Version is current.",
        "Whether audio before connected would be heard.",
        "Which errors tell of a wrong key, of no credits and of too many streams.",
        "Whether anything comes between close and the end of the websocket.",
    ),
)


class CartesiaTurns(JsonCodec):
    """One stream to an Ink model that ends turns by itself."""

    facts = FACTS

    def __init__(self, options: Options, *, model: str = "ink-2") -> None:
        settings = {
            "model": model,
            "encoding": "pcm_s16le",
            "sample_rate": str(self.facts.audio.rate_hz),
        }
        url = options.url or URL
        self._url = address(url, settings, path="/stt/turns/websocket", who="Cartesia")

    def open(self, key: str) -> OpenRequest:
        return OpenRequest(self._url, headers(key))

    def finish(self) -> Iterable[Message]:
        """No more audio; say what is left and close."""
        return ('{"type":"close"}',)

    def read(self, said: dict[str, object], at_ns: int) -> Iterator[Event]:
        match said:
            case {"type": "connected"}:
                yield StreamReady(at_ns)
            case {"type": "turn.update" | "turn.eager_end", "transcript": str(text)}:
                if text:
                    yield Transcript(at_ns, text, final=False)
            case {"type": "turn.end", "transcript": str(text)}:
                yield Transcript(at_ns, text, final=True)
            case {"type": "error"}:
                raise failure(self.facts, said)
            case {"type": str(name)} if name in NOTICES:
                yield Notice(at_ns, name)
            case {"type": "turn.update" | "turn.eager_end" | "turn.end"}:
                raise no_sense("a turn without its transcript")
            case {"type": str(name)}:
                yield Unread(at_ns, name)
            case _:
                raise no_sense("a message without a type")
