"""What can be asked for over HTTP, and what is answered; the server itself is exporters/web.py.

What is plain text to a program is a page to whoever looks with a browser.

/                  the status page
/metrics           Prometheus text, or OpenMetrics for whoever accepts it
/-/healthy         200 while the measuring process gives signs of life, else 503
/-/ready           200 while it can measure and keep what it measures, else 503
/-/reload          POST or PUT: take the configuration file again; 500 says why it was not taken
/config            the running configuration, without secrets
/api/v1/sessions   the newest sessions as JSON lines; ?since=UNIX_SECONDS
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import orjson
from prometheus_client import CollectorRegistry, make_wsgi_app

from exporters.health import Health
from exporters.markup import notice
from exporters.pages import status_page
from exporters.recent import Recent
from exporters.web_config import WebConfig

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

    App = Callable[[WSGIEnvironment, StartResponse], Iterable[bytes]]

TEXT = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"
LOOK = ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer."""

    status: str
    body: bytes
    kind: str = TEXT
    headers: tuple[tuple[str, str], ...] = ()
    title: str | None = None
    """Of the page that a browser is given instead of plain text; by default its status."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What the answers are made from."""

    registry: CollectorRegistry
    health: Health
    recent: Recent
    wall_s: Callable[[], float]
    reload: Callable[[], str | None] | None = None
    """Takes the configuration again and says why it could not be; None: nobody may ask for it."""
    protection: Callable[[], WebConfig] = WebConfig
    """Who may ask, as the file says now."""


def app_of(sources: Sources) -> "App":
    """The application that answers."""
    metrics = make_wsgi_app(sources.registry)
    routes = _routes(sources)

    def app(environ: "WSGIEnvironment", start: "StartResponse") -> Iterable[bytes]:
        if not sources.protection().admits(environ.get("HTTP_AUTHORIZATION")):
            return _send(_NOT_ADMITTED, environ, start)
        path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
        if path not in routes and path != "/metrics":
            known = ", ".join(("/metrics", *routes))
            return _send(_said("404 Not Found", f"there is {known} here"), environ, start)
        allowed = ("POST", "PUT") if path == "/-/reload" else LOOK
        if method not in allowed:
            return _send(_said("405 Method Not Allowed", " or ".join(allowed)), environ, start)
        if path == "/metrics":
            answer: Iterable[bytes] = metrics(environ, start)
            return answer
        return _send(routes[path](environ.get("QUERY_STRING", "")), environ, start)

    return app


def _routes(sources: Sources) -> dict[str, Callable[[str], Answer]]:
    health, recent = sources.health, sources.recent

    def page(query: str) -> Answer:
        html = status_page(
            recent, unwell=health.unwell(), unready=health.unready(), now_s=sources.wall_s()
        )
        return Answer("200 OK", html.encode(), HTML)

    def config(query: str) -> Answer:
        said = recent.configuration.rstrip() or "the built-in settings"
        return replace(_said("200 OK", said), title="Configuration")

    return {
        "/": page,
        "/-/healthy": lambda query: _yes_or(health.unwell()),
        "/-/ready": lambda query: _yes_or(health.unready()),
        "/-/reload": lambda query: _reloaded(sources.reload),
        "/config": config,
        "/api/v1/sessions": lambda query: _sessions(recent, query),
    }


def _yes_or(trouble: str | None) -> Answer:
    if trouble is None:
        return _said("200 OK", "yes")
    return _said("503 Service Unavailable", trouble)


def _reloaded(reload: Callable[[], str | None] | None) -> Answer:
    if reload is None:
        said = "reloading over HTTP is not turned on: start with --web.enable-lifecycle"
        return _said("403 Forbidden", said)
    trouble = reload()
    if trouble is None:
        return _said("200 OK", "the new configuration is taken")
    return _said("500 Internal Server Error", trouble)


def _sessions(recent: Recent, query: str) -> Answer:
    given = parse_qs(query).get("since", ["0"])[-1]
    try:
        since = float(given)
    except ValueError:
        return _said("400 Bad Request", "since: give a Unix time in seconds, such as 1700000000")
    lines = b"".join(orjson.dumps(one) + b"\n" for one in recent.since(since))
    return Answer("200 OK", lines, "application/x-ndjson")


def _said(status: str, line: str) -> Answer:
    return Answer(status, (line + "\n").encode())


def _send(answer: Answer, environ: "WSGIEnvironment", start: "StartResponse") -> Iterable[bytes]:
    if answer.kind == TEXT:
        answer = _as_asked(answer, environ.get("HTTP_ACCEPT", ""))
    headers = [
        ("Content-Type", answer.kind),
        ("Content-Length", str(len(answer.body))),
        ("X-Content-Type-Options", "nosniff"),
        *answer.headers,
        *(_NO_SCRIPTS if answer.kind == HTML else ()),
    ]
    start(answer.status, headers)
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [answer.body]


def _as_asked(answer: Answer, accept: str) -> Answer:
    """Plain text, or a page for whoever asks for one: phones show plain text too small."""
    headers = (*answer.headers, ("Vary", "Accept"))
    if "text/html" not in accept:
        return replace(answer, headers=headers)
    page = notice(answer.title or answer.status, answer.body.decode().rstrip())
    return replace(answer, body=page.encode(), kind=HTML, headers=headers)


_NO_SCRIPTS = (("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'"),)
_NOT_ADMITTED = Answer(
    "401 Unauthorized",
    b"a name and a password are asked for\n",
    headers=(("WWW-Authenticate", 'Basic realm="speechbench", charset="UTF-8"'),),
)
