"""The example scripts of docs/fakes: each is read, does what it says, and is in docs/fake.md."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import BaseModel
from trio.testing import MockClock

from daemon.fakes import FakeGladia
from daemon.fakes.file import read_script
from daemon.fakes.sections import (
    WORDS,
    AnswerSection,
    FaultsSection,
    FloodSection,
    HandshakeSection,
    HangUpSection,
    LineSection,
    PiecesSection,
    RefusalSection,
    SaySection,
    ScriptSection,
    SpeechSection,
)
from daemon.order import Order, Speech
from measure.events import MessageReceived
from measure.records import Remark, Verdict
from tests.cases.sessions import PreparedGladia, Session, measured, near, ordered

DOCS = Path(__file__).parents[3] / "docs"
EXAMPLES = sorted((DOCS / "fakes").glob("*.toml"))
TOLD = (DOCS / "fake.md").read_text(encoding="utf-8")
SPEECH = Speech(300.0, 360.0, 2400.0, 2510.0)
ZERO_MS = 2520

SEEN: dict[str, tuple[Verdict, float | None]] = {
    "plain": (Verdict.FORCED_FINAL, 150),
    "pause": (Verdict.NATURAL_FINAL, 200),
    "by-hand": (Verdict.FORCED_FINAL, 100),
    "delay": (Verdict.FORCED_FINAL, 1150),
    "split": (Verdict.FORCED_FINAL, 240),
    "split-final": (Verdict.FORCED_FINAL, 150),
    "duplicate": (Verdict.FORCED_FINAL, 150),
    "drop-finals": (Verdict.NO_FINAL, None),
    "drop-partials": (Verdict.FORCED_FINAL, 150),
    "reorder": (Verdict.FORCED_FINAL, 150),
    "ack-early": (Verdict.FORCED_FINAL, 150),
    "unmarked": (Verdict.FORCED_FINAL, 150),
    "close-with-code": (Verdict.PROVIDER_ERROR, None),
    "final-with-close": (Verdict.FORCED_FINAL, 150),
    "reset": (Verdict.CONNECTION_LOST, None),
    "cut-off": (Verdict.CONNECTION_LOST, None),
    "stop-reading": (Verdict.PROVIDER_ERROR, None),
    "slow-handshake": (Verdict.FORCED_FINAL, 150),
    "refuses-connections": (Verdict.NETWORK_ERROR, None),
    "refusal": (Verdict.PROVIDER_ERROR, None),
    "never-closes": (Verdict.FORCED_FINAL, 150),
    "flood": (Verdict.FORCED_FINAL, 150),
    "out-of-turn": (Verdict.FORCED_FINAL, 150),
    "garbage": (Verdict.PROVIDER_ERROR, None),
    "short-audio": (Verdict.FORCED_FINAL, 150),
    "idle": (Verdict.NO_FINAL, None),
    "first-connection-only": (Verdict.CONNECTION_LOST, None),
}
"""What a measurement of each says, and after how many milliseconds its answer came."""
KERNELS = {"slow-tcp", "black-hole"}
"""What only a real network can do; see test_door.py."""


async def session_with(name: str) -> Session:
    fake = read_script(DOCS / "fakes" / f"{name}.toml").fake()
    order: Order = ordered(seconds=3.0, speech=SPEECH)
    if isinstance(fake, FakeGladia):
        order = replace(order, codec=PreparedGladia(fake), model="gladia/solaria-1")
        order = replace(order, rule=order.codec.facts.rule)
    return await measured(fake, order)


def test_every_example_is_tried() -> None:
    assert {path.stem for path in EXAMPLES} == SEEN.keys() | KERNELS


@pytest.mark.parametrize("name", SEEN)
async def test_an_example_does_what_it_says(name: str, autojump_clock: MockClock) -> None:
    verdict, time_to_final_ms = SEEN[name]
    reading = (await session_with(name)).reading
    assert reading.verdict is verdict
    if time_to_final_ms is None:
        assert reading.time_to_final_ns is None
    else:
        assert near(reading.time_to_final_ns, time_to_final_ms)


async def test_what_is_split_arrives_in_pieces_and_is_one_message(
    autojump_clock: MockClock,
) -> None:
    session = await session_with("split")
    assert session.reading.transcript == WORDS
    came = [one.raw for one in session.all_of(MessageReceived)]
    assert came == [one.text for one in session.visit.said if one.kind == "text"]


async def test_a_final_that_overtakes_is_followed_by_the_partial_before_it(
    autojump_clock: MockClock,
) -> None:
    session = await session_with("reorder")
    texts = [one.payload for one in session.visit.said if b'"Results"' in one.payload]
    finals = [b'"is_final": true' in text for text in texts]
    assert finals.index(True) == len(finals) - 3  # behind it: the partial, and the farewell's final
    assert finals[-2:] == [False, True]


async def test_the_examples_with_more_than_one_final_say_so(autojump_clock: MockClock) -> None:
    for name in ("by-hand", "split-final", "duplicate"):
        reading = (await session_with(name)).reading
        assert Remark.LATE_TEXT_AFTER_FINAL in reading.remarks


# The document


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_told_of_in_the_document(path: Path) -> None:
    assert f"fakes/{path.name}" in TOLD
    assert path.read_text(encoding="utf-8").startswith("# ")


def settings() -> Iterator[str]:
    for section in (
        *(ScriptSection, SpeechSection, LineSection, AnswerSection, FaultsSection),
        *(HandshakeSection, RefusalSection, HangUpSection, SaySection, FloodSection),
        PiecesSection,
    ):
        assert issubclass(section, BaseModel)
        yield from section.model_fields


@pytest.mark.parametrize("name", sorted(set(settings())))
def test_every_setting_is_told_of_in_the_document(name: str) -> None:
    assert re.search(rf"`(?:[a-z_\[\].]*\.)?\[*{name}\]*`", TOLD), name


def test_what_the_document_shows_as_a_script_can_be_read() -> None:
    shown = re.findall(r"```toml\n(.*?)```", TOLD, re.DOTALL)
    assert len(shown) >= 2
    for text in shown:
        ScriptSection.model_validate(tomllib.loads(text))
