"""What is said of an engine that is not there, or not as it should be."""

import sys
from pathlib import Path

import pytest

from daemon.errors import UserError
from daemon.local.engines import ENGINES
from daemon.local.engines.moonshine import LIBRARY, Moonshine, MoonshineStream
from daemon.local.engines.shape import EngineError


@pytest.mark.parametrize(
    ("engine", "package", "install"),
    [
        ("moonshine", "moonshine_voice", "pip install --no-deps moonshine-voice==0.0.73"),
        ("pocketsphinx", "pocketsphinx", "pip install --no-deps pocketsphinx==5.1.1"),
    ],
)
def test_a_missing_engine_is_one_line_that_says_what_to_install(
    engine: str, package: str, install: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # how Python marks what cannot be imported
    with pytest.raises(UserError) as missing:
        ENGINES[engine]()
    assert str(missing.value) == f"the engine {engine} is not installed: {install}"


def package(folder: Path, *files: tuple[str, bytes]) -> None:
    """A package of the engine's name with only these files."""
    for name, content in (("__init__.py", b""), *files):
        path = folder / "moonshine_voice" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def test_a_package_without_its_model_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package(tmp_path, (LIBRARY, b""))
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError, match=r"carries no assets/tiny-en: pip install --no-deps"):
        Moonshine()


def test_a_library_that_cannot_be_loaded_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package(tmp_path, (LIBRARY, b"no library"), ("assets/tiny-en/model", b""))
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError, match=r"^the engine moonshine cannot be loaded here: .+$"):
        Moonshine()


@pytest.fixture(scope="module")
def moonshine() -> Moonshine:
    try:
        return Moonshine()
    except UserError as missing:
        pytest.skip(str(missing))


def test_the_packages_own_code_is_never_imported(moonshine: Moonshine) -> None:
    assert "moonshine_voice" not in sys.modules


def test_a_call_that_fails_says_which_and_why(moonshine: Moonshine) -> None:
    lost = MoonshineStream(moonshine, 12_345)
    with pytest.raises(EngineError, match=r"moonshine could not transcribe: .*\(-\d\)"):
        lost.partial()
