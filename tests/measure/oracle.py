"""The method's own sentences, slow and plain: what a whole story comes to.

Nothing here is a machine. Every question is asked again of the whole list of events, so that each
answer can be read beside the sentence that it stands for. No line is shared with the stopwatch.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from measure.events import (
    BytesUnsent,
    Cancelled,
    ClockStepped,
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
    SpeechEnd,
    SpeechStart,
    StreamClosed,
    StreamDone,
    Tick,
    Transcript,
    Xrun,
)
from measure.faults import Fault, FaultKind, Whose
from measure.records import Answer, FinalRule, Flow, ForceAt, Reading, Remark, Rule, Verdict

LAST_SECOND_NS = 1_000_000_000
RACE_NS = 100_000_000

Story = Sequence[Event]
Moment = tuple[int, int]
"""A stamp, and where in the story it was told: that decides between equal stamps."""


@dataclass(frozen=True)
class Word:
    """One transcript that was received, and what it and all before it come to."""

    moment: Moment
    said: Transcript
    finals: str
    utterance: str
    """Everything final, and whatever is not final yet."""
    outstanding: bool
    duplicate: bool

    @property
    def counts(self) -> bool:
        """It says something, and not for the second time."""
        return bool(self.said.text.strip()) and not self.duplicate

    @property
    def answer(self) -> Answer:
        return Answer(self.finals if self.said.final else self.utterance, self.moment[0])


@dataclass(frozen=True)
class Choice:
    """Which transcript is the answer, and by which sentence of the method."""

    rule: Verdict
    word: Word

    @property
    def at_ns(self) -> int:
        return self.word.moment[0]


def reading_of(rule: Rule, story: Story) -> Reading:
    """What the stopwatch has to show once it has been fed the whole story."""
    heard = listened(rule, story)
    zero = zero_of(rule, heard)
    choice = choice_of(rule, heard)
    verdict, fault = verdict_of(rule, heard)
    texts = [word for word in since_zero(rule, heard) if word.said.text.strip()]
    finals = finals_since_zero(rule, heard)
    partial = first_partial(rule, heard)
    confirmed = confirmation(rule, heard)
    return Reading(
        zero_ns=zero[0] if zero else None,
        verdict=verdict,
        selection=choice.rule if choice else None,
        final=choice.word.answer if choice else None,
        first_partial=partial.answer if partial else None,
        first_text=texts[0].answer if texts else None,
        last_final=finals[-1].answer if finals else None,
        confirmed_ns=confirmed[0] if confirmed else None,
        transcript=transcript_of(rule, heard),
        remarks=tuple(sorted(remarks_of(rule, heard))),
        fault=fault,
        late_max_ns=max((late_ns(e) for e in heard if isinstance(e, FrameSent)), default=None),
    )


# Until when it is listened. An event that comes after the end says only how late it is by now; a
# stall says besides what happened before.


def listened(rule: Rule, story: Story) -> list[Event]:
    """What is heard of the story until nothing that may still come can change the reading."""
    heard: list[Event] = []
    for event in story:
        only_time = Tick(event.at_ns)
        if is_over(rule, [*heard, only_time]):
            return [*heard, event if isinstance(event, LoopStalled | HostStalled) else only_time]
        heard.append(event)
        if is_over(rule, heard):
            break
    return heard


def is_over(rule: Rule, story: Story) -> bool:
    if any(isinstance(event, NoSpeech | Failed | StreamClosed | Cancelled) for event in story):
        return True
    until = end_ns(rule, story)
    return until is not None and now_ns(story) >= until


def now_ns(story: Story) -> int:
    return max((event.at_ns for event in story), default=-1)


def deadline_ns(rule: Rule, zero: Moment) -> int:
    return zero[0] + rule.patience_ns


def end_ns(rule: Rule, story: Story) -> int | None:
    """The moment from which nothing counts any more; None before zero."""
    zero = zero_of(rule, story)
    if zero is None:
        return None
    return min([deadline_ns(rule, zero), *complete_ns(rule, story, zero)])


def complete_ns(rule: Rule, story: Story, zero: Moment) -> list[int]:
    """When the answer is complete and no more is expected, if there is one."""
    choice = choice_of(rule, story)
    confirmed = confirmation(rule, story)
    if choice is None:  # only the close flow has a word for "nothing more will come"
        return [confirmed[0] + rule.settle_ns] if confirmed and rule.flow is Flow.CLOSE else []
    if rule.flow is Flow.FALLBACK:
        if choice.rule is Verdict.ALREADY_FINAL:
            return [zero[0] + rule.grace_ns + 1]
        return [choice.at_ns + rule.settle_ns]
    if confirmed:
        return [max(choice.at_ns, confirmed[0]) + rule.settle_ns]
    if choice.rule is not Verdict.ALREADY_FINAL:
        return [choice.at_ns + max(rule.confirm_ns, rule.settle_ns)]
    return []


def next_change_ns(rule: Rule, story: Story) -> int | None:
    """The next moment at which something changes although nothing happens."""
    heard = listened(rule, story)
    zero = zero_of(rule, heard)
    if zero is None or is_over(rule, heard):
        return None
    in_grace = rule.flow is Flow.FALLBACK and now_ns(heard) <= zero[0] + rule.grace_ns
    if in_grace and choice_of(rule, heard) is None:
        return zero[0] + rule.grace_ns + 1
    return end_ns(rule, heard)


# Zero.


def zero_of(rule: Rule, story: Story) -> Moment | None:
    """The force has been sent, or the end announced; else the audio up to the end of speech has."""
    for told, event in enumerate(story):
        if rule.flow is Flow.FALLBACK:
            started = speech_is_over(rule, story[: told + 1])
        else:
            started = isinstance(event, order_of(rule))
        if started:
            return event.at_ns, told
    return None


def order_of(rule: Rule) -> type[ForceSent] | type[FinishSent]:
    """What we send to have the final."""
    return ForceSent if rule.flow is Flow.FORCED else FinishSent


def speech_is_over(rule: Rule, story: Story) -> bool:
    """The detector has decided, and the audio up to the endpoint has left."""
    ends = ends_of(story)
    sent_ms = max((event.audio_ms for event in story if isinstance(event, FrameSent)), default=0)
    return bool(ends) and sent_ms >= endpoint_ms(rule, ends[0])


def ends_of(story: Story) -> list[SpeechEnd]:
    """What the detector said; only the first counts."""
    return [event for event in story if isinstance(event, SpeechEnd)]


def endpoint_ms(rule: Rule, end: SpeechEnd) -> float:
    """Where in the clip the endpoint is."""
    at_speech_end = rule.flow is not Flow.FALLBACK and rule.force_at is ForceAt.SPEECH_END
    return end.audio_ms if at_speech_end else end.known_ms


def due_of(rule: Rule, story: Story) -> Flow | None:
    """The flow whose message has to be sent now."""
    heard = listened(rule, story)
    waits = zero_of(rule, heard) is None and not is_over(rule, heard)
    due = waits and speech_is_over(rule, heard) and rule.flow is not Flow.FALLBACK
    return rule.flow if due else None


# What was said, in the order in which it arrived.


def in_order(story: Story) -> list[tuple[Moment, Event]]:
    moments = [((event.at_ns, told), event) for told, event in enumerate(story)]
    return sorted(moments, key=lambda pair: pair[0])


def words_of(rule: Rule, story: Story) -> list[Word]:
    said = [(moment, event) for moment, event in in_order(story) if isinstance(event, Transcript)]
    return [word_of(rule, said[: count + 1]) for count in range(len(said))]


def word_of(rule: Rule, said: Sequence[tuple[Moment, Transcript]]) -> Word:
    """The last of some transcripts, and what all of them come to.

    Every transcript says the whole of its segment. A nameless final ends all that is open.
    """
    finals: dict[str, str] = {}
    open_texts: dict[str, str] = {}
    duplicate = False
    for number, (_, one) in enumerate(said):
        says_something = one.text.strip() != ""
        duplicate = False
        if not one.final:
            open_texts[one.segment or ""] = one.text
        elif one.segment is None:
            open_texts = {}
            finals[f"nameless {number}"] = one.text
        else:
            open_texts.pop(one.segment, None)
            duplicate = says_something and same(finals.get(one.segment, ""), one.text)
            finals |= {one.segment: one.text} if says_something else {}
    still_open = {name: text for name, text in open_texts.items() if text.strip()}
    return Word(
        *said[-1],
        finals=joined(rule, finals.values()),
        utterance=joined(rule, {**finals, **still_open}.values()),
        outstanding=any(not same(finals.get(name, ""), text) for name, text in still_open.items()),
        duplicate=duplicate,
    )


def same(text: str, other: str) -> bool:
    return text.strip() == other.strip()


def joined(rule: Rule, segments: Iterable[str]) -> str:
    return rule.joiner.join(text for text in segments if text.strip()).strip()


def before_zero(rule: Rule, story: Story) -> list[Word]:
    zero = zero_of(rule, story)
    return [word for word in words_of(rule, story) if zero and word.moment < zero]


def since_zero(rule: Rule, story: Story) -> list[Word]:
    zero = zero_of(rule, story)
    return [word for word in words_of(rule, story) if zero and word.moment > zero]


def finals_since_zero(rule: Rule, story: Story) -> list[Word]:
    return [word for word in since_zero(rule, story) if word.said.final and word.counts]


def known_at_zero(rule: Rule, story: Story) -> str:
    return "".join(word.utterance for word in before_zero(rule, story)[-1:])


def new_words(rule: Rule, story: Story) -> list[Word]:
    """What came after zero, without what only repeats what was known then."""
    known = known_at_zero(rule, story)
    said = [word for word in since_zero(rule, story) if word.said.text.strip()]
    return [word for word in said if word.utterance != known]


# Which of it counts.


def confirmation(rule: Rule, story: Story) -> Moment | None:
    """When the provider showed that it had dealt with the force."""
    zero = zero_of(rule, story)
    if zero is None or rule.flow is Flow.FALLBACK:
        return None
    for moment, event in in_order(story):
        if moment > zero and confirms(rule, event):
            return moment
    return None


def confirms(rule: Rule, event: Event) -> bool:
    if rule.flow is Flow.CLOSE:
        return isinstance(event, StreamDone) or is_close_in_order(event)
    if isinstance(event, Transcript) and event.final:
        return event.forced is True or rule.final_rule is FinalRule.NEXT
    return isinstance(event, ForceAcknowledged)


def is_close_in_order(event: Event) -> bool:
    return isinstance(event, StreamClosed) and event.code is not None


def choice_of(rule: Rule, story: Story) -> Choice | None:
    zero = zero_of(rule, story)
    if zero is None:
        return None
    if rule.flow is Flow.FALLBACK:
        return fallback_choice(rule, story, zero)
    return asked_choice(rule, story, zero)


def nothing_more_comes(rule: Rule, story: Story, zero: Moment) -> bool:
    """The deadline has passed, or the provider has closed the stream in an orderly way."""
    return any(map(is_close_in_order, story)) or now_ns(story) >= deadline_ns(rule, zero)


def asked_choice(rule: Rule, story: Story, zero: Moment) -> Choice | None:
    verdict = {Flow.FORCED: Verdict.FORCED_FINAL, Flow.CLOSE: Verdict.CLOSED_FINAL}[rule.flow]
    for word in finals_since_zero(rule, story):
        return Choice(verdict, word)
    if confirmation(rule, story) or nothing_more_comes(rule, story, zero):
        return already_final(rule, story, until_ns=now_ns(story))
    return None


def already_final(rule: Rule, story: Story, until_ns: int) -> Choice | None:
    """Nothing was outstanding at zero and no new words have come since."""
    known = before_zero(rule, story)
    if not known or known[-1].outstanding:
        return None
    if any(word.moment[0] <= until_ns for word in new_words(rule, story)):
        return None
    finals = [word for word in known if word.said.final and word.counts]
    return Choice(Verdict.ALREADY_FINAL, finals[-1]) if finals else None


def fallback_choice(rule: Rule, story: Story, zero: Moment) -> Choice | None:
    grace_over_ns = zero[0] + rule.grace_ns
    for word in finals_since_zero(rule, story):
        if word.moment[0] <= grace_over_ns:
            return Choice(Verdict.NATURAL_FINAL, word)
    ended = nothing_more_comes(rule, story, zero)
    if now_ns(story) <= grace_over_ns and not ended:
        return None
    already = already_final(rule, story, until_ns=grace_over_ns)
    if already:
        return already
    for word in since_zero(rule, story):
        if word.counts and word.moment[0] > grace_over_ns:
            late = Verdict.LATE_FINAL if word.said.final else Verdict.LATE_PARTIAL
            return Choice(late, word)
    partials = [word for word in words_of(rule, story) if word.counts and not word.said.final]
    return Choice(Verdict.LAST_PARTIAL, partials[-1]) if ended and partials else None


def first_partial(rule: Rule, story: Story) -> Word | None:
    """The first partial after zero; none that comes after the transcript that stopped the watch."""
    zero = zero_of(rule, story)
    choice = choice_of(rule, story)
    stopped = choice.word.moment if choice and zero and choice.word.moment > zero else None
    for word in since_zero(rule, story) if rule.echo_counts else new_words(rule, story):
        if word.counts and not word.said.final and (stopped is None or word.moment <= stopped):
            return word
    return None


def transcript_of(rule: Rule, story: Story) -> str:
    """All finals joined; a selected partial counts as one."""
    choice = choice_of(rule, story)
    if choice and not choice.word.said.final:
        return choice.word.utterance
    return "".join(word.finals for word in words_of(rule, story)[-1:])


# What is worth knowing besides.


def remarks_of(rule: Rule, story: Story) -> set[Remark]:
    found = {
        Remark.VAD_IN_PADDING: endpoint_in_padding(rule, story),
        Remark.VAD_AT_EOF: any(end.at_eof for end in ends_of(story)[:1]),
        Remark.PHANTOM_PARTIAL: any(
            word.said.text.strip() and before_speech(story, word.moment)
            for word in words_of(rule, story)
        ),
        Remark.LATE_TEXT_AFTER_FINAL: words_after_the_answer(rule, story),
        Remark.TRUNCATED_TAIL: lacks_its_tail(rule, story),
        Remark.DUPLICATE_FINAL: any(word.duplicate for word in words_of(rule, story)),
        Remark.OVERLAPPING_FINAL: repeats_the_final_before(rule, story),
        Remark.NATURAL_FINAL_RACE: raced(rule, story),
        Remark.FORCE_REJECTED: any(isinstance(event, ForceRejected) for event in story),
        Remark.USER_STAMP: answer_has_a_user_stamp(rule, story),
        Remark.HOST_STALLED: any(
            reaches_into(rule, story, event.ended_ns, event.stalled_ns, since_ns=-LAST_SECOND_NS)
            for event in story
            if isinstance(event, HostStalled)
        ),
        Remark.XRUN: any(
            within_the_turn(rule, story, event) for event in story if isinstance(event, Xrun)
        ),
    }
    return {remark for remark, holds in found.items() if holds}


def within_the_turn(rule: Rule, story: Story, xrun: Xrun) -> bool:
    """The device failed at or behind the start of speech, and not after the answer."""
    starts = [event.audio_ms for event in story if isinstance(event, SpeechStart)]
    return xrun.audio_ms >= [*starts, 0.0][0] and xrun.at_ns <= awaited_until_ns(rule, story)


def endpoint_in_padding(rule: Rule, story: Story) -> bool:
    """Frames of padding had to be sent before the endpoint was reached."""
    ends = ends_of(story)
    zero = zero_of(rule, story)
    for told, event in enumerate(story):
        if zero and (event.at_ns, told) > zero:
            return False
        if isinstance(event, FrameSent) and event.padding:
            before = [e.audio_ms for e in story[:told] if isinstance(e, FrameSent)]
            return bool(ends) and max(before, default=0) < endpoint_ms(rule, ends[0])
    return False


def before_speech(story: Story, moment: Moment) -> bool:
    """Nothing beyond the start of speech had been sent by then."""
    starts_ms = [event.audio_ms for event in story if isinstance(event, SpeechStart)]
    return bool(starts_ms) and not any(
        isinstance(event, FrameSent) and event.audio_ms > starts_ms[0] and sent < moment
        for sent, event in in_order(story)
    )


def words_after_the_answer(rule: Rule, story: Story) -> bool:
    choice = choice_of(rule, story)
    finals = finals_since_zero(rule, story)
    return choice is not None and any(word.moment > choice.word.moment for word in finals)


def lacks_its_tail(rule: Rule, story: Story) -> bool:
    """Just before the final that counts more words were on show, of which it left out the last."""
    choice = choice_of(rule, story)
    words = words_of(rule, story)
    if choice is None or not choice.word.said.final:
        return False
    before = words[: [word.moment for word in words].index(choice.word.moment)]
    shown = bare_words(rule, "".join(word.utterance for word in before[-1:]))
    left = bare_words(rule, choice.word.utterance)
    return any(left == shown[:count] for count in range(len(shown)))


def repeats_the_final_before(rule: Rule, story: Story) -> bool:
    """It begins with the last two words of the final before it, or more of them."""
    least = 2 if rule.joiner else 4
    before: Word | None = None
    for word in words_of(rule, story):
        if not (word.said.final and word.counts):
            continue
        if before and not (word.said.segment and word.said.segment == before.said.segment):
            ended, begun = bare_words(rule, before.said.text), bare_words(rule, word.said.text)
            tails = [ended[place:] for place in range(len(ended))]
            if any(len(tail) >= least and begun[: len(tail)] == tail for tail in tails):
                return True
        before = word
    return False


def bare_words(rule: Rule, text: str) -> list[str]:
    """Without marks and capitals; one by one where the provider's language knows no spaces."""
    bare = "".join(c if c.isalnum() else " " * c.isspace() for c in text).casefold()
    return bare.split() if rule.joiner else list("".join(bare.split()))


