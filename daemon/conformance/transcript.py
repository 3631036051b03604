"""Conversations on paper: what a codec says and hears, line by line, and what it must understand.

    {"opening": {"url": …, "headers": …}}     how it is opened; null where a request is first
    {"t": 0.5, "we": "audio", "messages": 57, "bytes": 640, "ms": 20}
    {"t": 4.0, "we": {"type": "Finalize"}, "tag": "force"}     or opening, close, keepalive
    {"t": 4.1, "they": {"type": "Results", …}}                 or {"raw": "text"}, {"hex": "00ff"}
    {"t": 4.5, "they": "close", "code": 1000, "reason": ""}
    {"expected": {"t": 4.1, "type": "final", "text": "good day", "seg": 0, "forced": true}}

Beside it ``PROVIDER_MODEL.errors.jsonl``, or ``PROVIDER.errors.jsonl`` for all its models: what it
says when it fails, and which failure that is.

    {"they": {"type": "error", …}, "fault": "auth"}
    {"close": 4001, "reason": "", "fault": "auth"}   null: an ordinary end
    {"response": {"status": 400, "json": {…}}, "fault": "protocol"}
"""

import json
import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from daemon.conformance.promise import Broken, Subject, hold
from measure.events import (
    Event,
    ForceAcknowledged,
    ForceRejected,
    StreamDone,
    StreamReady,
    Transcript,
)
from measure.records import Frame
from providers.codec import Codec, Encoding, ForceContext, HttpResponse, Message

KEY = "<key>"
NOT_COMPARED = ("speech_started", "utterance_end")
"""What some providers tell besides; a codec gives it as a Notice or not at all."""

Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Conversation:
    """One file."""

    name: str
    opening: Line | None
    lines: list[Line]
    expected: list[Line]

    @property
    def heard(self) -> list[Message]:
        """What the provider says in it."""
        return [
            message_of(line["they"]) for line in self.lines if isinstance(line.get("they"), dict)
        ]


def conversations(subject: Subject) -> list[Conversation]:
    """All conversations of this model. Raises Broken where a file cannot be read."""
    if subject.transcripts is None:
        return []
    own = subject.model.transcripts
    paths = sorted(subject.transcripts.glob("*.jsonl"))
    return [_read(path) for path in paths if _is_of(path.stem, subject.name, own)]


def _is_of(stem: str, name: str, own: Sequence[str]) -> bool:
    if own:
        return stem in own
    base = _paper_name(name)
    return stem in (name.partition("/")[0], base) or stem.startswith(f"{base}_")


def errors(subject: Subject) -> list[Line]:
    """What this provider says when it fails. Raises Broken where the file cannot be read."""
    if subject.transcripts is None:
        return []
    names = (_paper_name(subject.name), subject.provider)
    paths = [subject.transcripts / f"{name}.errors.jsonl" for name in names]
    return next((_lines(path) for path in paths if path.is_file()), [])


def _paper_name(name: str) -> str:
    """How the files of a model are called: "acme_fast1" of "acme/fast-1"."""
    provider, _, model = name.lower().partition("/")
    return f"{provider}_{re.sub('[^a-z0-9]', '', model)}"


def _lines(path: Path) -> list[Line]:
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    except (OSError, ValueError) as error:
        raise Broken(f"{path.name} cannot be read: {error}") from error


def _read(path: Path) -> Conversation:
    lines = _lines(path)
    hold(lines and "opening" in lines[0], f"{path.name}: the first line must say the opening")
    return Conversation(
        path.stem,
        lines[0]["opening"],
        [line for line in lines[1:] if "expected" not in line],
        [
            line["expected"]
            for line in lines
            if "expected" in line and line["expected"]["type"] not in NOT_COMPARED
        ],
    )


def message_of(shown: Line) -> Message:
    """One message as it is on the wire."""
    match shown:
        case {"raw": str(text), **rest} if not rest:
            return text
        case {"hex": str(digits), **rest} if not rest:
            return bytes.fromhex(digits)
    return json.dumps(shown)


def holds(whole: object, part: object) -> bool:
    """``whole`` says all that ``part`` says."""
    if isinstance(whole, dict) and isinstance(part, dict):
        return all(name in whole and holds(whole[name], part[name]) for name in part)
    return whole == part


