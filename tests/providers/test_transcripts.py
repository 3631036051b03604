"""Whole conversations: what each codec says and hears, line by line, as its provider has it.

The first line of a file says how the stream is opened, the last ones what must be understood.
Audio stands there as so many messages of so many bytes, everything else as it is on the wire.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daemon.conformance.noise import places, with_changed
from measure.events import Event, Notice, StreamDone, Transcript, Unread
from measure.faults import Fault, Whose
from measure.records import Frame
from providers.codec import Codec, ForceContext, HttpResponse, Message, Options, ProviderError
from providers.deepgram import Deepgram
from providers.gladia import Gladia

HERE = Path(__file__).parent / "transcripts"
SHARED = Path(__file__).parents[2].parent / "shared" / "providers" / "transcripts"
KEY = "<key>"
NO_FORCE = ForceContext(audio_ms=0)

Line = dict[str, Any]

CODECS: dict[str, Callable[[], Codec]] = {
    "deepgram_nova3": lambda: Deepgram(Options()),
    "deepgram_nova3_empty_final": lambda: Deepgram(Options()),
    "gladia": lambda: Gladia(Options()),
}
"""The codec that speaks each transcript."""


@dataclass(frozen=True, slots=True)
class Conversation:
    opening: Line | None
    lines: list[Line]
    expected: list[Line]


def conversation(name: str) -> Conversation:
    first, *rest = (json.loads(line) for line in (HERE / f"{name}.jsonl").read_text().splitlines())
    return Conversation(
        first["opening"],
        [line for line in rest if "expected" not in line],
        [line["expected"] for line in rest if "expected" in line],
    )


def query_of(url: str) -> set[tuple[str, str]]:
    return set(parse_qsl(urlsplit(url).query))


def without_query(url: str) -> str:
    return url.partition("?")[0]


def holds(whole: object, part: object) -> bool:
    """``whole`` says all that ``part`` says."""
    if isinstance(whole, dict) and isinstance(part, dict):
        return all(name in whole and holds(whole[name], part[name]) for name in part)
    return whole == part


class Player:
    """Speaks one transcript through a codec: compares what we say, keeps what was understood."""

    def __init__(self, codec: Codec) -> None:
        self.codec = codec
        self.heard: list[Event] = []
        self.forced = 0

    def play(self, line: Line) -> None:
        match line:
            case {"we": "request", "http": shown}:
                self.request(shown)
            case {"they": "response", "http": {"status": status, "json": body}}:
                self.codec.prepared(HttpResponse(status, {}, json.dumps(body).encode()))
                assert self.codec.open(KEY).url == body["url"]
            case {"we": "audio", "bytes": size, "ms": ms}:
                self.audio(size, ms)
            case {"we": dict(shown), "tag": "force"}:
                said = list(self.codec.force(NO_FORCE))
                assert [json.loads(message) for message in said] == [shown]
                self.forced += 1
            case {"we": dict(shown), "tag": "close"}:
                assert [json.loads(message) for message in self.codec.finish()] == [shown]
            case {"they": dict(said), "t": t}:
                self.heard += self.codec.decode(json.dumps(said), at_ns=nanoseconds(t))
            case {"they": "close", "code": code, "reason": reason}:
                assert self.codec.closed(code, reason) is None
            case _:
                pytest.fail(f"a line that nobody plays: {line}")

    def request(self, shown: Line) -> None:
        request = self.codec.prepare(KEY)
        assert request is not None
        assert (request.method, request.url) == (shown["method"], shown["url"])
        assert holds(request.headers, shown["headers"])
        assert holds(json.loads(request.body), shown["json"])

    def audio(self, size: int, ms: int) -> None:
        audio = self.codec.facts.audio
        assert audio.chunk_ms == ms
        assert size == ms * audio.rate_hz * 2 // 1000
        assert self.codec.audio(Frame(0, b"\1" * size, float(ms))) == b"\1" * size


def nanoseconds(t: float) -> int:
    return round(t * 1e9)


def told(events: list[Event]) -> Iterator[Line]:
    """The events as the expectations write them; an unnamed segment is the count of finals."""
    finals = 0
    for event in events:
        at: Line = {"t": event.at_ns / 1e9}
        match event:
            case Transcript(text=text, final=final):
                seg = finals if event.segment is None else event.segment
                finals += final
                if final:
                    yield {**at, "type": "final", "text": text, "seg": seg, "forced": event.forced}
                else:
                    yield {**at, "type": "partial", "text": text, "seg": seg}
            case StreamDone():
                yield {**at, "type": "done"}
            case Notice(name="speech_start"):
                yield {**at, "type": "speech_started"}
            case Notice(name="speech_end"):
                yield {**at, "type": "utterance_end", "forced": None}
            case Notice():
                pass
            case _:
                pytest.fail(f"an event that no transcript has: {event}")


@pytest.mark.parametrize("name", CODECS)
def test_a_transcript_is_spoken_and_understood_to_the_letter(name: str) -> None:
    whole = conversation(name)
    player = Player(CODECS[name]())
    for line in whole.lines:
        player.play(line)
    assert list(told(player.heard)) == whole.expected


@pytest.mark.parametrize("name", CODECS)
def test_a_stream_is_opened_as_the_transcript_shows(name: str) -> None:
    opening = conversation(name).opening
    if opening is None:
        assert CODECS[name]().prepare(KEY) is not None  # the request is a line of its own
        return
    codec = CODECS[name]()
    assert codec.prepare(KEY) is None
    request = codec.open(KEY)
    assert without_query(request.url) == without_query(opening["url"])
    assert query_of(request.url) >= query_of(opening["url"])
    assert request.headers == opening["headers"]
    assert list(codec.hello()) == []


@pytest.mark.parametrize("name", CODECS)
def test_only_what_has_a_force_in_its_transcript_forces(name: str) -> None:
    tags = [line.get("tag") for line in conversation(name).lines]
    assert len(list(CODECS[name]().force(NO_FORCE))) == tags.count("force")


@pytest.mark.parametrize("name", CODECS)
def test_nothing_of_the_published_transcript_was_lost(name: str) -> None:
    if not SHARED.is_dir():
        pytest.skip("the shared transcripts are not there")
    rows = [json.loads(row) for row in (SHARED / f"{name}.jsonl").read_text().splitlines()]
    whole = conversation(name)
    audio = [line for line in whole.lines if line.get("we") == "audio"]
    assert sum(line["messages"] for line in audio) == sum(row.get("tag") == "audio" for row in rows)
    said = [row["data"] for row in rows if row["kind"] == "text"]
    kept = [line.get("we", line.get("they")) for line in whole.lines]
    assert [message for message in kept if isinstance(message, dict)] == said
    expected = json.loads((SHARED / "EXPECTED.json").read_text())
    assert whole.expected == expected[name]["events"]


# Laws: what holds for every message there could be.

MESSAGES: dict[str, list[str]] = {
    name: [
        json.dumps(line["they"])
        for line in conversation(name).lines
        if isinstance(line.get("they"), dict)
    ]
    for name in CODECS
}

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""A law is not a race: a busy machine must not fail it."""

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@st.composite
def mutated(draw: st.DrawFn, message: str) -> str:
    """A message that was once in order: one value changed or left out, or its text damaged."""
    if draw(st.booleans()):
        value = json.loads(message)
        path = draw(st.sampled_from(list(places(value))))
        return json.dumps(with_changed(value, path, draw(st.just(...) | json_values)))
    at = draw(st.integers(0, len(message)))
    return message[:at] + draw(st.text(max_size=4)) + message[at + draw(st.integers(0, 4)) :]


