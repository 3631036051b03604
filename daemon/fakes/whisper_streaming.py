"""whisper_streaming's server as one that anyone can run: samples in, lines of sure words out.

What its script calls final is just what is said last; a line is never taken back.
"""

from collections.abc import Iterable

from daemon.conformance.talker import Talker
from daemon.fakes.dialect import Audio, Order
from daemon.fakes.plain import PlainFake
from providers.codec import Message


class FakeWhisperStreaming(PlainFake):
    """One client at a time is what the real one serves; this one takes all."""

    has_force = False

    def stream(self) -> Talker:
        return Lines()

    def cut(self, come: bytes) -> int | None:
        return len(come) // 2 * 2 or None


class Lines(Talker):
    """One stream."""

    forces = False

    def __init__(self) -> None:
        self._shown: list[str] = []
        """The words of the open text that have been said."""
        self._end_ms = 0.0

    def heard(self, message: Message) -> Order:
        assert isinstance(message, bytes), "there are no texts on a plain connection"
        return Audio(message)

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        words = text.split()
        new = words[len(self._shown) :]
        self._shown = [] if final else [*self._shown, *new]
        if not new:
            return ()
        line = f"{self._end_ms:.0f} {audio_ms:.0f}  {' '.join(new)}\n"
        self._end_ms = audio_ms
        return (line.encode(),)

    def farewell(self, rest: str, audio_ms: float) -> Iterable[Message]:
        return ()
