"""Price lists: what providers ask for, as a table that says when and where each was read.

    [[price]]
    model = "deepgram/nova-3"
    kind = "speech_to_text"
    charging = "audio_time"
    usd = 0.0077
    per_s = 60
    date = 2026-11-02
    source = "https://example.com/pricing"

A price is true on its date and nowhere claimed to be so later. Decimal digits are kept as they are
written: read the file with ``parse_float=Decimal``.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from datetime import date
from decimal import Decimal
from enum import StrEnum
from importlib.resources import files
from typing import Any

from scoring.price import speech_to_text as stt
from scoring.price import text_to_speech as tts
from scoring.price.shape import Price, PriceError

SHIPPED = "prices.toml"
COMMON = ("model", "kind", "charging", "date", "source", "note")
"""What every entry may say, whatever the charging."""


class Kind(StrEnum):
    """What is paid for."""

    SPEECH_TO_TEXT = "speech_to_text"
    TEXT_TO_SPEECH = "text_to_speech"


UNITS = {Kind.SPEECH_TO_TEXT: "1,000 min", Kind.TEXT_TO_SPEECH: "1M characters"}
"""The common unit of each kind."""
CHARGING: Mapping[Kind, Mapping[str, type]] = {
    Kind.SPEECH_TO_TEXT: {
        one.charging: one
        for one in (
            stt.AudioTime, stt.ProcessingTime, stt.TokenRates, stt.Subscription, stt.OpenWeights,
        )
    },
    Kind.TEXT_TO_SPEECH: {
        one.charging: one
        for one in (
            tts.PerCharacter, tts.Subscription, tts.TokenRates, tts.OutputTime, tts.PerByte,
            tts.InferenceTime, tts.OpenWeights, tts.SpeechDialogue,
        )
    },
}  # fmt: skip
"""Every way of charging, by the name that it has in a list."""
PLANS = {Kind.SPEECH_TO_TEXT: stt.Plan, Kind.TEXT_TO_SPEECH: tts.Plan}
WHOLE = ("days",)
"""Fields that are whole numbers."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One entry of a list."""

    model: str
    kind: Kind
    charging: Any
    """One of the classes in CHARGING: has ``price(runs)``."""
    date: date
    """When it was read."""
    source: str
    """Where it was read."""
    note: str = ""
    shipped: bool = False
    """It came with this program and is not the user's own."""

    def price(self, runs: Sequence[Any] = ()) -> Price:
        """Per common unit. Raises PriceError."""
        found: Price = self.charging.price(runs)
        return found

    @property
    def provenance(self) -> str:
        """How far it can be trusted; stands beside every price that is shown."""
        came = "shipped with speechbench, may have changed since" if self.shipped else "your list"
        return f"as read on {self.date.isoformat()} at {self.source} ({came})"


def shipped_prices() -> tuple[Listed, ...]:
    """What comes with this program."""
    text = (files(__package__) / SHIPPED).read_text(encoding="utf-8")
    return prices_in(tomllib.loads(text, parse_float=Decimal), shipped=True)


def prices_in(table: Mapping[str, Any], *, shipped: bool = False) -> tuple[Listed, ...]:
    """The entries of a list. Raises PriceError with a line for each mistake."""
    mistakes = [
        f"{name}: there is no such table; allowed: price" for name in table if name != "price"
    ]
    entries = table.get("price", [])
    if not isinstance(entries, list):
        raise PriceError("price: write each entry as [[price]]")
    found: list[Listed] = []
    for number, entry in enumerate(entries, start=1):
        place = f"price[{number}]"
        try:
            found.append(_listed(entry, shipped=shipped))
        except PriceError as error:
            mistakes += [f"{place}.{line}" for line in str(error).splitlines()]
    mistakes += _twice(found)
    if mistakes:
        raise PriceError("\n".join(mistakes))
    return tuple(found)


def price_of(model: str, kind: Kind, lists: Sequence[Listed]) -> Listed | None:
    """The entry for ``model``: a list that comes earlier goes before a later one."""
    return next((one for one in lists if one.model == model and one.kind == kind), None)


def _twice(found: Sequence[Listed]) -> Iterator[str]:
    seen: set[tuple[str, Kind]] = set()
    for one in found:
        if (one.model, one.kind) in seen:
            yield f"price: {one.model} is there twice for {one.kind.value}"
        seen.add((one.model, one.kind))


