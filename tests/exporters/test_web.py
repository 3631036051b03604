"""The HTTP endpoint, asked for real over loopback."""

import gzip
import http.client
import socket
from collections.abc import Iterator
from contextlib import closing

import pytest

from exporters.prometheus import Metrics
from exporters.settings import Stream
from exporters.web import AT_ONCE, Health, Web
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
    web = Web(("127.0.0.1", 0), metrics.registry, health)
    yield web, health, hand
    web.close()


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
        ("GET", "/", 404),
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
        Web((host, int(port)), Metrics().registry, served[1])


def test_an_ipv6_address_will_do() -> None:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("no IPv6 on this host")
    web = Web(("::1", 0), Metrics().registry, Health(lambda: 0))
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
