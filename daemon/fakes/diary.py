"""What a fake that runs by itself says of its connections: a line each, and a log of messages.

No key gets into either: of a request only the names of its headers are told, settings that carry
keys are masked, and what a header held is masked wherever it is repeated.
"""

import json
import math
from collections.abc import Iterator
from typing import TextIO
from urllib.parse import parse_qsl, urlsplit

import trio

from daemon.fakes.visit import Stamped, Visit
from daemon.mask import MASK, masked
from measure.records import SECOND
from providers.codec import HttpRequest

SECRETS = ("key", "token", "secret", "password", "auth")
"""A setting or header whose name has one of these in it carries a secret."""
OFFERED = "sec-websocket-protocol"
"""A header in which some clients send their key."""
SHORT = 6
"""What is shorter than this is no key: a scheme, a protocol's name."""


class Diary:
    """Is told of every message, see ``Fake.tell``."""

    def __init__(self, lines: TextIO, log: TextIO | None, connections: int | None) -> None:
        """``lines`` are for people. ``over`` is set after so many connections; None: never."""
        self.over = trio.Event()
        """There is nothing more to wait for."""
        self.failure: OSError | None = None
        """Why the log could not be written any further."""
        self._lines = lines
        self._log = log
        self._left = math.inf if connections is None else connections

    def __call__(self, visit: Visit, side: str, stamped: Stamped) -> None:
        if self._log is not None and self.failure is None:
            self._write(self._log, entry(visit, side, stamped))
        if stamped.kind == "end":
            self._lines.write(line(visit, stamped.at_ns) + "\n")
            self._lines.flush()
            self._left -= 1
        if self._left <= 0 or self.failure is not None:
            self.over.set()

    def _write(self, log: TextIO, said: dict[str, object]) -> None:
        try:
            log.write(json.dumps(said, ensure_ascii=False) + "\n")
            log.flush()
        except OSError as error:
            self.failure = error


def entry(visit: Visit, side: str, stamped: Stamped) -> dict[str, object]:
    """One message as a line of the log: when, on which connection, from whom, what."""
    said: dict[str, object] = {
        "at_ns": stamped.at_ns,
        "connection": visit.number,
        "side": side,
        "kind": stamped.kind,
    }
    if stamped.kind == "text":
        return {**said, "text": _without(visit, stamped.payload)}
    if stamped.kind == "close":
        return {**said, "close": _without(visit, stamped.payload)}
    request = visit.requests[-1] if visit.requests else None
    if side == "heard" and request is not None and stamped.kind == request.method:
        return {**said, **_asked(request), "bytes": len(stamped.payload)}
    return {**said, "bytes": len(stamped.payload)} if stamped.payload else said


def line(visit: Visit, at_ns: int) -> str:
    """One connection, when it is over, in one line for people."""
    asked = [f"{one.method} {_path(one)}" for one in visit.requests] or ["nothing asked"]
    closes = [f"{side} Close {_without(visit, payload)}" for side, payload in visit.closes]
    return ", ".join(
        [
            f"connection {visit.number}: {' and '.join(asked)}",
            f"{(at_ns - visit.connected_ns) / SECOND:.2f} s",
            f"heard {visit.messages_heard} messages",
            f"said {visit.messages_said}",
            *closes,
        ]
    )


def _asked(request: HttpRequest) -> dict[str, object]:
    settings = parse_qsl(urlsplit(request.url).query, keep_blank_values=True)
    return {
        "path": _path(request),
        "settings": {name: MASK if _is_secret(name) else value for name, value in settings},
        "headers": sorted(request.headers),
    }


def _path(request: HttpRequest) -> str:
    return urlsplit(request.url).path


def _without(visit: Visit, payload: bytes) -> str:
    """A payload as text, without whatever came as a key."""
    text = payload.decode("utf-8", "replace")
    for secret in _secrets(visit):
        text = masked(text, secret)
    return text


def _secrets(visit: Visit) -> Iterator[str]:
    for request in visit.requests:
        for name, value in request.headers.items():
            if _is_secret(name) or name == OFFERED:
                words = value.replace(",", " ").split()
                yield from (word for word in words if len(word) >= SHORT)
        settings = parse_qsl(urlsplit(request.url).query)
        yield from (value for name, value in settings if _is_secret(name) and value)


def _is_secret(name: str) -> bool:
    return any(word in name.lower() for word in SECRETS)
