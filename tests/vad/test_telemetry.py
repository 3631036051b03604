"""No usage report: onnxruntime is told so before it is imported, whoever imports what first."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("daemon", "exporters", "measure", "pacer", "providers", "scoring", "vad")
HEAR = """
import sys
import vad.silero as silero
import numpy as np
model = silero.StepModel.load()
probability, _ = model.step(np.zeros(512, np.float32), silero.new_stream(16000))
assert 0 < probability < 0.1, probability
assert "onnxruntime" in sys.modules
assert not {"torch", "silero_vad"} & set(sys.modules), "the package itself has been imported"
"""
WAIT = """
import pathlib, time
late = time.monotonic() + 30
# A thread of the library writes them when it gets round to it.
while time.monotonic() < late and not any(pathlib.Path.home().rglob("*.onnxruntime/*")):
    time.sleep(0.02)
"""


def python(code: str, home: Path, *before: str, **variables: str) -> None:
    """Run ``code`` in a process of its own whose home is ``home``."""
    # Under CI=true onnxruntime reports nothing by itself, and these tests would prove nothing.
    inherited = {
        key: value
        for key, value in os.environ.items()
        if key != "CI" and not key.startswith("ORT_")
    }
    homes = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    subprocess.run(
        [*before, sys.executable, "-W", "error", "-c", code],
        cwd=ROOT,
        env=inherited | homes | variables,
        check=True,
        timeout=60,
    )


def left_in(home: Path) -> list[str]:
    return sorted(str(path.relative_to(home)) for path in home.rglob("*") if path.is_file())


def test_hearing_leaves_no_file_in_the_users_home(tmp_path: Path) -> None:
    python(HEAR, tmp_path)
    assert left_in(tmp_path) == []


def test_the_files_would_be_seen_if_reports_were_on(tmp_path: Path) -> None:
    # In a network of its own, where there is nothing: no report leaves this host for a test.
    alone = ("unshare", "--map-root-user", "--net")
    if shutil.which("unshare") is None:
        pytest.skip("this host has no unshare, without which a report would really be sent")
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this host does not let us make a network of our own")
    python(HEAR + WAIT, tmp_path, *alone, ORT_DISABLE_TELEMETRY="0")
    assert any(".onnxruntime" in name for name in left_in(tmp_path))


def test_onnxruntime_is_imported_in_this_room_alone() -> None:
    imports = re.compile(r"^\s*(import|from)\s+onnxruntime\b", re.MULTILINE)
    importers = {
        path.relative_to(ROOT).parts[0]
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        if imports.search(path.read_text(encoding="utf-8"))
    }
    assert importers == {"vad"}


def test_no_room_imports_onnxruntime_before_it_is_needed(tmp_path: Path) -> None:
    rooms = ", ".join((*ROOMS, "daemon.commands.vad", "vad.endpoint", "vad.timestamps"))
    python(f"import sys, {rooms}; assert 'onnxruntime' not in sys.modules", tmp_path)
