"""What the sound process tells never waits, and what was not taken is counted."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon.sound_process import MAX_STDERR_BYTES, Outbox, trim
from exporters.packing import unpack
from pacer.microphone import Block

PACKET_BYTES = 1 << 17


@pytest.fixture(name="ends")
def _ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        yield ours, theirs


Ends = tuple[socket.socket, socket.socket]


def block(number: int) -> Block:
    return Block(320 * number, bytes(640), 16_000, number, None)


def taken(ours: socket.socket) -> list[dict[str, object]]:
    """All that waits."""
    records = []
    ours.setblocking(False)
    while True:
        try:
            records.append(unpack(ours.recv(PACKET_BYTES)))
        except BlockingIOError:
            return records


def filled(outbox: Outbox) -> None:
    for number in range(5_000):
        outbox.tell_block(block(number))


def test_a_block_is_told_whole(ends: Ends) -> None:
    Outbox(ends[1]).tell_block(Block(640, b"ab" * 320, 16_000, 7, 15, True, False))
    assert taken(ends[0]) == [
        {
            "k": "block",
            "start": 640,
            "pcm": b"ab" * 320,
            "at": 7,
            "age": 15,
            "over": True,
            "under": False,
        }
    ]


def test_blocks_that_nobody_takes_are_counted_and_told_before_the_next(ends: Ends) -> None:
    outbox = Outbox(ends[1])
    filled(outbox)
    kept = taken(ends[0])
    assert [record["start"] for record in kept] == [320 * n for n in range(len(kept))]
    outbox.tell_block(block(5_000))
    outbox.tell_block(block(5_001))
    xrun, first, second = taken(ends[0])
    assert xrun == {"k": "xrun", "what": "dropped", "n": 5_000 - len(kept)}
    assert (first["start"], second["start"]) == (320 * 5_000, 320 * 5_001)
    assert not outbox.gone


def test_the_last_record_waits_for_room(ends: Ends) -> None:
    outbox = Outbox(ends[1])
    filled(outbox)
    teller = threading.Thread(target=outbox.tell_last, args=("ended", "why"))
    teller.start()
    records: list[dict[str, object]] = []
    ends[0].settimeout(60)
    while not records or records[-1]["k"] != "ended":
        records.append(unpack(ends[0].recv(PACKET_BYTES)))
    teller.join()
    assert records[-1] == {"k": "ended", "why": "why"}


def test_after_the_last_record_there_is_none(ends: Ends) -> None:
    outbox = Outbox(ends[1])
    outbox.tell_last("ended", "why")
    outbox.tell_block(block(0))
    assert [record["k"] for record in taken(ends[0])] == ["ended"]


def test_that_nobody_listens_any_more_is_noticed_and_nothing_waits_for_it(ends: Ends) -> None:
    outbox = Outbox(ends[1])
    ends[0].close()
    outbox.tell_block(block(0))
    assert outbox.gone
    outbox.tell_last("ended", "why")


@pytest.mark.parametrize(
    ("size", "left"), [(MAX_STDERR_BYTES, MAX_STDERR_BYTES), (MAX_STDERR_BYTES + 1, 0)]
)
def test_what_libraries_print_does_not_fill_a_disk(tmp_path: Path, size: int, left: int) -> None:
    words = tmp_path / "words"
    words.write_bytes(bytes(size))
    with words.open("ab") as file:
        trim(file.fileno())
    assert words.stat().st_size == left


def test_what_is_no_file_is_left_alone(ends: Ends) -> None:
    trim(ends[0].fileno())


ASK = "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(11))"
TAKE = """
import os
from daemon.sound_process import take_precedence
take_precedence(11)
print(os.sched_getscheduler(0), os.sched_getparam(0).sched_priority)
"""


def test_it_runs_before_others_where_that_is_allowed_and_goes_on_where_it_is_not() -> None:
    allowed = subprocess.run((sys.executable, "-c", ASK), stderr=subprocess.DEVNULL, check=False)
    taken = subprocess.run((sys.executable, "-c", TAKE), capture_output=True, check=True)
    expected = (os.SCHED_FIFO, 11) if allowed.returncode == 0 else (os.SCHED_OTHER, 0)
    assert tuple(map(int, taken.stdout.split())) == expected