def answer_has_a_user_stamp(rule: Rule, story: Story) -> bool:
    choice = choice_of(rule, story)
    return choice is not None and any(
        isinstance(event, MessageReceived) and event.read_ns is None and event.at_ns == choice.at_ns
        for event in story
    )


def raced(rule: Rule, story: Story) -> bool:
    """Where answers are marked, one without the mark came within 100 ms of the force."""
    zero = zero_of(rule, story)
    marks = rule.flow is Flow.FORCED and rule.final_rule in (FinalRule.MARKER, FinalRule.ITEM)
    return any(
        zero is not None and marks and abs(word.moment[0] - zero[0]) <= RACE_NS
        for word in words_of(rule, story)
        if word.said.final and word.said.text.strip() and word.said.forced is not True
    )


# Whether it may be believed.


def verdict_of(rule: Rule, story: Story) -> tuple[Verdict, Fault | None]:
    """The headline, and the failure where it was one that left no answer."""
    choice = choice_of(rule, story)
    verdict, fault = (choice.rule, None) if choice else failure(rule, story)
    if any(isinstance(event, NoSpeech) for event in story):
        return Verdict.VAD_NEVER, None
    if verdict is Verdict.CANCELLED:
        return verdict, fault
    return ours_to_blame(rule, story) or verdict, fault


