"""Numbers as people read them, by the unit of a panel."""

from math import floor, isfinite, log10

from exporters.grafana.parts import AGE, BYTES, DOLLARS, SECONDS, SHARE, YES_NO

NOTHING = "-"
_TIMES = ((86_400.0, "d"), (3600.0, "h"), (60.0, "min"))
_SMALL = ((1.0, 1.0, "s"), (1e-3, 1e3, "ms"), (1e-6, 1e6, "µs"))
_BYTES = ("B", "KiB", "MiB", "GiB", "TiB")


def shown(value: float, unit: str) -> str:
    """One value with its unit; a dash where there is none."""
    if not isfinite(value):
        return NOTHING
    if unit == SECONDS:
        return _seconds(value)
    if unit == AGE:
        return _age(value)
    if unit == SHARE:
        return f"{_short(100 * value)} %"
    if unit == DOLLARS:
        return f"${value:,.2f}" if value == 0 or abs(value) >= 1 else f"${value:.3g}"
    if unit == BYTES:
        return _bytes(value)
    if unit == YES_NO:
        return "yes" if value else "no"
    return _short(value)


def ticks(low: float, high: float, unit: str) -> list[float]:
    """A few values from ``low`` to ``high`` that are round in the unit in which they are shown."""
    size = 1.0
    if unit == BYTES:
        size = next((1024.0**i for i in (4, 3, 2, 1) if high >= 1024.0**i), 1.0)
    if unit in (AGE, SECONDS):
        size = next((one for one, _ in _TIMES if high >= 2 * one), 1.0)
    return [size * value for value in _steps(low / size, high / size)]


def _steps(low: float, high: float, about: int = 4) -> list[float]:
    if high <= low:
        return [low]
    rough = (high - low) / about
    size = 10.0 ** floor(log10(rough))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= rough)
    first = floor(low / step)
    found = [step * (first + i) for i in range(2 * about + 4)]
    return [value for value in found if low - step / 1e6 <= value <= high + step / 1e6]


def _short(value: float) -> str:
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _seconds(value: float) -> str:
    if value == 0:
        return "0 s"
    if abs(value) >= 120:
        return _age(value)
    for least, factor, name in _SMALL:
        if abs(value) >= least:
            return f"{_short(value * factor)} {name}"
    return f"{_short(value * 1e9)} ns"


def _age(value: float) -> str:
    for size, name in _TIMES:
        if abs(value) >= size:
            return f"{_short(value / size)} {name}"
    return f"{_short(value)} s"


def _bytes(value: float) -> str:
    for name in _BYTES[:-1]:
        if abs(value) < 1024:
            return f"{_short(value)} {name}"
        value /= 1024
    return f"{_short(value)} {_BYTES[-1]}"
