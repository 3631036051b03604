"""Keys are found where they may be, in their order, and are never shown."""

from pathlib import Path

import pytest

from daemon.errors import UserError
from daemon.keys import Keys

CANARY = "canary-6f1d2c"
VARIABLE = "ACME_API_KEY"


def written(folder: Path, name: str, text: str | bytes, mode: int = 0o600) -> Path:
    folder.mkdir(exist_ok=True, mode=0o700)
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(mode)
    return path


def value_of(keys: Keys) -> str | None:
    found = keys.find("acme", VARIABLE)
    return None if found is None else found.value


def test_the_environment_goes_first_then_ones_own_directory_then_that_of_systemd(
    tmp_path: Path,
) -> None:
    own, systemd = tmp_path / "own", tmp_path / "systemd"
    written(systemd, "keys_acme", "third\n")
    environment = {"CREDENTIALS_DIRECTORY": str(systemd)}
    assert value_of(Keys(environment, own)) == "third"
    written(own, "acme", "second")
    assert value_of(Keys(environment, own)) == "second"
    assert value_of(Keys({**environment, VARIABLE: " first "}, own)) == "first"


@pytest.mark.parametrize("name", ["acme", "keys_acme", "ACME_API_KEY", "keys_ACME_API_KEY"])
def test_a_file_is_named_after_the_provider_or_the_variable(tmp_path: Path, name: str) -> None:
    written(tmp_path, name, f"{CANARY}\n")
    assert value_of(Keys({}, tmp_path)) == CANARY
    assert value_of(Keys({"CREDENTIALS_DIRECTORY": str(tmp_path)})) == CANARY


def test_without_a_key_one_line_says_where_it_could_be(tmp_path: Path) -> None:
    assert value_of(Keys({}, tmp_path)) is None
    assert value_of(Keys({VARIABLE: "  "})) is None
    said = Keys({}, tmp_path).missing("acme/fast", VARIABLE)
    assert said == (
        f"acme/fast: no key; put it into the environment variable {VARIABLE} or {tmp_path}/acme"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is empty"),
        (" \n", "it is empty"),
        (b"\xff\xfe" + CANARY.encode(), "it is not text"),
        (CANARY + "\n" + CANARY, "it has spaces, line ends or other signs in it"),
        (CANARY + "x" * 20_000, "it is too long"),
    ],
)
def test_a_file_without_a_key_is_refused_and_not_repeated(
    tmp_path: Path, text: str | bytes, why: str
) -> None:
    path = written(tmp_path, "acme", text)
    with pytest.raises(UserError) as refused:
        Keys({}, tmp_path).find("acme", VARIABLE)
    assert str(refused.value) == f"{path}: holds no key: {why}"
    assert refused.value.__cause__ is None


def test_a_key_is_never_shown(tmp_path: Path) -> None:
    written(tmp_path, "acme", CANARY)
    keys = Keys({VARIABLE: CANARY}, tmp_path)
    shown = [repr(keys), repr(keys.find("acme", VARIABLE)), str(keys.warnings())]
    assert not any(CANARY in one for one in shown)


def test_files_that_others_may_read_are_warned_of(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    path = written(folder, "acme", CANARY, mode=0o644)
    written(folder, "other", CANARY)
    assert Keys({}, folder).warnings() == [
        f"{path}: others may read or change it (mode 0644); chmod 0600"
    ]
    folder.chmod(0o755)
    assert len(Keys({}, folder).warnings()) == 2


def test_a_directory_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such directory of keys"):
        Keys({}, tmp_path / "none").warnings()
    assert Keys({}).warnings() == []
