"""The words of the local protocol."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.local.protocol import (
    MESSAGE_BYTES,
    Audio,
    Close,
    Closed,
    Error,
    Final,
    Force,
    Order,
    Partial,
    Ready,
    Refusal,
    Said,
    Wishes,
    error_of,
    is_listen,
    told,
    understood,
    wishes_of,
)


def wishes(query: str, endpoint_ms: int | None = None) -> Wishes:
    return wishes_of(f"/v1/listen{query}", model="tiny", endpoint_ms=endpoint_ms)


@pytest.mark.parametrize(
    ("message", "order"),
    [
        (b"", Audio(b"")),
        (b"\x01\x02", Audio(b"\x01\x02")),
        (bytes(MESSAGE_BYTES), Audio(bytes(MESSAGE_BYTES))),
        ('{"type": "force"}', Force()),
        ('{"type":"force","id":7}', Force()),
        ('{"type": "close"}', Close()),
    ],
)
def test_what_a_client_may_say(message: str | bytes, order: Order) -> None:
    assert understood(message) == order


@pytest.mark.parametrize(
    ("message", "code", "close_code"),
    [
        (b"\x01\x02\x03", "odd_bytes", 1008),
        (bytes(MESSAGE_BYTES + 2), "too_long", 1009),
        (" " * (MESSAGE_BYTES + 1), "too_long", 1009),
        ("ä" * (MESSAGE_BYTES // 2 + 1), "too_long", 1009),
        ("", "not_json", 1008),
        ("force", "not_json", 1008),
        ("[" * 5000, "not_json", 1008),
        ('"force"', "no_type", 1008),
        ("{}", "no_type", 1008),
        ('{"type": 1}', "no_type", 1008),
        ('{"type": "Force"}', "unknown_type", 1008),
    ],
)
def test_what_it_may_not(message: str | bytes, code: str, close_code: int) -> None:
    with pytest.raises(Refusal) as refused:
        understood(message)
    assert (refused.value.code, refused.value.close_code) == (code, close_code)


@given(st.one_of(st.text(), st.binary()))
def test_noise_is_understood_or_refused(message: str | bytes) -> None:
    try:
        understood(message)
    except Refusal as refused:
        json.loads(told(error_of(refused)))


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("", Wishes()),
        ("?rate=16000&partials=true", Wishes()),
        ("?model=tiny&language=en", Wishes()),
        ("?partials=false", Wishes(partials=False)),
        ("?endpoint_ms=500", Wishes(endpoint_ms=500)),
        ("?endpoint_ms=100", Wishes(endpoint_ms=100)),
        ("?endpoint_ms=10000", Wishes(endpoint_ms=10_000)),
    ],
)
def test_what_can_be_asked_for(query: str, wanted: Wishes) -> None:
    assert wishes(query) == wanted


def test_who_asks_for_no_endpointing_gets_the_servers_own() -> None:
    assert wishes("", endpoint_ms=700).endpoint_ms == 700
    assert wishes("?endpoint_ms=200", endpoint_ms=700).endpoint_ms == 200
    assert wishes("?endpoint_ms=0", endpoint_ms=700).endpoint_ms is None


@pytest.mark.parametrize(
    ("query", "code", "named"),
    [
        ("?rate=8000", "rate", "16000"),
        ("?rate=", "rate", "16000"),
        ("?model=base", "model", "tiny"),
        ("?language=ja", "language", "en"),
        ("?partials=yes", "query", "true or false"),
        ("?endpoint_ms=99", "query", "100 to 10000"),
        ("?endpoint_ms=10001", "query", "100 to 10000"),
        ("?endpoint_ms=²", "query", "100 to 10000"),
        ("?endpoint_ms=-5", "query", "100 to 10000"),
        ("?endpoint_ms=", "query", "100 to 10000"),
        ("?rate=16000&rate=16000", "query", "twice"),
        ("?tempo=1", "query", "tempo"),
    ],
)
def test_what_cannot_be_asked_for(query: str, code: str, named: str) -> None:
    with pytest.raises(Refusal, match=named) as refused:
        wishes(query)
    assert refused.value.code == code


@given(st.text())
def test_any_query_is_understood_or_refused(query: str) -> None:
    try:
        said = str(wishes("?" + query))
    except Refusal as refused:
        said = told(error_of(refused))
    assert len(said) < 1000


def test_there_is_one_path() -> None:
    assert is_listen("/v1/listen?rate=16000")
    assert not is_listen("/v1/listen/")
    assert not is_listen("/")


@pytest.mark.parametrize(
    ("said", "wire"),
    [
        (
            Ready("moonshine-tiny"),
            {"type": "ready", "model": "moonshine-tiny", "version": 1, "rate": 16000},
        ),
        (Partial(3, "größer"), {"type": "partial", "segment": 3, "text": "größer"}),
        (
            Final(3, "", forced=True),
            {"type": "final", "segment": 3, "text": "", "forced": True},
        ),
        (Closed(1500.0), {"type": "closed", "audio_ms": 1500.0}),
        (Error("busy", "full"), {"type": "error", "code": "busy", "message": "full"}),
    ],
)
def test_what_a_client_is_told(said: Said, wire: dict[str, object]) -> None:
    assert json.loads(told(said)) == wire
