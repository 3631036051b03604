"""The HTTP endpoint, asked for real over loopback."""

import base64
import gzip
import html
import http.client
import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import bcrypt
import pytest
import trustme

from exporters.health import Health
from exporters.prometheus import Metrics
from exporters.recent import Recent
from exporters.routes import Sources, app_of
from exporters.settings import Stream
from exporters.web import AT_ONCE, Web
from exporters.web_config import WebConfig
from measure.records import SECOND
from tests.exporters.records import STREAM, Hand, finished, started

Served = tuple[Web, Health, Hand]
OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"


@pytest.fixture
def served() -> Iterator[Served]:
    hand = Hand()
    health = Health(hand.clock.mono_ns)
    metrics = Metrics([Stream(**STREAM)])
    metrics.take(started())
    metrics.take(finished())
    recent = Recent("0.1.0", "host-1")
    recent.take(finished())
    web = Web(("127.0.0.1", 0), app_of(Sources(metrics.registry, health, recent, lambda: 0.0)))
    yield web, health, hand
    web.close()


def empty_app() -> object:
    recent = Recent("0.1.0", "host-1")
    return app_of(Sources(Metrics().registry, Health(lambda: 0), recent, lambda: 0.0))


def asked(
    web: Web, path: str, method: str = "GET", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    with closing(http.client.HTTPConnection(web.address, timeout=10)) as connection:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()


def test_metrics_are_served_as_text(served: Served) -> None:
    status, headers, body = asked(served[0], "/metrics")
    assert status == 200
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert b"\nspeechbench_sessions_total{" in body
    assert b"# EOF" not in body


def test_metrics_are_served_as_openmetrics_with_exemplars_to_whoever_can_read_it(
    served: Served,
) -> None:
    status, headers, body = asked(served[0], "/metrics", Accept=OPENMETRICS)
    assert status == 200
    assert headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    assert body.endswith(b"# EOF\n")
    assert b'# {session_id="s-1"} 0.3125' in body


def test_metrics_are_compressed_for_whoever_can_read_it(served: Served) -> None:
    _, headers, body = asked(served[0], "/metrics", **{"Accept-Encoding": "gzip"})
    assert headers["Content-Encoding"] == "gzip"
    assert b"speechbench_sessions_total" in gzip.decompress(body)


def test_the_process_that_serves_is_measured_too(served: Served) -> None:
    assert b"\nprocess_resident_memory_bytes " in asked(served[0], "/metrics")[2]


def test_it_is_healthy_as_long_as_the_measuring_process_gives_signs_of_life(
    served: Served,
) -> None:
    web, health, hand = served
    assert asked(web, "/-/healthy")[0] == 200
    hand.turn(5)
    assert asked(web, "/-/healthy")[0] == 200
    hand.turn(0.001)
    status, _, body = asked(web, "/-/healthy")
    assert (status, body) == (503, b"the measuring process has been silent for 5 s\n")
    health.heard_ns = hand.clock.mono_ns()
    assert asked(web, "/-/healthy")[0] == 200


def test_it_is_ready_when_it_measures_and_can_keep_what_it_measures(served: Served) -> None:
    web, health, _ = served
    assert asked(web, "/-/ready")[::2] == (503, b"starting or ending\n")
    health.ready = True
    assert asked(web, "/-/ready")[0] == 200
    health.journal_full = True
    assert asked(web, "/-/ready")[::2] == (503, b"the journal is full\n")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 200),
        ("GET", "/config", 200),
        ("GET", "/nothing", 404),
        ("GET", "/-/reload", 405),
        ("POST", "/-/reload", 403),
        ("GET", "/api/v1/sessions?since=yesterday", 400),
        ("GET", "/metrics/more", 404),
        ("POST", "/metrics", 405),
        ("POST", "/-/healthy", 405),
        ("HEAD", "/-/healthy", 200),
        ("GET", "/metrics?name[]=speechbench_frames_total", 200),
    ],
)
def test_there_is_nothing_else(served: Served, method: str, path: str, status: int) -> None:
    assert asked(served[0], path, method)[0] == status


def test_a_taken_port_is_an_error(served: Served) -> None:
    host, port = served[0].address.split(":")
    with pytest.raises(OSError, match="Address already in use"):
        Web((host, int(port)), empty_app())


def test_an_ipv6_address_will_do() -> None:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("no IPv6 on this host")
    web = Web(("::1", 0), empty_app())
    try:
        assert web.address.startswith("[::1]:")
        assert asked(web, "/-/healthy")[0] == 200
    finally:
        web.close()


