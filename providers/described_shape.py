"""A description as people write it: its tables, their ranges, and what goes together.

All mistakes are told at once, each with its place. docs/add-a-provider.md shows every setting.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from measure.faults import FaultKind
from providers.codec import AudioFormat, ErrorMap, TextMode
from providers.described import Description, Failure, Kind, Words

NAME = re.compile(r"[a-z0-9][a-z0-9-]*/[a-z0-9][a-z0-9._-]*")
Value = str | int | float | bool
When = Annotated[dict[str, Value], Field(min_length=1)]


def _is_a_path(path: str) -> str:
    if len(path) > 200 or not all(path.split(".")) or any(sign.isspace() for sign in path):
        raise ValueError('write a path, such as "channel.alternatives.0.text"')
    return path


def _is_a_variable(name: str) -> str:
    if not re.fullmatch(r"[A-Z][A-Z0-9_]{0,99}", name):
        raise ValueError('write the name of an environment variable, such as "ACME_API_KEY"')
    return name


Path = Annotated[str, AfterValidator(_is_a_path)]
Variable = Annotated[str, AfterValidator(_is_a_variable)]
Message = str | dict[str, object]
Code = Literal["auth", "quota", "rate", "protocol", "timeout", "server"]


class DescriptionError(ValueError):
    """What is wrong with a description, a line for each mistake."""


class Table(BaseModel):
    """One table of the description: nothing unknown in it."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class TranscriptTable(Table):
    """Where a transcript says what."""

    when: When
    text: Path
    final: Path | None = None
    final_when: When | None = None
    segment: Path | None = None
    forced: Path | None = None
    text_mode: Literal["cumulative", "delta"] = "cumulative"
    joiner: Annotated[str, Field(max_length=5)] = " "

    @model_validator(mode="after")
    def _one_way(self) -> "TranscriptTable":
        if self.final is not None and self.final_when is not None:
            raise ValueError("give final or final_when, not both")
        return self


class WhenTable(Table):
    """How a message is told."""

    when: When


class ErrorTable(WhenTable):
    """How an error is told, and what its codes mean."""

    code: Path | None = None
    text: Path | None = None
    codes: dict[str, Code] = Field(default_factory=dict)
    closes: dict[str, Code] = Field(default_factory=dict)

    @field_validator("closes")
    @classmethod
    def _are_codes(cls, closes: dict[str, Code]) -> dict[str, Code]:
        wrong = [code for code in closes if not (code.isdecimal() and 1000 <= int(code) <= 4999)]
        if wrong:
            raise ValueError(f"the code of a Close is from 1000 to 4999, not {wrong[0]}")
        return closes


class AudioTable(Table):
    """How audio goes out."""

    rate_hz: Literal[8_000, 16_000, 24_000, 48_000] = 16_000
    chunk_ms: Annotated[int, Field(ge=20, le=1_000)] = 20
    min_chunk_ms: Annotated[int, Field(ge=0, le=1_000)] = 0
    max_chunk_ms: Annotated[int, Field(ge=20, le=10_000)] | None = None
    base64_key: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    message: dict[str, object] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _fit(self) -> "AudioTable":
        if self.message and self.base64_key is None:
            raise ValueError("message needs base64_key: the name under which the audio goes")
        if self.min_chunk_ms > self.chunk_ms:
            raise ValueError("min_chunk_ms must not be more than chunk_ms")
        if self.max_chunk_ms is not None and self.max_chunk_ms < self.chunk_ms:
            raise ValueError("max_chunk_ms must not be less than chunk_ms")
        return self


