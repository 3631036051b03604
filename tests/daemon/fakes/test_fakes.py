"""The list of fakes: every one of them is there, and a process loads those that it names."""

import subprocess
import sys

import pytest

from daemon.fakes import FAKES, FakeDeepgram, FakeGladia
from daemon.fakes.server import Fake

NAMED = """
import sys
import daemon.commands.fake
from daemon.fakes import FAKES
assert sys.argv[1] in list(FAKES)
FAKES[sys.argv[1]]
print(*sys.modules)
"""
ALWAYS = {"daemon.fakes.deepgram", "daemon.fakes.gladia"}
"""The two that the package names itself."""
ELSEWHERE = {
    *("numpy", "trio_websocket", "trio.testing", "pytest", "httpx", "rich", "onnxruntime"),
    *("daemon.plan", "daemon.session", "daemon.link", "daemon.wire", "exporters"),
}


@pytest.mark.parametrize("provider", FAKES)
def test_each_name_is_that_of_a_fake(provider: str) -> None:
    assert issubclass(FAKES[provider], Fake)


def test_each_fake_has_one_name() -> None:
    assert len({FAKES[provider] for provider in FAKES}) == len(FAKES)
    assert (FAKES["deepgram"], FAKES["gladia"]) == (FakeDeepgram, FakeGladia)


def test_there_is_no_fake_of_another_name() -> None:
    assert "nobody" not in FAKES
    assert FAKES.get("nobody") is None


@pytest.mark.parametrize("provider", ["deepgram", "vosk", "xai"])
def test_the_command_loads_the_fake_that_it_is_and_no_other(provider: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", NAMED, provider],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr
    loaded = set(ended.stdout.split())
    files = {FAKES[one].__module__ for one in FAKES}
    assert loaded & files == ALWAYS | {FAKES[provider].__module__}
    assert not loaded & ELSEWHERE
