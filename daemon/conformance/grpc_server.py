"""A server of grpcio's on loopback, whose calls are answered from a trio run.

grpcio's threads ──> request ──> begin (in trio) ──> Call ── said, ended ──> queue ──> response
"""

from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from queue import SimpleQueue
from threading import Thread
from types import ModuleType
from typing import Any, Protocol

import trio

from daemon.grpc_link import load_grpc
from providers.codec import HttpRequest

THREADS = 8
GONE = (1, "the caller is gone")
EMPTY = b"\x78\0"
"""A request without fields, as one with a field that nobody knows: it is no end."""


class Answered(Protocol):
    """A call, as its transport needs it; each is to be called in the trio run."""

    def heard(self, message: bytes) -> None: ...
    def hung_up(self) -> None: ...


Begin = Callable[[HttpRequest, Callable[[bytes], None], Callable[[int, str], None]], Answered]
"""Answers a call: given the request, and what to do with each response and with the end."""


@asynccontextmanager
async def served(begin: Begin) -> AsyncIterator[trio.SocketStream]:
    """A connection to a server that is there as long as this lasts. Raises LinkFailed."""
    grpc = load_grpc()
    server = grpc.server(ThreadPoolExecutor(THREADS))
    loop = trio.lowlevel.current_trio_token()

    class Every(grpc.GenericRpcHandler):  # type: ignore[name-defined,misc]
        """Any method there is."""

        def service(self, details: Any) -> object:  # noqa: ANN401
            bridge = _Bridge(grpc, begin, details.method, loop)
            return grpc.stream_stream_rpc_method_handler(bridge.answer, None, None)

    server.add_generic_rpc_handlers((Every(),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        stream = await trio.open_tcp_stream("127.0.0.1", port)
        async with stream:
            yield stream
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(server.stop(0).wait)


class _Bridge:
    """One call between a thread of grpcio's and the trio run."""

    def __init__(
        self, grpc: ModuleType, begin: Begin, method: str, loop: trio.lowlevel.TrioToken
    ) -> None:
        self._grpc = grpc
        self._begin = begin
        self._method = method
        self._loop = loop
        self._out: SimpleQueue[bytes | tuple[int, str]] = SimpleQueue()

    def answer(self, requests: Iterator[bytes], context: Any) -> Iterator[bytes]:  # noqa: ANN401
        """The whole of the call, in a thread of grpcio's."""
        metadata = {one.key: one.value for one in context.invocation_metadata()}
        request = HttpRequest("POST", self._method, metadata)
        call = trio.from_thread.run_sync(
            self._begin, request, self._out.put, self._ended, trio_token=self._loop
        )

        def gone() -> None:
            self._out.put(GONE)
            self._soon(call.hung_up)

        context.add_callback(gone)
        Thread(target=self._listen, args=(requests, call), daemon=True).start()
        while isinstance(said := self._out.get(), bytes):
            yield said
        status, details = said
        if status:
            codes = {one.value[0]: one for one in self._grpc.StatusCode}
            context.abort(codes[status], details)

    def _ended(self, status: int, details: str) -> None:
        self._out.put((status, details))

    def _listen(self, requests: Iterator[bytes], call: Answered) -> None:
        """In a thread of its own; an empty message says that the caller's half has ended."""
        try:
            for message in requests:
                self._soon(call.heard, message or EMPTY)
        except Exception:  # the caller is gone, of which grpcio tells apart
            return
        self._soon(call.heard, b"")

    def _soon(self, told: Callable[..., object], *args: object) -> None:
        with suppress(trio.RunFinishedError):
            self._loop.run_sync_soon(told, *args)