def test_a_client_that_says_nothing_or_leaves_keeps_nobody_else_from_an_answer(
    served: Served,
) -> None:
    host, port = served[0].address.split(":")
    silent = [socket.create_connection((host, int(port))) for _ in range(AT_ONCE // 2)]
    silent[0].sendall(b"GET /metr")
    silent[0].close()
    assert asked(served[0], "/-/healthy")[0] == 200
    for connection in silent[1:]:
        connection.close()


def test_more_clients_than_can_be_answered_are_turned_away(served: Served) -> None:
    host, port = served[0].address.split(":")
    silent = [socket.create_connection((host, int(port))) for _ in range(AT_ONCE + 1)]
    turned_away = silent[-1]
    turned_away.settimeout(10)
    assert turned_away.recv(1) == b""
    for connection in silent:
        connection.close()


def test_one_client_after_the_other_may_ask_as_often_as_it_likes(served: Served) -> None:
    for _ in range(3 * AT_ONCE):
        assert asked(served[0], "/-/healthy")[0] == 200


def test_silence_is_counted_from_the_start() -> None:
    hand = Hand()
    assert Health(hand.clock.mono_ns).heard_ns == 1000 * SECOND


def test_the_newest_sessions_are_lines_of_json(served: Served) -> None:
    status, headers, body = asked(served[0], "/api/v1/sessions")
    assert (status, headers["Content-Type"]) == (200, "application/x-ndjson")
    (line,) = body.splitlines()
    assert json.loads(line)["session_id"] == "s-1"
    assert asked(served[0], "/api/v1/sessions?since=1700000007")[2] == b""
    assert asked(served[0], "/api/v1/sessions?since=1700000006.5")[2] == body


def test_the_page_allows_no_scripts(served: Served) -> None:
    status, headers, body = asked(served[0], "/")
    assert status == 200
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert b"speechbench on host-1" in body


def test_a_head_has_no_body(served: Served) -> None:
    status, headers, body = asked(served[0], "/", "HEAD")
    assert (status, body) == (200, b"")
    assert int(headers["Content-Length"]) > 500


BROWSER = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize(
    ("path", "method", "status", "title"),
    [
        ("/config", "GET", 200, "Configuration"),
        ("/nothing", "GET", 404, "404 Not Found"),
        ("/-/ready", "GET", 503, "503 Service Unavailable"),
        ("/-/reload", "GET", 405, "405 Method Not Allowed"),
        ("/-/reload", "POST", 403, "403 Forbidden"),
    ],
)
def test_a_browser_gets_a_page_where_a_program_gets_a_line(
    served: Served, path: str, method: str, status: int, title: str
) -> None:
    found, headers, body = asked(served[0], path, method, Accept=BROWSER)
    assert (found, headers["Content-Type"]) == (status, "text/html; charset=utf-8")
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert f"<h1>{title}</h1>".encode() in body
    plain_status, plain_headers, plain = asked(served[0], path, method)
    assert (plain_status, plain_headers["Content-Type"]) == (status, "text/plain; charset=utf-8")
    assert plain.startswith(html.unescape(body.decode().partition("<pre>")[2])[:10].encode())
    assert headers["Vary"] == plain_headers["Vary"] == "Accept"


def test_the_metrics_are_the_same_for_a_browser(served: Served) -> None:
    _, headers, _ = asked(served[0], "/metrics", Accept=BROWSER)
    assert headers["Content-Type"].startswith("text/plain")


@contextmanager
def other(**changes: Any) -> Iterator[Web]:  # noqa: ANN401
    """A server with something special."""
    tls = changes.pop("tls", lambda: None)
    listen = changes.pop("listen", ("127.0.0.1", 0))
    recent = Recent("0.1.0", "host-1")
    sources = Sources(Metrics().registry, Health(lambda: 0), recent, lambda: 0.0, **changes)
    web = Web(listen, app_of(sources), tls)
    try:
        yield web
    finally:
        web.close()


def test_a_reload_says_whether_it_worked() -> None:
    answers = iter([None, "speechbench.toml: model[1].name: there is no model of that name"])
    with other(reload=lambda: next(answers)) as web:
        assert asked(web, "/-/reload", "POST")[0] == 200
        status, _, body = asked(web, "/-/reload", "PUT")
        assert (status, body[:24]) == (500, b"speechbench.toml: model[")


def test_without_the_password_nothing_is_shown() -> None:
    hashed = bcrypt.hashpw(b"open sesame", bcrypt.gensalt(4))
    with other(protection=lambda: WebConfig(users={"reader": hashed})) as web:
        for path in ("/", "/metrics", "/-/healthy", "/config", "/nothing"):
            status, headers, _ = asked(web, path)
            assert status == 401
            assert headers["WWW-Authenticate"].startswith("Basic ")
        _, headers, body = asked(web, "/", Accept=BROWSER)
        assert headers["WWW-Authenticate"].startswith("Basic ")
        assert b"<h1>401 Unauthorized</h1>" in body
        right = "Basic " + base64.b64encode(b"reader:open sesame").decode()
        assert asked(web, "/metrics", Authorization=right)[0] == 200


def test_over_tls_it_answers_who_trusts_it_and_nobody_in_plain() -> None:
    authority = trustme.CA()
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert("127.0.0.1").configure_cert(server)
    authority.configure_trust(client)
    with other(tls=lambda: server) as web:
        with closing(http.client.HTTPSConnection(web.address, context=client)) as connection:
            connection.request("GET", "/-/healthy")
            assert connection.getresponse().status == 200
        with pytest.raises((OSError, http.client.HTTPException)):
            asked(web, "/-/healthy")


def test_a_socket_that_another_opened_will_do() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    with other(listen=listening) as web:
        assert web.address == "{}:{}".format(*listening.getsockname())
        assert asked(web, "/-/healthy")[0] == 200
