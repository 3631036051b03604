"""What the kernel says of one stream: what had not left at zero, when it left, how the line is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from daemon.kernel_stamps import SentStamp
from daemon.order import Link
from measure.events import BytesUnsent, Event, NetworkSampled, SendStamped


@dataclass(slots=True)
class Passage:
    """Follows the two sends that make zero, by their names on the link; 0: not yet sent."""

    now_ns: Callable[[], int]
    tell: Callable[[Event], None]
    chunk_bytes: int = 0
    """Of the newest chunk."""
    _audio: int = 0
    _force: int = 0
    _told_zero_ns: int | None = None

    def note_audio(self, link: Link) -> None:
        """The audio that completes the endpoint has just been handed over."""
        self._audio = link.sent_bytes

    def note_force(self, link: Link) -> None:
        """So has the message that makes zero."""
        self._force = link.sent_bytes

    def tell_at_zero(self, link: Link, zero_ns: int | None) -> None:
        """What had not left this host, and how the connection is doing; once for each zero."""
        if zero_ns is None or zero_ns == self._told_zero_ns:
            return
        self._told_zero_ns = zero_ns
        self.tell(BytesUnsent(self.now_ns(), link.unsent_bytes, self.chunk_bytes))
        self._sample(link, over=False)

    def tell_at_end(self, link: Link, zero_ns: int | None) -> None:
        """When what made zero really left, and how the connection is doing now."""
        if zero_ns is None:
            return
        stamps = link.take_sent_stamps()
        if stamps is not None:
            self.tell(self._stamped(stamps))
        self._sample(link, over=True)

    def _sample(self, link: Link, *, over: bool) -> None:
        seen = link.tcp_info()
        if seen is not None:
            at_ns = self.now_ns()
            self.tell(NetworkSampled(at_ns, seen.rtt_ns, seen.min_rtt_ns, seen.retransmits, over))

    def _stamped(self, stamps: Sequence[SentStamp]) -> SendStamped:
        """Of a send that went out twice, the first."""
        said: dict[tuple[int, str], int] = {}
        for stamp in stamps:
            said.setdefault((stamp.offset, stamp.kind), stamp.at_ns)
        return SendStamped(
            self.now_ns(),
            audio_left_ns=said.get((self._audio, "sent")),
            audio_acked_ns=said.get((self._audio, "acked")),
            force_left_ns=said.get((self._force, "sent")),
            force_acked_ns=said.get((self._force, "acked")),
        )
