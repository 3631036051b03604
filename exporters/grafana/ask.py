"""Asks a Prometheus what a dashboard asks: its variables filled in, over a stretch of time."""

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_PATIENCE_S = 30.0


class Refused(RuntimeError):
    """Prometheus did not answer the query; says why."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of time, in seconds since 1970, looked at in steps."""

    start_s: float
    end_s: float
    step_s: float

    @property
    def length_s(self) -> float:
        return self.end_s - self.start_s


@dataclass(frozen=True, slots=True)
class Series:
    """One series of an answer."""

    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]
    """Moments in seconds since 1970, and values."""

    @property
    def last(self) -> float:
        return self.points[-1][1]


@dataclass(frozen=True, slots=True)
class Prometheus:
    """A Prometheus at ``url``, such as http://127.0.0.1:9090. Raises Refused and OSError."""

    url: str

    def at(self, expr: str, moment_s: float) -> list[Series]:
        """The values at one moment."""
        answer = self.get("query", query=expr, time=f"{moment_s:.3f}")
        return [_series(one["metric"], [one["value"]]) for one in answer["result"]]

    def over(self, expr: str, stretch: Stretch) -> list[Series]:
        """The values over a stretch of time."""
        asked = {"start": f"{stretch.start_s:.3f}", "end": f"{stretch.end_s:.3f}"}
        answer = self.get("query_range", query=expr, step=f"{stretch.step_s:g}", **asked)
        return [_series(one["metric"], one["values"]) for one in answer["result"]]

    def get(self, what: str, **asked: str) -> Any:
        """The data that its API answers with."""
        query = f"?{urllib.parse.urlencode(asked)}" if asked else ""
        try:
            with urllib.request.urlopen(
                f"{self.url}/api/v1/{what}{query}", timeout=_PATIENCE_S
            ) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            said = error.read().decode(errors="replace")
            raise Refused(f"{asked.get('query', what)}: {said}") from error


def filled_in(expr: str, chosen: Mapping[str, str], stretch: Stretch) -> str:
    """The query as Grafana would send it; every variable that is not chosen is all of it."""
    rate_s = max(60.0, 4 * stretch.step_s)
    own = {"__range": f"{stretch.length_s:.0f}s", "__rate_interval": f"{rate_s:.0f}s"}
    values = {"window": "6h", **own, **chosen}
    return re.sub(r"\$(\w+)", lambda found: values.get(found[1], ".*"), expr)


def _series(labels: Mapping[str, str], points: list[tuple[float, str]]) -> Series:
    return Series(labels, tuple((float(moment), float(value)) for moment, value in points))
