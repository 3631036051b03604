"""How the known-delay server is spoken to: a tiny wire format of its own.

Audio goes out as binary messages, the force as text. Each message that comes back holds the
server's own moments, on this host's monotonic clock:

    we:           <pcm> <pcm> <pcm> force <pcm> <pcm>
    they:            partial   partial        partial   final   sent

``heard_ns``, once there is one, is when the force came into the server's socket, by the kernel;
``sent_ns`` is read right before the message is sent. Numbers are text of a fixed width, so that no
message has to be made in between. A last message, when nobody waits for any more, says when the
two really left, by the kernel: a server that was held up in between does not know the truth.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from measure.events import Event, Notice, Transcript, Unread
from measure.records import MS, FinalRule, Flow, Rule
from providers.codec import Facts, ForceContext, Message, OpenRequest, PlainCodec, parsed

PARTIAL, FINAL, SENT = "partial", "final", "sent"
MODEL = "selftest/known-delay"
FORCE = '{"type": "force"}'
STAMP_DIGITS = 20
UNKNOWN = "unknown"
SETTLE_NS = 80 * MS
"""There is one final, and ``SENT_AFTER_NS`` later the last message. Sessions are to be short."""
SENT_AFTER_NS = 40 * MS
"""Later than we may stand still in a valid session: two messages that are read at once share the
later one's stamp, and this one must not spoil the final's."""


@dataclass(frozen=True, slots=True)
class Delays:
    """How long after the force the server answers."""

    partial_us: int
    final_us: int

    def query(self) -> str:
        """As they stand in the address."""
        return urlencode({"partial_us": self.partial_us, "final_us": self.final_us})


def delays_of(query: str) -> Delays:
    """The delays in an address. Raises ValueError where they are not all there."""
    said = dict(parse_qsl(query))
    try:
        return Delays(int(said["partial_us"]), int(said["final_us"]))
    except KeyError as error:
        raise ValueError(f"the address has no {error.args[0]}") from error


@dataclass(frozen=True, slots=True)
class Said:
    """One message of the server."""

    kind: str
    text: str
    heard_ns: int | None
    """When the force had come in; None before, and where that cannot be known exactly."""
    sent_ns: int

    @property
    def left_ns(self) -> dict[str, int]:
        """Of the last message: when partial and final left, where the kernel says so."""
        return {kind: int(at_ns) for kind, _, at_ns in map(_partition, self.text.split())}


def _partition(word: str) -> tuple[str, str, str]:
    return word.partition("=")


def message_start(kind: str, text: str, heard_ns: int | None) -> bytes:
    """A message up to its last number; ``message_end`` completes it."""
    heard = UNKNOWN if heard_ns is None else str(heard_ns)
    said = json.dumps({"type": kind, "text": text, "heard_ns": heard.rjust(STAMP_DIGITS)})
    return said[:-1].encode() + b', "sent_ns": "'


def message_end(sent_ns: int) -> bytes:
    """The rest of a message, of a fixed length."""
    return b'%020d"}' % sent_ns


MESSAGE_END_BYTES = len(message_end(0))


def said_in(message: Message) -> Said:
    """What a message holds. Raises ValueError for one that is not the server's."""
    match json.loads(message):
        case {"type": str(kind), "text": str(text), "heard_ns": str(heard), "sent_ns": str(sent)}:
            heard = heard.strip()
            return Said(kind, text, None if heard == UNKNOWN else int(heard), int(sent))
    raise ValueError("not a message of the known-delay server")


class KnownDelay(PlainCodec):
    """One stream to the known-delay server."""

    facts = Facts(rule=Rule(Flow.FORCED, FinalRule.MARKER, settle_ns=SETTLE_NS))

    def __init__(self, address: str, delays: Delays) -> None:
        """``address`` is ``ws://HOST:PORT``."""
        self._url = f"{address}/?{delays.query()}"

    def open(self, key: str) -> OpenRequest:
        return OpenRequest(self._url)

    def force(self, context: ForceContext) -> Iterable[Message]:
        return (FORCE,)

    def decode(self, message: Message, at_ns: int) -> Iterator[Event]:
        match parsed(message):
            case {"type": "partial", "text": str(text)}:
                yield Transcript(at_ns, text, final=False)
            case {"type": "final", "text": str(text)}:
                yield Transcript(at_ns, text, final=True, forced=True)
            case {"type": "sent"}:
                yield Notice(at_ns, "sent")
            case _:
                yield Unread(at_ns, "unknown")
