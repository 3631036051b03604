"""The server: sockets in, sockets out, and nothing that takes time.

For each stream two tasks: *receive* turns messages into orders for the stream's worker, *tell*
sends what comes back. Neither ever waits for the model. What is bounded, and when it is full:

    streams at once                  the next one is told "busy"
    audio that waits for the model   the stream is told "too_fast" and ends
    messages that wait for a client  it does not read, so it is cut off
"""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import trio
from trio_websocket import (
    ConnectionClosed,
    WebSocketConnection,
    WebSocketRequest,
    wrap_server_stream,
)

from daemon.errors import UserError
from daemon.local.hearing import Ending, HearingSettings
from daemon.local.protocol import (
    PATH,
    Close,
    Closed,
    Error,
    Refusal,
    Said,
    Wishes,
    error_of,
    is_listen,
    told,
    understood,
    wishes_of,
)
from daemon.local.worker import Seat, Worker

MESSAGES_AHEAD = 64
"""How many received messages the websocket library may hold; they are taken at once."""
LIBRARY_MESSAGE_BYTES = 1_000_000
"""Above this the library itself closes the stream, without an error message of ours."""
HANDSHAKE_S = 5
GOODBYE_S = 1.0
"""How long a client has to answer our Close."""
SHUTDOWN_GOODBYE_S = 0.1
"""How long a Close may take where the whole server ends; its answer is not read any more."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """What holds for all streams of a server."""

    max_streams: int = 16
    endpoint_ms: int | None = None
    """Natural endpointing for clients that say nothing of it; None: off."""
    max_waiting_ms: int = 120_000
    """How much audio of a stream may wait for its model."""
    max_waiting_orders: int = 20_000
    """How many messages of a stream may: audio can come in very small pieces."""
    max_unsent: int = 256
    """How many messages may wait for a client to read them."""


async def listen(host: str, port: int) -> trio.SocketListener:
    """A place where clients can knock. Raises UserError where there is none."""
    try:
        listeners = await trio.open_tcp_listeners(port, host=host)
    except OSError as error:
        why = error.strerror or str(error)
        raise UserError(f"cannot listen on {host} port {port}: {why}") from error
    for spare in listeners[1:]:  # a name may stand for several addresses; one is enough
        await spare.aclose()
    return listeners[0]


def address_of(listener: trio.SocketListener) -> str:
    """Where clients reach it: "ws://127.0.0.1:8790"."""
    host, port = listener.socket.getsockname()[:2]
    return f"ws://[{host}]:{port}" if ":" in host else f"ws://{host}:{port}"


class Server:
    """What all streams share: the workers, the limit, and where to complain."""

    def __init__(
        self, workers: Sequence[Worker], settings: ServerSettings, log: Callable[[str], None]
    ) -> None:
        """All workers have the same model. ``log`` takes one line for people."""
        self._workers = workers
        self._settings = settings
        self._log = log

    async def serve(self, listener: trio.SocketListener) -> None:
        """Serve until cancelled. Raises what a worker raises."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch_workers)
            await trio.serve_listeners(self._connection, [listener])

    async def _watch_workers(self) -> None:
        """Start the workers; an error in one of them is an error here."""
        token = trio.lowlevel.current_trio_token()
        tell, told_of = trio.open_memory_channel[BaseException](math.inf)

        def broken(error: BaseException) -> None:
            with suppress(trio.RunFinishedError):  # the server has ended before
                token.run_sync_soon(tell.send_nowait, error)

        for worker in self._workers:
            worker.start(broken)
        raise await told_of.receive()

    async def _connection(self, stream: trio.SocketStream) -> None:
        """One connection from its first byte to its last. No client can make it raise."""
        try:
            async with trio.open_nursery() as nursery:
                with trio.move_on_after(HANDSHAKE_S) as handshake:
                    request = await wrap_server_stream(
                        nursery,
                        stream,
                        message_queue_size=MESSAGES_AHEAD,
                        max_message_size=LIBRARY_MESSAGE_BYTES,
                    )
                if not handshake.cancelled_caught:
                    await self._answer(request)
                nursery.cancel_scope.cancel()
        except* ConnectionClosed:
            pass  # the client has gone; that is its right at any time
        except* Exception as broken:
            # The websocket library does not catch all that noise can cause in it.
            first = _first_of(broken)
            self._log(f"a connection failed: {type(first).__name__}: {first}")

    async def _answer(self, request: WebSocketRequest) -> None:
        if not is_listen(request.path):
            refusal = Refusal("path", f"there is only {PATH} here")
            await request.reject(404, body=told(error_of(refusal)).encode())
            return
        socket = await request.accept()
        code, reason, patience_s = 1001, "the server ends", SHUTDOWN_GOODBYE_S
        try:
            code, reason = await self._converse(socket, request.path)
            patience_s = GOODBYE_S
        finally:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + patience_s):
                await socket.aclose(code, reason)

    async def _converse(self, socket: WebSocketConnection, target: str) -> tuple[int, str]:
        """Serve one stream to its end. Gives code and reason of the Close."""
        try:
            wishes = wishes_of(
                target, model=self._workers[0].model, endpoint_ms=self._settings.endpoint_ms
            )
            worker = self._free_worker()
        except Refusal as refusal:
            last: Said = error_of(refusal)
            await socket.send_message(told(last))
        else:
            last = await self._stream(socket, worker, _hearing(wishes))
        if isinstance(last, Error):
            self._log(f"a stream failed: {last.code}: {last.message}")
            return last.close_code, last.code
        return 1000, ""

    def _free_worker(self) -> Worker:
        seated = sum(worker.seated for worker in self._workers)
        if seated >= self._settings.max_streams:
            said = f"{seated} streams are open and no more are served at once"
            raise Refusal("busy", said, close_code=1013)
        return min(self._workers, key=lambda worker: worker.seated)

    async def _stream(
        self, socket: WebSocketConnection, worker: Worker, hearing: HearingSettings
    ) -> Said:
        """Serve one stream. Gives the last thing that its client was told.

        Raises ConnectionClosed where the client has gone.
        """
        token = trio.lowlevel.current_trio_token()
        unsent, to_send = trio.open_memory_channel[Said](self._settings.max_unsent)
        async with trio.open_nursery() as nursery:

            def deliver(said: Said) -> None:
                try:
                    unsent.send_nowait(said)
                except trio.WouldBlock:
                    nursery.cancel_scope.cancel()

            def say(said: Said) -> None:
                with suppress(trio.RunFinishedError):  # the server has ended: nobody is left
                    token.run_sync_soon(deliver, said)

            seat = worker.seat(hearing, say)
            try:
                nursery.start_soon(self._receive, socket, seat, deliver)
                return await _tell(socket, to_send)
            finally:
                seat.leave()
                nursery.cancel_scope.cancel()
        return Error("slow_reader", f"{self._settings.max_unsent} messages were left unread")

    async def _receive(
        self, socket: WebSocketConnection, seat: Seat, deliver: Callable[[Said], None]
    ) -> None:
        """Take messages as they come, until one of them breaks a rule."""
        closing = False
        try:
            while True:
                order = understood(await socket.get_message())
                if closing:
                    raise Refusal("after_close", "nothing may be said after close")
                closing = isinstance(order, Close)
                seat.order(order)
                self._check_patience(seat)
        except Refusal as refusal:
            deliver(error_of(refusal))

    def _check_patience(self, seat: Seat) -> None:
        if seat.waiting_ms > self._settings.max_waiting_ms:
            said = f"more than {self._settings.max_waiting_ms} ms of audio wait to be heard"
            raise Refusal("too_fast", said)
        if seat.waiting_orders > self._settings.max_waiting_orders:
            said = f"more than {self._settings.max_waiting_orders} messages wait to be dealt with"
            raise Refusal("too_fast", said)


async def _tell(socket: WebSocketConnection, to_send: trio.MemoryReceiveChannel[Said]) -> Said:
    """Send what there is to say, up to the last of it."""
    while True:
        said = await to_send.receive()
        await socket.send_message(told(said))
        if isinstance(said, Closed | Error):
            return said


def _first_of(group: ExceptionGroup[Exception]) -> Exception:
    first = group.exceptions[0]
    return _first_of(first) if isinstance(first, ExceptionGroup) else first


def _hearing(wishes: Wishes) -> HearingSettings:
    usual = HearingSettings(partials=wishes.partials)
    if wishes.endpoint_ms is None:
        return usual
    return replace(usual, endings=(Ending(0, wishes.endpoint_ms), *usual.endings))
