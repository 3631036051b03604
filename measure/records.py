"""What a measurement is made of and what it leaves behind. Frozen values, hardly any behaviour."""

from dataclasses import dataclass, field
from enum import StrEnum

from measure.faults import Fault

MS = 1_000_000
"""Nanoseconds in a millisecond."""
SECOND = 1_000_000_000
"""Nanoseconds in a second."""


@dataclass(frozen=True, slots=True)
class AudioClip:
    """One recording, ready to be streamed: 16-bit little-endian mono samples, and its reference."""

    name: str
    pcm: bytes = field(repr=False)
    rate_hz: int
    sha256: str
    """Of the samples as they are here: what is really streamed."""
    reference: str | None = None
    """What is said in it; None where nobody has written that down."""
    corpus: str = "files"
    source: str = ""
    """What the file was, for people: "FLAC PCM_24, 44100 Hz, 2 channels (mix)"."""
    remarks: tuple[str, ...] = ()
    """What had to be mended or assumed to read it, one sentence each."""

    @property
    def samples(self) -> int:
        return len(self.pcm) // 2

    @property
    def audio_ms(self) -> float:
        """How long it lasts."""
        return self.samples * 1000 / self.rate_hz

    @property
    def audio_s(self) -> float:
        """How long it lasts."""
        return self.samples / self.rate_hz


@dataclass(frozen=True, slots=True)
class Frame:
    """One paced piece of audio."""

    index: int
    pcm: bytes = field(repr=False)
    """16-bit little-endian mono samples; 640 bytes are 20 ms at 16 kHz."""
    audio_ms: float
    """Where this frame ends; beyond the clip's length where it is padding."""
    padding: bool = False
    """Digital silence that is not part of the clip."""
    filled_ms: float = 0.0
    """So much silence at the end of ``pcm`` has no place in the clip: it fills it up."""


@dataclass(frozen=True, slots=True)
class VoiceSettings:
    """How speech is told from silence; Silero's own published defaults."""

    threshold: float = 0.5
    """A window at least this probable is speech; below ``threshold - 0.15`` it is silence."""
    min_silence_ms: int = 100
    """How long it must be silent before speech has ended."""
    speech_pad_ms: int = 30
    """By how much the reported speech is widened on either side."""


class Flow(StrEnum):
    """How the end of speech is made known to a provider."""

    FORCED = "forced"
    """A force-endpoint message asks for the final."""
    FALLBACK = "fallback"
    """The provider ends the segment by itself."""
    CLOSE = "close"
    """The end of the whole stream is announced. No forced endpoint, and never mixed with one."""


class FinalRule(StrEnum):
    """How a provider shows that a final answers our force."""

    MARKER = "marker"
    """The final itself says so."""
    ITEM = "item"
    """It carries the name under which the force was confirmed."""
    ACK = "ack"
    """A message apart says that the force is dealt with; the text came before it."""
    NEXT = "next"
    """It does not say; the next final is taken."""
    NONE = "none"
    """There is no force."""


class ForceAt(StrEnum):
    """When the force is sent."""

    DECISION = "decision"
    """When a live detector could know that speech has ended."""
    SPEECH_END = "speech_end"
    """As soon as the audio up to the end of speech has left."""


class Endpoint(StrEnum):
    """Which ends of speech are endpoints."""

    LAST = "last"
    """The end of a clip's last speech."""
    EVERY = "every"
    """Each of them, with a reading of its own."""


@dataclass(frozen=True, slots=True)
class Rule:
    """How an answer is chosen. The first three are facts of the provider, the rest are settings."""

    flow: Flow
    final_rule: FinalRule = FinalRule.NONE
    joiner: str = " "
    """What stands between two finals of one transcript."""
    echo_counts: bool = False
    """A partial that only repeats what was known at zero counts as the first partial."""
    force_at: ForceAt = ForceAt.DECISION
    """Also when the stream's end is announced, in the close flow."""
    endpoint: Endpoint = Endpoint.LAST
    grace_ns: int = 2 * SECOND
    """Without force: for how long only a final will do."""
    patience_ns: int = 10 * SECOND
    """How long after zero an answer is awaited."""
    confirm_ns: int = 2 * SECOND
    """How long after a first final its confirmation is awaited."""
    settle_ns: int = SECOND // 2
    """How long after a complete answer further finals are listened for."""
    late_budget_ns: int = 20 * MS
    """By how much a frame of the last second before zero, or the force, may be late."""
    stall_budget_ns: int = 20 * MS
    """For how long our program may stand still while an answer is awaited."""
    clock_step_budget_ns: int = 50 * MS
    """By how much wall and monotonic clock may disagree within one measurement."""

    def endpoint_ms(self, end_ms: float, known_ms: float) -> float:
        """The place that must have been sent before zero, of an end and where it can be known."""
        early = self.flow is not Flow.FALLBACK and self.force_at is ForceAt.SPEECH_END
        return end_ms if early else known_ms


