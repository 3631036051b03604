"""The stopwatch: one streaming measurement as a pure state machine.

No clock, socket or task is in this file. The stopwatch is fed stamped events, live from a session
or again from the journal, and answers three questions: is the force-endpoint due, until when is
waiting worthwhile, what was measured. Everything that can change an answer is an event, the passing
of time too; that is what makes a replay exact.

    forced:    speech end known and its audio sent ─> force sent = zero ─> first final with text
    fallback:  speech end known and its audio sent = zero ─> first final within the grace,
               else the first text after it, else the latest partial before it
    close:     speech end known and its audio sent ─> end of stream announced = zero ─> as forced

Our own events come in the order of their stamps. What the provider says may carry the kernel's
stamp of its arrival, which is older than the moment at which we read it; it counts by its stamp.

Method: METHOD.md, sections 2 to 4.
"""

from bisect import bisect_left

from measure.choice import (
    Choice,
    chosen,
    confirmed_ns,
    finals_with_text,
    first_partial,
    overlapping,
    raced,
    truncated,
)
from measure.events import (
    Cancelled,
    Event,
    Failed,
    FinishSent,
    ForceAcknowledged,
    ForceRejected,
    ForceSent,
    FrameSent,
    HostStalled,
    LoopStalled,
    MessageReceived,
    NoSpeech,
    Notice,
    SpeechEnd,
    SpeechStart,
    StreamClosed,
    StreamDone,
    StreamReady,
    Transcript,
    Unread,
    Xrun,
)
from measure.faults import Fault, FaultKind, Whose
from measure.health import Health
from measure.heard import Heard, Mark
from measure.records import (
    Flow,
    Reading,
    Remark,
    Rule,
    Verdict,
)

RECEIVED = (
    MessageReceived,
    StreamReady,
    Transcript,
    ForceAcknowledged,
    ForceRejected,
    Notice,
    Unread,
    StreamDone,
)
"""Events that may carry the kernel's stamp."""


