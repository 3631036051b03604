"""A recording holds what was heard, from the beginning on, whatever happens to the disk."""

import io
import resource
import threading
import wave
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from daemon import wav_file
from daemon.errors import UserError
from daemon.wav_file import RATE_HZ, WavFile
from tests.pacer.wav import fmt

HEADER = 44
SECOND = 50
WAITING = 3_000


def piece(number: int) -> bytes:
    """20 ms that no other piece is like."""
    return bytes((np.arange(320) * 7 + number * 101).astype("<i2"))


def audio_of(path: Path) -> bytes:
    """By a reader that believes the header, which counts whole samples."""
    assert int.from_bytes(path.read_bytes()[40:44], "little") % 2 == 0
    with wave.open(str(path)) as read:
        assert read.getparams()[:3] == (1, 2, RATE_HZ)
        return bytes(read.readframes(read.getnframes()))


class Disk(io.FileIO):
    """One that can hang, and can be told to fail; what it has taken is in a real file."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "x+")
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.taken = threading.Semaphore(0)
        self.fails_at_write = self.fails_at_seek = False

    def write(self, content: object, /) -> int:
        assert self.goes_on.wait(30)
        if self.fails_at_write:
            raise OSError(28, "No space left on device")
        count = super().write(bytes(memoryview(content))[:500])  # type: ignore[arg-type]
        self.taken.release()
        return count

    def seek(self, place: int, whence: int = 0, /) -> int:
        if self.fails_at_seek:
            raise OSError(5, "Input/output error")
        return super().seek(place, whence)


class Opened:
    """Opens the disk for a WavFile, and keeps it for the test."""

    disk: Disk

    def __call__(self, path: Path) -> Disk:
        self.disk = Disk(path)
        return self.disk


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """As on a full disk: the kernel takes a part of a write, and then none."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_without_a_path_nothing_is_written_and_nothing_is_wrong() -> None:
    before = threading.active_count()
    with WavFile(None) as wav:
        wav.write(piece(0))
        assert threading.active_count() == before
    assert wav.trouble is None


def test_the_file_equals_the_pieces_bit_for_bit(tmp_path: Path) -> None:
    path = tmp_path / "heard.wav"
    pieces = [piece(number) for number in range(3 * SECOND + 7)]
    with WavFile(path) as wav:
        for one in pieces:
            wav.write(one)
    assert wav.trouble is None
    assert audio_of(path) == b"".join(pieces)
    samples, rate_hz = soundfile.read(path, dtype="int16")
    assert (samples.tobytes(), rate_hz) == (b"".join(pieces), RATE_HZ)


@given(pieces=st.lists(st.binary(max_size=50).map(lambda half: half * 2), max_size=120))
def test_pieces_of_any_size_make_one_file(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]
) -> None:
    path = tmp_path_factory.mktemp("any") / "heard.wav"
    with WavFile(path) as wav:
        for one in pieces:
            wav.write(one)
    assert wav.trouble is None
    assert audio_of(path) == b"".join(pieces)
    assert path.stat().st_size == HEADER + sum(map(len, pieces))


def test_a_microphone_that_gave_nothing_leaves_an_empty_recording(tmp_path: Path) -> None:
    with WavFile(tmp_path / "heard.wav"):
        pass
    assert audio_of(tmp_path / "heard.wav") == b""


def test_after_a_second_the_file_can_be_read_whatever_becomes_of_the_program(
    tmp_path: Path,
) -> None:
    path, opened = tmp_path / "heard.wav", Opened()
    pieces = [piece(number) for number in range(2 * SECOND + 10)]
    with WavFile(path, new_file=opened) as wav:
        for one in pieces:
            wav.write(one)
        writes = 1 + 2 * len(pieces) + 2  # Disk takes a piece in two parts
        assert all(opened.disk.taken.acquire(timeout=30) for _ in range(writes))
        assert audio_of(path) == b"".join(pieces[: 2 * SECOND])
        assert path.read_bytes()[HEADER:] == b"".join(pieces)


def test_what_is_written_is_out_of_the_program_before_the_file_is_closed(tmp_path: Path) -> None:
    with wav_file._new_file(tmp_path / "heard.wav") as file:
        file.write(b"RIFF")
        assert (tmp_path / "heard.wav").read_bytes() == b"RIFF"


def test_a_file_that_is_there_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "heard.wav"
    path.write_bytes(b"precious")
    with pytest.raises(UserError, match=r"heard\.wav: it is there already; name another file"):
        WavFile(path).__enter__()
    assert path.read_bytes() == b"precious"


