"""What can happen during one streaming measurement, each with the moment it happened.

``at_ns`` is nanoseconds on this host's monotonic clock. ``audio_ms`` is a place in the clip, in
milliseconds of audio; at 8 and 16 kHz every sample's place is exact in a float. The two kinds of
time are never added to one another.
"""

from dataclasses import dataclass
from typing import ClassVar

from measure.faults import Fault


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened at ``at_ns``."""

    kind: ClassVar[str]
    """Its name in the journal."""
    at_ns: int


@dataclass(frozen=True, slots=True)
class Connected(Event):
    """The stream is open: how long each part of opening it took, and to where.

    ``None`` for a part that there was not: no name to look up, no TLS, no HTTP preparation.
    """

    kind: ClassVar[str] = "connected"
    prepare_ns: int | None
    dns_ns: int | None
    tcp_ns: int
    tls_ns: int | None
    upgrade_ns: int
    address: str


@dataclass(frozen=True, slots=True)
class StreamReady(Event):
    """The provider is ready for audio; at once where it has no greeting."""

    kind: ClassVar[str] = "stream_ready"


@dataclass(frozen=True, slots=True)
class SpeechStart(Event):
    """The voice-activity detector decided that speech began at ``audio_ms`` of the clip."""

    kind: ClassVar[str] = "speech_start"
    audio_ms: float
    known_ms: float
    """The place up to which a live detector must have heard the clip to decide this."""


@dataclass(frozen=True, slots=True)
class SpeechEnd(Event):
    """The voice-activity detector decided that speech ended at ``audio_ms`` of the clip."""

    kind: ClassVar[str] = "speech_end"
    audio_ms: float
    known_ms: float
    """The place up to which a live detector must have heard the clip to decide this."""
    at_eof: bool = False
    """Speech ran into the end of the clip; the end was declared there, not heard."""


@dataclass(frozen=True, slots=True)
class NoSpeech(Event):
    """The voice-activity detector heard no speech in the whole clip."""

    kind: ClassVar[str] = "no_speech"


@dataclass(frozen=True, slots=True)
class FrameSent(Event):
    """The socket has taken every sample up to ``audio_ms``."""

    kind: ClassVar[str] = "frame_sent"
    due_ns: int
    """When the frame should have left."""
    audio_ms: float
    padding: bool = False
    """The frame holds digital silence that is not part of the clip."""
    filled_ms: float = 0.0
    """So much silence stood behind it in its message, up to the least that the provider takes."""
    captured_ns: int | None = None
    """Live audio: when the device took up the last of its samples; None where it does not say."""


@dataclass(frozen=True, slots=True)
class ForceSent(Event):
    """The socket has taken the force-endpoint message."""

    kind: ClassVar[str] = "force_sent"
    due_ns: int
    """When it became due: the stamp of the frame that completed the endpoint."""


@dataclass(frozen=True, slots=True)
class FinishSent(Event):
    """The socket has taken the message that announces the end of the stream, in the close flow."""

    kind: ClassVar[str] = "finish_sent"
    due_ns: int
    """When it became due: the stamp of the frame that completed the endpoint."""


@dataclass(frozen=True, slots=True)
class MessageReceived(Event):
    """One message of the provider, as it came; what it says follows, with the same moment."""

    kind: ClassVar[str] = "message_received"
    raw: str | bytes
    read_ns: int | None = None
    """When our own code read it; None where ``at_ns`` is that, for want of a kernel's stamp."""


@dataclass(frozen=True, slots=True)
class Transcript(Event):
    """The provider said ``text``: all of a segment so far.

    A final settles its segment; a partial may still change.
    """

    kind: ClassVar[str] = "transcript"
    text: str
    final: bool
    forced: bool | None = None
    """True: marked as the answer to a force. False: marked as natural. None: it does not say."""
    segment: str | None = None
    """The provider's own name of the segment; None where a new one begins after each final."""


@dataclass(frozen=True, slots=True)
class ForceAcknowledged(Event):
    """The provider says that it has dealt with the force; that is no transcript."""

    kind: ClassVar[str] = "force_acknowledged"


@dataclass(frozen=True, slots=True)
class ForceRejected(Event):
    """The provider refuses the force but goes on; ``reason`` is its own word for why."""

    kind: ClassVar[str] = "force_rejected"
    reason: str


@dataclass(frozen=True, slots=True)
class Notice(Event):
    """The provider said something known that has no part in any reading."""

    kind: ClassVar[str] = "notice"
    name: str


@dataclass(frozen=True, slots=True)
class Unread(Event):
    """The provider said something that its codec does not know; ``name`` is its own word for it."""

    kind: ClassVar[str] = "unread"
    name: str


