"""What a price is made of and what it comes to. Exact: fractions of a dollar, rounded when shown.

Method: METHOD.md sections 6 and 7.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

Number = int | Decimal | Fraction
"""An exact number: a price as it was written, never a float that only comes close."""
Tokens = Mapping[str, int]
"""How many tokens of each kind were reported: "text_in", "audio_in", "audio_out", "text_out",
"reasoning" where it is not part of "text_out"."""


class PriceError(ValueError):
    """A price that cannot be worked out as it was given. One line: which, what, what is allowed."""


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs per common unit: 1,000 minutes of audio, or 1M characters."""

    usd: Fraction | None
    """None where there is no price; ``reason`` says why."""
    reason: str = ""
    plan: str = ""
    """The plan that was taken, where there are plans."""
    remarks: tuple[str, ...] = ()
    """What a reader must know to compare it, one sentence each."""

    def __post_init__(self) -> None:
        if self.usd is None and not self.reason:
            raise PriceError("a missing price needs a reason")


def fraction(value: Number, what: str) -> Fraction:
    """``value``, exactly. Raises PriceError where it is negative or no finite number."""
    try:
        exact = Fraction(value)
    except (ValueError, OverflowError) as error:
        raise PriceError(f"{what} {value}: it must be a finite number") from error
    if exact < 0:
        raise PriceError(f"{what} {value}: it must not be below 0")
    return exact


def positive(value: Number, what: str) -> Fraction:
    """``value``, exactly. Raises PriceError where it is not above 0."""
    exact = fraction(value, what)
    if not exact:
        raise PriceError(f"{what} {value}: it must be above 0")
    return exact


def rounded(usd: Fraction, places: int = 2) -> Decimal:
    """As it is shown: half a cent goes up."""
    scaled = usd * 10**places
    whole = Decimal((2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator))
    return (whole / Decimal(10) ** places).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


def cost(tokens: Tokens, usd_per_token: Mapping[str, Number]) -> Fraction:
    """What these tokens cost. Raises PriceError for a kind that was used and has no price."""
    without = sorted(kind for kind, count in tokens.items() if count and kind not in usd_per_token)
    if without:
        raise PriceError(f"tokens without a price: {', '.join(without)}")
    return sum(
        (
            count * fraction(usd_per_token[kind], f"usd_per_token.{kind}")
            for kind, count in tokens.items()
            if count
        ),
        Fraction(),
    )
