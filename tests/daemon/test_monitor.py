"""Hearing what is streamed, in virtual time: who is heard, how even, and that it costs nothing."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import trio
import trio.testing

from daemon import cli
from daemon.clock import now_ns
from daemon.fakes import FakeDeepgram, Faults, HangUp, Line, Moment, Script
from daemon.monitor import SETTLED_MS, StreamMonitor
from daemon.order import Order, Speech
from daemon.session import measure_once
from measure.events import Event, FrameSent, Xrun
from measure.measurement import Measurement
from measure.records import Frame, Remark, Verdict
from pacer.clips import clip_from_samples
from providers.codec import AudioFormat, Options
from providers.deepgram import Deepgram
from tests.daemon.bench import KEY, SPEECH, ZERO_MS, ListRecorder, bench_of, memory_dial, order_of

RATE_HZ = 16_000
STEP_NS = 20_000_000
STRAY_NS = 1000
"""A float of seconds and a whole number of nanoseconds may differ by less."""
ANSWER_S = 0.25
FORCED = Script(answers=((Line("good day", after_s=ANSWER_S, final=True),),))
TONE_HZ = 440.0


@dataclass
class Paper:
    """A loudspeaker that writes down what it is given, and when."""

    pieces: list[tuple[int, bytes]] = field(default_factory=list)
    ended: str | None = None
    on_piece: Callable[[int], None] = lambda number: None
    """Called with the number of each piece, the first is 1."""

    def play(self, pcm: bytes) -> None:
        self.pieces.append((now_ns(), pcm))
        self.on_piece(len(self.pieces))

    @property
    def pcm(self) -> bytes:
        return b"".join(pcm for _, pcm in self.pieces)

    def is_even(self) -> bool:
        moments = [at_ns for at_ns, _ in self.pieces]
        return all(
            abs(after_ns - at_ns - STEP_NS) < STRAY_NS for at_ns, after_ns in pairwise(moments)
        )


@dataclass
class Session:
    """One that was measured, and heard or not."""

    measurement: Measurement
    recorder: ListRecorder

    def told(self, kind: type[Event]) -> list[Event]:
        return [event for event in self.recorder.events() if isinstance(event, kind)]

    @property
    def is_marked(self) -> bool:
        """In its reading, and where that is read again from what was recorded."""
        marks = {
            Remark.XRUN in reading.remarks
            for reading in (self.measurement.reading, self.recorder.reading())
        }
        assert len(marks) == 1
        return marks.pop()


def order(
    name: str = "s1", *, rate_hz: int = RATE_HZ, chunk_ms: int = 20, seconds: float = 1.0
) -> Order:
    """A tone for a provider that wants it so; another name is another tone."""

    class Picky(Deepgram):
        facts = replace(Deepgram.facts, audio=AudioFormat(rate_hz=rate_hz, chunk_ms=chunk_ms))

    hz = TONE_HZ if name == "s1" else TONE_HZ * 2
    at = np.arange(round(rate_hz * seconds)) / rate_hz
    samples = (np.sin(2 * math.pi * hz * at) * 12_000).astype(np.int16)
    clip = clip_from_samples("tone", samples, rate_hz=rate_hz)
    end_ms = seconds * 1000
    speech = SPEECH if seconds <= 1 else Speech(100.0, 160.0, end_ms - 200, end_ms - 110)
    made = order_of(Picky(Options()), speech=speech)
    return replace(made, session_id=name, clip=clip)


async def heard(
    speaker: Paper | None,
    *orders: Order,
    apart_s: float = 0.03,
    rate_hz: int = RATE_HZ,
    faults: Faults | None = None,
    made: Callable[[StreamMonitor], None] = lambda monitor: None,
) -> list[Session]:
    """Measure all, one beginning after the other, while ``speaker`` lets them be heard."""
    found: dict[str, Session] = {}
    async with trio.open_nursery() as world:
        fakes = [FakeDeepgram(FORCED, faults) for _ in orders]
        async with bench_of(memory_dial(fakes, world), ListRecorder()) as bench:
            monitor = None if speaker is None else StreamMonitor(speaker, rate_hz, now_ns)
            if monitor is not None:
                made(monitor)

            async def measure(one: Order) -> None:
                recorder = ListRecorder()
                ours = replace(bench, recorder=recorder, monitor=monitor)
                found[one.session_id] = Session(await measure_once(one, ours), recorder)

            async with trio.open_nursery() as sessions:
                for one in orders:
                    sessions.start_soon(measure, one)
                    await trio.sleep(apart_s)
        world.cancel_scope.cancel()
    return [found[one.session_id] for one in orders]


def pitch_hz(pcm: bytes, rate_hz: int = RATE_HZ) -> float:
    samples = np.frombuffer(pcm, "<i2").astype(float)
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples))))
    return float(spectrum.argmax() * rate_hz / len(samples))


async def test_what_is_streamed_is_heard_as_it_is_up_to_zero_and_then_silence(
    autojump_clock: trio.testing.MockClock,
) -> None:
    speaker, one = Paper(), order()
    (session,) = await heard(speaker, one)
    spoken = ZERO_MS * RATE_HZ // 1000 * 2
    assert speaker.pcm[:spoken] == one.clip.pcm[:spoken]
    assert len(speaker.pcm) > spoken
    assert not any(speaker.pcm[spoken:])
    assert session.measurement.reading.verdict is Verdict.FORCED_FINAL


@pytest.mark.parametrize("chunk_ms", [20, 100, 250])
async def test_it_is_heard_in_even_steps_of_20_ms_however_it_is_sent(
    autojump_clock: trio.testing.MockClock, chunk_ms: int
) -> None:
    speaker = Paper()
    (session,) = await heard(speaker, order(chunk_ms=chunk_ms))
    assert {len(pcm) for _, pcm in speaker.pieces} == {RATE_HZ // 50 * 2}
    assert len(speaker.pieces) > ZERO_MS // 20
    assert speaker.is_even()
    assert len(session.told(FrameSent)) <= math.ceil(len(speaker.pieces) * 20 / chunk_ms) + 1


async def test_no_frame_is_late_however_long_it_takes_to_let_it_be_heard(
    autojump_clock: trio.testing.MockClock,
) -> None:
    slow = Paper(on_piece=lambda number: autojump_clock.jump(0.005))
    (session,) = await heard(slow, order())
    frames = [event for event in session.told(FrameSent) if isinstance(event, FrameSent)]
    assert len(frames) > ZERO_MS / 20
    assert all(frame.at_ns - frame.due_ns < STRAY_NS for frame in frames)


async def test_where_nothing_is_sent_nothing_is_heard(
    autojump_clock: trio.testing.MockClock,
) -> None:
    class Quiet(Deepgram):
        facts = replace(Deepgram.facts, silence_after_force=False)

    speaker = Paper()
    one = order_of(Quiet(Options()))
    (session,) = await heard(speaker, one)
    assert session.measurement.reading.verdict is Verdict.FORCED_FINAL
    assert speaker.pcm == one.clip.pcm[: ZERO_MS * RATE_HZ // 1000 * 2]


async def test_a_stream_that_breaks_off_is_heard_until_then(
    autojump_clock: trio.testing.MockClock,
) -> None:
    speaker = Paper()
    faults = Faults(hang_up=HangUp(Moment.AUDIO, audio_ms=200))
    (session,) = await heard(speaker, order(), faults=faults)
    assert session.measurement.reading.verdict is Verdict.CONNECTION_LOST
    assert 10 <= len(speaker.pieces) <= 12


async def test_of_two_streams_the_first_that_began_is_heard_and_then_the_other(
    autojump_clock: trio.testing.MockClock,
) -> None:
    speaker, first, second = Paper(), order("s1"), order("s2", seconds=3.0)
    session, _ = await heard(speaker, first, second)
    pieces = [pcm for _, pcm in speaker.pieces]
    spoken = ZERO_MS // 20
    assert b"".join(pieces[:spoken]) == first.clip.pcm[: spoken * 640]
    others = next(number for number, pcm in enumerate(pieces) if number >= spoken and any(pcm))
    assert not any(b"".join(pieces[spoken:others]))
    assert others == len(session.told(FrameSent))
    place = second.clip.pcm.find(pieces[others])
    assert place >= 0
    rest = b"".join(pieces[others : others + 50])
    assert rest == second.clip.pcm[place : place + len(rest)]
    assert all(after - at < 2 * STEP_NS for (at, _), (after, _) in pairwise(speaker.pieces))


@pytest.mark.parametrize("speaker_hz", [16_000, 44_100, 48_000])
@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 24_000, 48_000])
async def test_any_rate_is_heard_at_the_right_pitch_and_length(
    autojump_clock: trio.testing.MockClock, rate_hz: int, speaker_hz: int
) -> None:
    speaker = Paper()
    await heard(speaker, order(rate_hz=rate_hz), rate_hz=speaker_hz)
    spoken = speaker_hz * ZERO_MS // 1000 * 2
    assert pitch_hz(speaker.pcm[:spoken], speaker_hz) == pytest.approx(TONE_HZ, abs=3)
    given_ms = len(speaker.pcm) // 2 * 1000 / speaker_hz
    assert given_ms == pytest.approx(len(speaker.pieces) * 20, abs=5)
    loud = np.nonzero(np.abs(np.frombuffer(speaker.pcm, "<i2").astype(int)) > 1000)[0]
    assert (loud[-1] - loud[0]) * 1000 / speaker_hz == pytest.approx(ZERO_MS, abs=3)


@pytest.mark.parametrize(
    ("what", "name"), [("underflow", "output_underflow"), ("overflow", "output_overflow")]
)
async def test_what_goes_wrong_is_told_to_the_session_that_is_heard_and_to_no_other(
    autojump_clock: trio.testing.MockClock, what: str, name: str
) -> None:
    monitors: list[StreamMonitor] = []

    def go_wrong(number: int) -> None:
        if number == 20:
            monitors[0].note_xrun(what)

    orders = order("s1"), order("s2")
    first, second = await heard(Paper(on_piece=go_wrong), *orders, made=monitors.append)
    (xrun,) = first.told(Xrun)
    assert isinstance(xrun, Xrun)
    assert (xrun.what, xrun.audio_ms, xrun.lost_ms) == (name, 400.0, None)
    assert first.is_marked
    assert second.told(Xrun) == []
    assert not second.is_marked


async def test_after_the_takeover_it_is_told_to_the_other_at_its_own_place(
    autojump_clock: trio.testing.MockClock,
) -> None:
    monitors: list[StreamMonitor] = []

    def go_wrong(number: int) -> None:
        if number == 90:
            monitors[0].note_xrun("underflow")

    orders = order("s1"), order("s2", seconds=3.0)
    first, second = await heard(Paper(on_piece=go_wrong), *orders, made=monitors.append)
    assert (first.is_marked, second.is_marked) == (False, True)
    (xrun,) = second.told(Xrun)
    frame = next(event for event in second.told(FrameSent) if event.at_ns == xrun.at_ns)
    assert isinstance(xrun, Xrun)
    assert isinstance(frame, FrameSent)
    assert xrun.audio_ms == frame.audio_ms


def frame(number: int) -> Frame:
    return Frame(number, bytes(640), 20.0 * (number + 1))


async def test_the_gap_between_two_streams_is_no_underflow_of_the_second(
    autojump_clock: trio.testing.MockClock,
) -> None:
    monitor, told = StreamMonitor(Paper(), RATE_HZ, lambda: 7), list[Event]()
    for number in range(10):
        monitor.hear("s", frame(number), RATE_HZ, told.append)
        monitor.note_xrun("underflow")
    settled = int(SETTLED_MS) // 20
    places = [event.audio_ms for event in told if isinstance(event, Xrun)]
    assert places == [20.0 * (number + 1) for number in range(settled, 10)]


async def test_once_a_session_has_left_it_is_told_nothing(
    autojump_clock: trio.testing.MockClock,
) -> None:
    monitor, told = StreamMonitor(Paper(), RATE_HZ, lambda: 7), list[Event]()
    monitor.note_xrun("overflow")
    monitor.hear("s", frame(0), RATE_HZ, told.append)
    monitor.leave("another")
    monitor.note_xrun("dropped")
    assert told == [Xrun(7, "output_overflow", 20.0)]
    monitor.leave("s")
    monitor.note_xrun("overflow")
    assert len(told) == 1


async def test_a_loudspeaker_that_disappears_is_one_line_and_changes_no_reading(
    autojump_clock: trio.testing.MockClock,
) -> None:
    speaker, said = Paper(), list[str]()

    def vanish(number: int) -> None:
        if number >= 9:
            speaker.ended = "the output device 'paper' has disappeared"

    speaker.on_piece = vanish
    async with trio.open_nursery() as nursery:

        def watch(monitor: StreamMonitor) -> None:
            nursery.start_soon(monitor.say_if_gone, said.append)

        (session,) = await heard(speaker, order(), made=watch)
    (alone,) = await heard(None, order())
    assert said == ["the output device 'paper' has disappeared; measuring goes on unheard"]
    assert len(speaker.pieces) == 9
    assert not session.is_marked
    assert session.measurement.reading.time_to_final_ns == pytest.approx(
        alone.measurement.reading.time_to_final_ns, abs=STRAY_NS
    )
    assert [type(event) for event in session.recorder.events()] == [
        type(event) for event in alone.recorder.events()
    ]


# The command


def refusal(capsys: pytest.CaptureFixture[str], folder: Path, *words: str) -> str:
    """The one line with which it ends, before anything is streamed."""
    journal = folder / "journal"
    assert cli.main(["run", "--journal", str(journal), *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    line = [line for line in err.splitlines() if line.startswith("speechbench: ")][-1]
    assert b"session_started" not in b"".join(
        one.read_bytes() for one in journal.glob("*.sbj*") if one.is_file()
    )
    return line.removeprefix("speechbench: ")


WORKERS = "--monitor: one process lets it be heard, and workers is 2: use 1"


def test_with_several_workers_it_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refusal(capsys, tmp_path, "--monitor", "--workers", "2") == WORKERS
    config = tmp_path / "a.toml"
    config.write_text("[daemon]\nworkers = 2\n")
    assert refusal(capsys, tmp_path, "--config", str(config), "--monitor", "x") == WORKERS


def test_a_file_that_is_taken_for_a_device_is_told_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "my.wav"
    file.touch()
    line = refusal(capsys, tmp_path, "--monitor", str(file))
    assert line == f"--monitor {file}: that is a file; put files first, --monitor last"


ELSEWHERE = ("--model", "deepgram/nova-3", "--url", "ws://127.0.0.1:9")


def test_without_portaudio_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "libportaudio.so.2").touch()  # what the loader finds first is no library
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    monkeypatch.setenv("DEEPGRAM_API_KEY", KEY)
    line = refusal(capsys, tmp_path, "--monitor", *ELSEWHERE)
    assert line == ("the PortAudio library is missing, or broken: apt-get install libportaudio2")
