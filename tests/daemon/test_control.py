"""What the main process and a worker say to each other arrives whole, or not at all."""

import socket

import trio

from daemon.control import Alive, Begun, Control, Done, Farewell, Message, Ready, Work
from daemon.order import Pair
from exporters.handoff import Losses


def pair_of_controls() -> tuple[Control, Control]:
    ours, theirs = socket.socketpair()
    one, two = (
        Control(trio.SocketStream(trio.socket.from_stdlib_socket(sock))) for sock in (ours, theirs)
    )
    return one, two


async def test_messages_arrive_equal_and_in_order() -> None:
    one, two = pair_of_controls()
    sent: list[Message] = [
        Ready(),
        Alive(),
        Work("w1", "r1", (Pair(0, 1), Pair(2, 3))),
        Begun("w1", Pair(0, 1), "s1"),
        Done("r1"),
        Farewell(Losses(1, 2, 3, 4)),
    ]
    for message in sent:
        await one.send(message)
    assert [await two.receive() for _ in sent] == sent
    await one.aclose()
    assert await two.receive() is None
    await two.aclose()


async def test_a_large_message_passes_in_pieces() -> None:
    one, two = pair_of_controls()
    work = Work("w1", "r" * 1_000_000, ())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(one.send, work)
        assert await two.receive() == work
    await one.aclose()
    await two.aclose()


async def test_many_tasks_may_send_at_once() -> None:
    one, two = pair_of_controls()
    works = {Work("w1", f"{letter}" * 300_000, ()) for letter in "abcdef"}
    received = set()
    async with trio.open_nursery() as nursery:
        for work in works:
            nursery.start_soon(one.send, work)
        for _ in works:
            received.add(await two.receive())
    assert received == works
    await one.aclose()
    await two.aclose()


async def test_a_send_that_is_cancelled_is_whole_all_the_same() -> None:
    one, two = pair_of_controls()
    work = Work("w1", "r" * 1_000_000, ())
    received = []

    async def receive() -> None:
        with trio.CancelScope(shield=True, deadline=trio.current_time() + 60):
            received.extend([await two.receive(), await two.receive()])

    async with trio.open_nursery() as nursery:
        nursery.start_soon(receive)
        with trio.CancelScope() as scope:
            scope.cancel()
            await one.send(work)
        await one.send(Ready())
    assert received == [work, Ready()]
    await one.aclose()
    await two.aclose()


async def test_one_who_says_no_more_still_hears() -> None:
    one, two = pair_of_controls()
    await one.say_no_more()
    assert await two.receive() is None
    await two.send(Farewell(Losses()))
    assert await one.receive() == Farewell(Losses())
    await one.aclose()
    await two.aclose()


async def test_where_nobody_is_left_sending_does_no_harm() -> None:
    one, two = pair_of_controls()
    await two.aclose()
    for _ in range(3):
        await one.send(Ready())
    await one.say_no_more()
    assert await one.receive() is None
    await one.aclose()


async def test_the_end_in_the_middle_of_a_message_is_an_end() -> None:
    ours, theirs = socket.socketpair()
    control = Control(trio.SocketStream(trio.socket.from_stdlib_socket(ours)))
    with theirs:
        theirs.sendall(b"\xff\x00\x00\x00\x00\x00\x00\x00 and no more")
    assert await control.receive() is None
    await control.aclose()
