"""How fast whole texts and recordings are dealt with: speed factors and throughput. Pure.

    one request         audio / response time, or characters / time to generate and receive
    a point of a day    the median of its measurements, four of them at random moments
    a bar               the median over the last seven days

A failed request is no measurement and no zero: it is counted beside them.

Method: METHOD.md sections 6 and 7.
"""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from scoring.weigh import quantile

DAY_S = 86_400
POINT_MEASUREMENTS = 4
"""How many measurements within 24 h make a whole point."""
BAR_DAYS = 7
THROUGHPUT_DAYS = 3


class BarReading(StrEnum):
    """What a bar is the median of, which the method leaves open."""

    MEASUREMENTS = "measurements"
    """Of everything that was measured in the last days (default)."""
    POINTS = "points"
    """Of the days' points, so that each day counts the same."""


@dataclass(frozen=True, slots=True)
class Timed:
    """One request, when it began and what came of it."""

    at_s: float
    """On any clock that all of them share."""
    value: float | None
    """A speed factor, or characters a second; None where the request failed."""


@dataclass(frozen=True, slots=True)
class Median:
    """The middle of some measurements, and of how many."""

    value: float | None
    measurements: int
    failures: int
    wanted: int = 0
    """How many there should have been; 0 where there is no such number."""

    @property
    def complete(self) -> bool:
        return self.measurements >= self.wanted


def speed_factor(audio_s: float, response_s: float) -> float:
    """How many seconds of audio are dealt with in one.

    ``response_s``: from the first byte of the upload to the last byte of the transcript; waiting
    in a queue, asking again and fetching the text are part of it. Raises ValueError without time.
    """
    _refuse_no_time(response_s)
    return audio_s / response_s


def throughput(characters: int, seconds: float) -> float:
    """Characters a second. ``seconds``: from the request to the last byte of the sound itself.

    Where a provider answers with an address, the download from there is part of it. Raises
    ValueError without time.
    """
    _refuse_no_time(seconds)
    return characters / seconds


def characters(text: str) -> int:
    """How many characters a prompt has: Unicode code points, composed where they can be."""
    return len(unicodedata.normalize("NFC", text))


def point(values: Iterable[float | None], wanted: int = POINT_MEASUREMENTS) -> Median:
    """The middle of what was measured within 24 h; None stands for a request that failed."""
    every = list(values)
    there = [value for value in every if value is not None]
    return Median(quantile(there, 0.5), len(there), len(every) - len(there), wanted)


def points(timed: Iterable[Timed]) -> dict[int, Median]:
    """The point of each day, by the number of the day since 0 on their clock."""
    days: dict[int, list[float | None]] = {}
    for one in timed:
        days.setdefault(int(one.at_s // DAY_S), []).append(one.value)
    return {day: point(values) for day, values in sorted(days.items())}


def window_median(timed: Iterable[Timed], *, now_s: float, window_s: float) -> Median:
    """The middle of all that was measured in the last ``window_s``, both ends included."""
    inside = [one.value for one in timed if now_s - window_s <= one.at_s <= now_s]
    return point(inside, wanted=0)


def throughput_median(timed: Iterable[Timed], *, now_s: float) -> Median:
    """The published throughput: over the last three days."""
    return window_median(timed, now_s=now_s, window_s=THROUGHPUT_DAYS * DAY_S)


def bar(
    timed: Iterable[Timed], *, now_s: float, reading: BarReading = BarReading.MEASUREMENTS
) -> Median:
    """The published speed factor: over the last seven days."""
    every = list(timed)
    if reading is BarReading.MEASUREMENTS:
        return window_median(every, now_s=now_s, window_s=BAR_DAYS * DAY_S)
    inside = [one for one in every if now_s - BAR_DAYS * DAY_S <= one.at_s <= now_s]
    by_day = {day: found.value for day, found in points(inside).items()}
    return bar_of_points(by_day, today=int(now_s // DAY_S))


def bar_of_points(by_day: Mapping[int, float | None], *, today: int) -> Median:
    """The middle of the points of today and the six days before; a day without one is a failure."""
    first = today - BAR_DAYS
    return point((value for day, value in by_day.items() if first < day <= today), wanted=BAR_DAYS)


def _refuse_no_time(seconds: float) -> None:
    if not seconds > 0:
        raise ValueError(f"{seconds} s: nothing is done in no time")