class Stopwatch:
    """Times one clip on one provider. Feed it every event once, as it happens."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._heard = Heard(rule.joiner)
        self._health = Health(rule)
        self._told = 0
        self._now_ns = -1
        self._sent: list[tuple[Mark, float]] = []
        self._padded_from_ms: float | None = None
        self._speech_start: SpeechStart | None = None
        self._speech_end: SpeechEnd | None = None
        self._zero: Mark | None = None
        self._acknowledged: Mark | None = None
        self._ended: StreamClosed | Failed | Cancelled | NoSpeech | None = None
        self._remarks: dict[Remark, None] = {}
        self._user_stamps_ns: set[int] = set()
        self._xruns: list[Xrun] = []
        self._deadline_ns: int | None = None
        self._done = False

    def feed(self, event: Event) -> None:
        """Take note of one event. Raises ValueError if one of ours is older than the one before."""
        if self._done:
            return
        mark = self._take_time(event)
        over = self._overdue() and self._is_over()
        if not over or isinstance(event, LoopStalled | HostStalled):
            self._health.feed(event)  # a stall tells of the time before it
        if over:
            return  # what comes after the end changes nothing, whether or not a tick came first
        self._note(event, mark)
        due_ns = self._starts(event) if self._zero is None else None
        if due_ns is not None:
            self._zero = mark
            self._health.zero(event.at_ns, due_ns)
        if not isinstance(event, FrameSent) or self._deadline_ns is None:
            self._is_over()

    @property
    def force_due(self) -> bool:
        """The force-endpoint message must be sent now."""
        return self._rule.flow is Flow.FORCED and self._waits_for_zero

    @property
    def finish_due(self) -> bool:
        """The end of the stream must be announced now: the close flow."""
        return self._rule.flow is Flow.CLOSE and self._waits_for_zero

    @property
    def _waits_for_zero(self) -> bool:
        return self._zero is None and not self._done and self._complete_ns is not None

    @property
    def zero_ns(self) -> int | None:
        """When the watch started."""
        return None if self._zero is None else self._zero[0]

    @property
    def deadline_ns(self) -> int | None:
        """The next moment at which the mere passing of time changes something; None before zero."""
        return None if self._done else self._deadline_ns

    @property
    def done(self) -> bool:
        """Nothing that may still come can change the reading."""
        return self._done

    @property
    def owes(self) -> bool:
        """The provider's answer to this zero may still come, however late."""
        if self._zero is None or self._ended is not None:
            return False
        choice = self._choice()
        natural = self._rule.flow is Flow.FALLBACK
        settled = (
            choice is not None
            and choice.said.transcript.final
            and (natural or choice.verdict is Verdict.ALREADY_FINAL)
        )
        return self._confirmed_ns() is None and not settled

    def reading(self) -> Reading:
        """What was measured so far; it can be asked for at any time."""
        choice = self._choice()
        partial = first_partial(self._rule, self._heard, self._zero, choice) if self._zero else None
        said = [one for one in self._heard.after(self._zero) if one.text] if self._zero else []
        finals = finals_with_text(self._heard, self._zero) if self._zero else []
        return Reading(
            zero_ns=self.zero_ns,
            verdict=self._verdict(choice),
            selection=choice.verdict if choice else None,
            final=choice.said.answer if choice else None,
            first_partial=partial.answer if partial else None,
            first_text=said[0].answer if said else None,
            last_final=finals[-1].answer if finals else None,
            confirmed_ns=self._confirmed_ns(),
            transcript=self._transcript(choice),
            remarks=tuple(self._all_remarks(choice)),
            fault=self._fault(choice),
            late_max_ns=self._health.late_max_ns,
        )

    # What happens

    def _take_time(self, event: Event) -> Mark:
        self._told += 1
        if event.at_ns < self._now_ns and not isinstance(event, RECEIVED):
            raise ValueError(f"time went back {self._now_ns - event.at_ns} ns at {event}")
        self._now_ns = max(self._now_ns, event.at_ns)
        return event.at_ns, self._told

    def _note(self, event: Event, mark: Mark) -> None:
        match event:
            case FrameSent(audio_ms=sent_ms, padding=padding):
                if padding and self._zero is None and self._padded_from_ms is None:
                    self._padded_from_ms = self._sent_ms
                self._sent.append((mark, sent_ms))
            case MessageReceived(read_ns=None):
                self._user_stamps_ns.add(event.at_ns)
            case SpeechStart() if self._speech_start is None:
                self._speech_start = event
            case SpeechEnd() if self._speech_end is None:
                self._speech_end = event
            case Transcript():
                self._heard.add(mark, event)
                if self._heard.everything()[-1].duplicate:
                    self._remarks.setdefault(Remark.DUPLICATE_FINAL)
            case ForceRejected():
                self._remarks.setdefault(Remark.FORCE_REJECTED)
            case Xrun():
                self._xruns.append(event)
            case StreamClosed() | Failed() | Cancelled() | NoSpeech():
                self._ended = event
        if self._zero is not None and mark > self._zero and self._acknowledges(event):
            self._acknowledged = self._acknowledged or mark

    def _starts(self, event: Event) -> int | None:
        """When the watch could have started that this event starts; None: it does not.

        A live detector tells of the end of speech some time after the audio that shows it has left.
        """
        match self._rule.flow:
            case Flow.FORCED:
                return event.due_ns if isinstance(event, ForceSent) else None
            case Flow.CLOSE:
                return event.due_ns if isinstance(event, FinishSent) else None
            case Flow.FALLBACK:
                return self._complete_ns

    def _acknowledges(self, event: Event) -> bool:
        """The provider says, apart from any final, that it has dealt with what made zero."""
        if self._rule.flow is Flow.FORCED:
            return isinstance(event, ForceAcknowledged)
        closing = isinstance(event, StreamDone) or _in_order(event)
        return self._rule.flow is Flow.CLOSE and closing

    @property
    def _complete_ns(self) -> int | None:
        """When the audio up to the endpoint had left; None while it has not, or none is known."""
        endpoint_ms = self._endpoint_ms
        if endpoint_ms is None or self._sent_ms < endpoint_ms:
            return None
        sent_ns = (mark[0] for mark, sent_ms in self._sent if sent_ms >= endpoint_ms)
        return next(sent_ns, self._now_ns)

    @property
    def _endpoint_ms(self) -> float | None:
        """The place in the clip that has to be sent before zero; None while it is not known."""
        end = self._speech_end
        return None if end is None else self._rule.endpoint_ms(end.audio_ms, end.known_ms)

    @property
    def _sent_ms(self) -> float:
        return self._sent[-1][1] if self._sent else 0.0

    # When it is over

    def _overdue(self) -> bool:
        """The moment has come at which something may have changed."""
        return self._deadline_ns is not None and self._now_ns >= self._deadline_ns

    def _is_over(self) -> bool:
        """Look again until when waiting is worthwhile, and whether it still is."""
        self._deadline_ns = self._next_deadline_ns()
        self._done = self._ended is not None or self._overdue()
        return self._done

    def _next_deadline_ns(self) -> int | None:
        if self._zero is None:
            return None
        natural = self._rule.flow is Flow.FALLBACK
        done_ns = self._fallback_done_ns(self._zero) if natural else self._asked_done_ns(self._zero)
        patience_over_ns = self._patience_over_ns(self._zero)
        return patience_over_ns if done_ns is None else min(done_ns, patience_over_ns)

    def _patience_over_ns(self, zero: Mark) -> int:
        return zero[0] + self._rule.patience_ns

    def _asked_done_ns(self, zero: Mark) -> int | None:
        """Complete and settled; or a first final whose confirmation does not come.

        In the close flow the confirmation alone says that nothing more will come.
        """
        finals_ns = [said.at_ns for said in finals_with_text(self._heard, zero)[:1]]
        confirmation_ns = self._confirmed_ns()
        complete = self._rule.flow is Flow.CLOSE or self._choice() is not None
        if confirmation_ns is not None and complete:
            return max([confirmation_ns, *finals_ns]) + self._rule.settle_ns
        if finals_ns:
            return finals_ns[0] + max(self._rule.confirm_ns, self._rule.settle_ns)
        return None

    def _fallback_done_ns(self, zero: Mark) -> int | None:
        choice = self._choice()
        grace_over_ns = zero[0] + self._rule.grace_ns
        if choice is None:
            return grace_over_ns + 1 if self._now_ns <= grace_over_ns else None
        if choice.verdict is Verdict.ALREADY_FINAL:
            return grace_over_ns + 1
        return choice.said.at_ns + self._rule.settle_ns

    # What was measured

    def _confirmed_ns(self) -> int | None:
        if self._zero is None:
            return None
        return confirmed_ns(self._rule, self._heard, self._zero, self._acknowledged)

    def _choice(self) -> Choice | None:
        if self._zero is None:
            return None
        out_of_patience = self._now_ns >= self._patience_over_ns(self._zero)
        return chosen(
            self._rule,
            self._heard,
            self._zero,
            self._now_ns,
            confirmed=self._confirmed_ns() is not None,
            over=out_of_patience or _in_order(self._ended),
        )

    def _verdict(self, choice: Choice | None) -> Verdict:
        match self._ended:
            case NoSpeech():
                return Verdict.VAD_NEVER
            case Cancelled() if choice is None:
                return Verdict.CANCELLED
        ours = self._health.invalid(self.zero_ns, self._awaited_until_ns(choice))
        return ours or (choice.verdict if choice else self._failure())

    def _awaited_until_ns(self, choice: Choice | None) -> int:
        if choice:
            return choice.said.at_ns
        if self._zero is None:
            return self._now_ns
        return min(self._now_ns, self._patience_over_ns(self._zero))

    def _failure(self) -> Verdict:
        confirmed = self._confirmed_ns() is not None
        match self._ended:
            case StreamClosed() if self._rule.flow is Flow.CLOSE and confirmed:
                pass  # it was asked for
            case Failed(fault=Fault(whose=Whose.HOST)):
                return Verdict.HARNESS_ERROR
            case Failed(fault=Fault(kind=FaultKind.CLOSED)) | StreamClosed():
                return Verdict.CONNECTION_LOST
            case Failed(fault=Fault(whose=Whose.NETWORK)):
                return Verdict.NETWORK_ERROR
            case Failed():
                return Verdict.PROVIDER_ERROR
        return Verdict.ACK_ONLY if confirmed else Verdict.NO_FINAL

    def _fault(self, choice: Choice | None) -> Fault | None:
        return self._ended.fault if isinstance(self._ended, Failed) and choice is None else None

    def _transcript(self, choice: Choice | None) -> str:
        if choice and not choice.said.transcript.final:
            return choice.said.utterance
        everything = self._heard.everything()
        return everything[-1].finals if everything else ""

    def _all_remarks(self, choice: Choice | None) -> list[Remark]:
        remarks = list(self._remarks)
        if self._endpoint_in_padding:
            remarks.append(Remark.VAD_IN_PADDING)
        if self._phantom:
            remarks.append(Remark.PHANTOM_PARTIAL)
        if self._speech_end and self._speech_end.at_eof:
            remarks.append(Remark.VAD_AT_EOF)
        if self._zero and raced(self._rule, self._heard, self._zero):
            remarks.append(Remark.NATURAL_FINAL_RACE)
        if choice and self._zero and self._later_words(choice, self._zero):
            remarks.append(Remark.LATE_TEXT_AFTER_FINAL)
        if choice and truncated(self._rule, self._heard, choice):
            remarks.append(Remark.TRUNCATED_TAIL)
        if overlapping(self._rule, self._heard):
            remarks.append(Remark.OVERLAPPING_FINAL)
        if choice and choice.said.at_ns in self._user_stamps_ns:
            remarks.append(Remark.USER_STAMP)
        if self._zero and self._health.host_stalled(self._zero[0], self._awaited_until_ns(choice)):
            remarks.append(Remark.HOST_STALLED)
        if self._xran(self._awaited_until_ns(choice)):
            remarks.append(Remark.XRUN)
        return remarks

    @property
    def _endpoint_in_padding(self) -> bool:
        if self._endpoint_ms is None or self._padded_from_ms is None:
            return False
        return self._padded_from_ms < self._endpoint_ms

    def _xran(self, until_ns: int) -> bool:
        """The sound device failed between the start of speech and ``until_ns``."""
        start = self._speech_start
        return any(
            (start is None or one.audio_ms >= start.audio_ms) and one.at_ns <= until_ns
            for one in self._xruns
        )

    @property
    def _phantom(self) -> bool:
        """The first words came when nothing beyond the start of speech had been sent."""
        words = next((said for said in self._heard.everything() if said.text), None)
        if words is None or self._speech_start is None:
            return False
        frames = bisect_left(self._sent, words.mark, key=lambda sent: sent[0])
        sent_ms = self._sent[frames - 1][1] if frames else 0.0
        return sent_ms <= self._speech_start.audio_ms

    def _later_words(self, choice: Choice, zero: Mark) -> bool:
        later = finals_with_text(self._heard, zero)
        return any(said.mark > choice.said.mark for said in later)


def _in_order(event: Event | None) -> bool:
    """The provider has closed the stream, with a code that says so."""
    return isinstance(event, StreamClosed) and event.code is not None