def _listed(entry: object, *, shipped: bool) -> Listed:
    if not isinstance(entry, Mapping):
        raise PriceError("it must be a table: model, kind, charging, date, source")
    model, source = _text(entry, "model"), _text(entry, "source")
    kind = _kind(entry)
    said_on = entry.get("date")
    if type(said_on) is not date:
        raise PriceError(
            f"date: write the day on which it was read, such as 2026-11-02{_is(said_on)}"
        )
    charging = _charging({k: v for k, v in entry.items() if k not in COMMON}, entry, kind)
    note = entry.get("note", "")
    if not isinstance(note, str):
        raise PriceError(f"note: it must be text{_is(note)}")
    charging.price(())  # what is negative or not whole shows now, not in a report
    return Listed(model, kind, charging, said_on, source, note, shipped)


def _text(entry: Mapping[str, Any], name: str) -> str:
    value = entry.get(name)
    if not isinstance(value, str) or not value.strip():
        raise PriceError(f"{name}: it must be given as text{_is(value)}")
    return value.strip()


def _kind(entry: Mapping[str, Any]) -> Kind:
    try:
        return Kind(entry.get("kind", ""))
    except ValueError as error:
        allowed = ", ".join(Kind)
        raise PriceError(f"kind: it must be one of {allowed}{_is(entry.get('kind'))}") from error


def _charging(rest: Mapping[str, Any], entry: Mapping[str, Any], kind: Kind) -> Any:  # noqa: ANN401
    name = entry.get("charging")
    known = CHARGING[kind]
    if not isinstance(name, str) or name not in known:
        raise PriceError(f"charging: it must be one of {', '.join(known)}{_is(name)}")
    return _made(known[name], rest, kind)


def _made(made: type, given: Mapping[str, Any], kind: Kind) -> Any:  # noqa: ANN401
    """One of the price classes from a table that names its fields."""
    named = {one.name: one for one in fields(made)}
    mistakes = [
        f"{name}: there is no such value; allowed: {', '.join(named) or 'none'}"
        for name in given
        if name not in named
    ]
    mistakes += [
        f"{name}: it is missing"
        for name, one in named.items()
        if name not in given and one.default is MISSING and one.default_factory is MISSING
    ]
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name in named:
            try:
                values[name] = _value(name, value, kind)
            except PriceError as error:
                mistakes += str(error).splitlines()
    if mistakes:
        raise PriceError("\n".join(mistakes))
    return made(**values)


def _value(name: str, value: object, kind: Kind) -> Any:  # noqa: ANN401
    if name == "plans":
        return _plans(value, kind)
    if name == "paid":
        if not isinstance(value, Mapping):
            raise PriceError("paid: it must be a table with charging and its values")
        return _charging({k: v for k, v in value.items() if k != "charging"}, value, kind)
    if name == "usd_per_token":
        if not isinstance(value, Mapping) or not value:
            raise PriceError("usd_per_token: it must be a table, such as { text_out = 0.00001 }")
        return {str(each): _number(f"usd_per_token.{each}", price) for each, price in value.items()}
    if name == "name":
        if not isinstance(value, str) or not value.strip():
            raise PriceError(f"name: it must be text{_is(value)}")
        return value
    return _number(name, value)


def _plans(value: object, kind: Kind) -> tuple[Any, ...]:
    if not isinstance(value, list) or not value:
        raise PriceError("plans: write each plan as [[price.plans]]")
    made = []
    for number, plan in enumerate(value, start=1):
        if not isinstance(plan, Mapping):
            raise PriceError(f"plans[{number}]: it must be a table")
        try:
            made.append(_made(PLANS[kind], plan, kind))
        except PriceError as error:
            lines = [f"plans[{number}].{line}" for line in str(error).splitlines()]
            raise PriceError("\n".join(lines)) from error
    return tuple(made)


def _number(name: str, value: object) -> int | Decimal:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise PriceError(f"{name}: it must be a number{_is(value)}")
    if not Decimal(value).is_finite() or value < 0:
        raise PriceError(f"{name}: it must be a number that is not below 0{_is(value)}")
    if name in WHOLE and not isinstance(value, int):
        raise PriceError(f"{name}: it must be a whole number{_is(value)}")
    return value


def _is(value: object) -> str:
    return "" if value is None or len(repr(value)) > 80 else f" (it is {value!r})"
