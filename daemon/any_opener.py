"""Opens links over whatever each provider speaks."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from daemon.order import Link, LinkFailed, Opener
from measure.faults import Fault, FaultKind, Whose
from providers.codec import Codec, Transport


@dataclass(frozen=True, slots=True)
class AnyOpener:
    """One opener for each transport."""

    openers: Mapping[Transport, Opener]

    def __call__(
        self, codec: Codec, key: str, timeout_s: float
    ) -> AbstractAsyncContextManager[Link]:
        """As ``Opener``. Raises LinkFailed at once where nobody opens such a transport."""
        transport = codec.facts.transport
        opener = self.openers.get(transport)
        if opener is None:
            said = f"nothing here opens a stream over {transport}"
            raise LinkFailed(Fault(Whose.HOST, FaultKind.HARNESS, said))
        return opener(codec, key, timeout_s)
