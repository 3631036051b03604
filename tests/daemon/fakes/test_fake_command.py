"""``speechbench fake`` as a program: ready line, log, lines, mistakes, how it ends."""

import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import wave
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import trio
import trustme

from daemon.cli import main
from daemon.fakes import FakeDeepgram, listening
from tests.daemon.fakes.client import exchanged
from tests.vad.signals import speech

ROOT = Path(__file__).parents[3]
PROGRAM = [sys.executable, "-m", "daemon.cli", "fake"]
PATIENCE_S = 60
RUNNING: list[trio.Process] = []


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """However a test ends, its programs end too."""
    yield
    while RUNNING:
        process = RUNNING.pop()
        if process.returncode is None:
            process.kill()


async def started(*arguments: str, program: Sequence[str] = PROGRAM) -> trio.Process:
    process = await trio.lowlevel.open_process(
        [*program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    )
    RUNNING.append(process)
    return process


async def first_line(process: trio.Process) -> str:
    assert process.stdout is not None
    said = b""
    while not said.endswith(b"\n"):
        piece = bytes(await process.stdout.receive_some())
        assert piece, "it ended before it was ready"
        said += piece
    return said.decode().strip()


async def visited(address: str) -> int:
    """One request; the status of the answer."""
    parts = urlsplit(address)
    async with await trio.open_tcp_stream(str(parts.hostname), parts.port or 0) as stream:
        return (await exchanged(stream, "GET", "/nowhere", {}, b"")).status


async def all_of(stream: trio.abc.ReceiveStream | None) -> str:
    assert stream is not None
    return b"".join([bytes(piece) async for piece in stream]).decode()


@pytest.mark.parametrize("name", ["deepgram", "gladia"])
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
async def test_it_says_where_it_is_and_serves_until_a_signal(
    name: str, signum: int, tmp_path: Path
) -> None:
    script = tmp_path / "a.toml"
    script.write_text(f'provider = "{name}"\n')
    with trio.fail_after(PATIENCE_S):
        process = await started("--script", str(script))
        assert await visited(await first_line(process)) == 404
        process.send_signal(signum)
        assert await process.wait() == 0
        lines = await all_of(process.stderr)
    assert lines.startswith("connection 1: GET /nowhere, ")
    assert lines.count("\n") == 1


@pytest.mark.parametrize("name", ["deepgram", "openai", "wyoming"])
async def test_without_a_script_it_speaks_as_whom_it_is_told(name: str) -> None:
    program = [sys.executable, "-m", "daemon.fakes", name, "--json"]
    with trio.fail_after(PATIENCE_S):
        process = await started(program=program)
        assert json.loads(await first_line(process))["provider"] == name
        process.terminate()
        assert await process.wait() == 0


async def test_it_says_so_as_json_and_ends_after_so_many_connections(tmp_path: Path) -> None:
    log, script = tmp_path / "log.jsonl", ROOT / "docs" / "fakes" / "ack-early.toml"
    with trio.fail_after(PATIENCE_S):
        process = await started(
            *("--script", str(script), "--json", "--log", str(log), "--connections", "2")
        )
        ready = json.loads(await first_line(process))
        assert ready == {
            "address": f"ws://127.0.0.1:{ready['port']}",
            "provider": "deepgram",
            "host": "127.0.0.1",
            "port": ready["port"],
            "pid": process.pid,
            "faults": ["ack_s"],
        }
        for _ in range(2):
            await visited(ready["address"])
        assert await process.wait() == 0
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    assert [entry["connection"] for entry in entries if entry["kind"] == "end"] == [1, 2]


async def test_it_speaks_tls_where_it_is_given_a_certificate(tmp_path: Path) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    issued.cert_chain_pems[0].write_to_path(certificate)
    issued.private_key_pem.write_to_path(key)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.configure_trust(client)
    with trio.fail_after(PATIENCE_S):
        process = await started("--tls-cert", str(certificate), "--tls-key", str(key))
        parts = urlsplit(await first_line(process))
        assert parts.scheme == "wss"
        plain = await trio.open_tcp_stream("127.0.0.1", parts.port or 0)
        async with trio.SSLStream(plain, client, server_hostname="127.0.0.1") as stream:
            assert (await exchanged(stream, "GET", "/nowhere", {}, b"")).status == 404
        process.terminate()
        assert await process.wait() == 0


async def test_a_port_that_is_taken_is_one_clear_line() -> None:
    async with listening(FakeDeepgram()) as address:
        port = str(urlsplit(address).port)
        with trio.fail_after(PATIENCE_S):
            result = await trio.run_process(
                [*PROGRAM, "--port", port], capture_stderr=True, check=False, cwd=ROOT
            )
    assert result.returncode == 2
    why = f"speechbench: cannot listen on 127.0.0.1 port {port}: Address already in use\n"
    assert result.stderr.decode() == why


def said_by(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    code = main(["fake", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out + err


def test_a_script_is_looked_over(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    script = tmp_path / "a.toml"
    script.write_text("[faults]\nduplicate = true\nack_s = 0\n")
    code, said = said_by(capsys, "--check", "--script", script)
    assert (code, said) == (0, "provider deepgram, faults: duplicate, ack_s\n")
    script.write_text("[faults]\nduplicate = 7\nacks = 0\n")
    code, said = said_by(capsys, "--check", "--script", script)
    assert code == 78
    assert [line.split(": ")[:3] for line in said.splitlines()] == [
        ["speechbench", str(script), "faults.duplicate"],
        ["speechbench", str(script), "faults.acks"],
    ]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--script", "none.toml"], "none.toml: cannot be read: No such file or directory"),
        (["--script", "."], ".: cannot be read: Is a directory"),
        (["--log", "none/a"], "none/a: cannot be written: No such file or directory"),
        (["--tls-cert", "a"], "--tls-cert and --tls-key: give both, or neither"),
        (["--tls-cert", "none", "--tls-key", "none"], "none: there is no such file"),
        (["--host", "203.0.113.1"], "cannot listen on 203.0.113.1 port 0: "),
    ],
)
def test_what_a_user_can_get_wrong_is_one_line(
    arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = said_by(capsys, *arguments)
    assert code in (2, 78)
    assert said.startswith(f"speechbench: {why}")
    assert said.count("\n") == 1


def test_files_that_are_no_pem_are_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name in ("cert", "key"):
        (tmp_path / name).write_text("nonsense")
    given = ["--tls-cert", tmp_path / "cert", "--tls-key", tmp_path / "key"]
    code, said = said_by(capsys, *given)
    assert code == 2
    assert "no PEM pair that fits" in said


@pytest.mark.skipif(shutil.which("sh") is None, reason="there is no shell here")
def test_the_worked_example_for_ci_works(tmp_path: Path) -> None:
    """The shell job of docs/fake.md, with real processes, over a clip of 2.1 s."""
    clip, samples = tmp_path / "clip.wav", speech()
    with wave.open(str(clip), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16_000)
        file.writeframes(samples.tobytes())
    program = tmp_path / "speechbench"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m daemon.cli "$@"\n')
    program.chmod(0o755)
    path = os.pathsep.join([str(tmp_path), str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["sh", str(ROOT / "docs" / "fakes" / "ci.sh"), str(clip)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=3 * PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    assert "acknowledged after" in done.stdout