def test_nor_is_what_a_dangling_link_points_to_made(tmp_path: Path) -> None:
    path = tmp_path / "heard.wav"
    path.symlink_to(tmp_path / "elsewhere.wav")
    with pytest.raises(UserError, match="already"):
        WavFile(path).__enter__()
    assert not (tmp_path / "elsewhere.wav").exists()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("missing/heard.wav", "No such file or directory"),
        ("file/heard.wav", "Not a directory"),
        ("x" * 300, "File name too long"),
        ("nul\0.wav", "embedded null byte"),
    ],
)
def test_a_place_where_nothing_can_be_written_is_told_in_one_line(
    name: str, why: str, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=f"cannot be written: {why}$") as told:
        WavFile(tmp_path / name).__enter__()
    assert "\n" not in str(told.value)
    assert str(told.value).startswith("--record ")


@pytest.mark.parametrize("room", [HEADER + 640 * 3 + 1, HEADER + 640 * 3 + 2, HEADER, 10, 0])
def test_on_a_full_disk_what_found_room_can_be_read_and_the_reason_is_said(
    room: int, tmp_path: Path
) -> None:
    path = tmp_path / "heard.wav"
    pieces = [piece(number) for number in range(SECOND)]
    with room_for(room), WavFile(path) as wav:
        for one in pieces:
            wav.write(one)
    assert wav.trouble == f"{path} is not whole: File too large"
    if room >= HEADER:
        assert audio_of(path) == b"".join(pieces)[: (room - HEADER) // 2 * 2]


def test_a_failure_at_the_very_end_is_said_and_nobody_waits_for_it(tmp_path: Path) -> None:
    path, opened = tmp_path / "heard.wav", Opened()
    with WavFile(path, new_file=opened) as wav:
        wav.write(piece(0))
        assert all(opened.disk.taken.acquire(timeout=30) for _ in range(3))
        opened.disk.fails_at_seek = True
    assert wav.trouble == f"{path} is not whole: Input/output error"
    assert opened.disk.closed
    assert not recording()


def test_after_a_failure_what_is_written_is_dropped_without_waiting(tmp_path: Path) -> None:
    path = tmp_path / "heard.wav"
    with room_for(HEADER + 1000), WavFile(path) as wav:
        for number in range(2 * WAITING):
            wav.write(piece(number))
    assert wav.trouble == f"{path} is not whole: File too large"
    assert not recording()


def test_a_disk_that_hangs_blocks_no_writer_and_leaves_no_gap(tmp_path: Path) -> None:
    path, opened = tmp_path / "heard.wav", Opened()
    pieces = [piece(number) for number in range(WAITING + 60)]
    with WavFile(path, new_file=opened) as wav:
        assert opened.disk.taken.acquire(timeout=30)
        opened.disk.goes_on.clear()
        for one in pieces:
            wav.write(one)
        assert wav.trouble == f"{path} is not whole: the disk took nothing for a minute"
        opened.disk.goes_on.set()
        for _ in range(100):
            assert opened.disk.taken.acquire(timeout=30)
        wav.write(b"\0\0 later")
    written = audio_of(path)
    assert WAITING * 640 <= len(written) <= (WAITING + 1) * 640
    assert written == b"".join(pieces)[: len(written)]


def test_a_disk_that_hangs_and_then_fails_keeps_nobody_waiting_and_the_first_reason_stands(
    tmp_path: Path,
) -> None:
    path, opened = tmp_path / "heard.wav", Opened()
    with WavFile(path, new_file=opened) as wav:
        assert opened.disk.taken.acquire(timeout=30)
        opened.disk.goes_on.clear()
        for number in range(WAITING + 10):
            wav.write(piece(number))
        opened.disk.fails_at_write = True
        opened.disk.goes_on.set()
    assert wav.trouble == f"{path} is not whole: the disk took nothing for a minute"
    assert wav._pieces.empty()
    assert not recording()


@pytest.mark.parametrize("waiting", [10, WAITING + 10])
def test_a_disk_that_hangs_for_good_does_not_keep_the_program_from_ending(
    waiting: int, tmp_path: Path
) -> None:
    path, opened = tmp_path / "heard.wav", Opened()
    with WavFile(path, new_file=opened, end_s=0.01) as wav:
        opened.disk.goes_on.clear()
        for number in range(waiting):
            wav.write(piece(number))
    [thread] = recording()
    assert thread.daemon
    assert wav.trouble is not None
    opened.disk.goes_on.set()
    if waiting > WAITING:
        wav._pieces.put(None)  # there was no room for it
    thread.join(30)
    assert not thread.is_alive()


def test_a_recording_ends_where_the_format_has_no_more_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "heard.wav"
    monkeypatch.setattr(wav_file, "_MOST_BYTES", 3 * 640)
    with WavFile(path) as wav:
        for number in range(4):
            wav.write(piece(number))
    assert wav.trouble == f"{path} is not whole: a WAV file cannot be longer"
    assert audio_of(path) == piece(0) + piece(1) + piece(2)


def test_the_longest_recording_has_a_header() -> None:
    most = wav_file._MOST_BYTES
    assert len(wav_file._header(most)) == HEADER
    assert wav_file._header(most)[20:36] == fmt()
    assert most % 2 == 0


def recording() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "recording"]
