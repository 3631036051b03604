"""A reading with its circumstances: everything that is known of one session when it is over."""

from dataclasses import dataclass, replace

from measure.events import (
    Connected,
    Event,
    ForceSent,
    FrameSent,
    NetworkSampled,
    Transcript,
)
from measure.records import MS, Flow, Reading

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
    retransmits: int | None = None
    sent_ms: float = 0.0


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

    @property
    def provider(self) -> str:
        return self.model.partition("/")[0]


class Tally:
    """Counts the circumstances while the events come."""

    def __init__(self) -> None:
        self._late_ns: list[int] = []
        self._counted = Circumstances()

    def feed(self, event: Event) -> None:
        counted = self._counted
        match event:
            case FrameSent():
                self._late_ns.append(event.at_ns - event.due_ns)
                self._counted = replace(counted, sent_ms=event.audio_ms)
            case ForceSent():
                self._counted = replace(counted, force_delay_ns=event.at_ns - event.due_ns)
            case Transcript(final=True):
                self._counted = replace(counted, finals=counted.finals + 1)
            case Transcript():
                self._counted = replace(counted, partials=counted.partials + 1)
            case Connected():
                self._counted = replace(counted, connect_ns=_whole(event))
            case NetworkSampled():
                self._counted = replace(counted, rtt_ns=event.rtt_ns, retransmits=event.retransmits)

    def circumstances(self) -> Circumstances:
        """All of it, so far."""
        late = sorted(self._late_ns)
        return replace(
            self._counted,
            frames=len(late),
            frames_late=sum(late_ns > LATE_NS for late_ns in late),
            late_p50_ns=rank(late, 0.50),
            late_p99_ns=rank(late, 0.99),
            late_max_ns=late[-1] if late else None,
            end_error_ns=self._late_ns[-1] if late else None,
        )


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
