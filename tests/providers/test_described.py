"""A provider described in a table: what it says, what it understands, and how mistakes are told."""

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measure.events import (
    Event,
    ForceAcknowledged,
    Notice,
    StreamDone,
    StreamReady,
    Transcript,
    Unread,
)
from measure.faults import FaultKind
from measure.records import FinalRule, Flow, Frame
from providers.codec import Ending, ForceContext, Options, ProviderError
from providers.described import Described, at
from providers.described_shape import DescriptionError, descriptions_of

CONTEXT = ForceContext(100.0)
FULL = """
[[provider]]
name = "acme/fast-1"
url = "wss://acme.example/v1/listen?rate={rate}&language={language}&token={key}"
headers = { X-Key = "{key}", X-Language = "{language}" }
key_variable = "ACME_API_KEY"
hello = [{ type = "start", language = "{language}" }, "go"]
force = [{ type = "flush" }]
finish = ["bye"]
keepalive = [{ type = "ping" }]
keepalive_s = 5
ready.when = { type = "ready" }
ack.when = { type = "flushed" }
done.when = { type = "stopped" }
[[provider.notice]]
when = { type = "pong" }
[provider.audio]
rate_hz = 8000
chunk_ms = 100
base64_key = "audio"
message = { type = "audio" }
[provider.transcript]
when = { type = "transcript" }
text = "channel.alternatives.0.text"
final = "is_final"
segment = "id"
[provider.error]
when = { type = "error" }
code = "error.code"
text = "error.message"
codes = { bad_key = "auth" }
closes = { 4001 = "quota" }
"""
SMALL = """
[[provider]]
name = "acme/small"
url = "ws://acme.example/listen"
[provider.transcript]
when = { type = "text" }
text = "text"
"""

FORCING = SMALL.replace("[provider.t", 'force = ["f"]\n[provider.t')
FINISHING = SMALL.replace("[provider.t", 'finish = ["f"]\n[provider.t')


def table(text: str, **changes: Any) -> dict[str, Any]:  # noqa: ANN401
    read = tomllib.loads(text)
    for place, value in changes.items():
        *inner, last = place.split("__")
        target = read["provider"][0]
        for name in inner:
            target = target[name]
        target[last] = value
    return read


def codec(text: str = FULL, url: str | None = None, **changes: Any) -> Described:  # noqa: ANN401
    (description,) = descriptions_of(table(text, **changes)).values()
    return Described(Options(url=url, language="fr"), description=description)


def heard(one: Described, message: str) -> list[Event]:
    return list(one.decode(message, 7))


def test_the_stream_is_opened_with_everything_filled_in() -> None:
    opened = codec().open("a b")
    assert opened.url == "wss://acme.example/v1/listen?rate=8000&language=fr&token=a%20b"
    assert opened.headers == {"X-Key": "a b", "X-Language": "fr"}


def test_another_address_gets_the_same_path_and_settings() -> None:
    opened = codec(url="ws://127.0.0.1:80").open("k")
    assert opened.url == "ws://127.0.0.1:80/v1/listen?rate=8000&language=fr&token=k"


def test_each_thing_is_said_as_described() -> None:
    one = codec()
    assert list(one.hello()) == ['{"type":"start","language":"fr"}', "go"]
    assert list(one.force(CONTEXT)) == ['{"type":"flush"}']
    assert list(one.finish()) == ["bye"]
    assert list(one.keepalive()) == ['{"type":"ping"}']
    assert one.audio(Frame(0, b"\1\2\3", 1.0)) == '{"type":"audio","audio":"AQID"}'
    assert codec(SMALL).audio(Frame(0, b"\1\2", 1.0)) == b"\1\2"


@pytest.mark.parametrize(
    ("message", "event"),
    [
        ('{"type": "ready"}', StreamReady(7)),
        ('{"type": "flushed"}', ForceAcknowledged(7)),
        ('{"type": "stopped"}', StreamDone(7)),
        ('{"type": "pong"}', Notice(7, "as described")),
        ('{"type": "other"}', Unread(7, "other")),
        ('{"kind": "other"}', Unread(7, "")),
    ],
)
def test_each_thing_is_understood_as_described(message: str, event: Event) -> None:
    assert heard(codec(), message) == [event]


def said(text: object, final: object, name: object = 3) -> str:
    channel = {"alternatives": [{"text": text}]}
    return json.dumps({"type": "transcript", "channel": channel, "is_final": final, "id": name})


def test_a_transcript_is_found_by_its_paths() -> None:
    assert heard(codec(), said("good", False)) == [Transcript(7, "good", False, segment="3")]
    assert heard(codec(), said("", True)) == [Transcript(7, "", True, segment="3")]
    assert heard(codec(), said("", False)) == [Notice(7, "no words yet")]


@pytest.mark.parametrize(("text", "final"), [(None, True), ("x", None), ("x", 1), (["x"], True)])
def test_a_transcript_without_its_parts_is_the_providers_fault(text: object, final: object) -> None:
    with pytest.raises(ProviderError) as refused:
        heard(codec(), said(text, final))
    assert refused.value.fault.kind is FaultKind.PROTOCOL


def test_deltas_are_put_together_until_the_final() -> None:
    one = codec(transcript__text_mode="delta")
    texts = [heard(one, said(text, final)) for text, final in (("go", False), ("od", False))]
    assert [event.text for (event,) in texts if isinstance(event, Transcript)] == ["go", "good"]
    assert heard(one, said("good.", True)) == [Transcript(7, "good.", True, segment="3")]
    assert heard(one, said("day", False)) == [Transcript(7, "day", False, segment="3")]


