"""What is to be measured, and what the process gives to do it with."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from daemon.kernel_stamps import SentStamp
from daemon.tcp_info import TcpInfo
from measure.events import Connected, Event
from measure.faults import Fault
from measure.records import AudioClip, Frame, Rule
from measure.wire import Record
from pacer.pace import Pacer
from providers.codec import Codec, Message

if TYPE_CHECKING:  # a plan is made of orders, and can be made before the websocket is loaded
    from daemon.wire import Encoded, Received
    from pacer.live import Step
    from scoring.rejoin import Call


@dataclass(frozen=True, slots=True)
class Speech:
    """The speech in one clip, as its survey found it: where it is, and when one can know."""

    start_ms: float
    start_known_ms: float
    end_ms: float
    end_known_ms: float
    end_at_eof: bool = False


class LiveAudio(Protocol):
    """What a device hears, for one session, from when it plays."""

    @property
    def device(self) -> str:
        """Its name."""

    async def play(self, step: "Step", told: Callable[[Event], None]) -> None:
        """Each frame as it comes to ``step``, until it returns False or the device has ended.

        ``told`` gets what the detector decides, and what the device says of itself.
        """


@dataclass(frozen=True, slots=True)
class Order:
    """One measurement to be made."""

    session_id: str
    run_id: str
    model: str
    """As in the catalogue."""
    codec: Codec = field(repr=False)
    key: str = field(repr=False)
    """Empty where the provider needs none."""
    clip: AudioClip
    """At the rate that the provider is sent."""
    speech: Speech | None
    """None where there is none in the clip."""
    rule: Rule
    signature: str
    connect_s: float = 10.0
    close_s: float = 1.0
    price_usd_per_1000_min: float | None = None
    """What its provider is paid; None where nobody has said."""
    earlier: tuple[Speech, ...] = ()
    """Where every end of speech is an endpoint: the speech before ``speech``, in its order."""
    call: "Call | None" = None
    """The whole that the clip is a part of."""
    live: LiveAudio | None = field(default=None, repr=False)
    """What is streamed instead of the clip, which then has only a name and a rate."""

    @property
    def turns(self) -> tuple[Speech, ...]:
        """All speech whose end is an endpoint."""
        return () if self.speech is None else (*self.earlier, self.speech)

    @property
    def provider(self) -> str:
        return self.model.partition("/")[0]


class Pair(NamedTuple):
    """One measurement of a round, by its places in the plan; they sort as the plan does."""

    target: int
    recording: int


class LinkFailed(Exception):
    """The stream could not be opened, or can take no more."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault


class Link(Protocol):
    """One open stream."""

    @property
    def connected(self) -> Connected:
        """How it was opened."""

    @property
    def unsent_bytes(self) -> int:
        """What has been sent and has not left this host."""

    @property
    def sent_bytes(self) -> int:
        """How much was handed over so far: right after a send, the name of that send."""

    def encode(self, message: Message) -> "Message | Encoded":
        """Make one message ready for ``send``, in a quiet moment."""

    def send(self, message: "Message | Encoded", *, stamp: bool = False) -> int:
        """Hand one message to the socket, now; the moment at which it has it.

        ``stamp`` asks for the kernel's own stamps of this send, see ``take_sent_stamps``.

        Raises LinkFailed where the provider has stopped reading for so long that nothing more can
        be kept for it, WireClosed where the stream has ended.
        """

    async def receive(self) -> "Received":
        """The next message. Raises WireClosed after the last one."""

    def take_sent_stamps(self) -> Sequence[SentStamp] | None:
        """The kernel's stamps that have come since the last call; None where it gives none."""

    def tcp_info(self) -> TcpInfo | None:
        """What the kernel knows of it; None where it says nothing."""


Opener = Callable[[Codec, str, float], AbstractAsyncContextManager[Link]]
"""Opens a stream for a codec, with a key, within so many seconds. Raises LinkFailed.

Leaving it closes it within half a second, whatever the provider does."""


class Recorder(Protocol):
    """Takes records and never makes anyone wait."""

    def put(self, record: Record) -> None: ...


class Watchman(Protocol):
    """Knows when this program has stood still and when the host's clocks disagree."""

    def look(self, now_ns: int) -> None:
        """Tell every subscriber if the program stood still up to now."""

    def subscribe(self, told: Callable[[Event], None]) -> AbstractContextManager[None]:
        """From now on ``told`` gets each stall and each step of the clock as it is noticed."""


class Monitor(Protocol):
    """Lets a person hear what is streamed. It never waits and never raises."""

    def hear(
        self, session_id: str, frame: Frame, rate_hz: int, told: Callable[[Event], None]
    ) -> None:
        """A frame of this session has been taken from its audio; ``told`` gets what went wrong."""

    def leave(self, session_id: str) -> None:
        """Nothing more comes of this session, and nothing more is told to it."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What one process has for all its measurements."""

    pacer: Pacer
    open_link: Opener
    recorder: Recorder
    watchman: Watchman
    now_ns: Callable[[], int]
    wall_ns: Callable[[], int]
    monitor: Monitor | None = None
    """None: nobody wants to hear what is streamed."""
