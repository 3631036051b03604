"""A Wyoming server as one that anyone can run: it streams its words, and answers audio-stop.

The connection stays open behind the transcript, and a new utterance may begin on it.
"""

from collections.abc import Iterable

from daemon.conformance.talker import ALIVE, Reply, Talker
from daemon.fakes.dialect import Audio, Force, Order, Wrong
from daemon.fakes.plain import PlainFake
from providers.codec import Message, Options, ProviderError, parsed
from providers.wyoming import LONGEST_PART_BYTES, Wyoming, event

NOT_UNDERSTOOD = Wrong(1011, "")
"""The real one ends the connection without a word."""
INFO = {"asr": [{"name": "fake", "supports_transcript_streaming": True, "models": []}]}


class FakeWyoming(PlainFake):
    """One speech-to-text service."""

    def stream(self) -> Talker:
        return Utterance()

    def cut(self, come: bytes) -> int | None:
        try:
            return Wyoming(Options()).cut(come)  # both sides cut alike
        except ProviderError:
            return len(come)


class Utterance(Talker):
    """One connection."""

    def __init__(self) -> None:
        self._started = False
        self._shown = ""

    def heard(self, message: Message) -> Order | Reply:
        assert isinstance(message, bytes), "there are no texts on a plain connection"
        try:
            kind, said, payload = _read(message)
        except (ProviderError, TypeError, ValueError):
            return NOT_UNDERSTOOD
        match kind, said:
            case "audio-start", {"rate": int(rate_hz), "width": 2, "channels": 1}:
                self._started, self.rate_hz = True, rate_hz
                return ALIVE
            case "audio-chunk", {"rate": self.rate_hz, "width": 2, "channels": 1}:
                return Audio(payload) if self._started else NOT_UNDERSTOOD
            case "audio-stop", _:
                started, self._started = self._started, False
                return Force() if started else NOT_UNDERSTOOD
            case "transcribe", _:
                return ALIVE
            case "describe", _:
                return Reply((event("info", INFO),))
        return NOT_UNDERSTOOD

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        if not self._shown:
            yield event("transcript-start", {"language": "en"})
        new = text.removeprefix(self._shown)
        if new and (new != text or not self._shown):  # what was shown cannot be taken back
            self._shown = text
            yield event("transcript-chunk", {"text": new})
        if final:
            self._shown = ""
            yield event("transcript", {"text": text, "language": "en"})
            yield event("transcript-stop")

    def farewell(self, rest: str, audio_ms: float) -> Iterable[Message]:
        return ()


def _read(message: bytes) -> tuple[object, dict[str, object], bytes]:
    """Type, what it says of itself, payload."""
    line, _, rest = message.partition(b"\n")
    header = parsed(line)
    size = int(str(header.get("data_length") or 0))
    if not 0 <= size <= LONGEST_PART_BYTES:
        raise ValueError("an impossible length")
    inline = header.get("data")
    more = parsed(rest[:size]) if size else {}
    return header.get("type"), (inline if isinstance(inline, dict) else {}) | more, rest[size:]
