"""What 1,000 minutes of audio cost, under each of the four ways of charging for transcription."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import ClassVar

from scoring.price.shape import Number, Price, Tokens, cost, fraction, positive

UNIT_MINUTES = 1_000
UNIT_S = UNIT_MINUTES * 60


@dataclass(frozen=True, slots=True)
class Transcribed:
    """What one transcription of a benchmark run used."""

    audio_s: Number
    processing_s: Number = 0
    tokens: Tokens = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AudioTime:
    """So much for so much audio, as the provider publishes it."""

    charging: ClassVar[str] = "audio_time"
    usd: Number
    per_s: Number = 60
    block_s: Number | None = None
    """Requests are rounded up to so much audio. The published price is comparable without."""

    def price(self, runs: Sequence[Transcribed] = ()) -> Price:
        """The published price; measurements do not change it."""
        usd = fraction(self.usd, "usd") * UNIT_S / positive(self.per_s, "per_s")
        if self.block_s is None:
            return Price(usd)
        return Price(usd, remarks=(f"Each request is billed in whole blocks of {self.block_s} s.",))

    def with_blocks(self, audio_s: Sequence[Number]) -> Fraction | None:
        """What recordings of these lengths really cost per 1,000 minutes; None of none."""
        block_s = positive(self.block_s or 0, "block_s")
        lengths = [positive(one, "audio_s") for one in audio_s]
        if not lengths:
            return None
        billed_s = sum(ceil(length / block_s) * block_s for length in lengths)
        usd = fraction(self.usd, "usd") / positive(self.per_s, "per_s") * billed_s
        return usd * UNIT_S / sum(lengths)


@dataclass(frozen=True, slots=True)
class ProcessingTime:
    """So much for each second of computing, which is measured."""

    charging: ClassVar[str] = "processing_time"
    usd_per_s: Number

    def price(self, runs: Sequence[Transcribed]) -> Price:
        """All that was spent over all audio (**reading**: not the mean of each one's ratio)."""
        if not runs:
            return Price(None, "no processing time was measured")
        processing_s = sum(positive(run.processing_s, "processing_s") for run in runs)
        usd = fraction(self.usd_per_s, "usd_per_s") * processing_s
        return Price(usd * UNIT_S / _audio_s(runs), remarks=(_from(runs),))


@dataclass(frozen=True, slots=True)
class TokenRates:
    """So much for each kind of token, which are measured."""

    charging: ClassVar[str] = "tokens"
    usd_per_token: dict[str, Number]

    def price(self, runs: Sequence[Transcribed]) -> Price:
        """All that was spent over all audio, the prompt's tokens included."""
        if not runs:
            return Price(None, "no token use was measured")
        spent = sum((cost(run.tokens, self.usd_per_token) for run in runs), Fraction())
        apart = any(run.tokens.get("reasoning") for run in runs)
        said = "Reasoning is reported apart and added." if apart else "No reasoning apart."
        return Price(spent * UNIT_S / _audio_s(runs), remarks=(_from(runs), said))


@dataclass(frozen=True, slots=True)
class Plan:
    """What one pays in advance and what one may use for it."""

    name: str
    monthly_usd: Number
    minutes_per_month: Number | None = None
    """None: no limit."""
    minutes_per_day: Number | None = None
    overage_usd_per_minute: Number | None = None
    """What a minute beyond the included ones costs; None: there are none."""

    def extra_minutes(self, minutes: Fraction, days: int) -> Fraction | None:
        """How many of ``minutes`` a month are not included; None where the plan forbids them."""
        if self.minutes_per_day is not None:
            a_day = fraction(self.minutes_per_day, f"{self.name}: minutes_per_day")
            if a_day * days < minutes:
                return None
        if self.minutes_per_month is None:
            return Fraction()
        included = fraction(self.minutes_per_month, f"{self.name}: minutes_per_month")
        extra = max(Fraction(), minutes - included)
        return extra if not extra or self.overage_usd_per_minute is not None else None


@dataclass(frozen=True, slots=True)
class Subscription:
    """Plans, of which the one with the lowest cost in advance is taken that can do the work."""

    charging: ClassVar[str] = "subscription"
    plans: tuple[Plan, ...]
    minutes: Number = UNIT_MINUTES
    """To be done within a month."""
    days: int = 30
    """How many days a month has, for limits by the day."""

    def price(self, runs: Sequence[Transcribed] = ()) -> Price:
        """The fee, and what minutes beyond it cost (**reading**: not a share of the fee)."""
        minutes = positive(self.minutes, "minutes")
        able = [
            (fraction(plan.monthly_usd, f"{plan.name}: monthly_usd"), plan, extra)
            for plan in self.plans
            if (extra := plan.extra_minutes(minutes, self.days)) is not None
        ]
        if not able:
            return Price(None, f"no plan can do {self.minutes:,} minutes a month within its limits")
        fee, plan, extra = min(able, key=lambda one: one[0])
        over = extra * fraction(plan.overage_usd_per_minute or 0, f"{plan.name}: overage")
        said = [f"Plan {plan.name}, {self.minutes:,} minutes a month."]
        if extra:
            said.append(f"{float(extra):,g} of them are beyond what it includes.")
        return Price((fee + over) * UNIT_MINUTES / minutes, plan=plan.name, remarks=tuple(said))


@dataclass(frozen=True, slots=True)
class OpenWeights:
    """Anyone may run it, and nobody is paid for it: a model of this host's own."""

    charging: ClassVar[str] = "open_weights"

    def price(self, runs: Sequence[Transcribed] = ()) -> Price:
        return Price(None, "open weights, listed without a price")


Charging = AudioTime | ProcessingTime | TokenRates | Subscription | OpenWeights


def _audio_s(runs: Sequence[Transcribed]) -> Fraction:
    return sum((positive(run.audio_s, "audio_s") for run in runs), Fraction())


def _from(runs: Sequence[Transcribed]) -> str:
    return f"Measured with {len(runs)} recordings, {float(_audio_s(runs)) / 60:.1f} min of audio."
