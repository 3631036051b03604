"""Live sound: what there is, a microphone, and a loudspeaker, each in a process of its own.

    async with microphone("USB") as mic:
        async for block in mic.blocks():
            ...

Leaving ends the process (daemon/sound_child.py), whatever state its driver is in.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import trio

from daemon.errors import UserError
from daemon.host_setup import REAL_TIME_PRIORITY
from daemon.sound_child import PROGRAM, SoundChild, Told, sound_child
from daemon.sound_child import SoundEnded as SoundEnded
from pacer.microphone import Block, Device, Latency, Opened

OPEN_S = 15.0
"""A driver that has not opened its device in so long hangs."""
SILENT_S = 3.0
"""A process that says nothing for so long stands still: of a silent device it tells sooner."""
HEARD_OUT_S = 1.5
"""So long a loudspeaker may take for what it still has."""


class Microphone:
    """An open microphone."""

    def __init__(self, opened: Opened, child: SoundChild) -> None:
        self.opened = opened
        self.pid = child.pid
        """Of its process."""
        self.dropped = 0
        """How many blocks are missing because we did not take them in time."""
        self._child = child

    def blocks(self) -> AsyncIterator[Block]:
        """Each block as it comes. Raises SoundEnded, which is the only end there is."""
        return _Blocks(self)

    async def block(self) -> Block:
        """The next one. Raises SoundEnded."""
        while True:
            record = await self._child.hear(SILENT_S)
            if record["k"] == "block":
                return _block(record, self.opened.rate_hz)
            if record["k"] == "xrun":
                self.dropped += record["n"]


class _Blocks:
    """No generator: one that is left before its end has to be closed by who left it."""

    def __init__(self, microphone: Microphone) -> None:
        self._microphone = microphone

    def __aiter__(self) -> "_Blocks":
        return self

    async def __anext__(self) -> Block:
        return await self._microphone.block()


class Loudspeaker:
    """An open loudspeaker."""

    def __init__(self, opened: Opened, child: SoundChild) -> None:
        self.opened = opened
        self.pid = child.pid
        """Of its process."""
        self.ended: str | None = None
        """Why nothing is heard any more, in one line; None while it is."""
        self.dropped = 0
        """How many pieces are missing because its process did not take them in time."""
        self._child = child

    def play(self, pcm: bytes) -> None:
        """Let s16le mono be heard, some 0.1 s from now. Never waits, never raises."""
        if self.ended is None and not self._child.tell("play", pcm=pcm):
            self.dropped += 1


async def list_devices(*, program: Sequence[str] = PROGRAM) -> list[Device]:
    """All sound devices. Raises UserError where there is no PortAudio."""
    async with sound_child(program, "list") as child:
        try:
            with trio.fail_after(OPEN_S):
                record = await child.hear()
        except trio.TooSlowError:
            raise UserError(f"no list of sound devices came within {OPEN_S:g} s") from None
        except SoundEnded as ended:
            raise UserError(str(ended)) from ended
        return [Device(**device) for device in record["devices"]]


@asynccontextmanager
async def microphone(
    device: str | None = None, latency: Latency = "low", *, program: Sequence[str] = PROGRAM
) -> AsyncIterator[Microphone]:
    """A microphone, open as long as this lasts, once its first block has come.

    Raises UserError where it cannot be opened.
    """
    asked = (str(REAL_TIME_PRIORITY + 1), device or "", str(latency))
    async with sound_child(program, "capture", *asked) as child:
        yield Microphone(await _opened(child, device), child)


@asynccontextmanager
async def loudspeaker(
    device: str | None,
    rate_hz: int,
    xrun_told: Callable[[str, int], None],
    *,
    program: Sequence[str] = PROGRAM,
) -> AsyncIterator[Loudspeaker]:
    """A loudspeaker, open as long as this lasts and, where all went well, until all was heard.

    ``xrun_told`` is called with what went wrong since it was last called, and how often:
    "underflow" (a piece came too late: silence was heard), "overflow" (pieces came too fast: the
    oldest were not heard), "dropped" (its process stood still). Raises UserError where it cannot
    be opened.
    """
    asked = (str(REAL_TIME_PRIORITY + 1), device or "", str(rate_hz))
    async with sound_child(program, "play", *asked) as child:
        speaker = Loudspeaker(await _opened(child, device), child)
        failure: Exception | None = None
        async with trio.open_nursery() as background:
            background.start_soon(_listen, child, speaker, xrun_told)
            try:
                yield speaker
                await _hear_out(child)
            except Exception as error:  # leaves as it is, in no group
                failure = error
            background.cancel_scope.cancel()
        if speaker.dropped:
            xrun_told("dropped", speaker.dropped)
        if failure is not None:
            raise failure


async def _hear_out(child: SoundChild) -> None:
    child.tell("finish")
    with trio.move_on_after(HEARD_OUT_S):
        await child.gone.wait()


async def _listen(
    child: SoundChild, speaker: Loudspeaker, xrun_told: Callable[[str, int], None]
) -> None:
    while True:
        try:
            record = await child.hear()
        except SoundEnded as ended:
            speaker.ended = str(ended)
            child.gone.set()
            return
        if record["k"] == "heard":
            child.gone.set()
            return
        xrun_told(record["what"], record["n"])


async def _opened(child: SoundChild, device: str | None) -> Opened:
    try:
        with trio.fail_after(OPEN_S):
            record = await child.hear()
    except trio.TooSlowError:
        name = "the default sound device" if device is None else f"the sound device {device!r}"
        raise UserError(f"{name} did not open within {OPEN_S:g} s: its driver hangs") from None
    except SoundEnded as ended:
        raise UserError(str(ended)) from ended
    return Opened(**{name: value for name, value in record.items() if name != "k"})


def _block(record: Told, rate_hz: int) -> Block:
    return Block(
        start_sample=record["start"],
        pcm=record["pcm"],
        rate_hz=rate_hz,
        arrived_ns=record["at"],
        age_ns=record["age"],
        overflow=record["over"],
        underflow=record["under"],
    )
