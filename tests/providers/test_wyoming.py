"""Wyoming's messages: a line of JSON, and as many bytes behind it as the line says."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measure.events import Event, Notice, Transcript, Unread
from measure.faults import FaultKind
from measure.records import Frame
from providers.codec import ForceContext, Options, ProviderError
from providers.families_tcp import LONGEST_LINE_BYTES
from providers.wyoming import Wyoming, event
from tests.providers.talk import refused


def understood(*messages: bytes, codec: Wyoming | None = None) -> list[Event]:
    codec = codec or Wyoming(Options())
    return [one for message in messages for one in codec.decode(message, 7)]


def test_chunks_add_up_and_the_transcript_settles_them() -> None:
    said = understood(
        event("transcript-start", {"language": "en"}),
        event("transcript-chunk", {"text": "good "}),
        event("transcript-chunk", {"text": "day"}),
        event("transcript", {"text": " Good day."}),
        event("transcript-stop"),
        event("transcript-chunk", {"text": "you"}),
    )
    assert said == [
        Notice(7, "transcript-start"),
        Transcript(7, "good", final=False),
        Transcript(7, "good day", final=False),
        Transcript(7, "Good day.", final=True),
        Notice(7, "transcript-stop"),
        Transcript(7, "you", final=False),
    ]


def test_what_it_says_of_itself_may_stand_in_the_line_or_behind_it() -> None:
    inline = b'{"type": "transcript", "data": {"text": "good", "language": "en"}}\n'
    both = b'{"type": "transcript", "data": {"text": "no"}, "data_length": 15}\n{"text":"good"}'
    assert understood(inline) == understood(both) == [Transcript(7, "good", final=True)]


def test_an_unknown_message_is_noted_and_a_known_one_does_not_matter() -> None:
    said = understood(event("info", {"asr": []}), event("voice-started", {"timestamp": 7}))
    assert said == [Notice(7, "info"), Unread(7, "voice-started")]


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ({"text": "busy", "code": "429"}, FaultKind.RATE),
        ({"text": "who are you", "code": "401"}, FaultKind.AUTH),
        ({"text": "broken"}, FaultKind.SERVER),
        ({}, FaultKind.SERVER),
    ],
)
def test_an_error_is_one(said: dict[str, object], kind: FaultKind) -> None:
    assert refused(Wyoming(Options()), event("error", said)).kind is kind


def test_an_utterance_is_announced_and_ended() -> None:
    codec = Wyoming(Options(language="en-GB"))
    said = [*codec.hello(), *codec.force(ForceContext(0))]
    shown = [json.loads(bytes(one).partition(b"\n")[0])["type"] for one in said]  # type: ignore[arg-type]
    assert shown == ["transcribe", "audio-start", "audio-stop"]
    assert said[0] == event("transcribe", {"language": "en"})
    assert next(iter(Wyoming(Options(language="multi")).hello())) == event("transcribe")


def test_audio_goes_behind_a_line_that_says_how_much_it_is() -> None:
    message = Wyoming(Options()).audio(Frame(0, b"\n{\x01\x02", 20.0))
    assert isinstance(message, bytes)
    line, _, rest = message.partition(b"\n")
    header = json.loads(line)
    assert header["type"] == "audio-chunk"
    assert header["payload_length"] == 4
    assert json.loads(rest[: header["data_length"]]) == {"rate": 16_000, "width": 2, "channels": 1}
    assert rest[header["data_length"] :] == b"\n{\x01\x02"


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["transcript", "info"]),
            st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=2),
            st.binary(max_size=50),
        ),
        max_size=3,
    ),
    st.data(),
)
def test_messages_are_cut_alike_wherever_the_bytes_are_cut(
    said: list[tuple[str, dict[str, str], bytes]], data: st.DataObject
) -> None:
    messages = [event(*one) for one in said]
    wire, come, cut = b"".join(messages), b"", []
    codec = Wyoming(Options())
    while wire or come:
        while come and (size := codec.cut(come)) is not None:
            cut.append(come[:size])
            come = come[size:]
        taken = data.draw(st.integers(1, max(1, len(wire))))
        come, wire = come + wire[:taken], wire[taken:]
    assert cut == messages


@pytest.mark.parametrize(
    "come",
    [
        b"no JSON\n",
        b'["a list"]\n',
        b'{"type": "x", "payload_length": -1}\n',
        b'{"type": "x", "data_length": 1e9}\n',
        b'{"type": "x", "data_length": "3"}\n',
        b'{"type": "x", "payload_length": 16777217}\n',
        b"{" * LONGEST_LINE_BYTES,
    ],
)
def test_what_can_never_be_a_message_is_refused(come: bytes) -> None:
    with pytest.raises(ProviderError) as caught:
        Wyoming(Options()).cut(come)
    assert caught.value.fault.kind is FaultKind.PROTOCOL


def test_a_message_that_has_not_come_whole_is_waited_for() -> None:
    codec, message = Wyoming(Options()), event("transcript", {"text": "good"}, b"\0" * 9)
    assert all(codec.cut(message[:size]) is None for size in range(len(message)))
    assert codec.cut(message + b"{") == len(message)


def test_behind_its_answer_the_server_may_hang_up_and_before_it_not() -> None:
    codec = Wyoming(Options())
    assert codec.closed(None, "it ended") is not None
    understood(event("transcript", {"text": ""}), codec=codec)
    assert codec.closed(None, "it ended") is None


@pytest.mark.parametrize(
    ("url", "opened"),
    [
        (None, "tcp://localhost:10300"),
        ("tcp://host", "tcp://host:10300"),
        ("tcp://host:", "tcp://host:10300"),
        ("tcps://host:9", "tcps://host:9"),
        ("tcp://[::1]", "tcp://[::1]:10300"),
    ],
)
def test_an_address_without_a_port_gets_the_usual_one(url: str | None, opened: str) -> None:
    assert Wyoming(Options(url=url)).open("").url == opened
