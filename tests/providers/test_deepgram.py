"""Deepgram's words, one message at a time."""

import json
from urllib.parse import parse_qsl, urlsplit

import pytest

from measure.events import Event, Notice, StreamDone, Transcript, Unread
from measure.faults import Fault, FaultKind, Whose
from measure.records import FinalRule, Flow
from providers.codec import ForceContext, Message, Options, ProviderError
from providers.deepgram import Deepgram

KEY = "s3cret-canary"


def results(text: str, *, is_final: bool, **more: object) -> str:
    channel = {"alternatives": [{"transcript": text, "confidence": 0.9, "words": []}]}
    return json.dumps({"type": "Results", "is_final": is_final, "channel": channel, **more})


def codec(**options: str) -> Deepgram:
    return Deepgram(Options(**options))


def understood(message: Message) -> list[Event]:
    return list(codec().decode(message, at_ns=7))


def refused(message: Message) -> Fault:
    with pytest.raises(ProviderError) as caught:
        understood(message)
    return caught.value.fault


def settings(url: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (results("good", is_final=False), Transcript(7, "good", final=False)),
        (
            results("good day", is_final=True, from_finalize=True),
            Transcript(7, "good day", final=True, forced=True),
        ),
        (
            results("good day", is_final=True, from_finalize=False, speech_final=True),
            Transcript(7, "good day", final=True, forced=False),
        ),
        (results("good day", is_final=True), Transcript(7, "good day", final=True, forced=False)),
        (
            results("", is_final=True, from_finalize=True),
            Transcript(7, "", final=True, forced=True),
        ),
        (results("", is_final=True), Transcript(7, "", final=True, forced=False)),
        ('{"type": "SpeechStarted", "timestamp": 1.5}', Notice(7, "SpeechStarted")),
        ('{"type": "UtteranceEnd"}', Notice(7, "UtteranceEnd")),
        ('{"type": "Novelty"}', Unread(7, "Novelty")),
    ],
)
def test_what_a_message_says(message: str, said: Event) -> None:
    assert understood(message) == [said]


def test_a_partial_without_words_is_no_event() -> None:
    assert understood(results("", is_final=False)) == []


def test_text_in_a_binary_message_is_understood_as_well() -> None:
    message = results("good", is_final=False).encode()
    assert understood(message) == [Transcript(7, "good", final=False)]


def test_metadata_ends_the_stream_only_once_we_have_finished() -> None:
    stream = codec()
    metadata = '{"type": "Metadata", "duration": 3.7}'
    assert list(stream.decode(metadata, 7)) == [Notice(7, "Metadata")]
    list(stream.finish())
    assert list(stream.decode(metadata, 8)) == [StreamDone(8)]


@pytest.mark.parametrize(
    "message",
    [
        "",
        "[]",
        "null",
        '{"kind": 1}',
        '{"type": 1}',
        b"\xff",
        '{"type": "Results"}',
        '{"type": "Results", "is_final": 1, "channel": {"alternatives": [{"transcript": "a"}]}}',
        '{"type": "Results", "is_final": true, "channel": {"alternatives": []}}',
        '{"type": "Results", "is_final": true, "channel": {"alternatives": [{"transcript": 1}]}}',
    ],
)
def test_a_message_that_breaks_its_rules_is_a_protocol_fault(message: Message) -> None:
    assert refused(message).kind is FaultKind.PROTOCOL


@pytest.mark.parametrize(
    ("error", "kind", "detail"),
    [
        ({"description": "no\n such  thing"}, FaultKind.SERVER, "no such thing"),
        ({"variant": "NET-0001", "message": "x"}, FaultKind.TIMEOUT, "NET-0001 x"),
        ({"message": "DATA-0000"}, FaultKind.PROTOCOL, "DATA-0000"),
        ({"message": ["odd"]}, FaultKind.SERVER, ""),
        ({"message": "x" * 10_000}, FaultKind.SERVER, "x" * 200),
    ],
)
def test_an_error_names_its_kind_in_one_short_line(
    error: dict[str, object], kind: FaultKind, detail: str
) -> None:
    fault = refused(json.dumps({"type": "Error", **error}))
    assert fault == Fault(Whose.PROVIDER, kind, detail)


