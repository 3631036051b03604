"""The shape that every engine has.

An engine is loaded once for each worker and used from that worker's thread alone, so none of
them needs a lock.
"""

from typing import Protocol

import numpy as np
import numpy.typing as npt

Samples = npt.NDArray[np.float32]
"""Mono audio at 16 kHz, each sample between -1 and 1."""


class EngineError(Exception):
    """The engine failed at something it was asked; a fault of ours or of its own."""


class EngineStream(Protocol):
    """One stream's place in an engine: it hears one segment after another."""

    def feed(self, samples: Samples) -> None:
        """Take the next samples of the segment."""

    def partial(self) -> str:
        """What the segment sounds like so far."""

    def finish(self) -> str:
        """What the segment was, all of it heard; the next samples begin a new one."""

    def close(self) -> None:
        """Give the place back."""


class Engine(Protocol):
    """A recogniser, loaded."""

    @property
    def model(self) -> str:
        """Which model it is, as clients ask for it: "moonshine-tiny"."""

    def open_stream(self) -> EngineStream: ...
    def close(self) -> None: ...