def failure(rule: Rule, story: Story) -> tuple[Verdict, Fault | None]:
    """Why there is no answer."""
    for event in story:
        match event:
            case Cancelled():
                return Verdict.CANCELLED, None
            case StreamClosed() if rule.flow is Flow.CLOSE and confirmation(rule, story):
                return Verdict.ACK_ONLY, None
            case StreamClosed():
                return Verdict.CONNECTION_LOST, None
            case Failed(fault=fault):
                return verdict_of_fault(fault), fault
            case _:
                pass
    return (Verdict.ACK_ONLY if confirmation(rule, story) else Verdict.NO_FINAL), None


def verdict_of_fault(fault: Fault) -> Verdict:
    if fault.whose is Whose.HOST:
        return Verdict.HARNESS_ERROR
    if fault.kind is FaultKind.CLOSED:
        return Verdict.CONNECTION_LOST
    return Verdict.PROVIDER_ERROR if fault.whose is Whose.PROVIDER else Verdict.NETWORK_ERROR


def ours_to_blame(rule: Rule, story: Story) -> Verdict | None:
    """What on our own side spoils the reading; before zero nothing but late audio can."""
    zero = zero_of(rule, story)
    orders = [event for event in story if zero and isinstance(event, order_of(rule))]
    asked = orders[:1] if rule.flow is not Flow.FALLBACK else []
    late = [*map(late_ns, last_second(rule, story)), *map(late_ns, asked)]
    if zero and rule.flow is Flow.FALLBACK:
        late += [zero[0] - sent_ns for sent_ns in endpoint_sent_ns(rule, story)[:1]]
    if any(ns > rule.late_budget_ns for ns in late):
        return Verdict.HARNESS_LATE
    if zero is None:
        return None
    if any(reaches_into(rule, story, *stall) for stall in stalls_of(story)):
        return Verdict.HARNESS_STALLED
    if any(e.unsent_bytes > e.chunk_bytes for e in story if isinstance(e, BytesUnsent)):
        return Verdict.SOCKET_STALLED
    steps_ns = [event.step_ns for event in story if isinstance(event, ClockStepped)]
    offsets_ns = [sum(steps_ns[:count]) for count in range(len(steps_ns) + 1)]
    disagreement_ns = max(offsets_ns) - min(offsets_ns)
    return Verdict.CLOCK_STEP if disagreement_ns > rule.clock_step_budget_ns else None


