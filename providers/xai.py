"""xAI's streaming speech to text: settings in the address, bytes out, JSON in.

Its own endpointing ends each utterance; a force there is not, for ``audio.done`` ends the turn. Of
long speech some 3 s at a time become fixed (``is_final``); the end of the utterance
(``speech_final``) says all of it. Only that is a final here, so that no words count twice.

    we:            <pcm> <pcm> <pcm> <pcm> <pcm>                    audio.done
    they: created        partial  fixed    partial  speech_final               done

Source: docs.x.ai, speech to text, streaming, of 2026, and LiveKit's client of 2026-08-22.
"""

from collections.abc import Iterable, Iterator

from measure.events import Event, StreamDone, StreamReady, Transcript, Unread
from measure.records import FinalRule, Flow, Rule
from providers.codec import (
    AudioFormat,
    Facts,
    Limits,
    Message,
    OpenRequest,
    Options,
    Price,
    Source,
)
from providers.families import JsonCodec, address, no_sense

URL = "wss://api.x.ai"
PATH = "/v1/stt"
ENDPOINTING_MS = 10
"""Silence that ends an utterance; the maker's own choice."""
LANGUAGES = "ar cs da nl en fil fr de hi id it ja ko mk ms fa pl pt ro ru es sv th tr vi"
DOCS = "docs.x.ai, speech to text, streaming"


class Xai(JsonCodec):
    """One stream."""

    facts = Facts(
        rule=Rule(Flow.FALLBACK, FinalRule.NONE),
        audio=AudioFormat(rate_hz=16_000, chunk_ms=100),
        key_variable="XAI_API_KEY",
        greets=True,
        natural_endpointing=f"on: after {ENDPOINTING_MS} ms of silence",
        limits=Limits(streams=100),
        languages=tuple(LANGUAGES.split()),
        prompt="keyterm, up to 100 of 50 characters",
        price=Price(3.33, Source("docs.x.ai, models and pricing", "2026-04-15")),
        sources=(Source(DOCS, "2026"), Source("LiveKit's client", "2026-08-22")),
        why=(
            "Nothing but the end of the turn can be forced, so its own endpointing decides, with"
            " the maker's own value. Partials come every half second, whatever is said."
        ),
        awaits=(
            "Whether what is said at the end of an utterance always repeats all of it.",
            "Whether a second turn can follow audio.done on the same connection.",
            "Its errors have words only: which of them mean what.",
        ),
    )

    def __init__(self, options: Options) -> None:
        settings = {
            "sample_rate": str(self.facts.audio.rate_hz),
            "encoding": "pcm",
            "interim_results": "true",
            "endpointing": str(ENDPOINTING_MS),
            "language": options.language.partition("-")[0],  # it knows no regions
        }
        self._url = address(options.url or URL, settings, path=PATH, who="xAI")
        self._fixed = ""
        self._fixed_from_s = 0.0

    def open(self, key: str) -> OpenRequest:
        return OpenRequest(self._url, {"Authorization": f"Bearer {key}"})

    def finish(self) -> Iterable[Message]:
        return ('{"type": "audio.done"}',)

    def read(self, said: dict[str, object], at_ns: int) -> Iterator[Event]:
        match said:
            case {"type": "transcript.created"}:
                yield StreamReady(at_ns)
            case {
                "type": "transcript.partial",
                "text": str(text),
                "is_final": bool(fixed),
                "speech_final": bool(over),
                **rest,
            }:
                yield from self._heard(text, rest.get("start"), fixed, over, at_ns)
            case {"type": "transcript.done", **rest}:
                yield from self._heard(str(rest.get("text") or ""), None, True, True, at_ns)
                yield StreamDone(at_ns)
            case {"type": "error", **rest}:
                raise self.facts.errors.error(rest.get("code"), rest.get("message"))
            case {"type": "transcript.partial"}:
                raise no_sense("a transcript.partial that is not complete")
            case {"type": str(name)}:
                yield Unread(at_ns, name)
            case _:
                raise no_sense("a message without a type")

    def _heard(
        self, text: str, start_s: object, fixed: bool, over: bool, at_ns: int
    ) -> Iterator[Event]:
        whole = self._whole(text, start_s)
        if whole:
            yield Transcript(at_ns, whole, final=over)
        if over:
            self._fixed = ""
        elif fixed:
            if not self._fixed and isinstance(start_s, int | float):
                self._fixed_from_s = start_s
            self._fixed = whole

    def _whole(self, text: str, start_s: object) -> str:
        """All of the utterance: the text, behind what was fixed before it unless it repeats that.

        It repeats it where it starts as early and is no shorter.
        """
        later = isinstance(start_s, int | float) and start_s > self._fixed_from_s
        if not later and len(text.split()) >= len(self._fixed.split()):
            return text
        return f"{self._fixed} {text}".strip()
