"""A changed web configuration is taken whole or not at all, and what came of it is said once."""

import os
from pathlib import Path

import bcrypt
import pytest
import trustme

from exporters.web_config import WebConfigError
from exporters.web_protection import Protection
from tests.exporters.records import Said
from tests.exporters.test_web_config import basic

BEAT = {"k": "heartbeat", "t": 1}
TAKEN, REFUSED = "web_configuration_taken", "web_configuration_refused"


def written(path: Path, text: str) -> Path:
    """As an editor does it: another file takes the place of the old one."""
    new = path.with_suffix(".new")
    new.write_text(text)
    os.replace(new, path)
    return path


def users(password: str) -> str:
    hashed = bcrypt.hashpw(password.encode(), bcrypt.gensalt(4)).decode()
    return f"basic_auth_users:\n  reader: {hashed}\n"


def certified(folder: Path) -> str:
    """A new certificate, and the configuration that names it."""
    cert = trustme.CA().issue_cert("127.0.0.1")
    written(folder / "a.key", cert.private_key_pem.bytes().decode())
    written(folder / "a.crt", cert.cert_chain_pems[0].bytes().decode())
    return "tls_server_config: {cert_file: a.crt, key_file: a.key}\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return written(tmp_path / "web.yml", users("first"))


def admits(protection: Protection, password: str) -> bool:
    return protection().admits(basic("reader", password))


def test_a_change_is_in_force_at_once_and_is_said_at_the_next_sign_of_life(path: Path) -> None:
    said = Said()
    protection = Protection(path, said)
    protection.take(BEAT)
    assert said.lines == []
    written(path, users("second"))
    assert admits(protection, "second")
    assert not admits(protection, "first")
    protection.take({"k": "session_finished", "t": 1})
    assert said.lines == []
    protection.take(BEAT)
    assert said.lines == [("info", TAKEN, {"path": str(path)})]


def test_a_change_is_found_where_nobody_looks_at_the_pages(path: Path) -> None:
    said = Said()
    protection = Protection(path, said)
    written(path, users("second"))
    protection.take(BEAT)
    assert said.events == [TAKEN]


def test_a_mistake_leaves_the_old_file_in_force_and_is_said_once_for_each_change(
    path: Path,
) -> None:
    said = Said()
    protection = Protection(path, said)
    written(path, "basic_auth_user: {}\n")
    for _ in range(3):
        assert admits(protection, "first")
        protection.take(BEAT)
    assert said.events == [REFUSED]
    assert said.lines[0][0] == "error"
    fields = said.fields(REFUSED)
    assert fields["path"] == str(path)
    assert "'basic_auth_user' is not supported here" in fields["error"]
    assert "\n" not in fields["error"]
    written(path, "[")
    protection.take(BEAT)
    assert said.events == [REFUSED, REFUSED]
    written(path, users("third"))
    protection.take(BEAT)
    assert said.events == [REFUSED, REFUSED, TAKEN]
    assert admits(protection, "third")


def test_a_file_that_is_gone_is_said_once_and_locks_nobody_out(path: Path) -> None:
    said = Said()
    protection = Protection(path, said)
    path.unlink()
    for _ in range(3):
        assert admits(protection, "first")
        protection.take(BEAT)
    assert said.events == [REFUSED]
    assert "cannot be read" in said.fields(REFUSED)["error"]


def test_two_changes_between_signs_of_life_are_both_said(path: Path) -> None:
    said = Said()
    protection = Protection(path, said)
    written(path, "[")
    protection()
    written(path, users("second"))
    protection()
    protection.take(BEAT)
    assert said.events == [REFUSED, TAKEN]


def test_a_renewed_certificate_is_taken_though_the_file_is_the_same(tmp_path: Path) -> None:
    said = Said()
    protection = Protection(written(tmp_path / "web.yml", certified(tmp_path)), said)
    old = protection.context()
    assert old is not None
    assert protection.context() is old
    certified(tmp_path)
    assert protection.context() is not old
    protection.take(BEAT)
    assert said.events == [TAKEN]


def test_a_certificate_that_is_none_leaves_the_old_one_in_use_until_it_is_mended(
    tmp_path: Path,
) -> None:
    said = Said()
    protection = Protection(written(tmp_path / "web.yml", certified(tmp_path)), said)
    old = protection.context()
    written(tmp_path / "a.crt", "nothing")
    for _ in range(3):
        assert protection.context() is old
        protection.take(BEAT)
    assert said.events == [REFUSED]
    assert "a.crt" in said.fields(REFUSED)["error"]
    certified(tmp_path)
    assert protection.context() not in (None, old)
    protection.take(BEAT)
    assert said.events[-1] == TAKEN


def test_a_file_that_names_a_certificate_that_is_not_there_yet_is_taken_when_it_is(
    path: Path,
) -> None:
    said = Said()
    protection = Protection(path, said)
    written(path, "tls_server_config: {cert_file: a.crt, key_file: a.key}\n")
    assert protection.context() is None
    assert admits(protection, "first")
    assert not admits(protection, "what nobody gave")
    certified(path.parent)
    assert protection.context() is not None
    protection.take(BEAT)
    assert said.events == [REFUSED, TAKEN]


def test_what_is_wrong_at_the_start_is_an_error(tmp_path: Path) -> None:
    said = Said()
    for text in ("[", "tls_server_config: {cert_file: a.crt, key_file: a.key}\n"):
        with pytest.raises(WebConfigError, match=r"web\.yml"):
            Protection(written(tmp_path / "web.yml", text), said)
    assert said.lines == []


def test_without_a_file_all_may_look_and_nothing_is_said() -> None:
    said = Said()
    protection = Protection(None, said)
    assert protection().admits(None)
    assert protection.context() is None
    protection.take(BEAT)
    assert said.lines == []
