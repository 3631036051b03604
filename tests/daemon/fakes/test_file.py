"""Scripts as people write them: what they come to, and what is wrong with them."""

import json
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.errors import UserError
from daemon.fakes import (
    FAKES,
    FakeDeepgram,
    FakeGladia,
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
from daemon.fakes.file import SCRIPT_EXIT_CODE, read_script, script_of
from daemon.fakes.sections import WORDS, FaultsSection

EVERYTHING = {
    "connections": [1, 3],
    "listening": False,
    "black_hole": True,
    "handshake": {"tcp_s": 1, "tls_s": 2, "prepare_s": 3, "upgrade_s": 4},
    "refusal": {"status": 429, "retry_after_s": 7, "only_websocket": True},
    "hang_up": {"at": "audio", "audio_ms": 10, "after_s": 1, "code": 1011, "reason": "why"},
    "say": [
        {"at": "open", "text": "hm", "times": 2},
        {"at": "audio", "audio_ms": 9, "after_s": 1, "base64": "AP8=", "raw": True},
    ],
    "flood": {"at": "final", "after_s": 1, "text": "more", "per_s": 10, "for_s": 2},
    "pieces": {"frames": 2, "segments": 3, "gap_s": 0.5},
    "stops_reading_ms": 1000,
    "min_audio_ms": 20,
    "idle_s": 3,
    "delay_s": 0.25,
    "final_delay_s": 0.5,
    "drop": ["partials", "finals"],
    "duplicate": True,
    "reorder": True,
    "split": 4,
    "split_gap_s": 0.75,
    "ack_s": 0.02,
    "unmarked": True,
    "finish_unanswered": True,
    "close_unanswered": True,
}
COMES_TO = Faults(
    connections=(1, 3),
    listening=False,
    black_hole=True,
    tcp_s=1,
    tls_s=2,
    prepare_s=3,
    handshake_s=4,
    refusal=Refusal(429, 7, upgrade=True),
    hang_up=HangUp(Moment.AUDIO, 10, 1, 1011, "why"),
    interjections=(
        Interjection("hm", Moment.OPEN, times=2),
        Interjection(b"\0\xff", Moment.AUDIO, 9, 1, raw=True),
    ),
    flood=Flood(Moment.FINAL, after_s=1, text="more", per_s=10, for_s=2),
    pieces=Pieces(2, 3, 0.5),
    stops_reading_ms=1000,
    min_audio_ms=20,
    idle_s=3,
    delay_s=0.25,
    no_final=True,
    no_partials=True,
    overtaking=True,
    final_delay_s=0.5,
    duplicate_final=True,
    split_final=4,
    split_gap_s=0.75,
    ack_s=0.02,
    unmarked=True,
    finish_unanswered=True,
    close_unanswered=True,
)


def mistakes(table: object) -> list[str]:
    with pytest.raises(UserError) as caught:
        script_of(table, "x.toml")
    assert caught.value.exit_code == SCRIPT_EXIT_CODE
    return str(caught.value).splitlines()


def test_every_switch_reaches_the_fake() -> None:
    found = script_of({"faults": EVERYTHING}, "x.toml")
    assert found.faults == COMES_TO
    usual = Faults()
    for one in fields(Faults):  # so that none is forgotten here
        assert getattr(COMES_TO, one.name) != getattr(usual, one.name), one.name
    assert EVERYTHING.keys() == FaultsSection.model_fields.keys()
    assert found.switched_on == tuple(FaultsSection.model_fields)


def test_nothing_said_is_nothing_wrong() -> None:
    found = read_script(None)
    assert found.faults == Faults()
    assert found.switched_on == ()
    assert found.script == Script.for_force(WORDS, start_ms=300, end_ms=2400, after_s=0.15)
    assert isinstance(found.fake(), FakeDeepgram)


def test_where_nothing_can_be_forced_the_final_comes_with_the_pause() -> None:
    found = script_of({"provider": "gladia", "speech": {"text": "a", "pause_ms": 50}}, "x.toml")
    assert found.script == Script.for_pause("a", start_ms=300, end_ms=2400, pause_ms=50)
    assert isinstance(found.fake(), FakeGladia)


def test_lines_and_answers_by_hand() -> None:
    table = {
        "line": [{"text": "a", "audio_ms": 20}, {"audio_ms": 40, "final": True, "times": 2}],
        "answer": [
            {"text": "one", "after_s": 0.1},
            {"force": 3, "text": "three", "marked": False},
        ],
        "rest": "left",
        "finish_s": 0.5,
    }
    script = script_of(table, "x.toml").script
    assert script.lines == (Line("a", 20), Line(None, 40, final=True, times=2))
    one = Line("one", after_s=0.1, final=True)
    assert script.answers == ((one,), (), (Line("three", final=True, marked=False),))
    assert (script.rest, script.finish_s) == ("left", 0.5)


def test_the_key_is_the_only_good_one_and_is_shown_nowhere() -> None:
    found = script_of({"key": "canary"}, "x.toml")
    fake = found.fake()
    assert fake.is_good("canary")
    assert not fake.is_good("another")
    assert "canary" not in repr(found)


def test_toml_and_json_say_the_same(tmp_path: Path) -> None:
    toml, as_json = tmp_path / "a.toml", tmp_path / "a.json"
    toml.write_text('provider = "gladia"\n[faults]\ndrop = "finals"\n')
    as_json.write_text(json.dumps({"provider": "gladia", "faults": {"drop": ["finals"]}}))
    assert read_script(toml) == read_script(as_json)


WRONG: dict[str, tuple[object, str]] = {
    "no table": ([1], "x.toml: must be a table of settings, not a list"),
    "an unknown setting": (
        {"faults": {"pieces": {"frame": 2}}},
        "x.toml: faults.pieces.frame: there is no such setting; allowed: frames, segments, gap_s",
    ),
    "an unknown provider": (
        {"provider": "nobody"},
        f"x.toml: provider: there is no fake of that name; allowed: {', '.join(FAKES)} "
        "(it is 'nobody')",
    ),
    "out of range": (
        {"faults": {"ack_s": -1}},
        "x.toml: faults.ack_s: input should be greater than or equal to 0 (it is -1)",
    ),
    "no such moment": (
        {"faults": {"flood": {"at": "connected"}}},
        "x.toml: faults.flood.at: input should be 'open', 'audio', 'force', 'final' or 'finish' "
        "(it is 'connected')",
    ),
    "a moment is missing": (
        {"faults": {"hang_up": {"code": 1000}}},
        "x.toml: faults.hang_up.at: field required",
    ),
    "a place where it means nothing": (
        {"faults": {"hang_up": {"at": "open", "audio_ms": 5}}},
        'x.toml: faults.hang_up: audio_ms needs at = "audio", not "open"',
    ),
    "two ways to end": (
        {"faults": {"hang_up": {"at": "open", "code": 1011, "reset": True}}},
        "x.toml: faults.hang_up: a connection is reset or closed with a code, not both",
    ),
    "a code that cannot be sent": (
        {"faults": {"hang_up": {"at": "open", "code": 1006}}},
        "x.toml: faults.hang_up: no Close can carry the code 1006",
    ),
    "two messages in one": (
        {"faults": {"say": [{"at": "open", "text": "a", "base64": "AA=="}]}},
        "x.toml: faults.say[1]: exactly one of text and base64 must be given",
    ),
    "no base64": (
        {"faults": {"say": [{"at": "open", "base64": "?"}]}},
        "x.toml: faults.say[1]: base64 is not base64",
    ),
    "backwards": (
        {"speech": {"start_ms": 500, "end_ms": 400}},
        "x.toml: speech: end_ms must not be below start_ms (500)",
    ),
    "twice": (
        {"speech": {}, "line": [{"text": "a"}]},
        "x.toml: give [speech], or [[line]] and [[answer]], not both",
    ),
    "a force where there is none": (
        {
            "provider": "gladia",
            "answer": [{"text": "a"}],
            "faults": {"ack_s": 0, "unmarked": True, "hang_up": {"at": "force"}},
        },
        "x.toml: gladia has no force, so these mean nothing: "
        "answer, faults.ack_s, faults.unmarked, faults.hang_up.at",
    ),
    "a key that is none": ({"key": 5}, "x.toml: key: input should be a valid string"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_mistake_is_one_line_with_its_place_and_what_is_allowed(what: str) -> None:
    table, line = WRONG[what]
    assert mistakes(table) == [line]


def test_all_mistakes_are_told_at_once() -> None:
    table = {"provider": "x", "faults": {"split": 0, "hang_up": {"at": "y"}}}
    places = [line.split(": ")[1] for line in mistakes(table)]
    assert places == ["provider", "faults.hang_up.at", "faults.split"]


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.toml", b"provider = ", "is not TOML: "),
        ("a.json", b"{", "is not JSON: "),
        ("a.json", b"[" * 100_000, "is nested too deeply"),
        ("a.toml", b"\xff", "is not UTF-8 text (byte 0)"),
        ("a.json", b"[]", "must be a table of settings, not a list"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line(
    name: str, content: bytes, why: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        read_script(path)
    assert str(caught.value).startswith(f"{path}: {why}")
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read: No such file or directory"):
        read_script(tmp_path / "none.toml")


anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.sampled_from(["open", "a"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["at", "text", "code", "times", *EVERYTHING]), inner)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["speech", "line", "answer", "faults", "x"]), anything))
def test_whatever_is_in_a_script_it_is_taken_or_told_in_lines(table: dict[str, object]) -> None:
    lines: list[str] = []
    try:
        script_of(table, "x.toml").fake()
    except UserError as error:
        lines = str(error).splitlines()
    assert all(line.startswith("x.toml: ") for line in lines)
