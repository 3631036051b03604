"""What is special in the realtime family and its members; the rest is the conformance kit's."""

import json
from functools import partial

import pytest

from daemon.fakes.realtime import FakeOpenai, FakeQwen, FakeTogether
from measure.events import Event, ForceRejected, Transcript, Unread
from measure.faults import FaultKind
from measure.records import Frame
from providers.codec import ForceContext, HttpRequest, HttpResponse, Options, ProviderError
from providers.families_realtime import ITEM, Dialect, Realtime
from providers.openai import openai
from providers.qwen import qwen
from providers.realtime_servers import CLONE, SGLANG, SPEACHES
from providers.together import together

LIVE = openai("gpt-live-transcribe", live=True)
WHISPER = together("openai/whisper-large-v3")
ASR = qwen("qwen3-asr-flash-realtime")
FORCE = ForceContext(1000.0)
FRAME = Frame(0, b"\1\0" * 160, 10.0)


def codec(dialect: Dialect, **options: str) -> Realtime:
    return Realtime(Options(**options), dialect=dialect)


def hear(spoken_to: Realtime, name: str, **more: object) -> list[Event]:
    return list(spoken_to.decode(json.dumps({"type": name, **more}), 7))


def session_of(spoken_to: Realtime) -> dict[str, object]:
    """What it sets once the session is there."""
    hear(spoken_to, "session.created")
    (message,) = spoken_to.replies()
    said = json.loads(str(message))
    session = said["session"]
    assert isinstance(session, dict)
    return session


def commit(spoken_to: Realtime, item: str) -> None:
    list(spoken_to.force(FORCE))
    hear(spoken_to, "input_audio_buffer.committed", item_id=item)


def test_the_model_is_the_one_that_the_address_names() -> None:
    named = codec(CLONE, url="ws://host:9/v1/realtime?model=of-my-own")
    assert "of-my-own" in json.dumps(session_of(named))
    assert "whisper-1" in json.dumps(session_of(codec(CLONE)))


def test_openai_is_never_asked_for_a_model_in_the_address() -> None:
    assert "model" not in codec(LIVE).open("key").url
    assert "gpt-live-transcribe" in json.dumps(session_of(codec(LIVE)))


@pytest.mark.parametrize("dialect", [LIVE, ASR, SGLANG, CLONE])
def test_a_region_is_left_out_of_the_language(dialect: Dialect) -> None:
    session = json.dumps(session_of(codec(dialect, language="de-AT")))
    assert '"de"' in session
    assert "AT" not in session


@pytest.mark.parametrize("dialect", [LIVE, ASR, SGLANG, CLONE, SPEACHES])
def test_their_own_detector_is_switched_off(dialect: Dialect) -> None:
    assert '"turn_detection": null' in json.dumps(session_of(codec(dialect)))


def test_each_message_to_qwen_has_a_name_of_its_own() -> None:
    spoken_to = codec(ASR)
    hear(spoken_to, "session.created")
    said = [
        *spoken_to.replies(),
        spoken_to.audio(FRAME),
        spoken_to.audio(FRAME),
        *spoken_to.force(FORCE),
        *spoken_to.finish(),
    ]
    names = [json.loads(str(message))["event_id"] for message in said]
    assert len(set(names)) == len(names) == 5


def test_other_members_have_messages_without_names() -> None:
    spoken_to = codec(LIVE)
    assert "event_id" not in str(spoken_to.audio(FRAME))
    assert list(spoken_to.force(FORCE)) == ['{"type":"input_audio_buffer.commit"}']


def test_a_key_is_sent_only_where_there_is_one() -> None:
    assert codec(CLONE).open("").headers == {}
    assert codec(CLONE).open("key").headers == {"Authorization": "Bearer key"}


def test_a_final_is_the_answer_only_if_our_commit_made_its_item() -> None:
    spoken_to = codec(LIVE)
    commit(spoken_to, "ours")
    done = partial(hear, spoken_to, f"{ITEM}completed", transcript="good day")
    (other,) = done(item_id="other")
    (ours,) = done(item_id="ours")
    assert other == Transcript(7, "good day", True, False, segment="other")
    assert ours == Transcript(7, "good day", True, True, segment="ours")


def test_an_item_without_text_has_that_of_its_last_delta_only_where_deltas_say_all() -> None:
    texts = []
    for dialect in (WHISPER, LIVE):
        spoken_to = codec(dialect)
        commit(spoken_to, "item")
        hear(spoken_to, f"{ITEM}delta", item_id="item", delta="good day")
        (final,) = hear(spoken_to, f"{ITEM}completed", item_id="item", transcript="")
        assert isinstance(final, Transcript)
        texts.append(final.text)
    assert texts == ["good day", ""]


def test_a_force_that_is_rejected_is_not_answered_by_a_nameless_final() -> None:
    spoken_to = codec(WHISPER)
    list(spoken_to.force(FORCE))
    error = {"type": "invalid_request_error", "code": "input_audio_buffer_commit_empty"}
    assert hear(spoken_to, "error", error=error) == [ForceRejected(7, error["code"])]
    (final,) = hear(spoken_to, f"{ITEM}completed", transcript="good day")
    assert final == Transcript(7, "good day", True, False)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": "unheard_of", "type": "invalid_request_error"}, FaultKind.PROTOCOL),
        ({"code": "invalid_api_key", "type": "invalid_request_error"}, FaultKind.AUTH),
        ({"code": 401}, FaultKind.AUTH),
        ({"code": None, "type": None, "message": "good luck"}, FaultKind.SERVER),
        ("good luck", FaultKind.SERVER),
        ({"code": ["x"], "type": {"y": 1}}, FaultKind.SERVER),
    ],
)
def test_an_error_is_called_by_its_code_or_else_by_its_type(error: object, kind: FaultKind) -> None:
    with pytest.raises(ProviderError) as raised:
        hear(codec(LIVE), "error", error=error)
    assert raised.value.fault.kind is kind


def test_a_new_kind_of_transcription_message_is_left_unread() -> None:
    assert hear(codec(LIVE), f"{ITEM}segment", item_id="a") == [Unread(7, f"{ITEM}segment")]


def test_nemotron_gets_silence_before_each_commit() -> None:
    looking_ahead = together("nvidia/nemotron-3-asr-streaming-0.6b", looks_ahead=True)
    assert looking_ahead.facts.forcing.silence_before_ms == 1600
    assert WHISPER.facts.forcing.silence_before_ms == 0


@pytest.mark.parametrize(
    ("fake", "address", "status"),
    [
        (FakeOpenai, "/v1/realtime?intent=transcription&model=gpt-4o", 400),
        (FakeOpenai, "/v1/realtime", 400),
        (FakeOpenai, "/v1/other?intent=transcription", 404),
        (FakeTogether, "/v1/realtime?model=m&turn_detection=server_vad", 400),
        (FakeQwen, "/v1/realtime?model=m", 404),
        (FakeQwen, "/api-ws/v1/realtime", 400),
    ],
)
def test_a_fake_refuses_the_address_that_its_provider_would(
    fake: type[FakeOpenai], address: str, status: int
) -> None:
    request = HttpRequest("GET", address, {"authorization": "Bearer key"})
    answer = fake().asked(request, secure=False)
    assert isinstance(answer, HttpResponse)
    assert answer.status == status
