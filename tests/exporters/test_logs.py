"""The lines that people and log collectors read."""

import contextlib
import io
import os
import pty
import re
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporters.logs import (
    LINES,
    LineWriter,
    Log,
    canonical,
    goes_to_the_system_journal,
    style_for,
)
from tests.exporters.records import Hand, S, finished, started

CANARY = "canary-1234567890"


class Page:
    """A log whose lines can be read as soon as they are written."""

    def __init__(self, style: str = "json", **how: Any) -> None:  # noqa: ANN401
        self._read, self._write = os.pipe()
        self._writer = LineWriter(self._write)
        self._log = Log(self._writer, Hand().clock, style=style, **how)

    def tell(self, *records: dict[str, Any]) -> str:
        """What is written of these records; can be asked once."""
        for record in records:
            self._log.take(record)
        self._writer.close()
        os.close(self._write)
        with open(self._read, encoding="utf-8", newline="\n") as page:
            return page.read()


def told(*records: dict[str, Any], **how: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    return [orjson.loads(line) for line in Page(**how).tell(*records).split("\n") if line]


def log(level: str = "info", event: str = "something_happened", **fields: object) -> dict[str, Any]:
    return {"k": "log", "t": 999 * S, "level": level, "event": event, "fields": fields}


def test_a_line_is_one_json_object_that_begins_with_when_and_what() -> None:
    (line,) = told(log(models=2))
    assert list(line) == ["timestamp", "level", "event", "mono_ns", "models"]
    assert line["timestamp"] == "2023-11-14T22:29:59.000000Z"  # a second ago
    assert (line["level"], line["event"]) == ("info", "something_happened")
    assert (line["mono_ns"], line["models"]) == (999 * S, 2)


def test_a_session_is_told_in_one_wide_line() -> None:
    (line,) = told(finished())
    assert line["event"] == "session_finished"
    expected = {
        "session_id": "s-1",
        "run_id": "r-1",
        "provider": "local",
        "model": "tiny",
        "dataset": "files",
        "clip": "a.wav",
        "flow": "forced",
        "verdict": "forced_final",
        "selection": "forced_final",
        "valid": True,
        "time_to_final_ms": 312.5,
        "time_to_first_partial_ms": 101.0,
        "audio_ms": 5000.0,
        "wall_ms": 5400.0,
        "frames": 250,
        "frames_late": 1,
        "late_p99_us": 1500.0,
        "late_max_us": 21000.0,
        "force_delay_us": 400.0,
        "partials": 4,
        "finals": 1,
        "rtt_ms": 12.0,
        "connect_ms": 80.0,
        "retransmits": 2,
        "word_errors": 2,
        "reference_words": 10,
        "wer_ratio": 0.2,
        "first_partial_wer_ratio": 0.5,
        "cost_usd": 0.0005,
        "remarks": [],
    }
    assert {key: line[key] for key in line if key not in ("timestamp", "level", "event")} == {
        "mono_ns": 7 * S,
        **expected,
    }


def test_what_there_was_not_is_not_in_the_line() -> None:
    nothing = finished(time_to_final_ns=None, rtt_ns=None, score=None, first_partial_score=None)
    (line,) = told(nothing)
    assert not {"time_to_final_ms", "rtt_ms", "wer_ratio", "word_errors"} & set(line)


def test_a_failed_session_is_told_as_a_warning_too() -> None:
    fault = {"whose": "provider", "kind": "rate", "detail": "HTTP 429", "retry_after_s": 30.0}
    record = finished(verdict="provider_error", selection=None, valid=False, fault=fault)
    whole, short = told(record)
    assert (whole["event"], whole["level"], whole["reason"]) == ("session_finished", "info", "rate")
    assert (short["event"], short["level"]) == ("session_failed", "warning")
    assert (short["reason"], short["fault_detail"]) == ("rate", "HTTP 429")
    assert (short["session_id"], short["retry_after_s"]) == ("s-1", 30.0)


def test_a_session_that_we_spoilt_is_voided_and_not_failed() -> None:
    _, short = told(finished(verdict="harness_late", valid=False))
    assert (short["event"], short["reason"]) == ("session_voided", "harness_late")


def test_no_word_rate_of_no_words() -> None:
    score = {"reference_words": 0, "substitutions": 0, "insertions": 3, "deletions": 0}
    fields = canonical(finished(score=score))
    assert (fields["word_errors"], fields["wer_ratio"]) == (3, None)


def test_no_word_of_a_transcript_is_written_unless_that_is_asked_for() -> None:
    records = (
        finished(transcript="the best of times", first_partial_text="the best"),
        started(reference="the best of times"),
        log(text="the best", details={"transcript": "the best"}, raw="the best"),
    )
    assert "best" not in Page(level="debug").tell(*records)
    assert "the best of times" in Page(level="debug", transcripts=True).tell(*records)


@pytest.mark.parametrize("style", ["json", "console"])
def test_no_key_is_written(style: str) -> None:
    page = Page(style, level="debug").tell(
        log(api_key=CANARY, headers={"Authorization": f"Token {CANARY}"}),
        log(url=f"wss://example.com/?token={CANARY}", detail=f"Bearer {CANARY} is not valid"),
        log(event=f"asked_with_token={CANARY}"),
        finished(fault={"whose": "provider", "kind": "auth", "detail": f"api_key={CANARY}"}),
    )
    assert CANARY not in page
    assert page.count("[redacted]") >= 5


def test_lines_below_the_level_are_not_written() -> None:
    lines = told(log("debug"), log("info"), log("warning"), log("error"), level="warning")
    assert [line["level"] for line in lines] == ["warning", "error"]


def test_a_level_that_is_not_known_is_info() -> None:
    (line,) = told(log("shouted"))
    assert line["level"] == "info"


def test_a_field_cannot_hide_when_and_what() -> None:
    (line,) = told(log(event="real", level="warning", self=1, mono_ns=5))
    assert (line["event"], line["mono_ns"]) == ("real", 999 * S)
    record = log() | {"fields": {"event": "false", "timestamp": "now", "self": 1}}
    (line,) = told(record)
    assert line["event"] == "something_happened"
    assert (line["event_"], line["timestamp_"], line["self"]) == ("false", "now", 1)


def test_the_session_of_a_log_record_is_in_its_line() -> None:
    (line,) = told(log() | {"s": "s-9"})
    assert line["session_id"] == "s-9"


def test_lost_records_are_told_as_an_error() -> None:
    (line,) = told({"k": "records_lost", "t": 1, "count": 7, "why": "handoff_full"})
    assert (line["level"], line["event"], line["count"]) == ("error", "records_dropped", 7)


def test_most_records_are_not_told() -> None:
    quiet = ({"k": "transcript", "t": 1}, {"k": "frames", "t": 1}, {"k": "heartbeat", "t": 1})
    assert told(*quiet, level="debug") == []


@pytest.mark.parametrize("kind", LINES)
def test_every_line_has_a_name_that_is_one_word(kind: str) -> None:
    record = {**finished(), **log(), "k": kind}
    for line in LINES[kind](record):
        assert re.fullmatch(r"[a-z]+(_[a-z]+)+", line.event)


@settings(deadline=None, max_examples=30)
@given(st.text(st.characters(exclude_categories=()), max_size=50), st.binary(max_size=5))
def test_whatever_a_provider_says_a_line_stays_one_line_of_json(text: str, raw: bytes) -> None:
    (line,) = told(log(detail=text, nested={text: [text]}, bytes=raw, big=2**64 - 1))
    assert line["event"] == "something_happened"


def test_control_characters_cannot_move_the_cursor_of_a_terminal() -> None:
    page = Page("console").tell(log(detail="red \x1b[31m and\nanother line \x9b0m \u202e"))
    assert "\x1b" not in page
    assert len(page.splitlines()) == 1
    assert r"\x1b[31m" in page


def test_the_console_has_colours_only_where_that_is_asked_for() -> None:
    assert "\x1b[" in Page("console", colors=True).tell(log())
    assert "\x1b[" not in Page("console", colors=False).tell(log())


def test_the_system_journal_is_given_priorities() -> None:
    levels = ("debug", "info", "warning", "error", "critical")
    page = Page(level="debug", priorities=True).tell(*(log(level) for level in levels))
    assert [line[:4] for line in page.splitlines()] == ["<7>{", "<6>{", "<4>{", "<3>{", "<2>{"]


def test_the_system_journal_is_known_by_its_device_and_inode(tmp_path: Any) -> None:  # noqa: ANN401
    with (tmp_path / "stream").open("w") as stream:
        there = os.fstat(stream.fileno())
        variable = f"{there.st_dev}:{there.st_ino}"
        assert goes_to_the_system_journal(stream.fileno(), variable)
        assert not goes_to_the_system_journal(stream.fileno(), f"{there.st_dev}:1")
        assert not goes_to_the_system_journal(stream.fileno(), None)


def test_a_terminal_is_for_people_and_everything_else_for_machines() -> None:
    assert style_for("auto", terminal=True) == "console"
    assert style_for("auto", terminal=False) == "json"
    assert style_for("json", terminal=True) == "json"
    assert style_for("console", terminal=False) == "console"


@pytest.fixture
def stuck_pipe() -> Iterator[tuple[int, int]]:
    """The ends of a pipe that nobody reads, full to the brim."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    try:
        while True:
            os.write(write, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(write, True)
    yield read, write
    for fd in (read, write):
        with contextlib.suppress(OSError):  # a test may have closed it
            os.close(fd)


def test_nobody_waits_for_a_reader_that_does_not_read(stuck_pipe: tuple[int, int]) -> None:
    read, write = stuck_pipe
    writer = LineWriter(write, waiting_lines=10)
    for _ in range(100):
        writer.write(b"a line\n")
    assert writer.take_dropped() == 0  # there is still no room to say it
    writer.close(timeout_s=0.0)
    os.close(read)  # and the thread ends


def test_dropped_lines_are_told_when_there_is_room_again(stuck_pipe: tuple[int, int]) -> None:
    read, write = stuck_pipe
    writer = LineWriter(write, waiting_lines=4)
    page = Log(writer, Hand().clock, style="json")
    for _ in range(50):
        page.take(log())
    os.set_blocking(read, False)
    content = b""
    while b"log_lines_dropped" not in content:
        try:
            content += os.read(read, 1 << 16)
        except BlockingIOError:
            page.take(log(event="tried_again"))
    told_of = next(line for line in content.splitlines() if b"log_lines_dropped" in line)
    line = orjson.loads(told_of.lstrip(b"x"))
    assert line["level"] == "error"
    assert line["count"] >= 45  # one is being written, four wait
    writer.close()


def test_a_reader_that_is_gone_is_no_trouble() -> None:
    read, write = os.pipe()
    os.close(read)
    writer = LineWriter(write)
    for _ in range(2000):
        writer.write(b"a line\n")
    writer.close()
    os.close(write)


def test_lines_reach_a_terminal() -> None:
    terminal, ours = pty.openpty()
    writer = LineWriter(ours)
    Log(writer, Hand().clock, style="console").take(log(models=2))
    writer.close()
    assert b"something_happened" in os.read(terminal, 4096)
    os.close(ours)
    os.close(terminal)


def test_a_pipe_that_somebody_made_non_blocking_still_gets_every_line() -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)
    writer = LineWriter(write)
    for _ in range(500):
        writer.write(b"x" * 999 + b"\n")
    with io.FileIO(read) as pipe:
        content = b""
        while len(content) < 500_000:
            content += pipe.read(1 << 16) or b""
    assert content.count(b"\n") == 500
    writer.close()
    os.close(write)
