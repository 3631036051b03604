"""One measurement drawn: in the terminal and as a picture."""

from dataclasses import replace
from io import StringIO
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from exporters.timeline import drawn, print_timeline, rows
from exporters.timeline_marks import (
    Timeline,
    clean,
    round_step_ms,
    ticks_ms,
    timeline_of,
)
from exporters.timeline_svg import svg
from measure.definitions import DEFINITIONS
from measure.definitions.retelling import Retelling
from measure.events import Connected, Event, Failed, LoopStalled, Notice, StreamClosed, Tick, Xrun
from measure.faults import Fault, FaultKind, Whose
from measure.records import MS, SECOND, Rule
from measure.replay import Session
from tests.measure.stories import (
    MARKED,
    SURVEYED,
    ZERO,
    force,
    forced_final,
    frame,
    partial,
    rules,
    stories,
)

SAID = [
    partial(ZERO - 300 * MS, "good"),
    partial(ZERO + 60 * MS, "good day"),
    forced_final(ZERO + 250 * MS, "good day"),
]
SPOKEN = [frame(ZERO + (n - 50) * 20 * MS, n * 20.0, late_ns=n % 3 * MS) for n in range(1, 51)]
SILENT = [frame(ZERO + n * 20 * MS, 1000 + n * 20.0, padding=True) for n in range(1, 38)]
STORY: list[Event] = [
    *SURVEYED,
    Connected(ZERO - SECOND, None, None, 5 * MS, None, 9 * MS, "127.0.0.1:443"),
    *sorted([*SPOKEN, force(late_ns=MS), *SILENT, *SAID], key=lambda event: event.at_ns),
    StreamClosed(ZERO + 900 * MS, 1000, "bye"),
]


def line_of(story: list[Event], rule: Rule = MARKED, *names: str) -> Timeline:
    started: dict[str, object] = {"s": "s1", "model": "deepgram/nova-3", "clip": "day"}
    told = Retelling(rule, story).replayed()
    return timeline_of(Session(started, tuple(story), None), told, names or ("method",))


def chart(line: Timeline, width: int = 120, *, plain: bool = False) -> dict[str, str]:
    """The chart's lanes by their names."""
    lanes = [text.plain for text in drawn(line, width, plain=plain)][1:]
    return {lane[:18].strip(): lane[18:] for lane in lanes}


def test_marks_stand_where_they_happened() -> None:
    lanes = chart(line_of(STORY))
    zero = lanes["force"].index("▲")
    assert lanes["ms from zero"][zero] == "0"
    assert lanes["partials"].index("○") < zero < lanes["partials"].rindex("○")
    assert lanes["finals"].index("●") == lanes["confirm"].index("✓")
    assert lanes["audio"][zero - 1] == "▬"
    assert lanes["audio"].rstrip()[-1] == "─"


def test_a_definition_spans_from_its_start_to_its_end() -> None:
    lanes = chart(line_of(STORY, MARKED, "method", "speech_end", "confirmed"))
    assert lanes["method"].index("├") == lanes["force"].index("▲")
    assert lanes["method"].index("┤") == lanes["finals"].index("●")
    assert lanes["speech_end"].index("├") < lanes["method"].index("├")
    assert "250.000 ms" in lanes["method"]
    assert "350.000 ms" in lanes["speech_end"]


def test_a_definition_without_a_value_says_why() -> None:
    assert "none: no word" not in chart(line_of(STORY))["method"]
    lanes = chart(line_of(STORY, MARKED, "words"))
    assert "none: this provider gives no word times" in lanes["words"]


def test_the_latest_frame_of_a_column_shows() -> None:
    late = [
        replace(event, due_ns=event.due_ns - 25 * MS) if event == SPOKEN[10] else event
        for event in STORY
    ]
    assert "█" in chart(line_of(late))["lateness"]
    assert "█" not in chart(line_of(STORY))["lateness"]


def test_a_terminal_without_unicode_gets_plain_signs() -> None:
    text = "\n".join(line.plain for line in drawn(line_of(STORY), 100, plain=True))
    assert text.isascii()


@pytest.mark.parametrize("width", [20, 60, 120, 400])
def test_a_chart_fits_its_width(width: int) -> None:
    widest = max(len(text.plain) for text in drawn(line_of(STORY), width))
    assert widest <= max(min(width, 160), 58)


def test_every_event_is_told_with_its_moment() -> None:
    told = [(moment, what, detail) for moment, _, what, detail in rows(line_of(STORY))]
    assert ("+0.000", "force sent", "+1.000 ms after it was due") in told
    assert ("+60.000", "partial", "good day") in told
    assert ("+250.000", "final, forced", "good day") in told
    assert ("+750.000", "done", "what comes now changes nothing") in told
    assert ("+900.000", "closed", "Close 1000 bye") in told


