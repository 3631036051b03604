"""What is special in Amazon Transcribe: the signed address, events in frames."""

import json
from contextlib import suppress
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.fakes.aws import FakeAws
from measure.events import Event, Notice, Transcript, Unread
from measure.faults import FaultKind
from measure.records import Frame
from providers.aws import Transcribe
from providers.codec import HttpRequest, HttpResponse, Options, ProviderError
from providers.event_stream import EventMessage, decoded, encoded

KEY = "AKIAEXAMPLE:s3cret/canary+1"
WALL_UNIX_S = 1_767_225_600.5
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["Transcript", "Results", "IsPartial", "Alternatives", "ResultId"]),
            inner,
        )
    ),
    max_leaves=12,
)


def event(said: object, **headers: str) -> bytes:
    kinds = {":message-type": "event", ":event-type": "TranscriptEvent"}
    return encoded(EventMessage(kinds | headers, json.dumps(said).encode()))


def results(*said: dict[str, object]) -> bytes:
    return event({"Transcript": {"Results": list(said)}})


def result(text: str, *, partial: bool, name: str = "a") -> dict[str, object]:
    alternatives = [{"Transcript": text}, {"Transcript": "another"}]
    return {"ResultId": name, "IsPartial": partial, "Alternatives": alternatives}


def heard(message: bytes) -> list[Event]:
    return list(Transcribe(Options()).decode(message, 7))


def signed(options: Options | None = None, key: str = KEY) -> dict[str, str]:
    codec = Transcribe(options or Options())
    codec.dated(WALL_UNIX_S)
    return dict(parse_qsl(urlsplit(codec.open(key).url).query))


def test_a_result_is_one_segment_until_it_is_final() -> None:
    assert heard(results(result("the blue", partial=True))) == [
        Transcript(7, "the blue", final=False, segment="a")
    ]
    assert heard(results(result("good", partial=False), result("d", partial=True, name="b"))) == [
        Transcript(7, "good", final=True, segment="a"),
        Transcript(7, "d", final=False, segment="b"),
    ]


def test_results_without_text_say_nothing() -> None:
    assert heard(results()) == [Notice(7, "no results")]
    assert heard(results(result("", partial=True))) == []
    silent: dict[str, object] = {"ResultId": "a", "IsPartial": True, "Alternatives": []}
    assert heard(results(silent)) == [Notice(7, "a result without text")]


def test_an_unheard_of_event_is_not_a_failure() -> None:
    message = encoded(EventMessage({":message-type": "event", ":event-type": "NewEvent"}))
    assert heard(message) == [Unread(7, "NewEvent")]


@given(JSON)
def test_whatever_stands_in_an_event_raises_no_other_error(said: object) -> None:
    with suppress(ProviderError):
        heard(event(said))


def test_the_region_is_that_of_the_host() -> None:
    url = "wss://transcribestreaming.eu-central-1.amazonaws.com:8443"
    credential = signed(Options(url=url))["X-Amz-Credential"]
    assert credential == "AKIAEXAMPLE/20260101/eu-central-1/transcribe/aws4_request"
    assert "/us-east-1/" in signed(Options(url="ws://proxy.test"))["X-Amz-Credential"]


def test_a_language_gets_its_region() -> None:
    assert signed()["language-code"] == "en-US"
    assert signed(Options(language="en-AU"))["language-code"] == "en-AU"


def test_a_setting_in_the_address_is_signed_as_it_is() -> None:
    url = "wss://transcribestreaming.us-west-2.amazonaws.com/?vocabulary-name=one%20two"
    assert signed(Options(url=url))["vocabulary-name"] == "one two"


def test_a_session_has_a_token() -> None:
    assert signed(key="id:secret:to/ken")["X-Amz-Security-Token"] == "to/ken"


@pytest.mark.parametrize("key", ["", "only-one", "a:", ":b", "a:b:", "a:b:c:d"])
def test_a_key_of_another_form_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(ProviderError) as caught:
        Transcribe(Options()).open(key)
    assert caught.value.fault.kind is FaultKind.AUTH
    assert "only-one" not in str(caught.value)


def answer_of(fake: FakeAws, url: str) -> object:
    parts = urlsplit(url)
    request = HttpRequest("GET", f"{parts.path}?{parts.query}", {"host": parts.netloc})
    answer = fake.talk(request, secure=False)
    return answer.status if isinstance(answer, HttpResponse) else 101


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("ws://127.0.0.1:8765", "127.0.0.1:8765"),
        ("ws://Fake.Test:80", "fake.test"),
        ("wss://[::1]:443", "[::1]"),
        ("wss://user.test", "user.test"),
    ],
)
def test_what_is_signed_is_the_host_that_the_request_names(url: str, host: str) -> None:
    codec = Transcribe(Options(url=url))
    codec.dated(WALL_UNIX_S)
    parts = urlsplit(codec.open(KEY).url)
    request = HttpRequest("GET", f"{parts.path}?{parts.query}", {"host": host})
    assert not isinstance(FakeAws(key=KEY).talk(request, secure=False), HttpResponse)


def test_the_fake_knows_a_signature_of_another_key() -> None:
    codec = Transcribe(Options(url="ws://fake.test"))
    codec.dated(WALL_UNIX_S)
    url = codec.open(KEY).url
    assert answer_of(FakeAws(key=KEY), url) == 101
    assert answer_of(FakeAws(), url) == 101
    assert answer_of(FakeAws(key=KEY + "x"), url) == 403
    assert answer_of(FakeAws(key=KEY), url.replace("en-US", "en-GB")) == 403
    assert answer_of(FakeAws(key=KEY), url.partition("?")[0]) == 403


def test_audio_is_one_event_and_its_end_is_an_empty_one() -> None:
    codec = Transcribe(Options())
    message = codec.audio(Frame(0, b"\1\0\2\0", 20.0))
    (end,) = codec.finish()
    assert isinstance(message, bytes)
    assert isinstance(end, bytes)
    assert decoded(message).payload == b"\1\0\2\0"
    assert decoded(end) == EventMessage(decoded(message).headers, b"")
    assert decoded(end).headers == {
        ":content-type": "application/octet-stream",
        ":event-type": "AudioEvent",
        ":message-type": "event",
    }
