"""A reading with its circumstances: everything that is known of one session when it is over."""

from dataclasses import dataclass, replace

from measure.events import (
    BytesUnsent,
    Connected,
    Event,
    FinishSent,
    ForceSent,
    FrameSent,
    HostStalled,
    LoopStalled,
    MessageReceived,
    NetworkSampled,
    SendStamped,
    Transcript,
)
from measure.records import MS, Endpoint, Flow, Reading, Rule

LATE_NS = 20 * MS
"""A frame later than one frame is counted."""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What the harness did and saw during one session."""

    frames: int = 0
    frames_late: int = 0
    late_p50_ns: int | None = None
    late_p99_ns: int | None = None
    late_max_ns: int | None = None
    end_error_ns: int | None = None
    """By how much the last piece of audio missed its due time."""
    force_delay_ns: int | None = None
    """From the frame that completed the endpoint to the force, both in the socket's hands."""
    partials: int = 0
    finals: int = 0
    connect_ns: int | None = None
    rtt_ns: int | None = None
    """Smoothed round trip of the connection, at zero."""
    min_rtt_ns: int | None = None
    """The shortest round trip, as known when the answer was complete, else at zero."""
    retransmits: int | None = None
    unsent_bytes: int | None = None
    """What had not left this host at zero."""
    sent_ms: float = 0.0
    read_gap_max_ns: int | None = None
    """The longest from a message's arrival, by the kernel, to our own reading of it."""
    user_stamps: int = 0
    """Messages that the kernel gave no stamp for."""
    audio_left_ns: int | None = None
    """From the endpoint's audio in the socket's hands to its leaving this host, by the kernel."""
    force_left_ns: int | None = None
    """From zero to the force's leaving this host, by the kernel."""
    force_acked_ns: int | None = None
    """From zero to the acknowledgement of the force by the other side's kernel."""
    loop_stall_max_ns: int = 0
    host_stall_max_ns: int = 0


@dataclass(frozen=True, slots=True)
class Measurement:
    """One session of one model with one clip."""

    session_id: str
    run_id: str
    model: str
    """As in the catalogue: "deepgram/nova-3"."""
    corpus: str
    clip: str
    audio_ms: float
    flow: Flow
    reading: Reading
    circumstances: Circumstances
    started_wall_ns: int
    wall_ns: int
    """How long the session took, from opening to the end."""
    signature: str
    reference: str | None = None
    turn: int = 1
    """Which turn of the stream, from 1."""

    @property
    def provider(self) -> str:
        return self.model.partition("/")[0]


def reference_of(clip: str | None, rule: Rule) -> str | None:
    """What is said in the audio of one measurement, if that is known.

    A clip's reference does not say where its turns begin and end.
    """
    return None if rule.endpoint is Endpoint.EVERY else clip


class Tally:
    """Counts the circumstances while the events come."""

    def __init__(self) -> None:
        self._late_ns: list[int] = []
        self._frame_ns = 0
        self._sent_ms = 0.0
        self._audio_ns: int | None = None
        self._zero_ns: int | None = None
        self._counted = Circumstances()

    def feed(self, event: Event) -> None:
        match event:
            case FrameSent():
                self._late_ns.append(event.at_ns - event.due_ns)
                self._frame_ns, self._sent_ms = event.at_ns, event.audio_ms
            case ForceSent() | FinishSent():
                self._zero_ns = event.at_ns
                self._counted = replace(self._counted, force_delay_ns=event.at_ns - event.due_ns)
            case MessageReceived():
                self._take_message(event)
            case Transcript(final=True):
                self._counted = replace(self._counted, finals=self._counted.finals + 1)
            case Transcript():
                self._counted = replace(self._counted, partials=self._counted.partials + 1)
            case Connected():
                self._counted = replace(self._counted, connect_ns=_whole(event))
            case _:
                self._take_health(event)

    def _take_message(self, message: MessageReceived) -> None:
        counted = self._counted
        if message.read_ns is None:
            self._counted = replace(counted, user_stamps=counted.user_stamps + 1)
            return
        gap_ns, known_ns = message.read_ns - message.at_ns, counted.read_gap_max_ns
        worst_ns = gap_ns if known_ns is None else max(gap_ns, known_ns)
        self._counted = replace(counted, read_gap_max_ns=worst_ns)

    def _take_health(self, event: Event) -> None:
        counted = self._counted
        match event:
            case NetworkSampled(over=True):
                self._counted = replace(
                    counted, min_rtt_ns=event.min_rtt_ns, retransmits=event.retransmits
                )
            case NetworkSampled():
                self._counted = replace(
                    counted,
                    rtt_ns=event.rtt_ns,
                    min_rtt_ns=event.min_rtt_ns,
                    retransmits=event.retransmits,
                )
            case BytesUnsent():
                self._audio_ns = self._frame_ns  # it is told right after zero
                self._counted = replace(counted, unsent_bytes=event.unsent_bytes)
            case SendStamped():
                self._counted = replace(
                    counted,
                    audio_left_ns=_since(self._audio_ns, event.audio_left_ns),
                    force_left_ns=_since(self._zero_ns, event.force_left_ns),
                    force_acked_ns=_since(self._zero_ns, event.force_acked_ns),
                )
            case LoopStalled():
                worst_ns = max(event.stalled_ns, counted.loop_stall_max_ns)
                self._counted = replace(counted, loop_stall_max_ns=worst_ns)
            case HostStalled():
                worst_ns = max(event.stalled_ns, counted.host_stall_max_ns)
                self._counted = replace(counted, host_stall_max_ns=worst_ns)

    def circumstances(self) -> Circumstances:
        """All of it, so far."""
        late = sorted(self._late_ns)
        return replace(
            self._counted,
            sent_ms=self._sent_ms,
            frames=len(late),
            frames_late=sum(late_ns > LATE_NS for late_ns in late),
            late_p50_ns=rank(late, 0.50),
            late_p99_ns=rank(late, 0.99),
            late_max_ns=late[-1] if late else None,
            end_error_ns=self._late_ns[-1] if late else None,
        )


def _since(start_ns: int | None, at_ns: int | None) -> int | None:
    return None if start_ns is None or at_ns is None else at_ns - start_ns


def rank(ordered: list[int], share: float) -> int | None:
    """The smallest of ``ordered`` that ``share`` of them do not exceed; None of none."""
    if not ordered:
        return None
    place = max(0, -(-len(ordered) * round(share * 1000) // 1000) - 1)
    return ordered[place]


def _whole(connected: Connected) -> int:
    parts = (
        connected.prepare_ns,
        connected.dns_ns,
        connected.tcp_ns,
        connected.tls_ns,
        connected.upgrade_ns,
    )
    return sum(part for part in parts if part is not None)