class Verdict(StrEnum):
    """Which rule produced a reading, or why there is none."""

    FORCED_FINAL = "forced_final"
    """The first final with text after the force."""
    CLOSED_FINAL = "closed_final"
    """Close flow: the first final with text after the end of the stream was announced."""
    NATURAL_FINAL = "natural_final"
    """Fallback A: the first final within the grace."""
    LATE_PARTIAL = "late_partial"
    """Fallback B: the first partial after the grace."""
    LATE_FINAL = "late_final"
    """Fallback B, where a final came first."""
    LAST_PARTIAL = "last_partial"
    """Fallback C: the most recent partial from before the grace was over."""
    ALREADY_FINAL = "already_final"
    """All had been final at zero; the value is signed and negative."""
    ACK_ONLY = "ack_only"
    """The force, or the end of the stream, was acknowledged and no text came with it."""
    NO_FINAL = "no_final"
    """Nothing came before the deadline."""
    VAD_NEVER = "vad_never"
    """There is no speech in the clip."""
    TURN_UNCLEAR = "turn_unclear"
    """The answer of this turn cannot be told from that of another one."""
    HARNESS_LATE = "harness_late"
    """Our frames or our force left too late; the reading is invalid."""
    HARNESS_STALLED = "harness_stalled"
    """Our program stood still while it waited; the reading is invalid."""
    SOCKET_STALLED = "socket_stalled"
    """At zero too much had not left this host; the reading is invalid."""
    CLOCK_STEP = "clock_step"
    """The clocks of this host disagreed; the reading is invalid."""
    CONNECTION_LOST = "connection_lost"
    """The connection ended before there was an answer."""
    PROVIDER_ERROR = "provider_error"
    """The provider refused or failed; the fault says how."""
    NETWORK_ERROR = "network_error"
    """No connection came about."""
    HARNESS_ERROR = "harness_error"
    """This program could not do its part."""
    CANCELLED = "cancelled"
    """Ended before its time, by a person or a supervisor."""


ANSWERED = frozenset(
    {
        Verdict.FORCED_FINAL,
        Verdict.CLOSED_FINAL,
        Verdict.NATURAL_FINAL,
        Verdict.LATE_PARTIAL,
        Verdict.LATE_FINAL,
        Verdict.LAST_PARTIAL,
        Verdict.ALREADY_FINAL,
    }
)
"""The verdicts that come with a time to final."""
OUR_FAULT = frozenset(
    {
        Verdict.HARNESS_LATE,
        Verdict.HARNESS_STALLED,
        Verdict.SOCKET_STALLED,
        Verdict.CLOCK_STEP,
        Verdict.HARNESS_ERROR,
        Verdict.CANCELLED,
        Verdict.VAD_NEVER,
        Verdict.TURN_UNCLEAR,
    }
)
"""The verdicts that say nothing about the provider: no success, no failure, counted apart."""


class Remark(StrEnum):
    """Something worth knowing about a reading that does not decide it."""

    VAD_IN_PADDING = "vad_in_padding"
    """The end of speech could be known only in the silence added after the clip."""
    VAD_AT_EOF = "vad_at_eof"
    """The clip ends in speech; the end was declared, not heard."""
    PHANTOM_PARTIAL = "phantom_partial"
    """The provider heard words before any speech had been sent."""
    LATE_TEXT_AFTER_FINAL = "late_text_after_final"
    """Words came after the final that stopped the watch."""
    TRUNCATED_TAIL = "truncated_tail"
    """The final that stopped the watch lacks the end of what had been on show just before it."""
    DUPLICATE_FINAL = "duplicate_final"
    """The same final came twice; it was counted once."""
    OVERLAPPING_FINAL = "overlapping_final"
    """A final began with the words with which the final before it had ended."""
    NATURAL_FINAL_RACE = "natural_final_race"
    """A final that does not answer the force came within 100 ms of it."""
    FORCE_REJECTED = "force_rejected"
    """The provider refused the force."""
    USER_STAMP = "user_stamp"
    """The kernel gave no stamp for the answer; it counts from when our own code read it."""
    HOST_STALLED = "host_stalled"
    """The host itself stood still while it mattered; this program could not help it."""
    XRUN = "xrun"
    """The microphone or the monitor lost samples, or had none in time, before the answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A text that counts and its moment: all finals so far, and the partial if it is one."""

    text: str
    at_ns: int


@dataclass(frozen=True, slots=True)
class Reading:
    """What the stopwatch shows. None where the provider gave nothing."""

    zero_ns: int | None
    verdict: Verdict
    """The headline: which rule made the reading, or why there is none that counts."""
    selection: Verdict | None
    """Which rule chose the answer, also where a fault of ours made it invalid."""
    final: Answer | None
    """The answer that stopped the watch, with everything final up to it."""
    first_partial: Answer | None
    first_text: Answer | None
    """The first transcript of either kind after zero."""
    last_final: Answer | None
    """The last final with text that came after zero."""
    confirmed_ns: int | None
    """When the provider confirmed the force, or the end of the stream, with text or without."""
    transcript: str
    """All finals joined; what words are scored on. A selected partial counts as one."""
    remarks: tuple[Remark, ...] = ()
    fault: Fault | None = None
    late_max_ns: int | None = None
    """The latest frame, sent minus due, over the whole clip."""

    @property
    def time_to_final_ns(self) -> int | None:
        """Signed: negative where everything had been final before zero."""
        if self.final is None or self.zero_ns is None:
            return None
        return self.final.at_ns - self.zero_ns

    @property
    def time_to_first_partial_ns(self) -> int | None:
        """Missing is missing: never 0 and never the final's time."""
        if self.first_partial is None or self.zero_ns is None:
            return None
        return self.first_partial.at_ns - self.zero_ns

    @property
    def valid(self) -> bool:
        """The reading may be published."""
        return self.verdict in ANSWERED
