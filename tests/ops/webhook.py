"""A webhook that keeps what Alertmanager tells it."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Webhook:
    """It listens on loopback until ``close``."""

    def __init__(self) -> None:
        self.alerts: list[dict[str, Any]] = []
        heard = self.alerts

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                heard.extend(json.loads(body)["alerts"])
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/"

    def firing(self, name: str, **labels: str) -> dict[str, Any] | None:
        """An alert of that name that has come, with these labels."""
        wanted = {"alertname": name, **labels}
        for alert in list(self.alerts):
            if alert["status"] == "firing" and wanted.items() <= alert["labels"].items():
                return alert
        return None

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