def test_a_final_may_be_a_message_of_its_own_kind() -> None:
    one = codec(SMALL, transcript__final_when={"done": True})
    assert heard(one, '{"type": "text", "text": "a"}') == [Transcript(7, "a", False)]
    assert heard(one, '{"type": "text", "text": "a", "done": true}') == [Transcript(7, "a", True)]
    assert heard(one, '{"type": "text", "text": "a", "done": 1}') == [Transcript(7, "a", False)]


def test_a_marked_final_answers_the_force() -> None:
    one = codec(SMALL, force=[{"flush": True}], transcript__forced="forced")
    assert one.facts.rule.final_rule is FinalRule.MARKER
    (event,) = heard(one, '{"type": "text", "text": "a", "forced": true}')
    assert event == Transcript(7, "a", True, forced=True)
    (event,) = heard(one, '{"type": "text", "text": "a"}')
    assert event == Transcript(7, "a", True, forced=False)


@pytest.mark.parametrize(
    ("text", "flow", "final_rule", "ending"),
    [
        (FULL, Flow.FORCED, FinalRule.ACK, Ending.SAID),
        (SMALL, Flow.FALLBACK, FinalRule.NONE, Ending.HANG_UP),
        (FORCING, Flow.FORCED, FinalRule.NEXT, Ending.HANG_UP),
        (FINISHING, Flow.FALLBACK, FinalRule.NONE, Ending.CLOSED),
    ],
)
def test_the_rule_follows_from_what_is_described(
    text: str, flow: Flow, final_rule: FinalRule, ending: Ending
) -> None:
    facts = codec(text).facts
    assert (facts.rule.flow, facts.rule.final_rule, facts.ending) == (flow, final_rule, ending)


def test_an_error_is_called_as_described() -> None:
    with pytest.raises(ProviderError) as refused:
        heard(codec(), '{"type": "error", "error": {"code": "bad_key", "message": "no\\nsuch"}}')
    assert refused.value.fault.kind is FaultKind.AUTH
    assert refused.value.fault.detail == "bad_key no such"
    with pytest.raises(ProviderError) as refused:
        heard(codec(), '{"type": "error"}')
    assert refused.value.fault.kind is FaultKind.SERVER
    fault = codec().closed(4001, "")
    assert fault is not None
    assert fault.kind is FaultKind.QUOTA


@given(
    said=st.recursive(
        st.none() | st.text(max_size=3),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab01"), inner),
    ),
    path=st.text("ab01.", min_size=1, max_size=8),
)
def test_a_path_finds_something_or_nothing_and_never_fails(said: object, path: str) -> None:
    at(said, path)


def test_a_path_goes_into_lists_by_number() -> None:
    assert at({"a": [{"b": 1}, {"b": 2}]}, "a.1.b") == 2
    assert at({"a": [1]}, "a.1") is None
    assert at({"a": [1]}, "a.-1") is None
    assert at({"1": "x"}, "1") == "x"


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"name": "Acme"}, "provider[1].name: write PROVIDER/MODEL in small letters"),
        ({"url": "http://acme"}, "provider[1].url: write ws://HOST/PATH or wss://HOST/PATH"),
        ({"url": "wss://x/{key}"}, "provider[1].url: {key} may stand in headers"),
        ({"colour": 1}, "provider[1].colour: there is no such setting"),
        ({"transcript__text": "a..b"}, "provider[1].transcript.text: write a path, such as"),
        ({"transcript__final_when": {"a": 1}}, "provider[1].transcript: give final or final_when"),
        ({"audio__rate_hz": 7}, "provider[1].audio.rate_hz: input should be 8000,"),
        ({"audio__min_chunk_ms": 200}, "provider[1].audio: min_chunk_ms must not"),
        ({"keepalive_s": None}, "provider[1]: keepalive and keepalive_s: give both"),
        ({"key_variable": None}, "provider[1]: {key} in the address or a header"),
        ({"hello": [{"key": "{key}"}]}, "provider[1]: {key} may stand in headers"),
        ({"finish": []}, "provider[1]: done is the answer to finish, which is not given"),
        ({"force": []}, "provider[1]: ack and transcript.forced answer a force"),
        ({"error__codes": {"x": "bad"}}, "provider[1].error.codes.x: input should be"),
        (
            {"error__closes": {"99": "auth"}},
            "provider[1].error.closes: the code of a Close is from",
        ),
        ({"headers": {"a b": "x"}}, "provider[1].headers: the name of a header has letters"),
    ],
)
def test_a_mistake_is_told_with_its_place(changes: dict[str, Any], line: str) -> None:
    with pytest.raises(DescriptionError) as refused:
        descriptions_of(table(FULL, **changes))
    (said,) = str(refused.value).splitlines()
    assert said.startswith(line)


def test_all_mistakes_are_told_at_once_and_no_secret_is_repeated() -> None:
    wrong = table(FULL, url="canary://x", headers={"X": "canary\n"}, key_variable="canary")
    with pytest.raises(DescriptionError) as refused:
        descriptions_of(wrong)
    assert len(str(refused.value).splitlines()) == 3
    assert "canary" not in str(refused.value)


@pytest.mark.parametrize("wrong", [{}, {"provider": []}, {"provider": 7}, {"provider": [7]}])
def test_a_file_without_a_provider_is_told(wrong: dict[str, object]) -> None:
    with pytest.raises(DescriptionError, match="provider"):
        descriptions_of(wrong)


def test_two_of_one_name_are_refused() -> None:
    twice = {"provider": table(FULL)["provider"] * 2}
    with pytest.raises(DescriptionError, match="two providers have the name 'acme/fast-1'"):
        descriptions_of(twice)
