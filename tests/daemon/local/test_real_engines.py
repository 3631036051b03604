"""The real recognisers, each in a server process of its own: real speech, real words."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr
import trio
from trio_websocket import ConnectionClosed, WebSocketConnection, wrap_client_stream

from daemon.errors import UserError
from daemon.local.spawn import local_server

ROOT = Path(__file__).parents[3]
PATIENCE_S = 60
"""Far more than anything here takes; only a fault lets it pass."""
PIECE_BYTES = 640
WORDS = "it was the best of times it was the worst of times"
"""What is said in the first five seconds of the recording."""


def recording() -> Path:
    """A reading of A Tale of Two Cities that comes with one of the engines."""
    found = importlib.util.find_spec("moonshine_voice")
    if found is None or not found.submodule_search_locations:
        pytest.skip("moonshine-voice, which carries the recording, is not installed")
    return Path(found.submodule_search_locations[0]) / "assets" / "two_cities.wav"


def installed(engine: str) -> str:
    """``engine``, or a skipped test."""
    package = {"moonshine": "moonshine_voice", "pocketsphinx": "pocketsphinx"}[engine]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    return engine


@pytest.fixture(scope="module")
def speech() -> bytes:
    """Its first five seconds."""
    wave, rate_hz = soundfile.read(recording(), frames=5 * 48_000, dtype="float32")
    heard = soxr.resample(wave, rate_hz, 16_000)
    return bytes((np.clip(heard, -1, 1) * 32767).astype("<i2"))


def quieter(pcm: bytes) -> bytes:
    return bytes(np.frombuffer(pcm, "<i2") // 16)


@asynccontextmanager
async def line_to(url: str) -> AsyncIterator[trio.SocketStream]:
    host, _, port = url.removeprefix("ws://").rpartition(":")
    async with await trio.open_tcp_stream(host, int(port)) as line:
        yield line


@asynccontextmanager
async def stream_to(url: str) -> AsyncIterator[WebSocketConnection]:
    async with line_to(url) as line, trio.open_nursery() as nursery:
        socket = await wrap_client_stream(
            nursery, line, "localhost", "/v1/listen", message_queue_size=64
        )
        yield socket
        await socket.aclose()


async def heard_at(url: str, *segments: bytes) -> list[str]:
    """The finals of one stream, fed as fast as it goes, with a force after each segment."""
    finals: list[str] = []
    async with stream_to(url) as socket:
        for pcm in segments:
            for start in range(0, len(pcm), PIECE_BYTES):
                await socket.send_message(pcm[start : start + PIECE_BYTES])
            await socket.send_message('{"type": "force"}')
        while len(finals) < len(segments):
            said = json.loads(await socket.get_message())
            if said["type"] == "final":
                finals.append(said["text"])
    return finals


def left_in(home: Path) -> list[Path]:
    return list(home.rglob("*"))


def words(text: object) -> str:
    return "".join(letter for letter in str(text).lower() if letter.isalpha() or letter == " ")


async def refuses(url: str) -> bool:
    """Whether nobody listens there."""
    try:
        async with line_to(url):
            return False
    except OSError:
        return True


@pytest.mark.parametrize("engine", ["moonshine", "pocketsphinx"])
async def test_real_speech_becomes_the_same_right_words_every_time(
    engine: str, speech: bytes
) -> None:
    finals: list[str] = []

    async def hear(*segments: bytes) -> None:
        finals.extend(await heard_at(url, *segments))

    with trio.fail_after(PATIENCE_S):
        async with local_server(installed(engine)) as url:
            await hear(quieter(speech), speech)  # what came before must change nothing
            async with trio.open_nursery() as nursery:  # two at once, which share the engine
                nursery.start_soon(hear, speech)
                nursery.start_soon(hear, speech)
    assert words(finals[1]) == WORDS
    assert finals[1:] == [finals[1]] * 3


async def test_a_server_is_gone_when_its_context_is_left() -> None:
    with trio.fail_after(PATIENCE_S):
        async with local_server(installed("moonshine")) as url:
            assert not await refuses(url)
        assert await refuses(url)


async def test_a_server_is_gone_when_its_context_is_cancelled() -> None:
    url = ""
    with trio.fail_after(PATIENCE_S):
        with trio.CancelScope() as scope:
            async with local_server(installed("moonshine")) as url:
                scope.cancel()
                await trio.sleep_forever()
        assert url
        assert await refuses(url)


async def test_a_start_can_be_cancelled() -> None:
    with trio.fail_after(PATIENCE_S), trio.CancelScope() as scope:
        scope.cancel()
        async with local_server(installed("moonshine")):
            pytest.fail("it has started all the same")
    assert scope.cancelled_caught


async def test_a_server_that_cannot_start_is_the_servers_own_last_word() -> None:
    with trio.fail_after(PATIENCE_S):
        with pytest.raises(UserError, match=r"did not start: .*invalid choice: 'parrot'"):
            async with local_server("parrot"):
                pytest.fail("there is no such engine")


KEEP_ONE = """
import signal, sys, trio
from daemon.local.spawn import local_server
async def main():
    async with local_server(sys.argv[1]) as url:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print(url, flush=True)
        await trio.sleep_forever()
trio.run(main)
"""


@asynccontextmanager
async def a_run(engine: str) -> AsyncIterator[tuple[trio.Process, str]]:
    """A process, in a group of its own, that has started a server; and the server's address."""
    command = [sys.executable, "-c", KEEP_ONE, engine]
    run = await trio.lowlevel.open_process(
        command, stdout=subprocess.PIPE, cwd=ROOT, start_new_session=True
    )
    assert run.stdout is not None
    async with run.stdout:
        try:
            yield run, (await run.stdout.receive_some()).decode().strip()
        finally:
            run.kill()
            with trio.CancelScope(shield=True):
                await run.wait()


async def test_a_server_whose_run_is_killed_ends_by_itself() -> None:
    with trio.fail_after(PATIENCE_S):
        async with a_run(installed("moonshine")) as (run, url), stream_to(url) as socket:
            assert json.loads(await socket.get_message())["type"] == "ready"
            run.kill()
            with pytest.raises(ConnectionClosed) as closed:
                await socket.get_message()
    assert closed.value.reason is not None
    assert closed.value.reason.reason == "the server ends"


async def test_a_ctrl_c_for_the_run_does_not_reach_the_server(speech: bytes) -> None:
    with trio.fail_after(PATIENCE_S):
        async with a_run(installed("moonshine")) as (run, url), stream_to(url) as socket:
            os.killpg(run.pid, signal.SIGINT)
            assert json.loads(await socket.get_message())["type"] == "ready"
            assert words((await heard_at(url, speech))[0]) == WORDS


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_a_server_in_order(sent: signal.Signals, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "daemon.local", "--engine", installed("moonshine")]
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    with trio.fail_after(PATIENCE_S):
        server = await trio.lowlevel.open_process(
            [*command, "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, **home},
        )
        assert server.stdout is not None
        assert server.stderr is not None
        async with server.stdout, server.stderr:
            announced = json.loads(await server.stdout.receive_some())
            assert announced["model"] == "moonshine-tiny"
            assert announced["pid"] == server.pid
            assert not await refuses(announced["url"])
            server.send_signal(sent)
            assert await server.wait() == 0
            assert await server.stdout.receive_some() == b""
            assert await server.stderr.receive_some() == b""
    assert left_in(tmp_path) == []  # no engine has written a report
