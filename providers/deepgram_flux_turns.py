"""Flux as it is sold: the model itself decides when a turn is over, and nothing is forced."""

from collections.abc import Iterable
from dataclasses import replace

from measure.records import Flow, Rule
from providers.codec import ForceContext, Message
from providers.deepgram_flux import Flux
from providers.facts import Forcing


class FluxTurns(Flux):
    """One stream to a Flux model that ends its turns."""

    facts = replace(
        Flux.facts,
        rule=Rule(Flow.FALLBACK),
        natural_endpointing="on: at a confidence of 0.7, or after 5 s without words",
        forcing=Forcing(),
        why=(
            "The thresholds are Deepgram's own defaults. What is measured is the model's decision"
            " and its words together, so it stands beside forced finals, not among them."
        ),
        awaits=("The codes of its errors.",),
    )
    turns = (("eot_threshold", "0.7"), ("eot_timeout_ms", "5000"))

    def force(self, context: ForceContext) -> Iterable[Message]:
        return ()
