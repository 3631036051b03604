"""The HTTP endpoint of the exporter process: the server; what it answers is exporters/routes.py.

Each connection is answered in a thread of its own, so many at a time; the TLS handshake happens
there too, so that a client that says nothing keeps nobody else waiting.
"""

import socket
import ssl
import threading
from collections.abc import Callable
from socketserver import TCPServer, ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

AT_ONCE = 16
"""How many requests are answered at the same time; more are turned away."""
_PATIENCE_S = 10.0
"""How long a client may take over its request."""

Tls = Callable[[], ssl.SSLContext | None]
"""How the next connection is protected; None: it is not."""


class Web:
    """The endpoint, answering in threads of its own until ``close``."""

    def __init__(
        self,
        listen: tuple[str, int] | socket.socket,
        app: Any,  # noqa: ANN401
        tls: Tls = lambda: None,
    ) -> None:
        """Begin to answer. Raises OSError where the address or port cannot be had.

        ``listen`` may be a socket that somebody else listens on for us already.
        """
        self._server = _Server(listen, app, tls)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True
        )
        self._thread.start()

    @property
    def address(self) -> str:
        """``host:port`` as it really is."""
        host, port = self._server.socket.getsockname()[:2]
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

    def __init__(
        self,
        listen: tuple[str, int] | socket.socket,
        app: Any,  # noqa: ANN401
        tls: Tls,
    ) -> None:
        self._free = threading.BoundedSemaphore(AT_ONCE)
        self._tls = tls
        if isinstance(listen, socket.socket):
            super().__init__(("", 0), _Handler, bind_and_activate=False)
            self.socket.close()
            self.socket = listen
            self._note_address()
        else:
            if ":" in listen[0]:
                self.address_family = socket.AF_INET6
            super().__init__(listen, _Handler)
        self.set_app(app)

    def server_bind(self) -> None:
        """Bind without asking a name server for this host's name, which may take seconds."""
        TCPServer.server_bind(self)
        self._note_address()

    def _note_address(self) -> None:
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]
        self.setup_environ()

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        try:
            super().process_request_thread(self._protected(request), client_address)
        except OSError:  # no TLS that we understand, or it has gone away
            self.shutdown_request(request)
        finally:
            self._free.release()

    def _protected(self, request: socket.socket) -> socket.socket:
        """The connection with TLS around it, where that is asked for."""
        context = self._tls()
        if context is None:
            return request
        request.settimeout(_PATIENCE_S)
        return context.wrap_socket(request, server_side=True)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Nothing: the client has gone away in the middle; that is its own affair."""