def endpoint_sent_ns(rule: Rule, story: Story) -> list[int]:
    """When the audio had left in which a detector can know the end of speech, known or not yet."""
    place_ms = endpoint_ms(rule, ends_of(story)[0])
    return [e.at_ns for e in story if isinstance(e, FrameSent) and e.audio_ms >= place_ms]


def late_ns(event: FrameSent | ForceSent | FinishSent) -> int:
    return event.at_ns - event.due_ns


def last_second(rule: Rule, story: Story) -> list[FrameSent]:
    """The frames of the last second before zero; before zero, of the last second sent."""
    zero = zero_of(rule, story)
    frames = [(m, e) for m, e in in_order(story) if isinstance(e, FrameSent)]
    frames = [(moment, event) for moment, event in frames if zero is None or moment <= zero]
    until_ns = zero[0] if zero else max((moment[0] for moment, _ in frames), default=0)
    return [event for moment, event in frames if moment[0] >= until_ns - LAST_SECOND_NS]


def stalls_of(story: Story) -> list[tuple[int, int]]:
    """When each ended, and how long it was; the host's own stalls are ours as well."""
    ours = [(e.at_ns, e.stalled_ns) for e in story if isinstance(e, LoopStalled)]
    return ours + [(e.ended_ns, e.stalled_ns) for e in story if isinstance(e, HostStalled)]


def reaches_into(
    rule: Rule, story: Story, ended_ns: int, stalled_ns: int, since_ns: int = 0
) -> bool:
    """It stood still for too long while the answer was awaited, or ``since_ns`` from zero."""
    zero = zero_of(rule, story)
    if zero is None or stalled_ns <= rule.stall_budget_ns:
        return False
    until_ns = awaited_until_ns(rule, story)
    return ended_ns > zero[0] + since_ns and ended_ns - stalled_ns < until_ns


def awaited_until_ns(rule: Rule, story: Story) -> int:
    """Until when the answer was awaited; where there is none, until now or the deadline."""
    zero, choice = zero_of(rule, story), choice_of(rule, story)
    if choice:
        return choice.at_ns
    return min(now_ns(story), deadline_ns(rule, zero)) if zero else now_ns(story)
