"""The HTTP endpoint of the exporter process: /metrics, /-/healthy, /-/ready."""

import socket
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from socketserver import TCPServer, ThreadingMixIn
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry, make_wsgi_app

from measure.records import SECOND

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

SILENT_NS = 5 * SECOND
"""For how long the measuring process may be silent and still be thought well."""
AT_ONCE = 16
"""How many requests are answered at the same time; more are turned away."""
_PATIENCE_S = 10.0
"""How long a client may take over its request."""


@dataclass(slots=True)
class Health:
    """What the two questions are answered from; written by one thread, read by others."""

    now_ns: Callable[[], int]
    heard_ns: int = field(init=False)
    """When the measuring process last gave a sign of life."""
    ready: bool = False
    """It says that it measures: everything is open and it is not ending."""
    journal_full: bool = False

    def __post_init__(self) -> None:
        self.heard_ns = self.now_ns()

    def unwell(self) -> str | None:
        """Why this host is not healthy; None where it is."""
        silent_ns = self.now_ns() - self.heard_ns
        if silent_ns > SILENT_NS:
            return f"the measuring process has been silent for {silent_ns / SECOND:.0f} s"
        return None

    def unready(self) -> str | None:
        """Why nothing can be measured now; None where it can."""
        if self.journal_full:
            return "the journal is full"
        return None if self.ready else "starting or ending"


class Web:
    """The endpoint, answering in threads of its own until ``close``."""

    def __init__(
        self, listen: tuple[str, int], registry: CollectorRegistry, health: Health
    ) -> None:
        """Begin to answer. Raises OSError where the address or port cannot be had."""
        self._server = _Server(listen, _app(registry, health))
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True
        )
        self._thread.start()

    @property
    def address(self) -> str:
        """``host:port`` as it really is."""
        host, port = self._server.server_address[:2]
        return f"[{host!s}]:{port}" if ":" in str(host) else f"{host!s}:{port}"

    def close(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(WSGIRequestHandler):
    timeout = _PATIENCE_S

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401
        """Nothing: a line for every scrape helps nobody."""


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, listen: tuple[str, int], app: Any) -> None:  # noqa: ANN401
        if ":" in listen[0]:
            self.address_family = socket.AF_INET6
        self._free = threading.BoundedSemaphore(AT_ONCE)
        super().__init__(listen, _Handler)
        self.set_app(app)

    def server_bind(self) -> None:
        """Bind without asking a name server for this host's name, which may take seconds."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]
        self.setup_environ()

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Nothing: the client has gone away in the middle; that is its own affair."""


def _app(
    registry: CollectorRegistry, health: Health
) -> "Callable[[WSGIEnvironment, StartResponse], Iterable[bytes]]":
    metrics = make_wsgi_app(registry)
    questions = {"/-/healthy": health.unwell, "/-/ready": health.unready}

    def app(environ: "WSGIEnvironment", start: "StartResponse") -> Iterable[bytes]:
        path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
        if path == "/metrics":
            answer: Iterable[bytes] = metrics(environ, start)
            return answer
        if path not in questions:
            return _said(start, "404 Not Found", "there is /metrics, /-/healthy and /-/ready here")
        if method not in ("GET", "HEAD"):
            return _said(start, "405 Method Not Allowed", "GET or HEAD")
        trouble = questions[path]()
        if trouble is None:
            return _said(start, "200 OK", "yes")
        return _said(start, "503 Service Unavailable", trouble)

    return app


def _said(start: "StartResponse", status: str, line: str) -> Iterable[bytes]:
    body = (line + "\n").encode()
    start(
        status,
        [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body)))],
    )
    return [body]