class ProviderTable(Table):
    """One ``[[provider]]``."""

    name: Annotated[str, Field(max_length=100)]
    title: Annotated[str, Field(max_length=100)] = ""
    url: str
    headers: dict[str, str] = Field(default_factory=dict)
    key_variable: Variable | None = None
    audio: AudioTable = AudioTable()
    hello: tuple[Message, ...] = ()
    force: tuple[Message, ...] = ()
    finish: tuple[Message, ...] = ()
    keepalive: tuple[Message, ...] = ()
    keepalive_s: Annotated[float, Field(ge=0.5, le=600)] | None = None
    silence_after_force: bool = True
    ready: WhenTable | None = None
    transcript: TranscriptTable
    ack: WhenTable | None = None
    done: WhenTable | None = None
    error: ErrorTable | None = None
    notice: tuple[WhenTable, ...] = ()

    @field_validator("name")
    @classmethod
    def _is_a_name(cls, name: str) -> str:
        if not NAME.fullmatch(name):
            raise ValueError('write PROVIDER/MODEL in small letters, such as "acme/fast-1"')
        return name

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, url: str) -> str:
        try:
            parts = urlsplit(url)
            good = parts.scheme in ("ws", "wss") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            good = False
        if not good:
            raise ValueError("write ws://HOST/PATH or wss://HOST/PATH")
        if "{key}" in url.partition("?")[0]:
            raise ValueError("{key} may stand in headers and behind the ? of the address only")
        return url

    @field_validator("headers")
    @classmethod
    def _can_be_sent(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            if not re.fullmatch(r"[A-Za-z0-9-]+", name):
                raise ValueError("the name of a header has letters, digits and hyphens only")
            if not value.isascii() or not value.isprintable():
                raise ValueError(f"the value of {name} has signs that HTTP does not allow there")
        return headers

    @model_validator(mode="after")
    def _goes_together(self) -> "ProviderTable":
        asked = "{key}" in self.url + "".join(self.headers.values())
        if asked != (self.key_variable is not None):
            raise ValueError(
                "{key} in the address or a header, and key_variable: give both, or neither"
            )
        said = (self.hello, self.force, self.finish, self.keepalive, self.audio.message)
        if "{key}" in repr(said):
            raise ValueError("{key} may stand in headers and behind the ? of the address only")
        if bool(self.keepalive) != (self.keepalive_s is not None):
            raise ValueError("keepalive and keepalive_s: give both, or neither")
        if self.done is not None and not self.finish:
            raise ValueError("done is the answer to finish, which is not given")
        if not self.force and (self.ack or self.transcript.forced):
            raise ValueError("ack and transcript.forced answer a force, which is not given")
        return self

    def description(self) -> Description:
        """The same, in the shape that the codec knows."""
        words, audio, error = self.transcript, self.audio, self.error
        return Description(
            name=self.name,
            title=self.title or self.name,
            url=self.url,
            words=Words(
                Kind(words.when),
                words.text,
                words.final,
                _kind(words.final_when),
                words.segment,
                words.forced,
            ),
            headers=self.headers,
            key_variable=self.key_variable,
            audio=AudioFormat(
                audio.rate_hz,
                audio.chunk_ms,
                audio.min_chunk_ms,
                audio.max_chunk_ms,
                base64=audio.base64_key is not None,
            ),
            audio_key=audio.base64_key,
            audio_message=audio.message,
            hello=self.hello,
            force=self.force,
            finish=self.finish,
            keepalive=self.keepalive,
            keepalive_s=self.keepalive_s,
            ready=_told_by(self.ready),
            ack=_told_by(self.ack),
            done=_told_by(self.done),
            failure=_failure(error),
            notices=tuple(Kind(one.when) for one in self.notice),
            text_mode=TextMode(words.text_mode),
            joiner=words.joiner,
            silence_after_force=self.silence_after_force,
            errors=_errors(error),
        )


def _kind(when: Mapping[str, object] | None) -> Kind | None:
    return None if when is None else Kind(when)


def _told_by(table: WhenTable | None) -> Kind | None:
    return None if table is None else Kind(table.when)


def _failure(error: ErrorTable | None) -> Failure | None:
    return None if error is None else Failure(Kind(error.when), error.code, error.text)


def _errors(error: ErrorTable | None) -> ErrorMap:
    if error is None:
        return ErrorMap()
    return ErrorMap(
        {name: FaultKind(code) for name, code in error.codes.items()},
        {int(close): FaultKind(code) for close, code in error.closes.items()},
    )


class FileShape(Table):
    """A whole file of descriptions."""

    provider: tuple[ProviderTable, ...]

    @model_validator(mode="after")
    def _differ(self) -> "FileShape":
        names = [one.name for one in self.provider]
        if not names:
            raise ValueError("describe a provider: write [[provider]] and what belongs to it")
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(f"two providers have the name {twice[0]!r}")
        return self


def descriptions_of(table: Mapping[str, object]) -> dict[str, Description]:
    """The descriptions in a table with a list ``provider``. Raises DescriptionError."""
    try:
        shape = FileShape.model_validate(table)
    except ValidationError as error:
        raise DescriptionError("\n".join(_mistakes(error))) from error
    return {one.name: one.description() for one in shape.provider}


def _mistakes(error: ValidationError) -> Iterator[str]:
    """A line for each; what was given is not repeated, for it may hold a secret."""
    for mistake in error.errors(include_input=False, include_url=False):
        where = _place(mistake["loc"])
        if mistake["type"] == "extra_forbidden":
            yield f"{where}: there is no such setting"
            continue
        what = str(mistake["msg"]).removeprefix("Value error, ")
        yield f"{where or 'the file'}: {what[:1].lower()}{what[1:]}"


def _place(location: tuple[int | str, ...]) -> str:
    """`provider[1].audio.rate_hz`, counting from 1 as people do."""
    place = ""
    for part in location:
        place += f"[{part + 1}]" if isinstance(part, int) else f".{part}"
    return place.lstrip(".")
