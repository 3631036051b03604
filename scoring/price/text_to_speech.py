"""What 1M characters of text cost, under each of the eight ways of charging for synthesis."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar, Protocol

from scoring.price.shape import Number, Price, PriceError, Tokens, cost, fraction, positive

UNIT_CHARACTERS = 1_000_000
CHARACTERS_PER_MINUTE = 825
"""150 words a minute, 5.5 characters each."""
UTILISATION = Decimal("0.8")
"""How much of a plan is really used."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """What one synthesis of a benchmark run used."""

    characters: int
    inference_s: Number = 0
    tokens: Tokens = field(default_factory=dict)


class Charging(Protocol):
    """One way of charging."""

    @property
    def charging(self) -> str: ...

    def price(self, runs: Sequence[Spoken] = ()) -> Price:
        """Per 1M characters; ``runs`` is what was measured, where that is needed."""


@dataclass(frozen=True, slots=True)
class PerCharacter:
    """So much for so many characters: the list price as it is."""

    charging: ClassVar[str] = "per_character"
    usd: Number
    per_characters: Number = UNIT_CHARACTERS

    def price(self, runs: Sequence[Spoken] = ()) -> Price:
        usd = fraction(self.usd, "usd") * UNIT_CHARACTERS
        return Price(usd / positive(self.per_characters, "per_characters"))


@dataclass(frozen=True, slots=True)
class Plan:
    """What one pays and how much may be said for it, in a month or in a year."""

    name: str
    monthly_usd: Number | None = None
    annual_usd_per_month: Number | None = None
    """A month of it when the whole year is paid."""
    annual_usd: Number | None = None
    characters_per_month: Number | None = None
    characters_per_year: Number | None = None
    credits_per_month: Number | None = None
    credits_per_character: Number | None = None

    def usd_per_month(self) -> Fraction:
        """The yearly price if there is one. Raises PriceError where there is none at all."""
        if self.annual_usd_per_month is not None:
            return fraction(self.annual_usd_per_month, f"{self.name}: annual_usd_per_month")
        if self.annual_usd is not None:
            return fraction(self.annual_usd, f"{self.name}: annual_usd") / 12
        if self.monthly_usd is None:
            raise PriceError(f"plan {self.name}: no monthly_usd, annual_usd_per_month, annual_usd")
        return fraction(self.monthly_usd, f"{self.name}: monthly_usd")

    @property
    def is_annual(self) -> bool:
        return self.annual_usd_per_month is not None or self.annual_usd is not None

    def characters(self) -> Fraction:
        """What a month includes. Raises PriceError where the plan does not say."""
        if self.characters_per_month is not None:
            return fraction(self.characters_per_month, f"{self.name}: characters_per_month")
        if self.characters_per_year is not None:
            return fraction(self.characters_per_year, f"{self.name}: characters_per_year") / 12
        if self.credits_per_month is None or self.credits_per_character is None:
            raise PriceError(
                f"plan {self.name}: no characters_per_month, characters_per_year, "
                "or credits_per_month with credits_per_character"
            )
        credits_there = fraction(self.credits_per_month, f"{self.name}: credits_per_month")
        return credits_there / positive(
            self.credits_per_character, f"{self.name}: credits_per_character"
        )


@dataclass(frozen=True, slots=True)
class Subscription:
    """Plans, of which the cheapest is taken that includes 1M characters a month."""

    charging: ClassVar[str] = "subscription"
    plans: tuple[Plan, ...]
    utilisation: Number = UTILISATION

    def price(self, runs: Sequence[Spoken] = ()) -> Price:
        used = positive(self.utilisation, "utilisation")
        if used > 1:
            raise PriceError(f"utilisation {self.utilisation}: it must not be above 1")
        able = [
            (plan.usd_per_month(), plan)
            for plan in self.plans
            if plan.characters() >= UNIT_CHARACTERS
        ]
        if not able:
            return Price(None, "no plan with at least 1M characters")
        usd, plan = min(able, key=lambda one: one[0])
        paid = "by the year" if plan.is_annual else "by the month"
        said = f"Plan {plan.name}, paid {paid}, {float(used):.0%} of it used."
        effective = usd * UNIT_CHARACTERS / (plan.characters() * used)
        return Price(effective, plan=plan.name, remarks=(said,))


@dataclass(frozen=True, slots=True)
class TokenRates:
    """So much for tokens of text that go in, and of sound that come out, both estimated."""

    charging: ClassVar[str] = "tokens"
    characters_per_text_token: Number
    audio_tokens_per_s: Number
    usd_per_text_token: Number | None = None
    usd_per_audio_token: Number | None = None
    usd_per_text_token_batch: Number | None = None
    usd_per_audio_token_batch: Number | None = None
    characters_per_minute: Number = CHARACTERS_PER_MINUTE

    def price(self, runs: Sequence[Spoken] = ()) -> Price:
        text, audio = self.usd_per_text_token_batch, self.usd_per_audio_token_batch
        batch = text is not None and audio is not None
        if not batch:
            text, audio = self.usd_per_text_token, self.usd_per_audio_token
        if text is None or audio is None:
            return Price(None, "no price of text and audio tokens")
        usd = self.text_tokens * fraction(text, "usd_per_text_token")
        usd += self.audio_tokens * fraction(audio, "usd_per_audio_token")
        said = "Batch price." if batch else "No batch price is published: the standard one."
        return Price(usd, remarks=(said, "The length of the sound is estimated."))

    @property
    def text_tokens(self) -> Fraction:
        """Of 1M characters."""
        each = positive(self.characters_per_text_token, "characters_per_text_token")
        return UNIT_CHARACTERS / each

    @property
    def audio_s(self) -> Fraction:
        """How long 1M characters sound."""
        return UNIT_CHARACTERS * 60 / positive(self.characters_per_minute, "characters_per_minute")

    @property
    def audio_tokens(self) -> Fraction:
        """Of 1M characters."""
        return self.audio_s * positive(self.audio_tokens_per_s, "audio_tokens_per_s")


@dataclass(frozen=True, slots=True)
class OutputTime:
    """So much for so much sound, whose length is estimated."""

    charging: ClassVar[str] = "output_time"
    usd: Number
    per_s: Number = 60
    characters_per_minute: Number = CHARACTERS_PER_MINUTE

    def price(self, runs: Sequence[Spoken] = ()) -> Price:
        pace = positive(self.characters_per_minute, "characters_per_minute")
        sound_s = UNIT_CHARACTERS * 60 / pace
        usd = fraction(self.usd, "usd") * sound_s / positive(self.per_s, "per_s")
        return Price(usd, remarks=(f"At {float(pace):g} characters a minute.",))


@dataclass(frozen=True, slots=True)
class PerByte:
    """So much for so many bytes of UTF-8, about one for each English character."""

    charging: ClassVar[str] = "bytes"
    usd: Number
    per_bytes: Number = UNIT_CHARACTERS

    def price(self, runs: Sequence[Spoken] = ()) -> Price:
        usd = fraction(self.usd, "usd") * UNIT_CHARACTERS / positive(self.per_bytes, "per_bytes")
        return Price(usd, remarks=("One byte is taken for one character.",))


@dataclass(frozen=True, slots=True)
class InferenceTime:
    """So much for each second of computing, measured with about 25 texts of 500 characters."""

    charging: ClassVar[str] = "inference_time"
    usd_per_s: Number

    def price(self, runs: Sequence[Spoken] = ()) -> Price:
        if not runs:
            return Price(None, "no inference time was measured")
        seconds = sum(positive(run.inference_s, "inference_s") for run in runs)
        usd = fraction(self.usd_per_s, "usd_per_s") * seconds
        return Price(usd * UNIT_CHARACTERS / _characters(runs), remarks=(_from(runs),))


@dataclass(frozen=True, slots=True)
class SpeechDialogue:
    """A model of dialogues: what fixed prompts cost, each asked on its own."""

    charging: ClassVar[str] = "speech_dialogue"
    usd_per_token: Mapping[str, Number]

    def price(self, runs: Sequence[Spoken] = ()) -> Price:
        """Tokens that came from a cache are part of those that went in, at their full price."""
        if not runs:
            return Price(None, "no token use was measured")
        spent = sum((cost(run.tokens, self.usd_per_token) for run in runs), Fraction())
        said = "Tokens from a cache at their full price."
        return Price(spent * UNIT_CHARACTERS / _characters(runs), remarks=(_from(runs), said))


@dataclass(frozen=True, slots=True)
class OpenWeights:
    """Anyone may run it: listed without a price, unless someone sells it as a service."""

    charging: ClassVar[str] = "open_weights"
    paid: Charging | None = None

    def price(self, runs: Sequence[Spoken] = ()) -> Price:
        if self.paid is None:
            return Price(None, "open weights, listed without a price")
        return self.paid.price(runs)


def _characters(runs: Iterable[Spoken]) -> Fraction:
    return sum((positive(run.characters, "characters") for run in runs), Fraction())


def _from(runs: Sequence[Spoken]) -> str:
    return f"Measured with {len(runs)} texts, {_characters(runs)} characters."
