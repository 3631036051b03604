"""A browser that a test drives, over the pipes of its own debugging protocol.

    requests, each ended by NUL ──> fd 3 │ chromium │ fd 4 ──> answers and events, each ended by NUL

Source: the Chrome DevTools Protocol, of which these few methods are used.
"""

import base64
import json
import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--hide-scrollbars", "--force-device-scale-factor=1"),
)
PATIENCE_S = 120.0
READ_BYTES = 1 << 16


class BrowserError(AssertionError):
    """The browser refused something, or said nothing for too long."""


@dataclass(frozen=True, slots=True)
class Screen:
    """What the page is shown on."""

    width: int = 390
    """In CSS pixels; a phone of today by default."""
    height: int = 844
    mobile: bool = True
    dark: bool = False
    scripts: bool = True
    """Whether pages may run any; what a test evaluates runs in either case."""


class Browser:
    """One page of a browser that runs."""

    def __init__(self, to: int, from_: int) -> None:
        self._to, self._from = to, from_
        self._numbers = count(1)
        self._waiting = b""
        self._session: str | None = None
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        self._ask("Page.enable")

    def show(self, url: str, screen: Screen) -> None:
        """Load a page whole, as this screen would."""
        self._ask(
            "Emulation.setDeviceMetricsOverride",
            width=screen.width,
            height=screen.height,
            deviceScaleFactor=1,
            mobile=screen.mobile,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if screen.dark else "light"}
        self._ask("Emulation.setEmulatedMedia", features=[scheme])
        self._ask("Emulation.setScriptExecutionDisabled", value=not screen.scripts)
        answer = self._ask("Page.navigate", url=url)
        if "errorText" in answer:
            raise BrowserError(f"{url}: {answer['errorText']}")
        while self._message().get("method") != "Page.loadEventFired":
            pass

    def value(self, expression: str) -> Any:  # noqa: ANN401
        """What an expression of JavaScript is on the page, as JSON can hold it."""
        answer = self._ask("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise BrowserError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def roles(self) -> list[str]:
        """What each part of the page is to those who listen to it."""
        nodes = self._ask("Accessibility.getFullAXTree")["nodes"]
        return [node["role"]["value"] for node in nodes if not node["ignored"]]

    def picture(self) -> bytes:
        """The whole page as PNG."""
        answer = self._ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        return base64.b64decode(answer["data"])

    def _ask(self, method: str, **params: object) -> dict[str, Any]:
        number = next(self._numbers)
        asked: dict[str, object] = {"id": number, "method": method, "params": params}
        if self._session is not None:
            asked["sessionId"] = self._session
        os.write(self._to, json.dumps(asked).encode() + b"\0")
        while (answer := self._message()).get("id") != number:
            pass
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error']['message']}")
        result: dict[str, Any] = answer["result"]
        return result

    def _message(self) -> dict[str, Any]:
        """The next answer or event."""
        until_s = time.monotonic() + PATIENCE_S
        while b"\0" not in self._waiting:
            left_s = max(0.0, until_s - time.monotonic())
            if not select.select([self._from], [], [], left_s)[0]:
                raise BrowserError(f"the browser said nothing for {PATIENCE_S:g} s")
            came = os.read(self._from, READ_BYTES)
            if not came:
                raise BrowserError("the browser has ended")
            self._waiting += came
        message, _, self._waiting = self._waiting.partition(b"\0")
        told: dict[str, Any] = json.loads(message)
        return told


@contextmanager
def browser() -> Iterator[Browser]:
    """Chromium runs while the block does, with a profile of its own."""
    profile = tempfile.mkdtemp()
    hear, to = os.pipe()
    from_, say = os.pipe()
    program = shutil.which("chromium") or "chromium"
    silent = os.open(os.devnull, os.O_RDWR)
    pid = os.posix_spawn(
        program,
        [program, *FLAGS, "--remote-debugging-pipe", f"--user-data-dir={profile}"],
        os.environ,
        file_actions=[
            *((os.POSIX_SPAWN_DUP2, silent, fd) for fd in (0, 1, 2)),
            # Out of the way first: either may be 3 or 4 already.
            (os.POSIX_SPAWN_DUP2, hear, 103),
            (os.POSIX_SPAWN_DUP2, say, 104),
            (os.POSIX_SPAWN_DUP2, 103, 3),
            (os.POSIX_SPAWN_DUP2, 104, 4),
            (os.POSIX_SPAWN_CLOSE, 103),
            (os.POSIX_SPAWN_CLOSE, 104),
        ],
        setpgroup=0,
    )
    for fd in (hear, say, silent):
        os.close(fd)
    try:
        yield Browser(to, from_)
    finally:
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        for fd in (to, from_):
            os.close(fd)
        shutil.rmtree(profile, ignore_errors=True)
