"""What a script file may hold: every setting with its range, and a default that does no harm."""

import base64
from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from daemon.fakes import FAKES

WORDS = "the blue kettle is on the second shelf near the kitchen window"

Seconds = Annotated[float, Field(ge=0, le=3600)]
AudioMs = Annotated[float, Field(ge=0, le=3_600_000)]
Text = Annotated[str, Field(max_length=10_000)]
Count = Annotated[int, Field(ge=1, le=1000)]


class Section(BaseModel):
    """One table of the file: nothing unknown in it, and it never changes."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class SpeechSection(Section):
    """One utterance as all providers tell it: growing partials, then a final."""

    text: Text = WORDS
    start_ms: AudioMs = 300.0
    end_ms: AudioMs = 2400.0
    after_s: Seconds = 0.15
    """How long after a force its answer comes."""
    pause_ms: AudioMs = 300.0
    """Where nothing can be forced: so much audio after its end the final comes."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.end_ms < self.start_ms:
            raise ValueError(f"end_ms must not be below start_ms ({self.start_ms:g})")
        return self


class LineSection(Section):
    """One transcript."""

    text: Text | None = None
    """None: the words of the last partial."""
    audio_ms: AudioMs = 0.0
    after_s: Seconds = 0.0
    final: bool = False
    marked: bool | None = None
    times: Count = 1


class AnswerSection(Section):
    """One transcript of the answer to a force."""

    force: Annotated[int, Field(ge=1, le=1000)] = 1
    """Which force it answers, counted from 1."""
    text: Text | None = None
    after_s: Seconds = 0.0
    final: bool = True
    marked: bool | None = None
    times: Count = 1


class MomentSection(Section):
    """When something goes wrong."""

    at: Literal["connected", "open", "audio", "force", "final", "finish"]
    audio_ms: AudioMs = 0.0
    """With at = "audio": once so much audio has come."""
    after_s: Seconds = 0.0

    @model_validator(mode="after")
    def _audio_only_there(self) -> Self:
        if self.audio_ms and self.at != "audio":
            raise ValueError(f'audio_ms needs at = "audio", not "{self.at}"')
        return self


class HangUpSection(MomentSection):
    """The connection ends."""

    code: Annotated[int, Field(ge=1000, le=4999)] | None = None
    """Of the Close; without it the connection just ends."""
    reason: Annotated[str, Field(max_length=120)] = ""
    reset: bool = False
    """With RST instead of FIN."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.reset and self.code is not None:
            raise ValueError("a connection is reset or closed with a code, not both")
        if self.code in (1004, 1005, 1006, 1015):
            raise ValueError(f"no Close can carry the code {self.code}")
        return self


class SaySection(MomentSection):
    """A message out of turn: text, or base64 of what is not."""

    text: Text | None = None
    base64: Text | None = None
    times: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    raw: bool = False

    @model_validator(mode="after")
    def _one_message(self) -> Self:
        if (self.text is None) == (self.base64 is None):
            raise ValueError("exactly one of text and base64 must be given")
        if self.base64 is not None:
            try:
                base64.b64decode(self.base64, validate=True)
            except ValueError as error:
                raise ValueError("base64 is not base64") from error
        return self

    @property
    def message(self) -> str | bytes:
        return base64.b64decode(self.base64) if self.base64 is not None else self.text or ""


class FloodSection(MomentSection):
    """Partials without end."""

    at: Literal["open", "audio", "force", "final", "finish"]
    text: Text = "flood"
    per_s: Annotated[float, Field(ge=0.1, le=100_000)] = 1000.0
    for_s: Seconds = 1.0


class RefusalSection(Section):
    """An HTTP answer instead of a stream."""

    status: Annotated[int, Field(ge=300, le=599)]
    retry_after_s: Annotated[int, Field(ge=0, le=86_400)] | None = None
    only_websocket: bool = False
    """A request before the websocket is answered as ever."""


class HandshakeSection(Section):
    """How long each part of opening a stream is kept waiting."""

    tcp_s: Seconds = 0.0
    tls_s: Seconds = 0.0
    prepare_s: Seconds = 0.0
    upgrade_s: Seconds = 0.0


class PiecesSection(Section):
    """How one message leaves."""

    frames: Count = 1
    segments: Count = 1
    gap_s: Annotated[float, Field(ge=0, le=60)] = 0.02


class FaultsSection(Section):
    """What goes wrong; as it stands, nothing."""

    connections: tuple[Annotated[int, Field(ge=1)], ...] | None = None
    listening: bool = True
    black_hole: bool = False
    handshake: HandshakeSection = HandshakeSection()
    refusal: RefusalSection | None = None
    hang_up: HangUpSection | None = None
    say: tuple[SaySection, ...] = ()
    flood: FloodSection | None = None
    pieces: PiecesSection = PiecesSection()
    stops_reading_ms: AudioMs | None = None
    min_audio_ms: AudioMs = 0.0
    idle_s: Annotated[float, Field(gt=0, le=3600)] | None = None
    delay_s: Seconds = 0.0
    final_delay_s: Seconds = 0.0
    drop: tuple[Literal["partials", "finals"], ...] = ()
    duplicate: bool = False
    reorder: bool = False
    split: Count = 1
    split_gap_s: Seconds = 0.05
    ack_s: Seconds | None = None
    unmarked: bool = False
    finish_unanswered: bool = False
    close_unanswered: bool = False

    @field_validator("drop", mode="before")
    @classmethod
    def _one_or_more(cls, drop: object) -> object:
        return (drop,) if isinstance(drop, str) else drop

    @property
    def switched_on(self) -> tuple[str, ...]:
        """The names of those that are not as usual."""
        usual = FaultsSection()
        names = type(self).model_fields
        return tuple(name for name in names if getattr(self, name) != getattr(usual, name))


def _is_known(provider: str) -> str:
    if provider not in FAKES:
        raise ValueError(f"there is no fake of that name; allowed: {', '.join(FAKES)}")
    return provider


class ScriptSection(Section):
    """The whole file."""

    provider: Annotated[str, AfterValidator(_is_known)] = "deepgram"
    key: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    """The only key that is good; without it any is."""
    speech: SpeechSection | None = None
    line: tuple[LineSection, ...] = ()
    answer: tuple[AnswerSection, ...] = ()
    rest: Text | None = None
    finish_s: Seconds = 0.05
    faults: FaultsSection = FaultsSection()

    @model_validator(mode="after")
    def _spoken_once(self) -> Self:
        if self.speech is not None and (self.line or self.answer):
            raise ValueError("give [speech], or [[line]] and [[answer]], not both")
        return self

    @model_validator(mode="after")
    def _forced_only_where_there_is_a_force(self) -> Self:
        if not FAKES[self.provider].has_force and (found := list(self._about_forces())):
            raise ValueError(
                f"{self.provider} has no force, so these mean nothing: {', '.join(found)}"
            )
        return self

    def _about_forces(self) -> Iterator[str]:
        faults = self.faults
        yield from ["answer"] if self.answer else []
        yield from ["faults.ack_s"] if faults.ack_s is not None else []
        yield from ["faults.unmarked"] if faults.unmarked else []
        for name, one in (("hang_up", faults.hang_up), ("flood", faults.flood)):
            yield from [f"faults.{name}.at"] if one and one.at == "force" else []
        yield from ["faults.say.at"] if any(one.at == "force" for one in faults.say) else []
