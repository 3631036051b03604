"""A fake that hangs up while it is still sending ends the connection, and no error is its own."""

import trio
import trio.testing
from trio.testing import open_stream_to_socket_listener

from daemon.fakes.wire import shut


async def test_hanging_up_in_the_middle_of_a_send_breaks_it_off() -> None:
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    client = await open_stream_to_socket_listener(listener)
    server = await listener.accept()

    async def keep_sending() -> None:
        try:
            while True:
                await server.send_all(bytes(1 << 20))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass

    async with trio.open_nursery() as nursery:
        nursery.start_soon(keep_sending)
        await trio.testing.wait_all_tasks_blocked(0.05)
        await shut(server)
    with trio.fail_after(10):
        try:
            while await client.receive_some():
                pass
        except trio.BrokenResourceError:
            pass
    await client.aclose()
    await listener.aclose()