def test_frames_between_two_events_are_one_row() -> None:
    frames = [row for row in rows(line_of(STORY)) if "frame" in row[2]]
    assert sum(int(row[2].split()[0]) for row in frames) == len(SPOKEN) + len(SILENT)
    assert frames[0] == ("-300.000", "700", "35 frames", "latest +2.000 ms")
    assert any("of silence" in row[3] for row in frames)


def test_what_the_watch_says_is_told() -> None:
    says = line_of(STORY).says
    assert "verdict: forced_final, it counts" in says
    assert "final: +250.000 ms, “good day”" in says


def test_trouble_has_a_lane_of_its_own() -> None:
    fault = Fault(Whose.PROVIDER, FaultKind.SERVER, "oops")
    story = [
        *STORY[:-2],
        LoopStalled(ZERO + 760 * MS, 60 * MS),
        Xrun(ZERO + 770 * MS, "input_lost", 900.0, 40.0),
        Xrun(ZERO + 780 * MS, "output_underflow", 900.0),
        Failed(ZERO + 800 * MS, fault),
    ]
    told = [row[2:] for row in rows(line_of(story))]
    assert ("this program stood still", "for 60.000 ms") in told
    assert ("the sound device failed", "input lost, 40.0 ms are missing") in told
    assert ("the sound device failed", "output underflow") in told
    assert ("failed", "provider, server: oops") in told


def test_without_zero_moments_count_from_the_first_frame() -> None:
    line = line_of([*SURVEYED, *SPOKEN[:3], Notice(ZERO, "x")])
    assert line.origin == "the first frame"
    assert line.frames[0].at_ns == 0


def test_a_session_without_any_event_can_be_drawn() -> None:
    assert "verdict" in svg(line_of([]))
    assert chart(line_of([]))["audio"].strip(" │") == ""


@pytest.mark.parametrize("text", ["a\x1b[2Jb", "a\x00b", "a\ud800b", "a\u202eb", "a\r\nb"])
def test_what_could_break_a_terminal_or_a_document_is_left_out(text: str) -> None:
    story = [*STORY[:-1], partial(ZERO + 300 * MS, text), StreamClosed(ZERO + 900 * MS, 1, text)]
    console = Console(width=100, file=StringIO(), force_terminal=False)
    line = line_of(story)
    print_timeline(console, line)
    assert isinstance(console.file, StringIO)
    assert "\x1b" not in console.file.getvalue()
    ElementTree.fromstring(svg(line).encode())
    assert clean(text).isprintable()


def texts(document: str) -> list[str]:
    root = ElementTree.fromstring(document)
    return [element.text or "" for element in root.iter() if element.tag.endswith("}text")]


def test_a_picture_has_its_text_as_text() -> None:
    shown = texts(svg(line_of(STORY)))
    for said in ("deepgram/nova-3, day, session s1", "ms from zero", "250.000 ms", "audio"):
        assert said in shown
    assert "+250.000 ms final, forced: good day" in shown


def test_a_picture_has_colours_for_light_and_for_dark() -> None:
    assert "prefers-color-scheme: dark" in svg(line_of(STORY))


def test_markup_in_a_text_is_text() -> None:
    story = [*STORY[:-1], forced_final(ZERO + 300 * MS, "<b>&amp;</b>")]
    assert any("<b>&amp;</b>" in text for text in texts(svg(line_of(story))))


def test_a_picture_of_a_long_recording_is_not_large() -> None:
    many = [frame(ZERO + n * 20 * MS, n * 20.0) for n in range(1, 9001)]
    document = svg(line_of([*SURVEYED, *many, force(ZERO + 9001 * 20 * MS)]))
    assert document.count("<rect") < 1000


@given(rules, stories())
def test_any_story_can_be_drawn(rule: Rule, story: list[Event]) -> None:
    line = line_of(story, rule, *DEFINITIONS)
    assert len({len(text.plain) > 0 for text in drawn(line, 100)}) == 1
    ElementTree.fromstring(svg(line))


@given(st.floats(0.001, 1e9))
def test_a_step_is_round_and_no_smaller_than_asked_for(least_ms: float) -> None:
    step_ms = round_step_ms(least_ms)
    assert step_ms >= least_ms
    assert str(step_ms).rstrip("0") in ("1", "2", "5")
    assert step_ms == 1 or step_ms < least_ms * 2.5 + 1


def test_zero_is_always_a_tick() -> None:
    assert list(ticks_ms(-450 * MS, 410 * MS, 200)) == [-400, -200, 0, 200, 400]


def test_a_tick_in_time_changes_no_drawing() -> None:
    ticked = [*STORY[:-1], Tick(ZERO + 760 * MS), STORY[-1]]
    assert svg(line_of(ticked)) == svg(line_of(STORY))