def understood(codec: Codec, message: Message, at_ns: int) -> tuple[list[Event], Fault | None]:
    try:
        return list(codec.decode(message, at_ns)), None
    except ProviderError as error:
        return [], error.fault


def noise(name: str) -> st.SearchStrategy[str | bytes]:
    near = st.sampled_from(MESSAGES[name]).flatmap(mutated)
    deep = st.integers(1, 100_000).map(lambda depth: "[" * depth + "]" * depth)
    error = json_values.map(
        lambda said: json.dumps({"type": "Error", "error": said, "message": said})
    )
    return st.text() | st.binary() | json_values.map(json.dumps) | near | deep | error


@pytest.mark.parametrize("name", ["deepgram_nova3", "gladia"])
@unhurried
@given(data=st.data(), at_ns=st.integers(0, 2**63), finished=st.booleans())
def test_noise_raises_only_the_codecs_own_error_and_no_stamp_is_touched(
    name: str, data: st.DataObject, at_ns: int, finished: bool
) -> None:
    codec = CODECS[name]()
    if finished:
        list(codec.finish())
    events, fault = understood(codec, data.draw(noise(name)), at_ns)
    assert all(event.at_ns == at_ns for event in events)
    assert all(isinstance(event, Transcript | Notice | Unread | StreamDone) for event in events)
    if fault is not None:
        assert fault.whose is Whose.PROVIDER
        assert "\n" not in str(fault)
        assert len(str(fault)) < 300


@pytest.mark.parametrize("name", ["deepgram_nova3", "gladia"])
@pytest.mark.parametrize("depth", [400, 900, 980, 1_000, 100_000])
def test_a_message_of_many_layers_is_no_traceback(name: str, depth: int) -> None:
    layers = "[" * depth + "]" * depth
    for message in (layers, f'{{"type": "Error", "error": {layers}, "message": {layers}}}'):
        with pytest.raises(ProviderError):
            list(CODECS[name]().decode(message, 0))


@pytest.mark.parametrize("name", ["deepgram_nova3", "gladia"])
@unhurried
@given(code=st.none() | st.integers(0, 65_535), reason=st.text(max_size=123))
def test_every_close_is_an_ordinary_end_or_a_fault(
    name: str, code: int | None, reason: str
) -> None:
    codec = CODECS[name]()
    fault = codec.closed(code, reason)
    if code == 1000 and "000" not in reason:
        assert fault is None
    if code in (None, 1006) and "000" not in reason:
        assert fault is not None
        assert fault.whose is Whose.NETWORK