@pytest.mark.parametrize(
    ("code", "reason", "whose", "kind"),
    [
        (1008, "DATA-0000", Whose.PROVIDER, FaultKind.PROTOCOL),
        (1011, "NET-0000", Whose.PROVIDER, FaultKind.SERVER),
        (1011, "NET-0001", Whose.PROVIDER, FaultKind.TIMEOUT),
        (1011, "", Whose.PROVIDER, FaultKind.SERVER),
        (1008, "", Whose.PROVIDER, FaultKind.PROTOCOL),
        (None, "", Whose.NETWORK, FaultKind.CLOSED),
    ],
)
def test_a_close_says_what_failed(
    code: int | None, reason: str, whose: Whose, kind: FaultKind
) -> None:
    fault = codec().closed(code, reason)
    assert fault is not None
    assert (fault.whose, fault.kind) == (whose, kind)
    assert reason in fault.detail
    assert code is None or str(code) in fault.detail


def test_an_ordinary_close_is_no_fault() -> None:
    assert codec().closed(1000, "") is None


def test_it_is_driven_as_its_provider_recommends_for_a_forced_endpoint() -> None:
    request = codec().open(KEY)
    assert request.url.startswith("wss://api.deepgram.com/v1/listen?")
    assert settings(request.url) == {
        "model": "nova-3",
        "language": "en",
        "encoding": "linear16",
        "sample_rate": "16000",
        "channels": "1",
        "interim_results": "true",
        "endpointing": "false",
        "punctuate": "true",
        "smart_format": "false",
        "no_delay": "true",
    }
    facts = codec().facts
    assert (facts.rule.flow, facts.rule.final_rule) == (Flow.FORCED, FinalRule.MARKER)
    assert facts.rule.joiner == " "
    assert (facts.audio.rate_hz, facts.audio.chunk_ms) == (16_000, 20)
    assert facts.key_variable == "DEEPGRAM_API_KEY"
    assert not facts.greets
    assert facts.silence_after_force


def test_orders_are_text_for_its_json_in_a_binary_message_would_be_audio() -> None:
    stream = codec()
    orders = [*stream.force(ForceContext(0)), *stream.keepalive(), *stream.finish()]
    assert all(isinstance(order, str) for order in orders)
    assert [json.loads(order)["type"] for order in orders] == [
        "Finalize",
        "KeepAlive",
        "CloseStream",
    ]


def test_model_and_language_are_what_is_asked_for() -> None:
    stream = Deepgram(Options(language="en-GB"), model="nova-3-medical")
    asked = settings(stream.open(KEY).url)
    assert (asked["model"], asked["language"]) == ("nova-3-medical", "en-GB")


@pytest.mark.parametrize(
    ("address", "opened"),
    [
        ("ws://127.0.0.1:9000", "ws://127.0.0.1:9000/v1/listen"),
        ("ws://127.0.0.1:9000/", "ws://127.0.0.1:9000/v1/listen"),
        ("ws://[::1]:9000", "ws://[::1]:9000/v1/listen"),
        ("wss://proxy.test/dg/listen#top", "wss://proxy.test/dg/listen"),
    ],
)
def test_another_address_keeps_path_and_settings_unless_it_has_its_own(
    address: str, opened: str
) -> None:
    url = codec(url=address).open(KEY).url
    assert url.partition("?")[0] == opened
    assert settings(url) == settings(codec().open(KEY).url)
    assert "#" not in url


def test_what_an_address_sets_itself_stays() -> None:
    url = codec(url="ws://fake.test/?endpointing=300&keyterm=a&keyterm=b&tag=").open(KEY).url
    pairs = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    assert [value for name, value in pairs if name == "endpointing"] == ["300"]
    assert [value for name, value in pairs if name == "keyterm"] == ["a", "b"]
    assert settings(url)["tag"] == ""
    assert settings(url)["model"] == "nova-3"


@pytest.mark.parametrize(
    "address", ["http://a.test", "localhost:9000", "ws://", "a.test", "ws:///x"]
)
def test_an_address_that_is_no_websockets_is_refused_in_one_line(address: str) -> None:
    with pytest.raises(
        ValueError, match=r"^Deepgram: the address must be ws://HOST… or wss://HOST…$"
    ):
        codec(url=address)


def test_the_key_is_in_the_headers_and_in_no_repr() -> None:
    stream = codec()
    request = stream.open(KEY)
    assert request.headers == {"Authorization": f"Token {KEY}"}
    assert KEY not in request.url
    assert KEY not in repr(request) + repr(stream) + repr(vars(stream))
