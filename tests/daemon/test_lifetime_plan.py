"""What a start of the daemon loads: what it needs, in the order in which it needs it.

How long a start takes depends on the host; what it loads does not, and most of the time goes there.
"""

import os
import subprocess
import sys
from pathlib import Path

from tests.daemon.serving import KEYS

PLANNED = """
import sys
from argparse import Namespace
from pathlib import Path
import daemon.commands.daemon, daemon.lifetime_plan, daemon.exporter_settings
args = Namespace(config=Path(sys.argv[1]), listen=None, log_level=None, log_format=None)
plan = daemon.lifetime_plan.plan_for(args)
settings = daemon.exporter_settings.exporter_settings(plan, "127.0.0.1:0")
assert [stream.model for stream in settings.streams] == ["deepgram/nova-3", "gladia/solaria-1"]
assert all(recording.turns for recording in plan.recordings), "speech is known in all of them"
"""
LOADED = "import daemon.lifetime, daemon.supervise\n"
SHOWN = "print(*sys.modules)\n"
MODELS = '[[model]]\nname = "deepgram/nova-3"\n[[model]]\nname = "gladia/solaria-1"\n'
WEBSOCKET = {"trio_websocket", "wsproto", "h11", "daemon.session", "daemon.supervise"}
ELSEWHERE = {
    *("arro3", "pyarrow", "sounddevice", "silero_vad", "moonshine_voice"),
    *("httpx", "httpcore", "requests", "grpc"),
    *("rich", "pygments", "structlog", "prometheus_client", "orjson"),
    *("pytest", "trio.testing", "asyncio"),
    *("daemon.corpus_clips", "daemon.fakes", "daemon.conformance", "daemon.reporting"),
    *("scoring.profiles", "exporters.journal", "exporters.prometheus"),
}
"""What the exporter process, other commands and other configurations need."""


def modules_of(code: str, *arguments: str) -> set[str]:
    """All that a fresh interpreter has loaded after ``code``."""
    ended = subprocess.run(
        [sys.executable, "-c", code + SHOWN, *arguments],
        env={**os.environ, **KEYS},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stderr
    return set(ended.stdout.split())


def config_in(folder: Path) -> str:
    path = folder / "daemon.toml"
    path.write_text(MODELS, encoding="utf-8")
    return str(path)


def test_the_exporter_process_is_started_before_anything_large_is_loaded() -> None:
    loaded = modules_of("import sys, daemon.cli, daemon.commands.daemon\n")
    assert "exporters.process" in loaded
    assert not loaded & {"trio", "numpy", "pydantic", "importlib.metadata", "providers", "scoring"}


def test_a_plan_is_made_before_what_measures_is_loaded(tmp_path: Path) -> None:
    loaded = modules_of(PLANNED, config_in(tmp_path))
    assert not loaded & (WEBSOCKET | ELSEWHERE)


def test_a_start_with_the_built_in_clips_loads_nothing_that_others_need(tmp_path: Path) -> None:
    loaded = modules_of(PLANNED + LOADED, config_in(tmp_path))
    assert loaded >= WEBSOCKET
    assert not loaded & ELSEWHERE


def test_numpy_starts_no_threads_beside_what_is_paced() -> None:
    threads = "import sys, daemon, numpy, os\nassert len(os.listdir('/proc/self/task')) == 1\n"
    assert "numpy" in modules_of(threads)
