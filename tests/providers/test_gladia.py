"""Gladia's words, one message at a time, and the request before them."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from measure.events import Event, Notice, StreamDone, Transcript, Unread
from measure.faults import Fault, FaultKind, Whose
from measure.records import FinalRule, Flow
from providers.codec import ForceContext, HttpResponse, Message, Options, ProviderError
from providers.gladia import Gladia

KEY = "s3cret-canary"
TOKEN = "t0ken-canary"
STREAM_URL = f"wss://api.gladia.io/v2/live?token={TOKEN}"


def transcript(text: str, *, is_final: bool, segment: str = "00_00000000") -> str:
    data = {"id": segment, "is_final": is_final, "utterance": {"text": text, "words": []}}
    return json.dumps({"type": "transcript", "session_id": "s", "data": data})


def codec(**options: str) -> Gladia:
    return Gladia(Options(**options))


def answer(body: object, status: int = 201, **headers: str) -> HttpResponse:
    return HttpResponse(status, headers, json.dumps(body).encode())


def understood(message: Message) -> list[Event]:
    return list(codec().decode(message, at_ns=7))


def refused(message: Message) -> Fault:
    with pytest.raises(ProviderError) as caught:
        understood(message)
    return caught.value.fault


def unprepared(response: HttpResponse) -> Fault:
    with pytest.raises(ProviderError) as caught:
        codec().prepared(response)
    return caught.value.fault


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (
            transcript("good", is_final=False),
            Transcript(7, "good", final=False, segment="00_00000000"),
        ),
        (
            transcript("good day", is_final=True, segment="00_00000001"),
            Transcript(7, "good day", final=True, forced=None, segment="00_00000001"),
        ),
        (transcript("", is_final=True), Transcript(7, "", final=True, segment="00_00000000")),
        ('{"type": "speech_start", "data": {"time": 0.3}}', Notice(7, "speech_start")),
        ('{"type": "speech_end", "data": {"time": 3.4}}', Notice(7, "speech_end")),
        ('{"type": "start_session"}', Notice(7, "start_session")),
        ('{"type": "start_recording"}', Notice(7, "start_recording")),
        ('{"type": "end_recording", "data": {}}', Notice(7, "end_recording")),
        (
            '{"type": "stop_recording", "acknowledged": true, "error": null}',
            Notice(7, "stop_recording"),
        ),
        ('{"type": "audio_chunk", "acknowledged": true, "data": {}}', Notice(7, "audio_chunk")),
        ('{"type": "post_transcript", "data": {}}', Notice(7, "post_transcript")),
        ('{"type": "post_final_transcript"}', Notice(7, "post_final_transcript")),
        ('{"type": "end_session"}', StreamDone(7)),
        ('{"type": "novelty"}', Unread(7, "novelty")),
    ],
)
def test_what_a_message_says(message: str, said: Event) -> None:
    assert understood(message) == [said]


def test_a_partial_without_words_is_no_event() -> None:
    assert understood(transcript("", is_final=False)) == []


@pytest.mark.parametrize(
    "message",
    [
        "",
        "[]",
        '{"kind": 1}',
        '{"type": 1}',
        b"\xff",
        '{"type": "transcript"}',
        '{"type": "transcript", "data": {"id": "a", "is_final": true}}',
        '{"type": "transcript", "data": {"id": 1, "is_final": true, "utterance": {"text": "a"}}}',
        '{"type": "transcript", "data": {"id": "a", "is_final": 1, "utterance": {"text": "a"}}}',
    ],
)
def test_a_message_that_breaks_its_rules_is_a_protocol_fault(message: Message) -> None:
    assert refused(message).kind is FaultKind.PROTOCOL


@pytest.mark.parametrize(
    ("error", "kind", "detail"),
    [
        ({"status_code": 400, "message": "bad\nchunk"}, FaultKind.PROTOCOL, "400 bad chunk"),
        ({"status_code": 401, "message": "who?"}, FaultKind.AUTH, "401 who?"),
        ({"status_code": 429}, FaultKind.RATE, "429"),
        ({"status_code": 503, "message": ["a"]}, FaultKind.SERVER, "503"),
        ({"message": "broken"}, FaultKind.SERVER, "broken"),
        ("broken", FaultKind.SERVER, "broken"),
        ("x" * 10_000, FaultKind.SERVER, "x" * 200),
        (["odd"], FaultKind.SERVER, ""),
        ("", FaultKind.SERVER, ""),
        (False, FaultKind.SERVER, ""),
    ],
)
def test_an_error_beside_any_type_is_a_failure(error: object, kind: FaultKind, detail: str) -> None:
    for name in ("audio_chunk", "transcript", "end_session", "error"):
        fault = refused(json.dumps({"type": name, "error": error, "data": None}))
        assert fault == Fault(Whose.PROVIDER, kind, detail)


def test_an_error_that_says_nothing_is_one_too() -> None:
    assert refused('{"type": "error"}').kind is FaultKind.SERVER


@pytest.mark.parametrize("code", [4000, 4403, 4999])
def test_a_close_code_of_its_own_says_that_the_session_is_over(code: int) -> None:
    fault = codec().closed(code, "gone")
    assert fault == Fault(
        Whose.PROVIDER, FaultKind.CLOSED, f"Close {code}, the session is over: gone"
    )


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (1011, FaultKind.SERVER),
        (3999, FaultKind.SERVER),
        (5000, FaultKind.SERVER),
        (None, FaultKind.CLOSED),
    ],
)
def test_any_other_close_code_means_what_it_means_everywhere(
    code: int | None, kind: FaultKind
) -> None:
    fault = codec().closed(code, "")
    assert fault is not None
    assert fault.kind is kind


def test_an_ordinary_close_is_no_fault() -> None:
    assert codec().closed(1000, "") is None


def test_a_session_is_asked_for_as_its_provider_recommends() -> None:
    request = codec().prepare(KEY)
    assert (request.method, request.url) == ("POST", "https://api.gladia.io/v2/live")
    assert request.headers == {"X-Gladia-Key": KEY, "Content-Type": "application/json"}
    assert json.loads(request.body) == {
        "encoding": "wav/pcm",
        "bit_depth": 16,
        "sample_rate": 16000,
        "channels": 1,
        "model": "solaria-1",
        "endpointing": 0.05,
        "maximum_duration_without_endpointing": 5,
        "language_config": {"languages": ["en"], "code_switching": False},
        "pre_processing": {"audio_enhancer": False, "speech_threshold": 0.6},
        "messages_config": {
            "receive_partial_transcripts": True,
            "receive_final_transcripts": True,
            "receive_speech_events": True,
            "receive_acknowledgments": False,
            "receive_errors": True,
        },
    }
    facts = codec().facts
    assert (facts.rule.flow, facts.rule.final_rule) == (Flow.FALLBACK, FinalRule.NONE)
    assert (facts.audio.rate_hz, facts.audio.chunk_ms) == (16_000, 100)
    assert facts.key_variable == "GLADIA_API_KEY"
    assert facts.natural_endpointing == "on: after 0.05 s of silence or 5 s of speech"


def test_model_and_language_are_what_is_asked_for_and_a_region_is_left_out() -> None:
    request = Gladia(Options(language="de-AT"), model="solaria-2").prepare(KEY)
    asked = json.loads(request.body)
    assert (asked["model"], asked["language_config"]["languages"]) == ("solaria-2", ["de"])


@pytest.mark.parametrize(
    ("address", "asked"),
    [
        ("http://127.0.0.1:9000", "http://127.0.0.1:9000/v2/live"),
        ("http://127.0.0.1:9000/", "http://127.0.0.1:9000/v2/live"),
        ("https://api.gladia.io?region=us-west", "https://api.gladia.io/v2/live?region=us-west"),
        ("https://proxy.test/gladia", "https://proxy.test/gladia"),
    ],
)
def test_another_address_keeps_the_path_unless_it_has_its_own(address: str, asked: str) -> None:
    assert codec(url=address).prepare(KEY).url == asked


@pytest.mark.parametrize("address", ["ws://a.test", "localhost:9000", "http://", "a.test"])
def test_an_address_that_is_not_for_http_is_refused_in_one_line(address: str) -> None:
    with pytest.raises(
        ValueError, match=r"^Gladia: the address must be http://HOST… or https://HOST…$"
    ):
        codec(url=address)


@pytest.mark.parametrize("status", [200, 201])
@pytest.mark.parametrize("url", [STREAM_URL, "ws://127.0.0.1:9000/anything?token=1"])
def test_the_stream_is_opened_where_the_answer_says_and_without_a_key(
    status: int, url: str
) -> None:
    stream = codec()
    stream.prepared(answer({"id": "s", "url": url}, status))
    request = stream.open(KEY)
    assert request.url == url
    assert request.headers == {}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, FaultKind.HANDSHAKE),
        (401, FaultKind.AUTH),
        (402, FaultKind.QUOTA),
        (403, FaultKind.AUTH),
        (429, FaultKind.RATE),
        (500, FaultKind.SERVER),
        (504, FaultKind.TIMEOUT),
    ],
)
def test_a_refused_session_says_why(status: int, kind: FaultKind) -> None:
    fault = unprepared(answer({"message": "because"}, status, **{"Retry-After": "30"}))
    assert (fault.whose, fault.kind) == (Whose.PROVIDER, kind)
    assert str(status) in fault.detail
    assert fault.retry_after_s == 30


def test_its_words_explain_a_refusal() -> None:
    fault = unprepared(answer({"message": "endpointing must\nnot be less than 0.01"}, 422))
    assert fault.detail == "HTTP 422, endpointing must not be less than 0.01"


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"message": 1}'])
def test_a_refusal_without_words_of_its_own_is_its_status(body: bytes) -> None:
    assert unprepared(HttpResponse(502, {}, body)).detail == "HTTP 502"


@pytest.mark.parametrize(
    "body", [{}, {"id": "s"}, {"url": 1}, {"url": "https://a.test"}, {"url": ""}, [], None]
)
def test_a_session_without_a_websocket_address_is_a_protocol_fault(body: object) -> None:
    assert unprepared(answer(body)).kind is FaultKind.PROTOCOL


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    status=st.integers(100, 599),
    body=st.binary()
    | st.dictionaries(st.sampled_from(["url", "message"]), st.text()).map(
        lambda said: json.dumps(said).encode()
    ),
)
def test_any_answer_opens_the_stream_or_is_a_fault_of_the_provider(
    status: int, body: bytes
) -> None:
    stream = codec()
    fault = None
    try:
        stream.prepared(HttpResponse(status, {}, body))
    except ProviderError as error:
        fault = error.fault
    if fault is None:
        assert stream.open(KEY).url.startswith(("ws://", "wss://"))
    else:
        assert fault.whose is Whose.PROVIDER
        assert "\n" not in fault.detail
        assert len(fault.detail) < 300


def test_it_is_a_mistake_of_ours_to_open_before_the_answer() -> None:
    with pytest.raises(RuntimeError, match="prepared"):
        codec().open(KEY)


def test_there_is_no_force_and_the_end_is_an_order_in_text() -> None:
    stream = codec()
    assert list(stream.force(ForceContext(0))) == []
    (said,) = stream.finish()
    assert json.loads(said) == {"type": "stop_recording"}


def test_it_is_kept_alive_with_audio_of_no_length() -> None:
    (said,) = codec().keepalive()
    assert json.loads(said) == {"type": "audio_chunk", "data": {"chunk": ""}}


def test_neither_key_nor_token_is_in_any_repr_or_error() -> None:
    stream = codec()
    asked = stream.prepare(KEY)
    assert KEY not in repr(asked) + repr(stream) + repr(vars(stream))
    echo = answer({"message": f"the key {KEY} is not known"}, 401)
    assert KEY not in repr(echo) + str(unprepared(echo))
    stream.prepared(answer({"id": "s", "url": STREAM_URL}))
    assert TOKEN not in repr(stream) + repr(stream.open(KEY)) + repr(answer({"url": STREAM_URL}))
    odd = unprepared(answer({"url": STREAM_URL.replace("wss", "ftp")}))
    assert TOKEN not in repr(odd)
