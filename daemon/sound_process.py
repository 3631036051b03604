"""The process that has the sound card: what a driver does to it hurts nobody else.

    python -m daemon.sound_process list FD
    python -m daemon.sound_process capture FD PRIORITY DEVICE LATENCY
    python -m daemon.sound_process play FD PRIORITY DEVICE RATE

Started by daemon/sound.py with the number of a SOCK_SEQPACKET socket, over which records go (DEVICE
may be empty: the default one):

    devices  all of them                     block  20 ms of sound
    opened   sound flows                     xrun   what went wrong, how often
    refused  it does not: one line           ended  the device is gone: one line
    play     to us: sound                    finish to us: nothing follows
                                             heard  all that was played

It ends when nobody listens there any more, even in the midst of a call to a driver that hangs, and
never closes a device by itself: a dead driver would not return from that, and the kernel does it as
well.
"""

import gc
import os
import select
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict

from exporters.packing import pack, unpack
from pacer.device_stream import DeviceSpeaker, DeviceStream
from pacer.microphone import (
    Block,
    Latency,
    SoundError,
    devices,
    open_loudspeaker,
    open_microphone,
)

LOOK_MS = 100
PACKET_BYTES = 1 << 17
LAST_NS = 2_000_000_000
STDERR = 2
MAX_STDERR_BYTES = 1 << 16
"""What libraries have to say is kept for the reason of a sudden end, and only the last of it."""


class Outbox:
    """What is told: never waits. Where nobody takes it in time, blocks are dropped and counted.

    The kernel holds some seconds of blocks; that is the queue, and its bound.
    """

    def __init__(self, told: socket.socket) -> None:
        self.gone = False
        """Nobody listens any more."""
        self._told = told
        self._dropped = 0
        self._closing = False

    def tell(self, kind: str, **fields: object) -> bool:
        """Send one record; False where it could not be."""
        return self._sent({"k": kind, **fields})

    def tell_last(self, kind: str, why: str) -> None:
        """Send the last record, and wait for some time until it can be."""
        self._closing = True
        until_ns = time.monotonic_ns() + LAST_NS
        while not self.tell(kind, why=why) and not self.gone and time.monotonic_ns() < until_ns:
            time.sleep(LOOK_MS / 1e4)

    def tell_block(self, block: Block) -> None:
        """Send a block, or count it; first how many were not sent before it."""
        if self._closing:
            return
        if self._dropped and self.tell("xrun", what="dropped", n=self._dropped):
            self._dropped = 0
        if self._dropped or not self._sent(_record(block)):
            self._dropped += 1

    def _sent(self, record: Mapping[str, object]) -> bool:
        try:
            self._told.send(pack(record), socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            self.gone = True
            return False
        return True


def _record(block: Block) -> dict[str, object]:
    return {
        "k": "block",
        "start": block.start_sample,
        "pcm": block.pcm,
        "at": block.arrived_ns,
        "age": block.age_ns,
        "over": block.overflow,
        "under": block.underflow,
    }


def tell_devices(outbox: Outbox) -> None:
    """All devices, in one record. Raises SoundError."""
    outbox.tell("devices", devices=[asdict(device) for device in devices()])


def capture(heard: socket.socket, outbox: Outbox, device: str | None, latency: str) -> None:
    """Tell of each block until nobody listens or the device is gone. Raises SoundError."""
    flowing = False

    def told(block: Block) -> None:
        nonlocal flowing
        if not flowing:  # only now is it known that sound comes
            flowing = True
            outbox.tell("opened", **asdict(live.opened))
        outbox.tell_block(block)

    live = open_microphone(device, told, latency=_latency(latency))
    live.start()
    why = _watch(live, heard, outbox, lambda packet: False)
    if why is not None and not flowing:
        raise SoundError(why)
    if why is not None:
        outbox.tell_last("ended", why)


def play(heard: socket.socket, outbox: Outbox, device: str | None, rate_hz: int) -> None:
    """Let be heard what comes, until nobody sends or the device is gone. Raises SoundError."""
    live = open_loudspeaker(device, rate_hz)
    live.start()
    outbox.tell("opened", **asdict(live.opened))
    counted = {"underflow": 0, "overflow": 0}

    def take(packet: bytes) -> bool:
        record = unpack(packet)
        if record["k"] == "finish":
            return True
        pcm = record["pcm"]
        assert isinstance(pcm, bytes)
        live.play(pcm)
        _tell_xruns(live, outbox, counted)
        return False

    why = _watch(live, heard, outbox, take)
    if why is not None:
        outbox.tell_last("ended", why)
    elif not outbox.gone:
        _hear_out(live)
        outbox.tell("heard")


def _tell_xruns(live: DeviceSpeaker, outbox: Outbox, counted: dict[str, int]) -> None:
    now = {"underflow": live.jitter.underflows, "overflow": live.jitter.overflows}
    for what, n in now.items():
        if n > counted[what] and outbox.tell("xrun", what=what, n=n - counted[what]):
            counted[what] = n


def _hear_out(live: DeviceSpeaker) -> None:
    live.jitter.finish()
    while not live.jitter.is_empty and live.why_ended(time.monotonic_ns()) is None:
        time.sleep(LOOK_MS / 1e4)
    time.sleep(live.opened.latency_ms / 1000)


def _watch(
    live: DeviceStream, heard: socket.socket, outbox: Outbox, take: Callable[[bytes], bool]
) -> str | None:
    """Wait: for the end of the device, which is told, or of who listens; None then.

    ``take`` is given what comes, and says whether that was the last.
    """
    waiting = select.poll()
    waiting.register(heard, select.POLLIN)
    while not outbox.gone:
        if waiting.poll(LOOK_MS):
            packet = heard.recv(PACKET_BYTES)
            if not packet or take(packet):
                return None
        why = live.why_ended(time.monotonic_ns())
        if why is not None:
            return why
        trim(STDERR)
    return None


def trim(fd: int) -> None:
    """Empty a file that has grown too long; what is no file is left alone."""
    with suppress(OSError):
        if os.fstat(fd).st_size > MAX_STDERR_BYTES:
            os.ftruncate(fd, 0)


def _latency(word: str) -> Latency:
    return "low" if word == "low" else float(word)


def take_precedence(priority: int) -> None:
    """For this thread and, because none is reset, for PortAudio's, which it will start."""
    with suppress(AttributeError, OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))


def end_when_left(heard: socket.socket) -> None:
    """End this process as soon as the other end of the socket is gone. Never returns otherwise."""
    waiting = select.poll()
    waiting.register(heard, 0)  # of hanging up it is told unasked
    waiting.poll()
    os._exit(0)


def main(arguments: list[str]) -> None:
    """Do what the arguments say, until nobody listens."""
    task, fd, *more = arguments
    heard = socket.socket(fileno=int(fd))
    outbox = Outbox(heard)
    threading.Thread(target=end_when_left, args=(heard,), daemon=True).start()
    if more:
        take_precedence(int(more[0]))
    gc.freeze()
    gc.disable()  # what is made for a block makes no cycles
    try:
        if task == "list":
            tell_devices(outbox)
        elif task == "capture":
            capture(heard, outbox, more[1] or None, more[2])
        else:
            play(heard, outbox, more[1] or None, int(more[2]))
    except SoundError as error:
        outbox.tell_last("refused", str(error))
    os._exit(0)  # without a word to the driver, which may no longer answer


if __name__ == "__main__":
    main(sys.argv[1:])
