"""The unit files that an installation gets name its own program, and nothing is half written."""

import subprocess
import sys
from pathlib import Path

import pytest

from daemon.cli import main
from daemon.commands import unit
from daemon.errors import UserError

SOURCES = unit.unit_sources()
PROGRAM = Path("/opt/speechbench/bin/speechbench")


def installed(root: Path, monkeypatch: pytest.MonkeyPatch, *more: str) -> int:
    monkeypatch.setattr(unit, "program", lambda: PROGRAM)
    return main(["unit", "install", "--root", str(root), *more])


def test_the_units_name_the_installed_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert installed(tmp_path, monkeypatch) == 0
    service = (tmp_path / "etc/systemd/system/speechbench@.service").read_text()
    assert f"ExecStart={PROGRAM} daemon" in service
    assert "@PROGRAM@" not in service
    assert (tmp_path / "etc/systemd/system/speechbench@.socket").exists()
    assert (tmp_path / "etc/speechbench/keys.d").stat().st_mode & 0o777 == 0o700
    assert "systemctl enable" in capsys.readouterr().out


def test_a_dry_run_shows_all_of_it_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert installed(tmp_path, monkeypatch, "--dry-run") == 0
    shown = capsys.readouterr().out
    assert "would write" in shown
    assert f"ExecStart={PROGRAM}" in shown
    assert list(tmp_path.iterdir()) == []


def test_installing_again_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, monkeypatch)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()}
    installed(tmp_path, monkeypatch)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()} == before


def test_a_folder_that_cannot_be_written_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "etc").write_text("in the way")
    assert installed(tmp_path, monkeypatch) != 0
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("home", ["/root/venv/bin/python", "/home/me/venv/bin/python"])
def test_a_program_in_a_home_is_refused(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", home)
    monkeypatch.setattr(Path, "exists", lambda self: True)
    with pytest.raises(UserError, match="a service cannot see /home and /root"):
        unit.program()


def test_missing_sources_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="install speechbench anew"):
        unit.steps_of(PROGRAM, tmp_path, tmp_path)


def _has_systemd() -> bool:
    try:
        ran = subprocess.run(["systemd-analyze", "--version"], capture_output=True, check=False)
    except OSError:
        return False
    return ran.returncode == 0


@pytest.mark.skipif(not _has_systemd(), reason="systemd-analyze is not here")
def test_systemd_finds_no_fault_and_little_exposure(tmp_path: Path) -> None:
    steps = unit.steps_of(Path("/bin/true"), SOURCES, tmp_path)
    for step in steps:
        unit._take(step)
    service = str(tmp_path / "etc/systemd/system/speechbench@.service")
    verify = subprocess.run(
        ["systemd-analyze", "verify", service], capture_output=True, text=True, check=False
    )
    assert (verify.returncode, verify.stderr) == (0, "")
    security = ["systemd-analyze", "security", "--offline=true", "--threshold=15", service]
    ran = subprocess.run(security, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-200:]
