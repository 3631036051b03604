"""What a provider has said so far, and the texts that this makes.

A provider speaks in segments: partials repeat a whole segment, a final settles it. The text of an
utterance is the finals in the order in which their segments were first settled, and behind them
the partials of the segments that are still open. What is said again of a settled segment stands in
its place.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from measure.events import Transcript
from measure.records import Answer

Mark = tuple[int, int]
"""A moment and, among equal moments, the order in which they were told."""


@dataclass(frozen=True, slots=True)
class Said:
    """One transcript, and the utterance as it stood once this had been said."""

    mark: Mark
    transcript: Transcript
    utterance: str
    """All finals so far and the open partials behind them, or in the place of their final."""
    finals: str
    """All finals so far."""
    outstanding: bool
    """There are words that no final has settled yet."""
    duplicate: bool
    """A final that its provider had already given, for the same segment in the same words."""

    @property
    def at_ns(self) -> int:
        return self.mark[0]

    @property
    def text(self) -> str:
        return self.transcript.text.strip()

    @property
    def answer(self) -> Answer:
        """Its text with everything that belongs before it."""
        return Answer(self.finals if self.transcript.final else self.utterance, self.at_ns)


class Heard:
    """Every transcript of one stream, in the order in which they came."""

    def __init__(self, joiner: str) -> None:
        self._joiner = joiner
        self._said: list[Said] = []
        self._settled: dict[str | int | None, str] = {}
        self._open: dict[str | int | None, str] = {}

    def add(self, mark: Mark, transcript: Transcript) -> None:
        """Take note of one transcript. Raises ValueError if it is older than the one before."""
        if self._said and mark < self._said[-1].mark:
            raise ValueError(f"transcripts went back {self._said[-1].at_ns - mark[0]} ns")
        duplicate = self._take(transcript)
        still_open = {name: text for name, text in self._open.items() if text.strip()}
        self._said.append(
            Said(
                mark,
                transcript,
                utterance=self._joined((self._settled | still_open).values()),
                finals=self._joined(self._settled.values()),
                outstanding=any(
                    text.strip() != self._settled.get(name, "").strip()
                    for name, text in still_open.items()
                ),
                duplicate=duplicate,
            )
        )

    def before(self, mark: Mark) -> Said | None:
        """The last thing said up to ``mark``."""
        index = bisect_right(self._said, mark, key=lambda said: said.mark)
        return self._said[index - 1] if index else None

    def after(self, mark: Mark) -> list[Said]:
        """Everything said since ``mark``."""
        return self._said[bisect_right(self._said, mark, key=lambda said: said.mark) :]

    def everything(self) -> list[Said]:
        """All of it, from the start."""
        return self._said

    def _take(self, transcript: Transcript) -> bool:
        segment = transcript.segment
        if not transcript.final:
            self._open[segment] = transcript.text
            return False
        if segment is None:
            self._open.clear()
            self._settled[len(self._said)] = transcript.text
            return False
        self._open.pop(segment, None)
        if not transcript.text.strip():
            return False  # it acknowledges or ends a segment; it takes no final back
        earlier = self._settled.get(segment, "")
        self._settled[segment] = transcript.text  # a later final replaces the earlier
        return earlier.strip() == transcript.text.strip()

    def _joined(self, segments: Iterable[str]) -> str:
        return self._joiner.join(text for text in segments if text.strip()).strip()
