"""Sound devices as PortAudio lists them, and which one a user means. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["input", "output"]
NO_DEVICE = (
    "there is no sound device: PortAudio finds no card and no sound server here "
    "(a user may have to be in the group audio)"
)


class SoundError(Exception):
    """There is no sound to be had; one line says what to install or to choose."""


@dataclass(frozen=True, slots=True)
class Device:
    """One device."""

    index: int
    name: str
    host_api: str
    inputs: int
    """How many channels it can capture; 0: it is no input."""
    outputs: int
    rate_hz: int
    """Its own."""
    default_input: bool = False
    default_output: bool = False

    def channels(self, kind: Kind) -> int:
        """How many it has of one kind."""
        return self.inputs if kind == "input" else self.outputs

    def is_default(self, kind: Kind) -> bool:
        """It is taken where nothing is said."""
        return self.default_input if kind == "input" else self.default_output


def chosen(found: Sequence[Device], wanted: str | None, kind: Kind) -> Device:
    """The device that is meant: the default, a number, a name, or a part that only one name has.

    Raises SoundError, with those that there are.
    """
    fit = [one for one in found if one.channels(kind)]
    if not found:
        raise SoundError(NO_DEVICE)
    if not fit:
        raise SoundError(f"no sound device here is an {kind}; there are {named(found)}")
    if wanted is None:
        return _default(fit, kind)
    device = _numbered(found, wanted) if wanted.isdecimal() else _called(found, fit, wanted, kind)
    if device is None:
        raise SoundError(
            f"no {kind} device is called {wanted!r}; there are {named(fit)} "
            "(what another program has to itself is not listed)"
        )
    if device not in fit:
        raise SoundError(f"{device.name!r} is no {kind}; {kind} devices are {named(fit)}")
    return device


def named(found: Sequence[Device]) -> str:
    """Devices in one line, as they can be chosen."""
    return ", ".join(f"{one.index} {one.name!r}" for one in found)


def _default(fit: Sequence[Device], kind: Kind) -> Device:
    marked = [one for one in fit if one.is_default(kind)]
    if not marked and len(fit) > 1:
        raise SoundError(f"no {kind} device is the default; choose one of {named(fit)}")
    return (marked or fit)[0]


def _numbered(found: Sequence[Device], wanted: str) -> Device | None:
    return next((one for one in found if one.index == int(wanted)), None)


def _called(
    found: Sequence[Device], fit: Sequence[Device], wanted: str, kind: Kind
) -> Device | None:
    """Of the right kind first; a whole name before a part of one."""
    word = wanted.casefold()
    matches: tuple[Callable[[Device], bool], ...] = (
        lambda one: word in _full_names(one),
        lambda one: any(word in name for name in _full_names(one)),
    )
    for devices in (fit, found):
        for is_meant in matches:
            meant = [one for one in devices if is_meant(one)]
            if len(meant) > 1:
                raise SoundError(f"{wanted!r} may be any of {named(meant)}; choose by number")
            if meant:
                return meant[0]
    return None


def _full_names(device: Device) -> tuple[str, str]:
    return device.name.casefold(), f"{device.name}, {device.host_api}".casefold()
