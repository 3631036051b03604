"""What somebody sees who speaks to several models at once."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from exporters.logs import LineWriter
from exporters.turn_groups import Groups, SpokenTurn
from exporters.turn_lines import place
from exporters.turn_stream import FRAMES_KEPT, TEXT_KEPT
from exporters.turn_view import Through, TurnView
from measure.events import DeviceSampled, Event, StreamClosed
from measure.records import MS, SECOND, Endpoint, Reading, Rule
from measure.replay import sessions_of, turns_of
from measure.wire import Record
from tests.exporters.talks import (
    ACKED,
    FALLBACK,
    FORCED,
    MARKED,
    Hearing,
    moment,
    talk,
)
from tests.measure.stories import recorded, rules, stories


def heard(
    model: str = "a/one",
    rule: Rule = ACKED,
    *,
    final_ms: float | None = 1600.0,
    text: str = "good morning",
) -> Hearing:
    """A stream that hears one speech, from 0.5 to 1.2 s, and answers."""
    hearing = Hearing(f"s-{model}", model, rule)
    hearing.speech(500.0, 1200.0)
    if final_ms is not None:
        hearing.says(final_ms, text, final=True)
    return hearing


def view(width: int | None = None, *, colours: bool = False) -> tuple[TurnView, StringIO]:
    """On a terminal of that width, or into a file."""
    file = StringIO()
    terminal = width is not None
    system = "standard" if colours else None
    console = Console(
        file=file,
        width=width,
        force_terminal=terminal,
        color_system=system,  # type: ignore[arg-type]  # None is allowed: no colours
        _environ={"TERM": "xterm"},
    )
    return TurnView(console, zone=UTC), file


def printed(records: Iterable[Record]) -> list[str]:
    """The lines in a file, of everything."""
    shown, file = view()
    for record in records:
        shown.take(record)
    shown.close()
    return file.getvalue().splitlines()


def without(field: str, records: Iterable[Record]) -> list[Record]:
    return [{key: one[key] for key in one if key != field} for one in records]


def picture(records: Sequence[Record], width: int = 120) -> list[str]:
    """What stands at the bottom of a terminal now."""
    shown, file = view(width)
    for record in records:
        shown.take(record)
    file.truncate(0)
    file.seek(0)
    shown.draw(max(int(str(record["t"])) for record in records))
    return Text.from_ansi(file.getvalue()).plain.splitlines()


def shown_turns(records: Sequence[Record]) -> list[SpokenTurn]:
    groups, turns = Groups(), []
    for record in records:
        if record["k"] == "session_started":
            groups.begin(record)
        elif (stream := groups.stream(record["s"])) is not None:
            turns += groups.take(stream, record)
    return [*turns, *groups.rest()]


# A turn that is over.


def test_a_turn_is_a_heading_and_a_line_for_each_model() -> None:
    slow = heard("b/number-two", FALLBACK, final_ms=2012.0, text="good morning to you")
    slow.says(1500.0, "good more")
    assert printed(talk([heard(), slow], 4000.0)) == [
        "input: USB Audio",
        "turn 1  speech 0:00.5 \N{EN DASH} 0:01.2, ended 22:13:21.1  "
        "force +215 ms, without force +221 ms after it",
        "  a/one         final  226 ms  first partial    \N{EN DASH}     forced_final "
        "  “good morning”",
        "  b/number-two  final  632 ms  first partial  120 ms  natural_final"
        "  “good morning to you”",
    ]


def test_the_force_is_counted_from_when_the_end_was_sent_where_nobody_knows_when_it_was_heard() -> (
    None
):
    records = without("captured_ns", talk([heard()], 4000.0))
    assert "force +174 ms after it" in printed(records)[1]


def test_the_end_may_lie_within_a_frame() -> None:
    hearing = Hearing("s-1", "a/one", ACKED)
    hearing.speech(500.0, 1213.0)
    assert "force +215 ms after it" in printed(talk([hearing], 4000.0))[1]


def test_each_turn_has_an_end_of_its_own() -> None:
    hearing = heard()
    hearing.speech(3000.0, 4000.0)
    headings = [line[:30] for line in printed(talk([hearing], 5000.0)) if line[0] == "t"]
    assert headings == [
        "turn 1  speech 0:00.5 \N{EN DASH} 0:01.2",
        "turn 2  speech 0:03.0 \N{EN DASH} 0:04.0",
    ]


@pytest.mark.parametrize(
    ("audio_ms", "said"),
    [(49.0, "0:00.0"), (9_960.0, "0:10.0"), (59_960.0, "1:00.0"), (3_661_500.0, "1:01:01.5")],
)
def test_a_place_is_in_minutes_and_seconds(audio_ms: float, said: str) -> None:
    assert place(audio_ms) == said


def test_several_forces_are_given_as_a_range() -> None:
    other = heard("b/two", final_ms=None)
    other.events[-1] = replace(other.events[-1], at_ns=other.events[-1].at_ns + 9 * MS)
    assert "force +215 to +224 ms after it" in "\n".join(printed(talk([heard(), other], 4000.0)))


def test_what_is_missing_is_a_dash_and_no_number() -> None:
    lines = printed(talk([heard(final_ms=None)], 14_000.0))
    assert lines[2].split() == [
        *("a/one", "final", "\N{EN DASH}", "first", "partial", "\N{EN DASH}"),
        *("no_final", "\N{EN DASH}"),
    ]


def test_what_was_final_before_zero_is_published_as_0_and_the_verdict_says_how_long_before() -> (
    None
):
    (line,) = printed(talk([heard(rule=FALLBACK, final_ms=1300.0)], 5000.0))[2:]
    assert "final    0 ms" in line
    assert "already_final (-80 ms)" in line


def test_a_reading_that_is_not_valid_shows_no_duration() -> None:
    hearing = heard()
    force = hearing.events[-2 - 1]
    hearing.events[2] = replace(force, due_ns=force.at_ns - SECOND)  # type: ignore[call-arg]
    hearing.says(1500.0, "good more")
    (line,) = printed(talk([hearing], 5000.0))[2:]
    assert "harness_late" in line
    assert "ms" not in line


def test_a_turn_in_which_the_device_lost_audio_says_so() -> None:
    hearing = heard()
    hearing.loses(800.0)
    _, heading, line, last = printed(talk([hearing], 4000.0))
    assert heading.endswith("  xrun: the sound device lost audio")
    assert "  xrun  “good morning”" in line
    assert "1 xrun " in last


def test_an_xrun_between_turns_spoils_none() -> None:
    hearing = heard()
    hearing.loses(3000.0)
    assert "xrun" not in "".join(printed(talk([hearing], 4000.0))[:3])


def test_a_turn_is_shown_as_soon_as_its_reading_stands_and_not_again_at_the_end() -> None:
    hearing = heard(final_ms=1605.0)
    hearing.speech(5000.0, 6000.0)
    hearing.says(6505.0, "and you?", final=True)
    shown, file = view()
    at_ms = {}
    for record in talk([hearing], 9000.0):
        before = file.getvalue().count("turn ")
        shown.take(record)
        if file.getvalue().count("turn ") > before:
            at_ms[before + 1] = (int(str(record["t"])) - moment(0)) / MS
    shown.close()
    assert at_ms == {1: 2105.0, 2: 7005.0}, "half a second after the answer"
    assert file.getvalue().count("turn ") == 2


def test_a_turn_that_lacks_its_answer_is_shown_when_the_next_is_forced() -> None:
    hearing = heard(final_ms=None)
    hearing.speech(2000.0, 3000.0)
    before, after = (
        shown_of(talk([hearing], until_ms, ends=False)) for until_ms in (3173.0, 3175.0)
    )
    assert before == []
    assert [turn.number for turn in after] == [1]


def test_a_turn_that_failed_is_shown_when_its_session_is_over() -> None:
    hearing = heard(rule=FORCED, final_ms=None)
    hearing.speech(3000.0, 9000.0)
    hearing.fails(5000.0)
    hearing.says(5100.0, "the answer to the turn before", final=True)
    hearing.over_ms = 5200.0
    assert len(shown_of(talk([hearing], 5200.0)[:-2])) == 0
    _, second = shown_of(talk([hearing], 5200.0))
    assert [told.reading.verdict for told in second.told if told.reading] == ["turn_unclear"]


def test_with_the_end_of_a_session_everything_of_it_is_shown() -> None:
    groups = Groups()
    started, *rest = talk([heard()], 1000.0)
    stream = groups.begin(started)
    turns = [turn for record in rest for turn in groups.take(stream, record)]
    assert len(turns) == 1
    assert groups.stream(stream.session_id) is None


def test_a_turn_is_shown_when_the_slowest_model_has_answered() -> None:
    early = talk([heard(), heard("b/two", final_ms=5000.0)], 5400.0, ends=False)
    assert len(shown_of(early)) == 0
    late = talk([heard(), heard("b/two", final_ms=5000.0)], 5600.0, ends=False)
    assert [one.model for one in shown_of(late)[0].told] == ["a/one", "b/two"]


def shown_of(records: Iterable[Record]) -> list[SpokenTurn]:
    """What is shown without anybody saying that nothing more will come."""
    groups, turns = Groups(), []
    for record in records:
        if record["k"] == "session_started":
            groups.begin(record)
        elif (stream := groups.stream(record["s"])) is not None:
            turns += groups.take(stream, record)
    return turns


def test_a_model_whose_records_come_late_is_awaited() -> None:
    ours, theirs = (talk([heard(model)], 4000.0, ends=False) for model in ("a/one", "b/two"))
    (turn,) = shown_of([*theirs[:4], *ours, *theirs[4:]])
    assert len(turn.told) == 2


def test_so_is_one_that_may_still_be_told_of_the_speech() -> None:
    ours = talk([heard()], 4000.0, ends=False)
    assert shown_of([*silence(1400.0), *ours]) == []
    assert len(shown_of([*silence(1600.0), *ours])) == 1


def silence(until_ms: float, joined_ms: float = 0.0) -> list[Record]:
    """Of a stream that is told of no speech."""
    return talk([Hearing("s-2", "b/two", ACKED, joined_ms)], until_ms, ends=False)


def test_a_model_that_gets_no_audio_keeps_nobody_waiting() -> None:
    assert len(shown_of([*silence(10.0), *talk([heard()], 4000.0, ends=False)])) == 1


def test_nor_does_one_that_has_failed_though_its_session_is_not_over() -> None:
    broken = Hearing("s-2", "b/two", ACKED)
    broken.fails(300.0)
    theirs = talk([broken], 300.0)[:-1]
    assert len(shown_of([*theirs, *talk([heard()], 4000.0, ends=False)])) == 1


def test_a_model_of_which_nothing_comes_any_more_is_awaited_until_its_patience_is_over() -> None:
    silent = talk([heard("b/two")], 1200.0, ends=False)
    shown, file = view()
    for record in [*silent, *talk([heard()], 4000.0, ends=False)]:
        shown.take(record)
    over_ns = moment(1374.0) + FORCED.patience_ns
    shown.draw(over_ns + 2 * SECOND)
    assert "turn" not in file.getvalue()
    shown.draw(over_ns + 3 * SECOND)
    assert "a/one  final  226 ms" in file.getvalue()
    assert "no reading    nothing came of it" in file.getvalue()


def test_what_comes_after_that_is_shown_as_late_under_the_same_number() -> None:
    theirs = talk([heard("b/two")], 4000.0)
    shown, file = view()
    stuck = [{**record, "s": "s-3", "model": "c/three"} for record in silence(300.0)]
    for record in [*stuck, *theirs[:6], *talk([heard()], 4000.0, ends=False)]:
        shown.take(record)
    shown.draw(10**18)
    for record in theirs[6:]:
        shown.take(record)
    lines = [line[:13] for line in file.getvalue().splitlines()[1:]]
    assert lines == [
        *("turn 1  speec", "  c/three  fi", "  b/two    fi", "  a/one    fi"),
        *("turn 1, later", "  b/two  fina"),
    ]


def test_each_model_is_given_its_own_patience() -> None:
    longer = Hearing("s-2", "b/two", ACKED)
    longer.speech(500.0, 3000.0)
    shown, file = view()
    for record in talk([heard(final_ms=None), longer], 3400.0, ends=False):
        shown.take(record)
    shown.draw(moment(1374.0) + 13 * SECOND)
    assert "turn" not in file.getvalue()
    shown.draw(moment(3174.0) + 13 * SECOND)
    assert "turn 1" in file.getvalue()


def test_who_was_not_awaited_is_late_as_well() -> None:
    started, *theirs = talk([heard("b/two")], 4000.0, ends=False)
    lines = printed([started, *talk([heard()], 4000.0), *theirs])
    headings = [line[:13] for line in lines if line.startswith("turn")]
    assert headings == ["turn 1  speec", "turn 1, later"]


def test_a_speech_that_is_cut_off_has_no_end() -> None:
    (_, heading, line) = printed(talk([heard()], 1000.0))
    assert heading == "turn 1  speech 0:00.5 \N{EN DASH} \N{EN DASH}"
    assert "no_final" in line


# Which turns are the same.


def again(joined_ms: float) -> Hearing:
    return Hearing("s-again", "b/two", ACKED, joined_ms)


def test_a_stream_that_was_opened_again_hears_the_same_turns_as_the_others() -> None:
    steady, broken, resumed = heard(), heard("b/two"), again(3000.0)
    broken.fails(2500.0)
    for hearing in (steady, resumed):
        hearing.speech(4000.0, 5000.0)
        hearing.says(5400.0, f"it was {hearing.model}", final=True)
    lines = printed(talk([steady, broken, resumed], 8000.0))
    assert [line[:7] for line in lines if line.startswith("turn")] == ["turn 1 ", "turn 2 "]
    assert lines[-2].startswith("  a/one  final  226 ms")
    assert lines[-1].startswith("  b/two  final  226 ms")
    assert lines.count("b/two: failed: provider, server: out of order") == 1
    assert "b/two: opened again at 0:03.0" in lines


def test_a_model_that_is_gone_has_no_reading_and_the_line_says_why() -> None:
    steady, broken = heard(), heard("b/two")
    broken.fails(2500.0)
    broken.events.append(StreamClosed(moment(2500.0), 1011))
    steady.speech(4000.0, 5000.0)
    steady.says(5400.0, "alone", final=True)
    line = printed(talk([steady, broken], 8000.0))[-1]
    assert line.split()[:6] == ["b/two", "final", "\N{EN DASH}", "first", "partial", "\N{EN DASH}"]
    assert line.endswith("no reading    failed: provider, server: out of order")


def test_a_model_that_cannot_be_had_is_complained_of_once() -> None:
    records: list[Record] = []
    for index in range(5):
        hearing = Hearing(f"s-{index}", "b/two", ACKED, 1000.0 * index)
        hearing.fails(1000.0 * index)
        records += talk([hearing], 9000.0)
    assert printed(records)[1:] == ["b/two: failed: provider, server: out of order"]


def test_a_model_that_joined_later_keeps_nobody_waiting() -> None:
    late = silence(900.0, joined_ms=800.0)
    turns = shown_of([*late, *talk([heard()], 3000.0, ends=False)])
    assert {told.model: told.why for told in turns[0].told} == {
        "a/one": "",
        "b/two": "opened later",
    }


@pytest.mark.parametrize(("apart_ms", "turns"), [(100.0, 1), (101.0, 2)])
def test_speech_that_begins_within_a_tenth_of_a_second_is_the_same(
    apart_ms: float, turns: int
) -> None:
    other = Hearing("s-2", "b/two", ACKED)
    other.speech(500.0 + apart_ms, 1200.0)
    assert len(shown_turns(talk([heard(), other], 20_000.0))) == turns


# Texts that providers and devices choose.


def test_what_providers_write_controls_no_terminal() -> None:
    hearing = heard("a/[red]one\x1b[2J", text="[bold]\x1b[31mred\r\n\u202egood[/]")
    hearing.device = "[blink]USB\x1b]0;x\x07"
    lines = printed(talk([hearing], 4000.0))
    assert lines[0] == "input: [blink]USB ]0;x "
    assert "“[bold] [31mred   good[/]”" in lines[2]
    assert "[red]one [2J" in lines[2]


def test_in_a_file_there_are_no_controls_and_no_line_is_cut() -> None:
    lines = printed(talk([heard("a/" + "long" * 20, text="word " * 60)], 4000.0))
    assert lines[2].endswith("word”")
    assert not any("\x1b" in line for line in lines)


def test_on_a_terminal_what_was_heard_stands_below_where_there_is_no_room_beside_it() -> None:
    shown, file = view(80)
    for record in talk([heard("elevenlabs/scribe-v2", text="word " * 20)], 4000.0, ends=False):
        shown.take(record)
    lines = Text.from_ansi(file.getvalue()).plain.splitlines()
    at = next(index for index, line in enumerate(lines) if "elevenlabs" in line)
    assert lines[at].rstrip().endswith("forced_final")
    assert lines[at + 1].startswith("    “word word")
    assert lines[at + 2].startswith("    word")
    assert max(map(cell_len, lines)) <= 80


@pytest.mark.parametrize("width", [72, 80, 100, 120, 200])
def test_at_no_width_a_number_is_parted_from_its_name(width: int) -> None:
    model = "assemblyai/universal-streaming"
    one, two = heard(model, final_ms=1310.0, rule=FALLBACK), heard("a/one")
    one.loses(900.0)
    shown, file = view(width)
    for record in talk([one, two], 6000.0, ends=False):
        shown.take(record)
    lines = [line.rstrip() for line in Text.from_ansi(file.getvalue()).plain.splitlines()]
    (line,) = [line for line in lines if model in line and "final" in line]
    assert line.startswith(f"  {model}  final    0 ms  first partial    \N{EN DASH}")
    assert sum("already_final (-70 ms)" in line for line in lines) == 1
    assert any("force +215 ms, without force +221 ms after it" in line for line in lines)
    assert max(map(cell_len, lines)) <= width


def test_on_a_terminal_there_are_colours() -> None:
    shown, file = view(120, colours=True)
    for record in talk([heard()], 4000.0, ends=False):
        shown.take(record)
    assert "\x1b[32mforced_final" in file.getvalue()


# The picture.


def test_the_picture_shows_the_device_and_a_line_for_each_model() -> None:
    one, two = heard(), heard("b/two")
    one.samples(1250.0, 12.3, 2.6)
    for hearing in (one, two):
        hearing.loses(400.0)
    one.says(1100.0, "good more")
    assert picture(talk([one, two], 1300.0, ends=False)) == [
        "USB Audio  clock +12 ± 3 ppm  delay 41 ms  1 xrun  0:01.3",
        "a/one  speech  good more",
        "b/two  speech  ",
    ]


@pytest.mark.parametrize(
    ("until_ms", "state"),
    [(10.0, "ready"), (400.0, "listening"), (900.0, "speech"), (1500.0, "waiting for the final")],
)
def test_the_picture_says_what_a_model_does(until_ms: float, state: str) -> None:
    assert picture(talk([heard()], until_ms, ends=False))[1] == f"a/one  {state}  "


def test_a_stream_that_is_not_ready_is_connecting() -> None:
    assert picture([heard().started])[1] == "a/one  connecting  "


def test_after_its_answer_a_model_listens_and_what_it_heard_stays() -> None:
    assert picture(talk([heard()], 3000.0, ends=False))[1] == "a/one  listening  good morning"


def test_of_speech_that_is_known_beforehand_nothing_is_shown_before_it_is_sent() -> None:
    hearing = heard(rule=FALLBACK)
    hearing.events[:2] = [replace(event, at_ns=moment(0)) for event in hearing.events[:2]]
    assert picture(talk([hearing], 300.0, ends=False))[1] == "a/one  listening  "
    assert picture(talk([hearing], 700.0, ends=False))[1] == "a/one  speech  "


def test_a_partial_without_text_hides_nothing() -> None:
    hearing = heard()
    hearing.says(1000.0, "good")
    hearing.says(1010.0, "")
    assert picture(talk([hearing], 1100.0, ends=False))[1] == "a/one  speech  good"


def test_with_the_next_speech_what_was_heard_before_goes() -> None:
    hearing = heard()
    hearing.speech(3000.0, 4000.0)
    hearing.says(3500.0, "and")
    hearing.says(3700.0, "and you")
    assert picture(talk([hearing], 3900.0, ends=False))[1] == "a/one  speech  and you"


def test_finals_and_the_newest_partial_are_joined() -> None:
    hearing = heard(rule=FALLBACK, final_ms=900.0, text="good")
    hearing.says(1000.0, "mor")
    assert picture(talk([hearing], 1100.0, ends=False))[1] == "a/one  speech  good mor"


def test_the_end_of_a_long_text_is_shown() -> None:
    hearing = heard(final_ms=None)
    hearing.says(900.0, "漢字" * 60 + "end")
    line = picture(talk([hearing], 1000.0, ends=False), 40)[1]
    assert line.startswith("a/one  speech  …")
    assert line.endswith("漢字end")
    assert cell_len(line) in (39, 40)


def test_a_stream_that_failed_says_so_until_it_is_opened_again() -> None:
    broken = heard("b/two")
    broken.fails(2500.0)
    failed = talk([broken], 3000.0)
    assert picture(failed)[-1] == "b/two  failed: provider, server: out of order"
    assert picture([*failed, again(3000.0).started])[-1] == "b/two  connecting  "


def test_a_clock_that_is_not_known_is_a_dash() -> None:
    hearing = heard()
    hearing.device = None
    assert picture(talk([hearing], 100.0, ends=False))[0] == (
        "microphone  clock \N{EN DASH}  delay \N{EN DASH}  no xruns  0:00.1"
    )


@pytest.mark.parametrize("width", [10, 40, 80, 120])
def test_no_line_of_the_picture_is_wider_than_the_terminal(width: int) -> None:
    one = heard("some-provider/some-model-with-a-name", final_ms=None)
    one.says(900.0, "漢字" * 60)
    broken = heard("b/two")
    broken.fails(800.0)
    lines = picture(talk([one, broken], 1000.0, ends=False), width)
    assert max(map(cell_len, lines)) <= width
    assert len(lines) == 3


def test_the_log_stands_above_the_picture() -> None:
    shown, file = view(80)
    shown.print_line(b"error [bold]x[/]\n")
    assert "error [bold]x[/]" in file.getvalue()


def test_a_word_of_the_program_stands_above_it_too() -> None:
    assert printed([{"k": "said", "t": 0, "text": "speak\x1b now"}]) == ["speak  now"]


def test_where_a_stream_begins_is_told_by_the_device_with_its_first_word() -> None:
    steady, resumed = heard(), again(3000.0)
    resumed.samples(3001.0, None, None)
    resumed.events.append(DeviceSampled(moment(3500.0), 300.0, 3500.0, None, None, None))
    for hearing in (steady, resumed):
        hearing.speech(4000.0, 5000.0)
    resumed.says(5400.0, "hello", final=True)
    resumed.events.sort(key=lambda event: event.at_ns)
    first, second = shown_turns(without("joined_ms", talk([steady, resumed], 8000.0)))
    assert len(first.told) == 1
    assert [told.why for told in second.told] == ["", ""]


def test_each_xrun_of_the_device_counts_once() -> None:
    one, two = heard(), heard("b/two")
    for hearing in (one, two):
        hearing.loses(300.0)
        hearing.loses(310.0)
    assert "  2 xruns  " in picture(talk([one, two], 400.0, ends=False))[0]


def test_it_is_drawn_no_more_often_than_eyes_can_follow() -> None:
    shown, file = view(80)
    shown.draw(SECOND)
    drawn = file.getvalue()
    shown.draw(SECOND + 149 * MS)
    assert file.getvalue() == drawn
    shown.draw(SECOND + 150 * MS)
    assert file.getvalue() != drawn


def test_at_the_end_the_terminal_has_its_cursor_again() -> None:
    shown, file = view(80)
    shown.draw(SECOND)
    shown.close()
    assert file.getvalue().rfind("\x1b[?25h") > file.getvalue().rfind("\x1b[?25l")


def test_closing_twice_prints_nothing_twice() -> None:
    shown, file = view()
    hearing = heard()
    hearing.loses(800.0)
    for record in talk([hearing], 1700.0, ends=False):
        shown.take(record)
    shown.close()
    shown.close()
    assert file.getvalue().count("turn 1") == 1
    assert file.getvalue().count("1 xrun") == 1


def test_records_of_sessions_that_are_not_known_change_nothing() -> None:
    assert printed(talk([heard()], 4000.0)[1:]) == []


def test_a_session_without_a_rule_is_said_to_be_one() -> None:
    shown, _ = view()
    with pytest.raises(ValueError, match="session s-1: its record has no rule"):
        shown.take({"k": "session_started", "s": "s-1", "model": "a/one", "rule": {}})


def test_it_is_not_drawn_while_the_terminal_does_not_take_what_was_drawn() -> None:
    file, behind = StringIO(), True
    console = Console(file=file, width=80, force_terminal=True, _environ={"TERM": "xterm"})
    shown = TurnView(console, behind=lambda: behind)
    before = file.getvalue()
    shown.draw(SECOND)
    assert file.getvalue() == before
    behind = False
    shown.draw(2 * SECOND)
    assert "microphone" in file.getvalue()


def test_what_is_printed_goes_through_a_writer_that_never_waits(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT)
    writer = LineWriter(fd)
    console = Console(file=Through(writer, terminal=False, encoding="ascii"))
    console.print(Text("0:01 \N{EN DASH} 0:02"))
    writer.close()
    os.close(fd)
    assert path.read_bytes() == b"0:01 ? 0:02\n"


# Laws.


def told_of(turns: Iterable[SpokenTurn], model: str) -> list[Reading | None]:
    ours = [(turn.number, told) for turn in turns for told in turn.told if told.model == model]
    return [told.reading for _, told in sorted(ours, key=lambda one: one[0])]


@st.composite
def conversations(draw: st.DrawFn) -> list[Hearing]:
    """Some turns, some models; answers come early, late or never, and streams may break off."""
    hearings = []
    starts = [1000.0]
    for _ in range(draw(st.integers(0, 3))):
        starts.append(starts[-1] + draw(st.sampled_from([900.0, 1500.0, 3000.0, 14_000.0])))
    for index in range(draw(st.integers(1, 3))):
        rule = draw(st.sampled_from([ACKED, FORCED, MARKED, FALLBACK]))
        hearing = Hearing(f"s-{index}", f"model/{index}", rule)
        for start_ms in starts:
            hearing.speech(start_ms, start_ms + 500.0)
            for after_ms in draw(st.lists(st.integers(1, 12_000), max_size=3)):
                text, final = draw(st.sampled_from(["good", "good day", ""])), draw(st.booleans())
                hearing.says(start_ms + after_ms, text, final=final)
            if draw(st.integers(0, 9)) == 0:
                hearing.loses(start_ms + 100.0)
        if draw(st.integers(0, 4)) == 0:
            hearing.fails(draw(st.floats(500.0, starts[-1] + 3000.0)))
        hearing.events.sort(key=lambda event: event.at_ns)
        hearings.append(hearing)
    return hearings


@given(conversations(), st.floats(0.0, 30_000.0))
def test_the_readings_shown_are_those_of_a_replay(hearings: list[Hearing], until_ms: float) -> None:
    records = talk(hearings, until_ms)
    turns = shown_turns(records)
    for session in sessions_of(records):
        replayed = [turn.reading() for turn in turns_of(session)]
        starts = [event for event in session.events if event.kind == "speech_start"]
        never_began = [None] * (len(starts) - len(replayed))
        shown = told_of(turns, str(session.started["model"]))[: len(starts)]
        assert shown == [*replayed[: len(starts)], *never_began]


@given(rules, stories())
def test_so_are_those_of_any_story(rule: Rule, story: list[Event]) -> None:
    told = recorded(replace(rule, endpoint=Endpoint.EVERY), story)
    records = [told.started, *told.rest, {"k": "session_finished", "t": 0, "s": "s"}]
    replayed = [turn.reading() for turn in turns_of(told.session)]
    starts = sum(record["k"] == "speech_start" for record in told.rest)
    shown = [one.reading for turn in shown_turns(records) for one in turn.told]
    never_began = [None] * (starts - len(replayed))
    expected = [*replayed[:starts], *never_began]
    assert sorted(map(repr, shown)) == sorted(map(repr, expected))


@given(conversations(), st.floats(0.0, 30_000.0))
def test_no_turn_of_a_model_is_shown_twice_and_none_is_left_out(
    hearings: list[Hearing], until_ms: float
) -> None:
    records = talk(hearings, until_ms)
    shown = [told for turn in shown_turns(records) for told in turn.told if told.reading]
    begun = [
        turn
        for session in sessions_of(records)
        for turn in turns_of(session)[
            : sum(event.kind == "speech_start" for event in session.events)
        ]
    ]
    assert len(shown) == len(begun)


def test_no_more_is_kept_than_the_machine_itself_keeps() -> None:
    hearing = Hearing("s-1", "a/one", ACKED)
    for start_ms in range(1000, 600_000, 4000):
        hearing.speech(start_ms, start_ms + 1000.0)
        hearing.says(start_ms + 1500.0, "many words of little worth " * 20, final=True)
    groups = Groups()
    stream = groups.begin(hearing.started)
    turns = 0
    for record in talk([hearing], 600_000.0, ends=False)[1:]:
        turns += len(groups.take(stream, record))
    assert turns == 150
    for index in range(100):
        stream.take({"k": "transcript", "t": 10**15 + index, "text": "words " * 9, "final": True})
    assert len(stream._frames) == FRAMES_KEPT
    assert len(stream.settled_text) <= TEXT_KEPT
    assert len(groups._open) <= 1
