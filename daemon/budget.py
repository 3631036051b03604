"""What has been spent and what may still be: pure sums in millionths of a dollar, by UTC day.

A job's cost is set aside before it begins and replaced by what it really cost when it has ended,
so jobs that run side by side cannot overrun a budget together, and a crash forgets no money.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from measure.records import SECOND

MICRO = 1_000_000
"""Millionths of a dollar in a dollar."""
KEPT_DAYS = 62
"""Of older days nothing is remembered: no budget asks for them."""
FILE_VERSION = 1
ALL = "all providers"


@dataclass(frozen=True, slots=True)
class Allowance:
    """How much may be spent; None: as much as it takes."""

    day_usd: float | None = None
    month_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Overrun:
    """A job would cost more than is left."""

    who: str
    """The provider, or all of them together."""
    period: str
    """``day`` or ``month``."""
    spent_usd: float
    cost_usd: float
    limit_usd: float

    def __str__(self) -> str:
        return (
            f"{self.who}: ${self.spent_usd:.4f} of ${self.limit_usd:.2f} are spent this "
            f"{self.period}, and the next run would cost ${self.cost_usd:.4f}"
        )


class LedgerError(ValueError):
    """A file that is no ledger; says why."""


@dataclass(slots=True)
class Ledger:
    """What each provider has cost on each day, set aside or spent."""

    _spent: dict[str, dict[str, int]] = field(default_factory=dict)
    """Day (2026-11-30) -> provider -> millionths of a dollar."""

    def spend(self, provider: str, cost_usd: float, wall_ns: int) -> None:
        """So much more was spent; negative where less was spent than had been set aside."""
        day = self._spent.setdefault(_day(wall_ns), {})
        day[provider] = day.get(provider, 0) + round(cost_usd * MICRO)
        for old in sorted(self._spent)[:-KEPT_DAYS]:
            del self._spent[old]

    def spent_usd(self, provider: str | None, period: str, wall_ns: int) -> float:
        """What ``provider``, or all of them together (None), cost in this ``day`` or ``month``."""
        wanted = _day(wall_ns) if period == "day" else _day(wall_ns)[: len("2026-11")]
        return (
            sum(
                micro
                for day, providers in self._spent.items()
                if day.startswith(wanted)
                for name, micro in providers.items()
                if provider in (None, name)
            )
            / MICRO
        )

    def overrun(
        self,
        provider: str,
        cost_usd: float,
        wall_ns: int,
        *,
        own: Allowance,
        overall: Allowance,
    ) -> Overrun | None:
        """The budget that ``cost_usd`` more would exceed; None where there is none."""
        for who, name, allowance in ((provider, provider, own), (ALL, None, overall)):
            for period, limit_usd in (("day", allowance.day_usd), ("month", allowance.month_usd)):
                if limit_usd is None:
                    continue
                spent_usd = self.spent_usd(name, period, wall_ns)
                if round((spent_usd + cost_usd - limit_usd) * MICRO) > 0:
                    return Overrun(who, period, spent_usd, cost_usd, limit_usd)
        return None

    def plain(self) -> dict[str, object]:
        """As it lies in a file."""
        return {"version": FILE_VERSION, "spent_micro_usd": self._spent}


def ledger_of(plain: object) -> Ledger:
    """The ledger that a file holds. Raises LedgerError for what is none."""
    if not isinstance(plain, Mapping) or plain.get("version") != FILE_VERSION:
        raise LedgerError(f"it is no ledger of version {FILE_VERSION}")
    spent: dict[str, dict[str, int]] = defaultdict(dict)
    days = plain.get("spent_micro_usd")
    if not isinstance(days, Mapping):
        raise LedgerError("spent_micro_usd is missing")
    for day, providers in days.items():
        if not isinstance(providers, Mapping) or not _is_day(day):
            raise LedgerError(f"{day!r} is no day with its providers")
        for provider, micro in providers.items():
            if type(micro) is not int:
                raise LedgerError(f"{day}, {provider}: the amount is no whole number")
            spent[str(day)][str(provider)] = micro
    return Ledger(dict(spent))


def cost_usd(audio_s: float, price_usd_per_1000_min: float) -> float:
    """What so much audio costs at a price per time."""
    return audio_s / 60_000 * price_usd_per_1000_min


def _day(wall_ns: int) -> str:
    return datetime.fromtimestamp(wall_ns / SECOND, UTC).strftime("%Y-%m-%d")


def _is_day(text: object) -> bool:
    try:
        return datetime.strptime(str(text), "%Y-%m-%d").strftime("%Y-%m-%d") == text
    except ValueError:
        return False
