"""Scripts and how faults bend them: values in, values out."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daemon.fakes import Faults, Line, Script, spoken

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

texts = st.lists(st.sampled_from(["the", "blue", "kettle"]), max_size=5).map(" ".join)
seconds = st.integers(0, 40).map(lambda quarters: quarters / 4)
lines = st.builds(
    Line,
    text=st.none() | texts,
    audio_ms=st.floats(0, 1000),
    after_s=seconds,
    final=st.booleans(),
    marked=st.none() | st.booleans(),
)
answers = st.lists(lines, max_size=4).map(tuple)
faults = st.builds(
    Faults,
    no_final=st.booleans(),
    final_delay_s=seconds,
    duplicate_final=st.booleans(),
    split_final=st.integers(1, 4),
    ack_s=st.none() | seconds,
    unmarked=st.booleans(),
)


def words(said: tuple[Line, ...]) -> list[str]:
    return " ".join(line.text or "" for line in said if line.final).split()


def test_spoken_words_become_due_one_by_one() -> None:
    assert spoken("the blue kettle", 300, 600, after_s=0.1) == (
        Line("the", 400, 0.1),
        Line("the blue", 500, 0.1),
        Line("the blue kettle", 600, 0.1),
    )
    assert spoken("", 300, 600) == ()


def test_a_script_for_a_force_keeps_its_final_for_the_answer() -> None:
    script = Script.for_force("good day", end_ms=200, after_s=0.5)
    assert [line.final for line in script.lines] == [False, False]
    assert script.answers == ((Line("good day", after_s=0.5, final=True),),)


def test_a_script_for_a_pause_has_its_final_in_the_audio_behind_the_speech() -> None:
    script = Script.for_pause("good day", end_ms=200, pause_ms=50)
    assert script.lines[-1] == Line("good day", 250, final=True)
    assert script.answers == ()


@unhurried
@given(said=answers)
def test_without_faults_nothing_is_bent(said: tuple[Line, ...]) -> None:
    assert Faults().bend(said) == said


@unhurried
@given(said=answers, fault=faults)
def test_partials_are_never_bent(said: tuple[Line, ...], fault: Faults) -> None:
    assert [line for line in fault.bend(said) if not line.final] == [
        line for line in said if not line.final
    ]


@unhurried
@given(said=answers, fault=faults)
def test_no_word_of_a_final_is_lost_or_changed_by_a_delay_a_split_or_a_double(
    said: tuple[Line, ...], fault: Faults
) -> None:
    bent = replace(fault, no_final=False).bend(said)
    assert words(bent) == words(said)
    assert all(line.times == 1 + fault.duplicate_final for line in bent if line.final)


@unhurried
@given(said=answers, fault=faults)
def test_an_answer_is_said_in_order_and_only_its_finals_are_marked_by_themselves(
    said: tuple[Line, ...], fault: Faults
) -> None:
    bent = fault.bend_answer(said)
    assert list(bent) == sorted(bent, key=lambda line: line.after_s)
    assert all(line.marked is not None for line in bent)
    if fault.unmarked:
        assert not any(line.marked for line in bent)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Faults(), [("good day", 0.25, True, 1)]),
        (Faults(no_final=True), []),
        (Faults(final_delay_s=1.0), [("good day", 1.25, True, 1)]),
        (Faults(duplicate_final=True), [("good day", 0.25, True, 2)]),
        (
            Faults(split_final=2, split_gap_s=0.5),
            [("good", 0.25, False, 1), ("day", 0.75, True, 1)],
        ),
        (Faults(split_final=9), [("good", 0.25, False, 1), ("day", 0.3, True, 1)]),
        (Faults(ack_s=0.0), [("", 0.0, True, 1), ("good day", 0.25, False, 1)]),
        (Faults(ack_s=0.5), [("good day", 0.25, False, 1), ("", 0.5, True, 1)]),
        (Faults(unmarked=True), [("good day", 0.25, False, 1)]),
    ],
)
def test_what_becomes_of_the_answer(
    fault: Faults, said: list[tuple[str, float, bool, int]]
) -> None:
    bent = fault.bend_answer((Line("good day", after_s=0.25, final=True),))
    assert [(line.text, line.after_s, line.marked, line.times) for line in bent] == said
