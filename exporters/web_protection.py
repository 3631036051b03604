"""Who may see the web pages now: the web configuration file, taken anew when it was changed.

web threads ── each request, each connection ──> what is in force
heartbeat ──> has a file changed? ──> in force, or refused ──> the log, once for each change
"""

import ssl
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

from exporters.web_config import WebConfig, WebConfigError, read_web_config

Stamp = tuple[int, int, int]


class Say(Protocol):
    """Writes a line of the log."""

    def __call__(self, level: str, event: str, **fields: object) -> None: ...


class Protection:
    """What a file says now: it is read again when it, or a certificate it names, was replaced.

    A new one with mistakes changes nothing: the old one stays in force, with the certificates that
    it had. May be asked from any thread; ``take`` is for the one that takes records.
    """

    def __init__(self, path: Path | None, say: Say) -> None:
        """Raises WebConfigError for what is there at first. Without a path all may look."""
        self._path = path
        self._say = say
        self._lock = Lock()
        self._config = WebConfig()
        self._context: ssl.SSLContext | None = None
        self._stamps: dict[Path, Stamp] = {}
        """Of the file and its certificates, as they were just before they were read."""
        self._news: list[str | None] = []
        """What came of each change: the mistake, None where it is in force."""
        if path is not None:
            self._read(path)

    def __call__(self) -> WebConfig:
        """What is in force."""
        self._look()
        return self._config

    def context(self) -> ssl.SSLContext | None:
        """How the next connection is protected; None: it is not."""
        self._look()
        return self._context

    def take(self, record: Mapping[str, Any]) -> None:
        """At each sign of life, say what has come of changes since the last."""
        if record["k"] != "heartbeat":
            return
        self._look()
        with self._lock:
            news, self._news = self._news, []
        for mistake in news:
            self._tell(mistake)

    def _tell(self, mistake: str | None) -> None:
        path = str(self._path)
        if mistake is None:
            self._say("info", "web_configuration_taken", path=path)
        else:
            self._say("error", "web_configuration_refused", path=path, error=mistake)

    def _look(self) -> None:
        with self._lock:
            if self._path is None or all(_stamp(one) == at for one, at in self._stamps.items()):
                return
            try:
                self._read(self._path)
            except WebConfigError as error:
                self._news.append(str(error))
            else:
                self._news.append(None)

    def _read(self, path: Path) -> None:
        """Take the file and what it names; all of it or nothing. Raises WebConfigError."""
        self._stamps = {one: _stamp(one) for one in {path, *self._stamps}}
        config = read_web_config(path)
        files = () if config.tls is None else config.tls.files
        self._stamps = {one: _stamp(one) for one in map(Path, files)} | {path: self._stamps[path]}
        try:
            context = None if config.tls is None else config.tls.context()
        except WebConfigError as error:
            raise WebConfigError(f"{path}: {error}") from error
        self._config, self._context = config, context


def _stamp(path: Path) -> Stamp:
    """Another one after each change; the same for as long as there is no such file."""
    try:
        found = path.stat()
    except OSError:
        return (0, 0, 0)
    return found.st_mtime_ns, found.st_ino, found.st_size
