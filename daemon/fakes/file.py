"""A script as people write it, in TOML or JSON: what a fake says, and what it does wrong.

    provider = "deepgram"
    [speech]
    text = "the blue kettle"
    [faults]
    ack_s = 0.02

All mistakes of a file are told at once. docs/fake.md shows every setting.
"""

import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from daemon.errors import UserError
from daemon.fakes import FAKES
from daemon.fakes.script import (
    Faults,
    Flood,
    HangUp,
    Interjection,
    Line,
    Moment,
    Pieces,
    Refusal,
    Script,
)
from daemon.fakes.sections import FaultsSection, SaySection, ScriptSection, Section, SpeechSection
from daemon.fakes.server import Fake
from daemon.mistakes import no_such_setting, place, said

SCRIPT_EXIT_CODE = 78
"""EX_CONFIG, as for a configuration."""
SHOWN_CHARS = 80


@dataclass(frozen=True, slots=True)
class FakeFile:
    """What one file asks for."""

    provider: str
    script: Script
    faults: Faults
    key: str | None = field(default=None, repr=False)
    switched_on: tuple[str, ...] = ()
    """The names of the faults that it has."""

    def fake(self) -> Fake:
        """The provider that does all this."""
        return FAKES[self.provider](self.script, self.faults, key=self.key)


def read_script(path: Path | None, provider: str = "deepgram") -> FakeFile:
    """The script in ``path``; a plain one without it. ``provider``: where none is named.

    Raises UserError with one line for each mistake in the file.
    """
    if path is None:
        return script_of({}, "the built-in script", provider)
    try:
        text = path.read_text(encoding="utf-8")
        table = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise _mistake(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise _mistake(f"{path}: is not UTF-8 text (byte {error.start})") from error
    except tomllib.TOMLDecodeError as error:
        raise _mistake(f"{path}: is not TOML: {error}") from error
    except json.JSONDecodeError as error:
        raise _mistake(f"{path}: is not JSON: {error}") from error
    except RecursionError as error:
        raise _mistake(f"{path}: is nested too deeply") from error
    return script_of(table, str(path), provider)


def script_of(table: object, where: str, provider: str = "deepgram") -> FakeFile:
    """What ``table`` asks for; ``where`` it was found begins every line of a UserError."""
    if not isinstance(table, dict):
        raise _mistake(f"{where}: must be a table of settings, not a {type(table).__name__}")
    try:
        asked = ScriptSection.model_validate({"provider": provider, **table})
    except ValidationError as error:
        raise _mistake("\n".join(f"{where}: {line}" for line in _lines(error))) from error
    faults = asked.faults
    return FakeFile(asked.provider, _script(asked), _faults(faults), asked.key, faults.switched_on)


def _script(asked: ScriptSection) -> Script:
    if not asked.line and not asked.answer:
        speech = asked.speech or SpeechSection()
        span = {"start_ms": speech.start_ms, "end_ms": speech.end_ms}
        if not FAKES[asked.provider].has_force:
            said = Script.for_pause(speech.text, **span, pause_ms=speech.pause_ms)
        else:
            said = Script.for_force(speech.text, **span, after_s=speech.after_s)
        return Script(said.lines, said.answers, said.speech, asked.rest, asked.finish_s)
    forces = max((one.force for one in asked.answer), default=0)
    answers = [
        tuple(_as(Line, one) for one in asked.answer if one.force == nth)
        for nth in range(1, forces + 1)
    ]
    lines = tuple(_as(Line, one) for one in asked.line)
    return Script(lines, tuple(answers), (), asked.rest, asked.finish_s)


def _faults(asked: FaultsSection) -> Faults:
    plain = {"handshake", "refusal", "hang_up", "say", "flood", "pieces"}
    plain |= {"drop", "duplicate", "reorder", "split"}
    refusal, slow, hang_up, flood = asked.refusal, asked.handshake, asked.hang_up, asked.flood
    return Faults(
        **{name: getattr(asked, name) for name in FaultsSection.model_fields if name not in plain},
        refusal=_as(Refusal, refusal, upgrade=refusal.only_websocket) if refusal else None,
        tcp_s=slow.tcp_s,
        tls_s=slow.tls_s,
        prepare_s=slow.prepare_s,
        handshake_s=slow.upgrade_s,
        hang_up=_as(HangUp, hang_up, moment=Moment(hang_up.at)) if hang_up else None,
        interjections=tuple(_interjection(one) for one in asked.say),
        flood=_as(Flood, flood, moment=Moment(flood.at)) if flood else None,
        pieces=_as(Pieces, asked.pieces),
        no_partials="partials" in asked.drop,
        no_final="finals" in asked.drop,
        duplicate_final=asked.duplicate,
        overtaking=asked.reorder,
        split_final=asked.split,
    )


def _interjection(said: SaySection) -> Interjection:
    return Interjection(
        said.message, Moment(said.at), said.audio_ms, said.after_s, said.times, said.raw
    )


Made = TypeVar("Made")


def _as(kind: type[Made], section: Section, **others: object) -> Made:
    """A value of ``kind`` out of the settings that it shares names with."""
    names = [one.name for one in fields(kind)]  # type: ignore[arg-type]  # all are dataclasses
    shared = {name: getattr(section, name) for name in type(section).model_fields if name in names}
    return kind(**shared, **others)


# What is wrong with a file


def _mistake(text: str) -> UserError:
    return UserError(text, exit_code=SCRIPT_EXIT_CODE)


def _lines(error: ValidationError) -> Iterator[str]:
    """One for each mistake: where, what is wrong, what is allowed."""
    for mistake in error.errors():
        where, what = place(mistake["loc"]), said(str(mistake["msg"]))
        if mistake["type"] == "extra_forbidden":
            what = no_such_setting(mistake["loc"], ScriptSection)
        elif not isinstance(mistake["input"], dict | list) and not where.endswith("key"):
            given = repr(mistake["input"])
            what += f" (it is {given})" if len(given) <= SHOWN_CHARS else ""
        yield f"{where}: {what}" if where else what
