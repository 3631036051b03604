"""docs/add-a-provider.md, followed to the letter in a copy of the project."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.names import OURS

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "docs" / "add-a-provider.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"<!-- (file|lines): (\S+)(?: (\w+))? -->\n```\w+\n(.*?)```\n", re.DOTALL)
NOT_COPIED = shutil.ignore_patterns("__pycache__", "*.onnx", "*.wav", "*.flac")
BLOCKS = BLOCK.findall(GUIDE)


def followed(folder: Path) -> None:
    """Do in ``folder``, a copy of the project, what the guide says."""
    for kind, name, table, text in BLOCKS:
        path = folder / name
        if kind == "file":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            continue
        *imports, entry = text.rstrip("\n").split("\n")
        before = path.read_text(encoding="utf-8")
        head = re.search(rf"^{table}\b[^\n]*(\(\n +)?{{\n", before, re.MULTILINE)
        assert head is not None, f"{name} has no {table}"
        first = re.search(r"^(from|import) ", before, re.MULTILINE)
        assert first is not None
        with_line = f"{before[: head.end()]}{entry}\n{before[head.end() :]}"
        path.write_text(
            "".join([with_line[: first.start()], *imports, "\n", with_line[first.start() :]]),
            encoding="utf-8",
        )


def speechbench(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "daemon.cli", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    for name in OURS:
        shutil.copytree(ROOT / name, folder / name, ignore=NOT_COPIED)
    followed(folder)
    return folder


def test_the_guide_has_all_its_files() -> None:
    assert [(kind, name) for kind, name, _, _ in BLOCKS] == [
        ("file", "acme.toml"),
        ("file", "providers/acme.py"),
        ("file", "daemon/fakes/acme.py"),
        ("file", "tests/providers/transcripts/acme_fast1.jsonl"),
        ("file", "tests/providers/transcripts/acme.errors.jsonl"),
        ("lines", "providers/__init__.py"),
        ("lines", "daemon/fakes/__init__.py"),
    ]


def test_the_described_provider_is_the_one_in_the_folder() -> None:
    (described,) = [text for _, name, _, text in BLOCKS if name == "acme.toml"]
    assert described == (ROOT / "docs" / "providers" / "acme.toml").read_text(encoding="utf-8")


def test_the_first_way_leads_to_a_provider_that_keeps_its_promises(copy: Path) -> None:
    done = speechbench(copy, "conform", "--described", "acme.toml", "--transcripts", "none")
    # The name is also that of the second way; the description goes first.
    assert done.returncode == 0, done.stdout + done.stderr
    assert "kept    answer          forced_final after 150 ms" in done.stdout


def test_the_second_way_leads_to_a_provider_that_keeps_its_promises(copy: Path) -> None:
    done = speechbench(copy, "conform", "acme/fast-1")
    assert done.returncode == 0, done.stdout + done.stderr
    for promise in ("facts", "paper", "stamps", "failures", "answer", "several finals", "turns"):
        assert re.search(rf"^  kept    {promise} ", done.stdout, re.MULTILINE), promise
    assert "0 broken" in done.stdout


def test_the_new_provider_is_in_the_list(copy: Path) -> None:
    done = speechbench(copy, "providers", "acme/fast-1")
    assert done.returncode == 0, done.stderr
    assert "conversation on paper: acme_fast1" in done.stdout
    assert "Which HTTP status a wrong key gets." in done.stdout
