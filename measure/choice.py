"""Which transcript counts: the rules of the method as functions of what was said and of zero.

Nothing here knows a clock. ``now_ns`` is how far the story has come; a rule that needs the passing
of time compares stamps with it. Method: METHOD.md sections 2.5, 2.6 and 3.
"""

from dataclasses import dataclass
from itertools import pairwise

from measure.heard import Heard, Mark, Said
from measure.records import FinalRule, Flow, Rule, Verdict

OVERLAP_WORDS, OVERLAP_LETTERS = 2, 4
"""So much has to be the same, for one word may well be said twice."""
RACE_NS = 100_000_000
"""A final this near to zero that does not answer the force may have come by itself."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The transcript that was chosen, and by which rule."""

    verdict: Verdict
    said: Said


def finals_with_text(heard: Heard, zero: Mark) -> list[Said]:
    """The finals after zero that say something, each segment's words once."""
    return [
        said
        for said in heard.after(zero)
        if said.transcript.final and said.text and not said.duplicate
    ]


def new_words(heard: Heard, zero: Mark) -> list[Said]:
    """What came after zero and says something else than was known then."""
    known = _known(heard, zero)
    return [said for said in heard.after(zero) if said.text and said.utterance != known]


def confirmed_ns(rule: Rule, heard: Heard, zero: Mark, acknowledged: Mark | None) -> int | None:
    """When the provider showed that it had dealt with what made zero; None while it has not.

    ``acknowledged`` is when it first said so apart, after zero.
    """
    marks = [] if acknowledged is None else [acknowledged]
    if rule.flow is Flow.FORCED:
        any_final = rule.final_rule is FinalRule.NEXT
        marks += [
            said.mark
            for said in heard.after(zero)
            if said.transcript.final and (any_final or said.transcript.forced is True)
        ]
    return min(marks)[0] if marks else None


def chosen(
    rule: Rule, heard: Heard, zero: Mark, now_ns: int, *, confirmed: bool, over: bool
) -> Choice | None:
    """The transcript that counts at ``now_ns``; ``over`` when nothing more will come."""
    if rule.flow is Flow.FALLBACK:
        return _fallback(rule, heard, zero, now_ns, over=over)
    verdict = Verdict.FORCED_FINAL if rule.flow is Flow.FORCED else Verdict.CLOSED_FINAL
    return _asked(verdict, heard, zero, now_ns, ready=confirmed or over)


def first_partial(rule: Rule, heard: Heard, zero: Mark, stop: Choice | None) -> Said | None:
    """The first partial after zero; none that comes after the watch has stopped."""
    stop_mark = stop.said.mark if stop and stop.said.mark > zero else None
    for said in heard.after(zero) if rule.echo_counts else new_words(heard, zero):
        if stop_mark is not None and said.mark > stop_mark:
            return None
        if said.text and not said.transcript.final:
            return said
    return None


def raced(rule: Rule, heard: Heard, zero: Mark) -> bool:
    """A final that does not answer the force came too near to it to tell why."""
    marked = rule.flow is Flow.FORCED and rule.final_rule in (FinalRule.MARKER, FinalRule.ITEM)
    return marked and any(
        said.transcript.final
        and said.text
        and said.transcript.forced is not True
        and abs(said.at_ns - zero[0]) <= RACE_NS
        for said in heard.everything()
    )


def truncated(rule: Rule, heard: Heard, choice: Choice) -> bool:
    """The final that was chosen took back the end of what had been on show just before it."""
    before = [said for said in heard.everything() if said.mark < choice.said.mark]
    if not choice.said.transcript.final or not before:
        return False
    shown = _words(rule, before[-1].utterance)
    left = _words(rule, choice.said.utterance)
    return len(left) < len(shown) and shown[: len(left)] == left


def overlapping(rule: Rule, heard: Heard) -> bool:
    """A final began with what the final before it, of another segment, had ended with."""
    finals = [
        said
        for said in heard.everything()
        if said.transcript.final and said.text and not said.duplicate
    ]
    return any(
        _overlap(rule, before.text, said.text)
        for before, said in pairwise(finals)
        if said.transcript.segment is None or said.transcript.segment != before.transcript.segment
    )


def _overlap(rule: Rule, before: str, text: str) -> bool:
    said, begun = _words(rule, before), _words(rule, text)
    least = OVERLAP_WORDS if rule.joiner else OVERLAP_LETTERS
    return any(said[-count:] == begun[:count] for count in range(least, len(begun) + 1))


def _words(rule: Rule, text: str) -> list[str]:
    """Letters and digits alone, word by word; where words are not kept apart, one by one."""
    pieces = text.split() if rule.joiner else list(text)
    bare = ("".join(filter(str.isalnum, piece)).casefold() for piece in pieces)
    return [word for word in bare if word]


def _asked(
    verdict: Verdict, heard: Heard, zero: Mark, now_ns: int, *, ready: bool
) -> Choice | None:
    """Where we ask for the final: by a force, or by announcing the end of the stream."""
    finals = finals_with_text(heard, zero)
    if finals:
        return Choice(verdict, finals[0])
    return _already_final(heard, zero, now_ns) if ready else None


def _fallback(rule: Rule, heard: Heard, zero: Mark, now_ns: int, *, over: bool) -> Choice | None:
    grace_over_ns = zero[0] + rule.grace_ns
    finals = finals_with_text(heard, zero)
    if finals and finals[0].at_ns <= grace_over_ns:
        return Choice(Verdict.NATURAL_FINAL, finals[0])
    if now_ns <= grace_over_ns and not over:
        return None
    return (
        _already_final(heard, zero, grace_over_ns)
        or _first_after(heard, grace_over_ns)
        or (_last_partial(heard, grace_over_ns) if over else None)
    )


def _already_final(heard: Heard, zero: Mark, until_ns: int) -> Choice | None:
    """All words had been final at zero, and none have come since."""
    at_zero = heard.before(zero)
    newer = any(said.at_ns <= until_ns for said in new_words(heard, zero))
    if at_zero is None or at_zero.outstanding or newer:
        return None
    for said in reversed(heard.everything()):
        if said.mark <= zero and said.transcript.final and said.text and not said.duplicate:
            return Choice(Verdict.ALREADY_FINAL, said)
    return None


def _first_after(heard: Heard, grace_over_ns: int) -> Choice | None:
    """Fallback B: whatever says something first once the grace is over."""
    for said in heard.everything():
        if said.text and not said.duplicate and said.at_ns > grace_over_ns:
            final = said.transcript.final
            return Choice(Verdict.LATE_FINAL if final else Verdict.LATE_PARTIAL, said)
    return None


def _last_partial(heard: Heard, grace_over_ns: int) -> Choice | None:
    """Fallback C: the most recent partial from before the grace was over."""
    for said in reversed(heard.everything()):
        if said.text and not said.transcript.final and said.at_ns <= grace_over_ns:
            return Choice(Verdict.LAST_PARTIAL, said)
    return None


def _known(heard: Heard, zero: Mark) -> str:
    at_zero = heard.before(zero)
    return at_zero.utterance if at_zero else ""
