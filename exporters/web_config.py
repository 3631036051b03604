"""Who may see the web pages, and over what: Prometheus's own file format for that, a part of it.

    tls_server_config:
      cert_file: server.crt
      key_file: server.key
      client_ca_file: people.crt
      client_auth_type: RequireAndVerifyClientCert
      min_version: TLS12
    basic_auth_users:
      reader: $2y$10$…                      # bcrypt

Whatever else the format knows is refused by name, for a protection that is written down and not
kept would be worse than none. Source: the exporter toolkit's documentation of its web
configuration.
"""

import base64
import binascii
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import bcrypt
import yaml

T = TypeVar("T")

MIN_VERSIONS = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
CLIENT_AUTH = {
    "NoClientCert": ssl.CERT_NONE,
    "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
    "RequireAndVerifyClientCert": ssl.CERT_REQUIRED,
}
_TLS = ("cert_file", "key_file", "client_ca_file", "client_auth_type", "min_version")
_TOP = ("tls_server_config", "basic_auth_users")
_NOBODY = b"$2b$10$" + b"." * 53
"""A hash that no password has: an unknown name takes as long as a known one."""


class WebConfigError(OSError, ValueError):
    """One line: where in the file, what is wrong, what is allowed."""


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """How the connection is protected; files as absolute paths."""

    cert_file: str
    key_file: str
    client_ca_file: str | None = None
    client_auth: ssl.VerifyMode = ssl.CERT_NONE
    min_version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2

    @property
    def files(self) -> tuple[str, ...]:
        """All that are read."""
        more = () if self.client_ca_file is None else (self.client_ca_file,)
        return self.cert_file, self.key_file, *more

    def context(self) -> ssl.SSLContext:
        """Ready to serve. Raises WebConfigError where a file is none of what it should be."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = self.min_version
        try:
            context.load_cert_chain(self.cert_file, self.key_file)
            if self.client_ca_file is not None:
                context.load_verify_locations(self.client_ca_file)
        except OSError as error:  # ssl.SSLError is one
            raise WebConfigError(
                f"tls_server_config: {self.cert_file}, {self.key_file}: {error.strerror or error}"
            ) from error
        context.verify_mode = self.client_auth
        return context


@dataclass(frozen=True, slots=True)
class WebConfig:
    """What the file says; as it is by default, everybody who reaches the port may look."""

    tls: TlsFiles | None = None
    users: Mapping[str, bytes] | None = None
    """Names and the bcrypt hashes of their passwords; None: no password is asked for."""

    def admits(self, authorization: str | None) -> bool:
        """Whether this ``Authorization`` header is that of a user."""
        if self.users is None:
            return True
        name, password = _name_and_password(authorization or "")
        known = self.users.get(name)
        matches = bcrypt.checkpw(password[:72], known or _NOBODY)
        return matches and known is not None


def read_web_config(path: Path) -> WebConfig:
    """The file at ``path``. Raises WebConfigError."""
    try:
        text = path.read_text(encoding="utf-8")
        table = yaml.safe_load(text)
    except OSError as error:
        raise WebConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise WebConfigError(f"{path}: is not UTF-8 text (byte {error.start})") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f", line {mark.line + 1}"
        raise WebConfigError(f"{path}{where}: is not YAML") from error
    try:
        return web_config_of({} if table is None else table, path.parent)
    except WebConfigError as error:
        raise WebConfigError(f"{path}: {error}") from error


def web_config_of(table: object, folder: Path) -> WebConfig:
    """What a parsed file says; its paths are relative to ``folder``. Raises WebConfigError."""
    top = _section("the file", table, _TOP)
    tls, users = top.get("tls_server_config"), top.get("basic_auth_users")
    return WebConfig(
        None if tls is None else _tls(_section("tls_server_config", tls, _TLS), folder),
        None if users is None else _users(users),
    )


def _section(name: str, value: object, allowed: tuple[str, ...]) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise WebConfigError(f"{name} must hold settings; allowed: {', '.join(allowed)}")
    for key in value:
        if key not in allowed:
            raise WebConfigError(
                f"{name}: {key!r} is not supported here; allowed: {', '.join(allowed)}"
            )
    return value


def _tls(section: Mapping[str, object], folder: Path) -> TlsFiles:
    files = {name: _file(section, name, folder) for name in _TLS[:3]}
    if files["cert_file"] is None or files["key_file"] is None:
        raise WebConfigError("tls_server_config: cert_file and key_file are both needed")
    auth = _one_of(section, "client_auth_type", CLIENT_AUTH, "NoClientCert")
    if auth is not ssl.CERT_NONE and files["client_ca_file"] is None:
        raise WebConfigError("tls_server_config: client_auth_type needs client_ca_file")
    version = _one_of(section, "min_version", MIN_VERSIONS, "TLS12")
    return TlsFiles(files["cert_file"], files["key_file"], files["client_ca_file"], auth, version)


def _file(section: Mapping[str, object], name: str, folder: Path) -> str | None:
    value = section.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise WebConfigError(f"tls_server_config: {name} must be the name of a file")
    return str((folder / value).absolute())


def _one_of(section: Mapping[str, object], name: str, values: Mapping[str, T], default: str) -> T:
    value = section.get(name, default)
    if not isinstance(value, str) or value not in values:
        raise WebConfigError(
            f"tls_server_config: {name} is {value!r}; allowed: {', '.join(values)}"
        )
    return values[value]


def _users(section: object) -> dict[str, bytes]:
    if not isinstance(section, Mapping):
        raise WebConfigError("basic_auth_users must hold names, each with a bcrypt hash")
    users: dict[str, bytes] = {}
    for name, hashed in section.items():
        if not isinstance(name, str) or not isinstance(hashed, str) or not _is_bcrypt(hashed):
            raise WebConfigError(f"basic_auth_users: {name!r} must have a bcrypt hash ($2y$10$…)")
        users[name] = hashed.encode()
    return users


def _is_bcrypt(text: str) -> bool:
    return text.isascii() and len(text) == 60 and text[:4] in ("$2a$", "$2b$", "$2y$")


def _name_and_password(authorization: str) -> tuple[str, bytes]:
    """Of basic authentication; empty where the header is none."""
    scheme, _, encoded = authorization.partition(" ")
    if scheme.lower() != "basic":
        return "", b""
    try:
        name, _, password = base64.b64decode(encoded, validate=True).partition(b":")
        return name.decode(), password
    except (binascii.Error, UnicodeDecodeError):
        return "", b""
