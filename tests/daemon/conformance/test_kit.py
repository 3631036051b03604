"""The kit finds what is wrong with a codec: for each promise a fault that breaks it."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from daemon.conformance.kit import PROMISES, outcomes
from daemon.conformance.promise import Promise, Skipped, Subject, Verdict, outcome_of
from daemon.fakes import FakeDeepgram
from measure.events import Event, Transcript
from measure.faults import Fault, FaultKind, Whose
from measure.records import Frame
from providers.codec import (
    AudioFormat,
    ForceContext,
    Limits,
    Message,
    Model,
    OpenRequest,
    Options,
    ProviderError,
    Source,
    TextMode,
)
from providers.deepgram import Deepgram
from tests.daemon.conformance.realtime import SUBJECT as REALTIME

TRANSCRIPTS = Path(__file__).parents[2] / "providers" / "transcripts"
MAKE = Callable[[Options], Deepgram]


def subject_of(make: MAKE, transcripts: Path | None = TRANSCRIPTS) -> Subject:
    return Subject("deepgram/nova-3", Model(make, "Nova"), transcripts, FakeDeepgram)


class Impossible(Deepgram):
    facts = replace(Deepgram.facts, audio=AudioFormat(chunk_ms=20, min_chunk_ms=50))


class Mute(Deepgram):
    def force(self, context: ForceContext) -> Iterable[Message]:
        return ()


class Showing(Deepgram):
    def open(self, key: str) -> OpenRequest:
        self.key = key
        return super().open(key)


class Telling(Deepgram):
    def __init__(self, options: Options) -> None:
        if options.url and not options.url.startswith("ws"):
            raise ValueError(f"no address: {options.url}")
        super().__init__(options)


class Silent(Deepgram):
    def audio(self, frame: Frame) -> Message:
        return b""


class Mishearing(Deepgram):
    def decode(self, message: Message, at_ns: int) -> Iterator[Event]:
        for event in super().decode(message, at_ns):
            if isinstance(event, Transcript):
                event = replace(event, text=event.text.upper())
            yield event


class Restamping(Deepgram):
    def decode(self, message: Message, at_ns: int) -> Iterator[Event]:
        for event in super().decode(message, at_ns):
            yield replace(event, at_ns=at_ns + 1)


class Stumbling(Deepgram):
    def decode(self, message: Message, at_ns: int) -> Iterator[Event]:
        said = json.loads(message)
        return super().decode(message, at_ns) if said["type"] else iter(())


class Crying(Deepgram):
    def closed(self, code: int | None, reason: str) -> Fault | None:
        return Fault(Whose.PROVIDER, FaultKind.SERVER, "over") if code == 1000 else None


class Unmarked(Deepgram):
    def decode(self, message: Message, at_ns: int) -> Iterator[Event]:
        for event in super().decode(message, at_ns):
            if isinstance(event, Transcript) and event.final:
                event = replace(event, final=False)
            yield event


class Filling(Deepgram):
    def decode(self, message: Message, at_ns: int) -> Iterator[Event]:
        for event in super().decode(message, at_ns):
            if isinstance(event, Transcript) and event.final and not event.text:
                event = replace(event, text="something")
            yield event


class FirstOnly(Deepgram):
    seen = False

    def decode(self, message: Message, at_ns: int) -> Iterator[Event]:
        for event in super().decode(message, at_ns):
            if isinstance(event, Transcript) and event.final:
                if self.seen:
                    continue
                self.seen = True
            yield event


class Sparing(Deepgram):
    def audio(self, frame: Frame) -> Message:
        return frame.pcm if frame.index % 7 else frame.pcm[:2] + frame.pcm[:-2]


class Leaving(Deepgram):
    def decode(self, message: Message, at_ns: int) -> Iterator[Event]:
        return (one for one in super().decode(message, at_ns) if one.kind != "stream_done")


class Late(Deepgram):
    facts = replace(Deepgram.facts, greets=True)


class Quiet(Deepgram):
    def keepalive(self) -> Iterable[Message]:
        return ('{"type": "Hello"}',)


class Eager(Deepgram):
    def decode(self, message: Message, at_ns: int) -> Iterator[Event]:
        for event in super().decode(message, at_ns):
            yield replace(event, final=True) if isinstance(event, Transcript) else event


class Repeating(Deepgram):
    def decode(self, message: Message, at_ns: int) -> Iterator[Event]:
        try:
            yield from super().decode(message, at_ns)
        except ProviderError:
            raise RuntimeError(f"cannot read {message!r}") from None


BROKEN: dict[str, MAKE] = {
    "facts": Impossible,
    "flow": Mute,
    "key": Showing,
    "address": Telling,
    "audio": Silent,
    "paper": Mishearing,
    "stamps": Restamping,
    "noise": Stumbling,
    "closes": Crying,
    "answer": Unmarked,
    "greeting": Late,
    "sound": Sparing,
    "empty answer": Filling,
    "several finals": FirstOnly,
    "already final": Unmarked,
    "turns": FirstOnly,
    "no answer": Eager,
    "farewell": Leaving,
    "rubbish": Repeating,
    "keepalive": Quiet,
}


@pytest.mark.parametrize("promise", BROKEN)
def test_a_fault_breaks_its_promise(promise: str) -> None:
    outcome = outcome_of(PROMISES[promise], subject_of(BROKEN[promise]))
    assert outcome.verdict is Verdict.BROKEN
    assert outcome.reason
    assert "\n" not in outcome.reason


def test_a_codec_in_order_keeps_them_all() -> None:
    seen = list(outcomes(subject_of(Deepgram)))
    assert [one.promise.name for one in seen] == list(PROMISES)
    assert [(one.promise.name, one.reason) for one in seen if one.verdict is Verdict.BROKEN] == []


def test_a_member_of_a_family_is_one_line_and_keeps_them_all() -> None:
    broken = [(one.promise.name, one.reason) for one in outcomes(REALTIME)]
    kept = [one for one in outcomes(REALTIME) if one.verdict is Verdict.KEPT]
    assert len(kept) >= 20, broken


def test_what_an_exception_says_is_told_without_the_key() -> None:
    subject = subject_of(Deepgram)

    def look(subject: Subject) -> str:
        raise RuntimeError(f"no stream\nfor {subject.canary}")

    outcome = outcome_of(Promise("p", "s", look), subject)
    assert outcome.verdict is Verdict.BROKEN
    assert outcome.reason == "RuntimeError: no stream for ***"


def test_what_cannot_be_looked_at_says_why() -> None:
    def look(subject: Subject) -> str:
        raise Skipped("there is nothing")

    outcome = outcome_of(Promise("p", "s", look), subject_of(Deepgram))
    assert (outcome.verdict, outcome.reason) == (Verdict.SKIPPED, "there is nothing")


def test_without_conversations_or_a_fake_it_says_so() -> None:
    subject = replace(subject_of(Deepgram, None), fake=None)
    reasons = {one.promise.name: one.reason for one in outcomes(subject)}
    assert reasons["paper"] == "there are no conversations on paper beside this installation"
    assert reasons["answer"] == "no fake speaks like it"


def test_a_key_of_several_parts_gets_a_canary_of_several_parts() -> None:
    class Parts(Deepgram):
        facts = replace(Deepgram.facts, key_form="ID:SECRET")

    canary = subject_of(Parts).canary
    assert canary.count(":") == 1
    assert all("6f1d2c" in part for part in canary.split(":"))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"they": {"type": "Error", "variant": "NET-0001"}, "fault": "timeout"}, None),
        ({"they": {"type": "Error", "variant": "NET-0001"}, "fault": "auth"}, "it is timeout"),
        ({"close": 1008, "reason": "DATA-0000", "fault": "protocol"}, None),
        ({"close": 1000, "reason": "", "fault": None}, None),
        ({"close": 1000, "reason": "", "fault": "server"}, "it is None"),
    ],
)
def test_failures_on_paper_are_compared(
    tmp_path: Path, line: dict[str, object], said: str | None
) -> None:
    (tmp_path / "deepgram.errors.jsonl").write_text(json.dumps(line) + "\n")
    outcome = outcome_of(PROMISES["failures"], subject_of(Deepgram, tmp_path))
    assert (outcome.verdict is Verdict.KEPT) == (said is None)
    assert said is None or said in outcome.reason


def test_a_model_may_have_failures_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "deepgram.errors.jsonl").write_text('{"close": 1000, "fault": "server"}\n')
    own = tmp_path / "deepgram_nova3.errors.jsonl"
    own.write_text('{"close": 1000, "fault": null}\n')
    assert outcome_of(PROMISES["failures"], subject_of(Deepgram, tmp_path)).verdict is Verdict.KEPT


def test_a_file_that_cannot_be_read_breaks_the_promise(tmp_path: Path) -> None:
    (tmp_path / "deepgram_nova3.jsonl").write_text("{\n")
    outcome = outcome_of(PROMISES["paper"], subject_of(Deepgram, tmp_path))
    assert outcome.verdict is Verdict.BROKEN
    assert "deepgram_nova3.jsonl cannot be read" in outcome.reason


def test_only_files_of_the_model_are_its_own(tmp_path: Path) -> None:
    for name in ("deepgram_nova30", "deepgram_flux", "deepgramnova3", "deepgram_nova3.errors"):
        (tmp_path / f"{name}.jsonl").write_text("{\n")
    outcome = outcome_of(PROMISES["paper"], subject_of(Deepgram, tmp_path))
    assert (outcome.verdict, outcome.reason) == (
        Verdict.SKIPPED,
        "no conversation of it is on paper",
    )


def test_sources_need_dates() -> None:
    class Undated(Deepgram):
        facts = replace(
            Deepgram.facts,
            sources=(Source("a page", "lately"),),
            limits=Limits(session_s=60),
            text_mode=TextMode.CUMULATIVE,
        )

    outcome = outcome_of(PROMISES["facts"], subject_of(Undated))
    assert outcome.reason == "no date: ['lately']"