class Player:
    """Speaks one conversation through a codec: compares what we say, keeps what was understood."""

    def __init__(self, codec: Codec, conversation: Conversation) -> None:
        self._codec = codec
        self._conversation = conversation
        self._to_say: deque[Message] = deque()
        self._audio_ms = 0.0
        self._messages = 0
        self._forces = 0
        self.heard: list[Event] = []

    def play(self) -> None:
        """The whole of it. Raises Broken at the first line that is not as on paper."""
        if self._conversation.opening is not None:
            self._open(self._conversation.opening)
        for number, line in enumerate(self._conversation.lines, 2):
            try:
                self._play(line)
            except Broken as broken:
                where = f"{self._conversation.name}.jsonl, line {number}"
                raise Broken(f"{where}: {broken}") from None
        hold(not self._to_say, f"says more than is on paper: {list(self._to_say)[:1]}")

    def _open(self, opening: Line) -> None:
        hold(self._codec.prepare(KEY) is None, "wants a request first, which is not on paper")
        request = self._codec.open(KEY)
        url = opening["url"]
        hold(without_query(request.url) == without_query(url), f"opens {_bare(request.url)}")
        missing = query_of(url) - query_of(request.url)
        hold(not missing, f"the address lacks {sorted(missing)}")
        hold(holds(dict(request.headers), opening.get("headers", {})), "other headers")
        self._to_say.extend(self._codec.hello())

    def _play(self, line: Line) -> None:
        match line:
            case {"we": "request", "http": shown}:
                self._request(shown)
            case {"they": "response", "http": {"status": status, "json": body}}:
                self._codec.prepared(HttpResponse(status, {}, json.dumps(body).encode()))
                self._codec.open(KEY)
                self._to_say.extend(self._codec.hello())
            case {"we": "audio", "messages": count, "bytes": size, "ms": ms}:
                self._audio(count, size, ms)
            case {"we": "close"}:
                hold(not list(self._codec.finish()), "announces an end that is not on paper")
            case {"we": dict(shown)}:
                self._say(shown, str(line.get("tag", "opening")))
            case {"they": dict(said), "t": t}:
                self.heard += self._codec.decode(message_of(said), at_ns=nanoseconds(t))
                self._to_say.extend(self._codec.replies())
            case {"they": "close", **rest}:
                fault = self._codec.closed(rest.get("code"), rest.get("reason") or "")
                hold(fault is None, f"takes an ordinary end for a fault: {fault}")
            case _:
                raise Broken("a line that nobody can play")

    def _request(self, shown: Line) -> None:
        request = self._codec.prepare(KEY)
        if request is None:
            raise Broken("makes no request")
        hold((request.method, request.url) == (shown["method"], shown["url"]), "another request")
        hold(holds(dict(request.headers), shown["headers"]), "other headers in the request")
        hold(holds(json.loads(request.body), shown["json"]), "another body of the request")

    def _audio(self, count: int, size: int, ms: float) -> None:
        audio = self._codec.facts.audio
        width = 4 if audio.encoding is Encoding.F32LE else 2
        hold(audio.chunk_ms == ms, f"chunks of {audio.chunk_ms} ms, on paper {ms}")
        samples = round(ms * audio.rate_hz / 1000)
        hold(size == samples * width, f"{samples * width} bytes of audio, on paper {size}")
        for _ in range(count):
            self._audio_ms += ms
            frame = Frame(self._messages, b"\1\0" * samples, self._audio_ms)
            hold(self._codec.audio(frame), "an empty message for audio")
            self._messages += 1

    def _say(self, shown: Line, tag: str) -> None:
        match tag:
            case "force":
                self._forces += 1
                silence_ms = shown.get("trailing_silence_ms", 0)
                context = ForceContext(self._audio_ms, silence_ms, self._forces, self._messages)
                self._to_say.extend(self._codec.force(context))
            case "close":
                self._to_say.extend(self._codec.finish())
            case "keepalive":
                self._to_say.extend(self._codec.keepalive())
        hold(self._to_say, f"says nothing where the paper has {_shown(shown)}")
        said = self._to_say.popleft()
        wanted = message_of(shown)
        same = said == wanted or (
            isinstance(said, str) and _same(said, shown, exact=tag != "opening")
        )
        hold(same, f"says {_shown(said)}, on paper {_shown(shown)}")


def _same(said: str, shown: Line, *, exact: bool) -> bool:
    if list(shown) in (["raw"], ["hex"]):
        return False
    try:
        ours = json.loads(said)
    except ValueError:
        return False
    return ours == shown if exact else holds(ours, shown)


def told(events: Sequence[Event]) -> Iterator[Line]:
    """The events as expectations write them; an unnamed segment is the count of finals."""
    finals = 0
    for event in events:
        at: Line = {"t": event.at_ns / 1e9}
        match event:
            case Transcript(text=text, final=final):
                seg = str(finals) if event.segment is None else event.segment
                finals += final
                if final:
                    yield {**at, "type": "final", "text": text, "seg": seg, "forced": event.forced}
                else:
                    yield {**at, "type": "partial", "text": text, "seg": seg}
            case StreamReady():
                yield {**at, "type": "ready"}
            case ForceAcknowledged():
                yield {**at, "type": "force_ack"}
            case ForceRejected(reason=reason):
                yield {**at, "type": "force_rejected", "reason": reason}
            case StreamDone():
                yield {**at, "type": "done"}


def compared(expected: Line) -> Line:
    """An expectation without what a codec need not give: the provider's own ids."""
    kept = {name: value for name, value in expected.items() if name not in ("id", "synthesised")}
    return {**kept, "seg": str(kept["seg"])} if "seg" in kept else kept


def nanoseconds(t: float) -> int:
    """A moment on paper as a stamp."""
    return round(t * 1e9)


def query_of(url: str) -> set[tuple[str, str]]:
    """The settings in an address."""
    return set(parse_qsl(urlsplit(url).query, keep_blank_values=True))


def without_query(url: str) -> str:
    """An address without its settings."""
    return url.partition("?")[0].rstrip("/")


def _bare(url: str) -> str:
    return without_query(url).replace(KEY, "***")


def _shown(said: object) -> str:
    text = said if isinstance(said, str) else repr(said)
    return text if len(text) <= 120 else text[:117] + "…"
