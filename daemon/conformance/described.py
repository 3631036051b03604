"""Providers that a user has described: read from a file, and each with a fake that speaks so."""

import base64
import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import ClassVar

from daemon.conformance.talker import Reply, Talker, TalkingFake
from daemon.errors import UserError
from daemon.fakes.dialect import Alive, Audio, Finish, Force, Order, Wrong
from daemon.fakes.server import Fake
from providers.codec import HttpRequest, HttpResponse, Message
from providers.described import Description, Said
from providers.described_shape import DescriptionError, descriptions_of
from providers.families import compact

CONFIG_EXIT_CODE = 78
NOT_UNDERSTOOD = Wrong(1003, "not a message that the description has")


def read_descriptions(path: Path) -> dict[str, Description]:
    """The providers that ``path`` describes. Raises UserError with a line for each mistake."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _mistake(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise _mistake(f"{path}: is not UTF-8 text (byte {error.start})") from error
    except tomllib.TOMLDecodeError as error:
        raise _mistake(f"{path}: is not TOML: {error}") from error
    try:
        return descriptions_of(table)
    except DescriptionError as error:
        lines = str(error).splitlines()
        raise _mistake("\n".join(f"{path}: {line}" for line in lines)) from error


def _mistake(text: str) -> UserError:
    return UserError(text, exit_code=CONFIG_EXIT_CODE)


def fake_of(shape: Description) -> type[Fake]:
    """A provider that speaks as it is described."""

    class FakeDescribed(DescribedFake):
        description = shape

    return FakeDescribed


class DescribedFake(TalkingFake):
    """A provider that speaks as it is described; every key is looked for where it should be."""

    description: ClassVar[Description]

    def talk(self, request: HttpRequest, *, secure: bool) -> HttpResponse | Talker:
        if self.description.key_variable is not None and not self._has_key(request):
            return HttpResponse(401, {}, b'{"message": "no such key"}')
        return DescribedTalker(self.description)

    def _has_key(self, request: HttpRequest) -> bool:
        where = f"{request.url} {' '.join(request.headers.values())}"
        return self.key is None or self.key in where


class DescribedTalker(Talker):
    """One stream."""

    def __init__(self, description: Description) -> None:
        self._shape = description
        self.rate_hz = description.audio.rate_hz
        self.forces = bool(description.force)
        self._finals = 0
        self._shown = ""

    def greeting(self) -> Iterable[Message]:
        ready = self._shape.ready
        return () if ready is None or self._shape.hello else (_said(ready.when),)

    def heard(self, message: Message) -> Order | Reply:
        shape = self._shape
        for shapes, order in (
            (shape.force[-1:], Force()),
            (shape.finish[-1:], Finish()),
            (shape.keepalive, Alive()),
            (shape.force[:-1] + shape.finish[:-1], Alive()),
        ):
            if any(_is(message, one) for one in shapes):
                return order
        if shape.hello and any(_is(message, one, exact=False) for one in shape.hello):
            last = _is(message, shape.hello[-1], exact=False)
            return Reply((_said(shape.ready.when),)) if last and shape.ready else Alive()
        return self._audio(message)

    def _audio(self, message: Message) -> Order:
        name = self._shape.audio_key
        if name is None:
            return Audio(message) if isinstance(message, bytes) else NOT_UNDERSTOOD
        said = _object(message)
        text = said.get(name) if isinstance(said, dict) else None
        try:
            return Audio(base64.b64decode(text, validate=True)) if text else NOT_UNDERSTOOD
        except (ValueError, TypeError):
            return NOT_UNDERSTOOD

    def said(self, text: str, *, final: bool, marked: bool, audio_ms: float) -> Iterable[Message]:
        words, delta = self._shape.words, self._shape.text_mode.value == "delta"
        shown = text.removeprefix(self._shown) if delta and not final else text
        self._shown = "" if final else text
        values = {**words.kind.when, words.text: shown}
        if words.final is not None:
            values[words.final] = final
        if words.final_kind is not None and final:
            values |= words.final_kind.when
        if words.segment is not None:
            values[words.segment] = f"segment-{self._finals}"
        if words.forced is not None:
            values[words.forced] = marked
        self._finals += final
        if final or words.final is not None or words.final_kind is not None:
            yield _said(values)
        if marked and self._shape.ack is not None:
            yield _said(self._shape.ack.when)

    def farewell(self, rest: str, audio_ms: float) -> Iterable[Message]:
        if rest:
            yield from self.said(rest, final=True, marked=False, audio_ms=audio_ms)
        if self._shape.done is not None:
            yield _said(self._shape.done.when)


def _said(values: Mapping[str, object]) -> str:
    """A JSON message that has these values at these paths."""
    whole: object = {}
    for path, value in values.items():
        whole = _put(whole, path.split("."), value)
    return json.dumps(whole)


def _put(whole: object, path: list[str], value: object) -> object:
    if not path:
        return value
    step, *rest = path
    if step.isdecimal() and not (isinstance(whole, dict) and whole):
        items = list(whole) if isinstance(whole, list) else []
        items += [None] * (int(step) + 1 - len(items))
        items[int(step)] = _put(items[int(step)], rest, value)
        return items
    names = dict(whole) if isinstance(whole, dict) else {}
    names[step] = _put(names.get(step), rest, value)
    return names


def _is(message: Message, shape: Said, *, exact: bool = True) -> bool:
    """The message is this one; not ``exact``: its places for language and rate are filled in."""
    wanted = shape if isinstance(shape, str) else compact(shape)
    if exact or message == wanted or not isinstance(message, str):
        return message == wanted
    return set(_names(_object(message))) == set(_names(_object(wanted)))


def _names(said: object) -> Iterable[str]:
    return said if isinstance(said, dict) else (str(said),)


def _object(message: Message) -> object:
    try:
        return json.loads(message)
    except (ValueError, RecursionError):
        return None
