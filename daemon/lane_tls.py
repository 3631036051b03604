"""A lane under TLS: a frame is encrypted and handed to the kernel in the same step.

The TLS machine works on memory only; the plain lane below carries what it makes and brings what it
needs. So the kernel's stamps pass through: plain text is read as soon as the segment that completes
its record is there, and the stamps of that segment are the newest.

    frame ──> encrypt ──> Lane.put ──> kernel ──> Lane.receive_some ──> decrypt ──> plain text
"""

import ssl
from contextlib import suppress

import trio

from daemon.kernel_stamps import KernelStamps, SentStamp
from daemon.lane import READ_BYTES, Lane
from daemon.tcp_info import TcpInfo


class TlsLane(trio.abc.Stream):
    """TLS over ``lane``, which it owns. ``handshake`` comes before all else.

    ``context`` decides what is checked; ``host`` is the name the certificate must carry. Offsets
    and numbers of bytes count what is on the wire, encrypted.
    """

    def __init__(self, lane: Lane, context: ssl.SSLContext, host: str) -> None:
        self._lane = lane
        self._from_wire = ssl.MemoryBIO()
        self._to_wire = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._from_wire, self._to_wire, server_hostname=host)

    async def handshake(self) -> None:
        """Agree on keys, and have the certificate checked. Raises ssl.SSLError and trio's errors.

        The other side hanging up is an ssl.SSLEOFError; why we refuse it, it is told.
        """
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                await self._send_pending()
                await self._read_wire()
            except ssl.SSLError:
                self._put_pending()
                raise
            else:
                await self._send_pending()
                return

    # Sending

    def send_nowait(self, frame: bytes, *, stamp: bool = False) -> bool:
        """As ``Lane.send_nowait``; room is made sure of first, for an encrypted record must go."""
        self._lane.require_room(len(frame))
        return self._lane.put(self._encrypted(frame), stamp=stamp)

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await trio.lowlevel.checkpoint()
        if not self._lane.put(self._encrypted(bytes(data))):
            await self._lane.flush()

    def _encrypted(self, plain: bytes) -> bytes:
        try:
            self._tls.write(plain)
        except ssl.SSLError as error:  # also a wish to negotiate anew, which websockets forbid
            raise trio.BrokenResourceError(f"TLS: {error}") from error
        return self._to_wire.read()

    async def _send_pending(self) -> None:
        """Send what the TLS machine itself has to say."""
        if self._to_wire.pending:
            await self._lane.send_all(self._to_wire.read())

    def _put_pending(self) -> None:
        """The same for last words, which are not worth waiting for, nor worth an error."""
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            self._lane.put(self._to_wire.read())

    async def keep_flushing(self) -> None:
        await self._lane.keep_flushing()

    async def flush(self) -> None:
        await self._lane.flush()

    async def wait_send_all_might_not_block(self) -> None:
        await self._lane.wait_send_all_might_not_block()

    # Receiving

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """What has arrived, decrypted; empty at the end, whether it was said goodbye or not.

        An end without goodbye is common, and the websocket above has a goodbye of its own.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        waited = False
        while (received := self._decrypted(max_bytes)) is None:
            await self._send_pending()
            await self._read_wire()
            waited = True
        if not waited:
            await trio.lowlevel.cancel_shielded_checkpoint()
        return received

    def _decrypted(self, max_bytes: int | None) -> bytes | None:
        """Plain text, empty at the end; None where the wire must bring more first."""
        try:
            return self._tls.read(max_bytes or READ_BYTES)
        except ssl.SSLWantReadError:
            return None
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return b""
        except ssl.SSLError as error:
            raise trio.BrokenResourceError(f"TLS: {error}") from error

    async def _read_wire(self) -> None:
        received = await self._lane.receive_some(READ_BYTES)
        if received:
            self._from_wire.write(received)
        else:
            self._from_wire.write_eof()

    # What the kernel knows

    @property
    def arrived_ns(self) -> int | None:
        return self._lane.arrived_ns

    @property
    def read_ns(self) -> int:
        return self._lane.read_ns

    @property
    def kernel_stamps(self) -> KernelStamps:
        return self._lane.kernel_stamps

    @property
    def sent_bytes(self) -> int:
        return self._lane.sent_bytes

    @property
    def blocked(self) -> int:
        return self._lane.blocked

    @property
    def blocked_bytes(self) -> int:
        return self._lane.blocked_bytes

    @property
    def unsent_bytes(self) -> int:
        return self._lane.unsent_bytes

    @property
    def unacked_bytes(self) -> int:
        return self._lane.unacked_bytes

    def take_sent_stamps(self) -> list[SentStamp] | None:
        return self._lane.take_sent_stamps()

    def tcp_info(self) -> TcpInfo | None:
        return self._lane.tcp_info()

    # The end

    def close(self) -> None:
        """Close at once, without goodbye."""
        self._lane.close()

    async def aclose(self) -> None:
        """Say goodbye and close; the goodbye of the other side is not waited for.

        Only what was sent before can take time, for as long as the caller lets it.
        """
        with suppress(ssl.SSLError):  # it misses the other side's goodbye, or was never open
            self._tls.unwrap()
        self._put_pending()
        try:
            await self._lane.flush()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # nobody is left to say it to
        finally:
            self.close()
