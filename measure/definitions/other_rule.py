"""A recorded session under another rule, where what was recorded allows an exact answer.

A rule also decided until when it was listened, and when the force was sent. What would have come
later, or to another force, nobody knows; so there is an answer only where the watch would have been
done under the other rule no later than it was.
"""

from measure.definitions.retelling import Replayed, Retelling, retold, told_of
from measure.records import Endpoint, Flow, Rule
from measure.replay import Recorded
from measure.words import ReadWords


class Inexact(Exception):
    """What was recorded does not say what this rule would have given."""


def retold_under(
    recorded: Recorded, rule: Rule, read_words: ReadWords | None = None
) -> list[Replayed]:
    """The turns of a session under ``rule``. Raises Inexact; ValueError for a damaged record."""
    was = recorded.rule
    if rule == was:
        return retold(recorded, None, read_words)
    if Endpoint.EVERY in (rule.endpoint, was.endpoint):
        raise Inexact("it has several turns, and when one ended decided when the next began")
    if rule.flow is not Flow.FALLBACK and rule.force_at is not was.force_at:
        raise Inexact(f"the force was sent at the {was.force_at.value.replace('_', ' ')}")
    story = list(told_of(recorded.rest))
    then, now = Retelling(was, story), Retelling(rule, story)
    if not now.watch.done or now.told > then.told:
        raise Inexact("it was not listened for as long as that")
    return [now.replayed(read_words)]
