"""A port at which connecting is slow, or never done.

The kernel completes connections by itself, and cannot be asked to wait. But it drops what comes
while a queue is full; so that queue, which holds one connection, is filled with one of our own. Who
wants in has to knock again, as kernels do by themselves: after a second, then less often.
"""

import socket

import trio


class Door(trio.abc.Listener[trio.SocketStream]):
    """Lets one connection in each time it has been shut for ``slow_s``; infinite: none at all."""

    def __init__(self, listening: socket.socket, slow_s: float) -> None:
        """``listening`` is its own from now on; its backlog is 0: the queue holds one."""
        listening.setblocking(False)
        self._listening = listening
        self._slow_s = slow_s
        self._shut()

    def _shut(self) -> None:
        """From now on whoever knocks is not heard."""
        self._plug = socket.socket(self._listening.family)
        self._plug.setblocking(False)
        self._plug.connect_ex(self._listening.getsockname())
        self._plug_address = self._plug.getsockname()

    async def accept(self) -> trio.SocketStream:
        """The next who gets in. Nothing is awaited between that and shutting the door again."""
        await trio.sleep(self._slow_s)
        while True:
            await trio.lowlevel.wait_readable(self._listening)
            try:
                came, address = self._listening.accept()
            except BlockingIOError:
                continue  # whoever it was has gone
            self._plug.close()
            if address == self._plug_address:
                came.close()
                continue
            self._shut()
            return trio.SocketStream(trio.socket.from_stdlib_socket(came))

    async def aclose(self) -> None:
        self._plug.close()
        self._listening.close()
        await trio.lowlevel.checkpoint()
