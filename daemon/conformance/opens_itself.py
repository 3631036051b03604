"""What a fake is whose transport is no websocket."""

from abc import ABC, abstractmethod

import trio

from daemon.order import Opener


class OpensItself(ABC):
    """A fake whose transport is no websocket: it says how it is reached in memory."""

    @abstractmethod
    def opener(self, world: trio.Nursery) -> Opener:
        """Opens links to it, as ``daemon.link.Opener`` does; its own side lives in ``world``."""
