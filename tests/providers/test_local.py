"""The embedded recogniser's words, one message at a time."""

import json
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measure.events import Event, StreamDone, StreamReady, Transcript, Unread
from measure.faults import Fault, FaultKind, Whose
from measure.records import FinalRule, Flow, Frame
from providers.codec import ForceContext, Message, Options, ProviderError
from providers.local import Local


def codec(model: str = "moonshine-tiny", **options: str) -> Local:
    return Local(Options(**options), model=model)


def understood(message: Message) -> list[Event]:
    return list(codec().decode(message, at_ns=7))


def refused(message: Message) -> Fault:
    with pytest.raises(ProviderError) as caught:
        understood(message)
    return caught.value.fault


def address(**options: str) -> tuple[str, dict[str, str]]:
    """Where a stream is opened, and what it asks for."""
    parts = urlsplit(codec(**options).open("").url)
    settings = dict(parse_qsl(parts.query, keep_blank_values=True))
    return parts._replace(query="").geturl(), settings


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ('{"type": "ready", "model": "moonshine-tiny"}', StreamReady(7)),
        (
            '{"type": "partial", "segment": 2, "text": "good"}',
            Transcript(7, "good", final=False, segment="2"),
        ),
        (
            '{"type": "final", "segment": 2, "text": "Good day.", "forced": true}',
            Transcript(7, "Good day.", final=True, forced=True, segment="2"),
        ),
        (
            '{"type": "final", "segment": 0, "text": "Good day.", "forced": false}',
            Transcript(7, "Good day.", final=True, forced=False, segment="0"),
        ),
        (
            '{"type": "final", "segment": 3, "text": "", "forced": true}',
            Transcript(7, "", final=True, forced=True, segment="3"),
        ),
        ('{"type": "closed", "audio_ms": 5000.0}', StreamDone(7)),
        ('{"type": "novelty"}', Unread(7, "novelty")),
    ],
)
def test_what_a_message_says(message: str, said: Event) -> None:
    assert understood(message) == [said]
    assert understood(message.encode()) == [said]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("busy", FaultKind.RATE),
        ("too_fast", FaultKind.RATE),
        ("engine", FaultKind.SERVER),
        ("model", FaultKind.PROTOCOL),
        ("odd_bytes", FaultKind.PROTOCOL),
    ],
)
def test_an_error_is_the_providers(code: str, kind: FaultKind) -> None:
    message = json.dumps({"type": "error", "code": code, "message": "why"})
    assert refused(message) == Fault(Whose.PROVIDER, kind, f"{code}: why")


@pytest.mark.parametrize(
    "message",
    [
        "",
        "[]",
        "{}",
        b"\xff",
        '{"type": 1}',
        '{"type": "error"}',
        '{"type": "partial", "segment": 0}',
        '{"type": "partial", "segment": "0", "text": "good"}',
        '{"type": "final", "segment": 0, "text": "good"}',
        '{"type": "final", "segment": 0, "text": "good", "forced": "yes"}',
        '{"type": "final", "segment": 0, "text": null, "forced": true}',
    ],
)
def test_a_broken_promise_is_an_error(message: Message) -> None:
    assert refused(message).kind is FaultKind.PROTOCOL


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(("type", "segment", "text", "forced", "code")), inner)
    ),
    max_leaves=8,
)
KINDS = st.sampled_from(("ready", "partial", "final", "closed", "error", "novelty"))


@given(
    st.one_of(
        st.text(),
        st.binary(),
        JSON.map(json.dumps),
        st.builds(
            lambda kind, rest: json.dumps({"type": kind, **rest}),
            KINDS,
            st.dictionaries(st.sampled_from(("segment", "text", "forced", "code")), JSON),
        ),
    )
)
def test_noise_raises_nothing_but_a_provider_error(message: Message) -> None:
    try:
        events = understood(message)
    except ProviderError:
        events = []
    assert len(events) <= 1


def test_a_conversation_in_the_order_of_its_messages() -> None:
    stream = codec()
    told = (
        {"type": "ready", "model": "moonshine-tiny", "version": 1, "rate": 16000},
        {"type": "partial", "segment": 0, "text": "good"},
        {"type": "final", "segment": 0, "text": "Good day.", "forced": True},
        {"type": "closed", "audio_ms": 740.0},
    )
    events = [event for message in told for event in stream.decode(json.dumps(message), 7)]
    assert events == [
        StreamReady(7),
        Transcript(7, "good", final=False, segment="0"),
        Transcript(7, "Good day.", final=True, forced=True, segment="0"),
        StreamDone(7),
    ]


def test_what_is_said_to_it() -> None:
    stream = codec()
    assert list(stream.hello()) == []
    assert stream.audio(Frame(0, b"\x01\x02", 20.0)) == b"\x01\x02"
    assert [json.loads(said) for said in stream.force(ForceContext(20.0))] == [{"type": "force"}]
    assert [json.loads(said) for said in stream.finish()] == [{"type": "close"}]
    assert list(stream.keepalive()) == []
    assert stream.prepare("") is None


def test_it_looks_on_this_host_for_the_model_that_is_measured() -> None:
    assert address() == (
        "ws://127.0.0.1:8790/v1/listen",
        {"model": "moonshine-tiny", "rate": "16000", "language": "en"},
    )
    assert address(model="pocketsphinx")[1]["model"] == "pocketsphinx"
    assert address(language="ja")[1]["language"] == "ja"


@pytest.mark.parametrize(
    ("url", "where"),
    [
        ("ws://127.0.0.1:40001", "ws://127.0.0.1:40001/v1/listen"),
        ("ws://127.0.0.1:40001/", "ws://127.0.0.1:40001/v1/listen"),
        ("wss://proxy.example/there", "wss://proxy.example/there"),
        ("ws://[::1]:40001", "ws://[::1]:40001/v1/listen"),
    ],
)
def test_it_can_be_elsewhere(url: str, where: str) -> None:
    assert address(url=url)[0] == where


def test_what_the_address_itself_asks_for_stays_as_it_is() -> None:
    _, settings = address(url="ws://127.0.0.1:1?endpoint_ms=500&language=fr")
    assert settings == {
        "model": "moonshine-tiny",
        "rate": "16000",
        "endpoint_ms": "500",
        "language": "fr",
    }


@pytest.mark.parametrize("url", ["http://127.0.0.1:8790", "ws://", "127.0.0.1:8790"])
def test_what_is_no_websocket_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="ws://HOST"):
        codec(url=url)


def test_the_facts_of_a_stream() -> None:
    facts = codec().facts
    assert (facts.rule.flow, facts.rule.final_rule) == (Flow.FORCED, FinalRule.MARKER)
    assert (facts.audio.rate_hz, facts.audio.chunk_ms) == (16_000, 20)
    assert facts.greets
    assert facts.key_variable is None
    assert not codec().open("s3cret").headers


@pytest.mark.parametrize(("code", "kind"), [(1011, FaultKind.SERVER), (1008, FaultKind.PROTOCOL)])
def test_a_close_that_is_no_ordinary_end_is_a_fault(code: int, kind: FaultKind) -> None:
    fault = codec().closed(code, "engine")
    assert fault is not None
    assert fault.kind is kind
    assert codec().closed(1000, "") is None
