"""Stands in for the sound process: does as its first argument says, with the same records.

``python -m tests.daemon.sound_card BEHAVIOUR TASK FD ...``, where BEHAVIOUR is a function below.
"""

import os
import signal
import socket
import sys
import time
from collections.abc import Callable

from exporters.packing import pack, unpack

OPENED = {"device": "paper", "rate_hz": 16_000, "channels": 1, "latency_ms": 40.0}
PACKET_BYTES = 1 << 17


class Line:
    """The socket to who started us."""

    def __init__(self, fd: int) -> None:
        self.socket = socket.socket(fileno=fd)

    def tell(self, kind: str, **fields: object) -> None:
        self.socket.send(pack({"k": kind, **fields}))

    def block(self, number: int) -> None:
        self.tell(
            "block",
            start=320 * number,
            pcm=bytes([number]) * 640,
            at=1_000 + number,
            age=None if number % 2 else 15_000_000,
            over=number == 2,
            under=number == 1,
        )


def three_blocks_then_gone(line: Line) -> None:
    line.tell("opened", **OPENED)
    for number in range(3):
        line.block(number)
    line.tell("xrun", what="dropped", n=4)
    line.tell("ended", why="the input device 'paper' has disappeared")


def refuses(line: Line) -> None:
    line.tell("refused", why="no input device is called 'x'")


def killed(line: Line) -> None:
    line.tell("opened", **OPENED)
    os.kill(os.getpid(), signal.SIGSEGV)


def dies_with_a_word(line: Line) -> None:
    sys.stderr.write("Traceback\nfree(): invalid pointer\n\n")
    sys.stderr.flush()
    os._exit(3)


def says_nothing_and_does_not_end(line: Line) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)


def opens_and_does_not_end(line: Line) -> None:
    line.tell("opened", **OPENED)
    line.block(0)
    says_nothing_and_does_not_end(line)


def tells_its_environment(line: Line) -> None:
    line.tell("refused", why="\n".join(f"{name}={value}" for name, value in os.environ.items()))


def counts_what_is_played(line: Line) -> None:
    """Complains of each second piece, and says at the end how much there was."""
    line.tell("opened", **OPENED)
    pieces = 0
    while (record := unpack(line.socket.recv(PACKET_BYTES)))["k"] == "play":
        pieces += 1
        if pieces % 2 == 0:
            line.tell("xrun", what="underflow", n=pieces)
    line.tell("xrun", what=str(record["k"]), n=pieces)
    line.tell("heard")


def takes_nothing(line: Line) -> None:
    line.tell("opened", **OPENED)
    time.sleep(600)


def loudspeaker_vanishes(line: Line) -> None:
    line.tell("opened", **OPENED)
    line.tell("ended", why="the output device 'paper' has disappeared")


if __name__ == "__main__":
    behaviour: Callable[[Line], None] = globals()[sys.argv[1]]
    behaviour(Line(int(sys.argv[3])))