@dataclass(frozen=True, slots=True)
class StreamDone(Event):
    """The provider says that nothing more will come."""

    kind: ClassVar[str] = "stream_done"


@dataclass(frozen=True, slots=True)
class StreamClosed(Event):
    """The connection has ended: ``code`` of the provider's Close, None where it just broke off."""

    kind: ClassVar[str] = "stream_closed"
    code: int | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Failed(Event):
    """The measurement could not go on; ``fault`` says whose fault and which."""

    kind: ClassVar[str] = "failed"
    fault: Fault


@dataclass(frozen=True, slots=True)
class LoopStalled(Event):
    """Our own program did not run for ``stalled_ns``, up to this moment."""

    kind: ClassVar[str] = "loop_stalled"
    stalled_ns: int


@dataclass(frozen=True, slots=True)
class HostStalled(Event):
    """The host ran nothing, not even its sentinel, for ``stalled_ns`` up to ``ended_ns``."""

    kind: ClassVar[str] = "host_stalled"
    ended_ns: int
    stalled_ns: int


@dataclass(frozen=True, slots=True)
class ClockStepped(Event):
    """The wall clock moved ``step_ns`` against the monotonic clock."""

    kind: ClassVar[str] = "clock_stepped"
    step_ns: int


@dataclass(frozen=True, slots=True)
class BytesUnsent(Event):
    """At zero the socket still held ``unsent_bytes`` that had not left this host."""

    kind: ClassVar[str] = "bytes_unsent"
    unsent_bytes: int
    chunk_bytes: int
    """The size of one audio message, within which that is in order."""


@dataclass(frozen=True, slots=True)
class SendStamped(Event):
    """What the kernel says of the two sends that make zero; None where it said nothing.

    ``force`` stands for the message that makes zero, in the close flow the announced end. All
    moments are on this host's monotonic clock, as ``at_ns`` is.
    """

    kind: ClassVar[str] = "send_stamped"
    audio_left_ns: int | None
    """The audio that completed the endpoint left this host."""
    audio_acked_ns: int | None
    """The other side's kernel acknowledged it."""
    force_left_ns: int | None
    force_acked_ns: int | None


@dataclass(frozen=True, slots=True)
class NetworkSampled(Event):
    """What the kernel knows of the connection (TCP_INFO)."""

    kind: ClassVar[str] = "network_sampled"
    rtt_ns: int
    min_rtt_ns: int
    retransmits: int
    over: bool = False
    """Sampled when the answer was complete, not at zero."""


@dataclass(frozen=True, slots=True)
class DeviceSampled(Event):
    """Live audio: how the clock of the device that hears goes against this host's.

    None for what is not known yet, or is never told by this device.
    """

    kind: ClassVar[str] = "device_sampled"
    audio_ms: float
    """How far the audio of this stream had come."""
    heard_ms: float
    """How far that of the device had, which other streams hear as well."""
    delay_ns: int | None
    """From the moment a sample was taken up to when this program gets it."""
    drift_ppm: float | None
    """By how many millionths the device gives more samples than it says."""
    drift_error_ppm: float | None
    """Half of the interval in which the drift lies with 95 %."""


@dataclass(frozen=True, slots=True)
class Xrun(Event):
    """A sound device lost audio or had none in time: an overrun or underrun at ``audio_ms``.

    ``what`` is ``input_overflow``, ``input_underflow``, ``output_overflow`` or
    ``output_underflow`` where the device says so, ``input_lost`` where the count of samples does.
    """

    kind: ClassVar[str] = "xrun"
    what: str
    audio_ms: float
    lost_ms: float | None = None
    """How much audio is missing; None where nobody can tell."""


@dataclass(frozen=True, slots=True)
class Cancelled(Event):
    """A person or a supervisor ended the measurement before its time."""

    kind: ClassVar[str] = "cancelled"


@dataclass(frozen=True, slots=True)
class Tick(Event):
    """Nothing happened, and that took until ``at_ns``."""

    kind: ClassVar[str] = "tick"


EVENTS: dict[str, type[Event]] = {
    event.kind: event
    for event in (
        Connected,
        StreamReady,
        SpeechStart,
        SpeechEnd,
        NoSpeech,
        FrameSent,
        ForceSent,
        FinishSent,
        MessageReceived,
        Transcript,
        ForceAcknowledged,
        ForceRejected,
        Notice,
        Unread,
        StreamDone,
        StreamClosed,
        Failed,
        LoopStalled,
        HostStalled,
        ClockStepped,
        BytesUnsent,
        SendStamped,
        NetworkSampled,
        DeviceSampled,
        Xrun,
        Cancelled,
        Tick,
    )
}
"""Every kind of event by its name in the journal."""
