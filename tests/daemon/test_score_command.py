"""``speechbench score``: two texts, two files or many pairs in, word errors out."""

import argparse
import io
import json
from pathlib import Path
from typing import Any

import pytest

from daemon.commands import score
from daemon.errors import UserError

PAIRS = [
    {"id": "a", "ref": "call me at 7:00pm", "hyp": "call me at seven PM"},
    {"id": 2, "ref": "the cat sat", "hyp": "the bat sat down"},
    {"id": "c", "ref": "Ann called", "hyp": "Anne called", "aliases": [["Ann", "Anne"]]},
    {"id": "d", "ref": "", "hyp": "noise"},
]


def ran(*words: str | Path) -> int:
    parser = argparse.ArgumentParser()
    score.arguments(parser)
    return score.run(parser.parse_args([str(word) for word in words]))


def document(capsys: pytest.CaptureFixture[str], *words: str | Path) -> dict[str, Any]:
    ran("--json", *words)
    said: dict[str, Any] = json.loads(capsys.readouterr().out)
    return said


def written(path: Path, *lines: object) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    return written(tmp_path / "pairs.jsonl", *PAIRS)


def test_two_texts_give_a_rate_and_its_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert ran("the cat sat on the mat", "cat is on the big mat") == 0
    said = capsys.readouterr().out
    assert "WER 50.00%: 3 errors in 6 words (1 substituted, 1 inserted, 1 deleted)" in said
    assert "normaliser: speechbench" in said


def test_an_empty_reference_has_no_rate(capsys: pytest.CaptureFixture[str]) -> None:
    ran("", "two words")
    assert "WER undefined" in capsys.readouterr().out
    assert document(capsys, "", "two words")["wer"] is None


def test_files_are_read_as_whole_texts(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "ref.txt").write_text("It\u2019s five\nkilometres.", encoding="utf-8")
    (tmp_path / "hyp.txt").write_text("it is 5 km", encoding="utf-8")
    assert document(capsys, "--files", tmp_path / "ref.txt", tmp_path / "hyp.txt")["errors"] == 0


def test_pairs_are_answered_line_by_line(capsys: pytest.CaptureFixture[str], pairs: Path) -> None:
    ran("--pairs", pairs)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["id"], line["errors"]) for line in lines] == [
        ("a", 0),
        (2, 2),
        ("c", 0),
        ("d", 1),
    ]
    assert lines[1] == {
        "id": 2,
        "errors": 2,
        "reference_words": 3,
        "substitutions": 1,
        "insertions": 1,
        "deletions": 0,
    }


def test_pairs_may_come_from_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(PAIRS[0]) + "\n\n"))
    ran("--pairs", "-")
    assert json.loads(capsys.readouterr().out)["id"] == "a"


def test_an_explanation_shows_both_originals_and_the_rule(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ran("Dr. Lee\u2019s hard-coded colour", "doctor Lee's hardcoded color please", "--explain")
    said = capsys.readouterr().out
    assert "Dr. Lee\u2019s hard-coded colour" in said
    assert {"titles", "spelling", "compounds"} <= set(said.split())
    assert "+" in said


def test_an_explanation_as_json_has_the_place_of_each_word(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = document(capsys, "$5 now", "five now", "--explain")
    lost = next(row for row in said["alignment"] if row["outcome"] == "deleted")
    assert lost["reference"][0]["text"] == "dollars"
    assert (lost["reference"][0]["start"], lost["reference"][0]["end"]) == (0, 1)


def test_every_pair_can_be_explained(capsys: pytest.CaptureFixture[str], pairs: Path) -> None:
    ran("--pairs", pairs, "--explain")
    assert capsys.readouterr().out.count("WER") == len(PAIRS)


def test_a_summary_sums_and_names_the_confusions(
    capsys: pytest.CaptureFixture[str], pairs: Path
) -> None:
    ran("--pairs", pairs, "--summary")
    said = capsys.readouterr().out
    assert "4 pairs" in said
    assert "1 pairs without a word in the reference" in said
    assert ["1", "cat", "bat"] in [line.split() for line in said.splitlines()]


def test_the_worth_of_each_rule_is_shown(capsys: pytest.CaptureFixture[str], pairs: Path) -> None:
    said = document(capsys, "--pairs", pairs, "--rules")
    assert said["rules"]["numbers"] == 1
    assert said["reference_words"] == 10


def test_a_difference_to_another_normaliser_is_shown(
    capsys: pytest.CaptureFixture[str], pairs: Path
) -> None:
    said = document(capsys, "--pairs", pairs, "--diff", "none")
    assert (said["fewer"], said["more"]) == (2, 0)
    assert {row["id"] for row in said["changed"]} == {"a", "c"}


def test_a_difference_to_an_earlier_output_is_shown(
    capsys: pytest.CaptureFixture[str], pairs: Path, tmp_path: Path
) -> None:
    earlier = written(tmp_path / "old.jsonl", {"id": "a", "errors": 0}, {"id": 2, "errors": 1})
    ran("--pairs", pairs, "--diff", earlier)
    said = capsys.readouterr().out
    assert "0 pairs have fewer, 1 more, of 4; 2 are not in it" in said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"id": 1', "pairs.jsonl:2: not JSON"),
        ("[1]", "pairs.jsonl:2: not a JSON object"),
        ('{"id": 1, "ref": "a"}', "pairs.jsonl:2: 'hyp' is missing; needed are id, ref, hyp"),
        ('{"id": 1, "ref": "a", "hyp": 3}', "pairs.jsonl:2: 'hyp' must be a str"),
        ('{"id": null, "ref": "a", "hyp": "b"}', "pairs.jsonl:2: 'id' must be a str or int"),
        ('{"id": 1, "ref": "a", "hyp": "b", "aliases": ["c"]}', "pairs.jsonl:2: 'aliases' must be"),
    ],
)
def test_a_bad_line_is_named_by_file_and_number(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps(PAIRS[0]) + "\n" + line + "\n", encoding="utf-8")
    with pytest.raises(UserError) as raised:
        ran("--pairs", path)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--pairs", "none.jsonl"], "none.jsonl: no such file"),
        (["--files", "none.txt", "none.txt"], "none.txt: no such file"),
        (["one"], "give REF and HYP"),
        (["one", "two", "--pairs", "x"], "not both"),
        (["one", "two", "--summary"], "--summary"),
        (["one", "two", "--alias", "Ann"], "at least two names"),
        (["one", "two", "--diff", "nobody"], "a normaliser's name is needed"),
    ],
)
def test_a_wrong_wish_is_one_clear_line(words: list[str], said: str) -> None:
    with pytest.raises(UserError) as raised:
        ran(*words)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_that_is_no_text_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match="not a text in UTF-8"):
        ran("--pairs", tmp_path / "a")


def test_only_our_own_normaliser_has_rules(pairs: Path) -> None:
    with pytest.raises(UserError, match="no rules to switch off"):
        ran("--pairs", pairs, "--rules", "--normalizer", "none")


def test_aliases_can_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert document(capsys, "Ann", "Anne", "--alias", "Ann,Anne")["errors"] == 0


def test_what_a_terminal_cannot_show_does_not_break_it(capsys: pytest.CaptureFixture[str]) -> None:
    ran("a \ud800 b", "a", "--explain")
    assert "a ? b" in capsys.readouterr().out
