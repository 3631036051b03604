"""Prometheus's web configuration: what is supported is kept, what is not is refused by name."""

import base64
import ssl
from pathlib import Path

import bcrypt
import pytest

from exporters.web_config import WebConfig, WebConfigError, read_web_config, web_config_of

HASH = bcrypt.hashpw(b"open sesame", bcrypt.gensalt(4)).decode()
HERE = Path("/etc/speechbench")


def basic(name: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


def test_an_empty_file_protects_nothing_and_admits_everybody(tmp_path: Path) -> None:
    (tmp_path / "web.yml").write_text("")
    config = read_web_config(tmp_path / "web.yml")
    assert config == WebConfig()
    assert config.admits(None)


def test_only_a_user_with_their_password_is_admitted() -> None:
    config = web_config_of({"basic_auth_users": {"reader": HASH}}, HERE)
    assert config.admits(basic("reader", "open sesame"))
    for header in (
        None,
        "",
        basic("reader", "open barley"),
        basic("writer", "open sesame"),
        basic("", ""),
        "Bearer open sesame",
        "Basic not-base64!",
        "Basic " + base64.b64encode(b"\xff\xfe:x").decode(),
    ):
        assert not config.admits(header)


def test_a_file_without_users_admits_nobody() -> None:
    assert not web_config_of({"basic_auth_users": {}}, HERE).admits(basic("reader", "x"))


def test_the_names_of_files_are_relative_to_the_configuration() -> None:
    table = {"tls_server_config": {"cert_file": "a.crt", "key_file": "/keys/a.key"}}
    tls = web_config_of(table, HERE).tls
    assert tls is not None
    assert (tls.cert_file, tls.key_file) == ("/etc/speechbench/a.crt", "/keys/a.key")
    assert tls.min_version is ssl.TLSVersion.TLSv1_2


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ([], "the file must hold settings"),
        ({"http_server_config": {}}, "'http_server_config' is not supported here; allowed: tls"),
        ({"tls_server_config": {"cert_file": "a"}}, "cert_file and key_file are both needed"),
        ({"tls_server_config": {"cipher_suites": []}}, "'cipher_suites' is not supported here"),
        ({"tls_server_config": {"cert_file": 3, "key_file": "k"}}, "must be the name of a file"),
        (
            {"tls_server_config": {"cert_file": "a", "key_file": "b", "min_version": "TLS10"}},
            "min_version is 'TLS10'; allowed: TLS12, TLS13",
        ),
        (
            {
                "tls_server_config": {
                    "cert_file": "a",
                    "key_file": "b",
                    "client_auth_type": "RequireAndVerifyClientCert",
                }
            },
            "client_auth_type needs client_ca_file",
        ),
        ({"basic_auth_users": {"reader": "open sesame"}}, "'reader' must have a bcrypt hash"),
        ({"basic_auth_users": ["reader"]}, "must hold names"),
    ],
)
def test_what_is_not_kept_is_refused(table: object, said: str) -> None:
    with pytest.raises(WebConfigError) as refused:
        web_config_of(table, HERE)
    assert said in str(refused.value)
    assert "open sesame" not in str(refused.value)


@pytest.mark.parametrize("content", [b"a: [", b"\xff\xfe\x00", b"\t- x"])
def test_what_is_no_yaml_is_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "web.yml").write_bytes(content)
    with pytest.raises(WebConfigError) as refused:
        read_web_config(tmp_path / "web.yml")
    assert str(refused.value).startswith(f"{tmp_path / 'web.yml'}")
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(WebConfigError) as refused:
        read_web_config(tmp_path / "web.yml")
    assert (
        str(refused.value) == f"{tmp_path / 'web.yml'}: cannot be read: No such file or directory"
    )


def test_a_certificate_that_is_none_is_said(tmp_path: Path) -> None:
    for name in ("a.crt", "a.key"):
        (tmp_path / name).write_text("nothing")
    table = {"tls_server_config": {"cert_file": "a.crt", "key_file": "a.key"}}
    tls = web_config_of(table, tmp_path).tls
    assert tls is not None
    with pytest.raises(WebConfigError, match=r"a\.crt"):
        tls.context()
