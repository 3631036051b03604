"""Fireworks' streaming speech to text over one websocket.

Audio goes out as binary messages; each message that comes back lists segments, each with all of its
text as it stands now, under a name that is a number. A segment is final once all its words are, or
once there is a later one. There is no force. A checkpoint is a mark of our own in the audio: it
comes back when all before it has been dealt with, and ends the stream here.

    we:    <pcm> <pcm> <pcm> <pcm>           <pcm>               checkpoint final
    they:        0: "the blue"   0: "the blue kettle"   0: final …               checkpoint final
"""

from collections.abc import Iterable, Iterator, Mapping

from measure.events import Event, Notice, StreamDone, Transcript, Unread
from measure.records import Flow, Rule
from providers.codec import AudioFormat, Facts, Message, OpenRequest, Options, Source, TextMode
from providers.families import JsonCodec, address, no_sense

PATH = "/v1/audio/transcriptions/streaming"
URLS = {
    "asr-large": f"wss://audio-streaming.us-virginia-1.direct.fireworks.ai{PATH}",
    "asr-v2": f"wss://audio-streaming-v2.api.fireworks.ai{PATH}",
}
"""Each model has an address of its own, and no other name on the wire."""
PAUSE_S = 1.0
"""The shortest silence that it takes for an end."""
LONGEST_NUMBER = 12


class Fireworks(JsonCodec):
    """One stream to a model."""

    facts = Facts(
        rule=Rule(Flow.FALLBACK),
        audio=AudioFormat(rate_hz=16_000, chunk_ms=50, min_chunk_ms=50, max_chunk_ms=400),
        key_variable="FIREWORKS_API_KEY",
        natural_endpointing=f"on: after {PAUSE_S:g} s of silence, which is the least",
        text_mode=TextMode.REPLACED,
        languages=("en", "multi"),
        prompt="prompt, a text in the style that is wanted",
        sources=(
            Source("docs.fireworks.ai: audio streaming transcriptions", "2025-11-08"),
            Source("livekit/agents, its Fireworks client", "2026-08-22"),
        ),
        why="It cannot be forced, and a checkpoint settles nothing; so its own end of a segment is "
        "awaited, after the shortest silence that can be set.",
        awaits=(
            "What its errors look like once the websocket is open.",
            "Whether a message may leave out segments that are still open.",
            "Whether a checkpoint is answered by the first model alone or by both.",
            "Which of the two addresses of the first model is the better one.",
        ),
    )

    def __init__(self, options: Options, *, model: str = "asr-large") -> None:
        settings = {"response_format": "verbose_json", "text_timeout_seconds": f"{PAUSE_S:.1f}"}
        if options.language != "multi":
            settings["language"] = options.language.partition("-")[0]  # it knows no regions
        self._url = address(options.url or URLS[model], settings, path=PATH, who="Fireworks")
        self._open: dict[int, str] = {}
        self._final: dict[int, str] = {}
        self._newest = -1

    def open(self, key: str) -> OpenRequest:
        return OpenRequest(self._url, {"Authorization": key})  # no Bearer before it

    def finish(self) -> Iterable[Message]:
        """No more audio; tell when all of it has been dealt with."""
        return ('{"checkpoint_id":"final"}',)

    def read(self, said: dict[str, object], at_ns: int) -> Iterator[Event]:
        match said:
            case {"error": {} as error}:
                code = error.get("code") or error.get("status_code")
                raise self.facts.errors.error(code, error.get("message"))
            case {"error": error} if error is not None:
                raise self.facts.errors.error(said.get("status_code"), error)
            case {"checkpoint_id": "final"}:
                yield StreamDone(at_ns)
            case {"segments": list(segments)}:
                yield from self._segments(segments, at_ns)
            case {"checkpoint_id": _} | {"text": str()}:
                yield Notice(at_ns, "no segments")
            case {"object": str(name)}:
                yield Notice(at_ns, name) if name.startswith("stt.") else Unread(at_ns, name)
            case _:
                raise no_sense("a message without segments")

    def _segments(self, segments: list[object], at_ns: int) -> Iterator[Event]:
        """What has changed. The later ones settle the earlier ones."""
        now = dict(_segment(one) for one in segments)
        self._newest = max([self._newest, *now])
        open_ones = {name: (text, False) for name, text in self._open.items()}
        for name, (text, complete) in sorted((open_ones | now).items()):
            settled = complete or name < self._newest
            known = self._final if settled else self._open
            if known.get(name, "") != text:
                yield Transcript(at_ns, text, final=settled, segment=str(name))
            self._open.pop(name, None)
            known[name] = text


def _segment(shown: object) -> tuple[int, tuple[str, bool]]:
    """Its number, its text, and whether all its words are final."""
    match shown:
        case {"id": int(name) | str(name), "text": str(text), **rest} if _is_number(name):
            words = rest.get("words")
            states = [_is_final(word) for word in words] if isinstance(words, list) else []
            return int(name), (text.strip(), bool(states) and all(states))
    raise no_sense("a segment without its number or text")


def _is_number(name: int | str) -> bool:
    return str(name).isdecimal() and len(str(name)) <= LONGEST_NUMBER


def _is_final(word: object) -> bool:
    return isinstance(word, Mapping) and word.get("is_final") is True
