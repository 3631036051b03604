from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.signature import (
    HarnessError,
    Signature,
    SignatureError,
    corpus_part,
    error_of,
    error_part,
    normalizer_part,
    parsed,
    rule_part,
    split_error,
    vad_part,
)
from tests.scoring.laws import LAW

WHOLE = Signature(
    software="0.1.0",
    norm=normalizer_part("speechbench", "1", "a1b2c3d4e5f6"),
    vad=vad_part(
        "silero", "6.2.3", "1a153a22b4", threshold=0.5, min_silence_ms=100, speech_pad_ms=30
    ),
    rule=rule_part(
        "forced",
        "decision",
        grace_s=2.0,
        patience_s=10.0,
        confirm_s=2.0,
        settle_s=0.5,
        echo_counts=False,
        budgets_ms=(20.0, 20.0, 50.0),
    ),
    corpus=corpus_part("two-cities", "9f31c0de77"),
    host="abc",
    error=error_part(p50_ms=0.081, tail_ms=0.406, is_p99=True, streams=8, verdict="fit"),
    window="2026-03-01..2026-03-07",
)
part = st.text(st.characters(codec="ascii", exclude_characters="|", min_codepoint=33), min_size=1)


def test_a_signature_is_one_readable_line() -> None:
    assert str(WHOLE) == (
        "speechbench 0.1.0 | norm speechbench 1 a1b2c3d4 | vad silero 6.2.3 1a153a22 t0.5 s100 p30"
        " | rule forced decision g2 p10 c2 s0.5 b20/20/50 | corpus two-cities 9f31c0de | host abc"
        " | error 0.08/0.41ms@8 fit | window 2026-03-01..2026-03-07"
    )


def test_what_does_not_apply_is_left_out() -> None:
    assert str(Signature("0.1.0", host="abc")) == "speechbench 0.1.0 | host abc"


@LAW
@given(st.builds(Signature, part, *[part | st.just("")] * 7))
def test_a_written_signature_is_read_back(signature: Signature) -> None:
    assert parsed(str(signature)) == signature


@pytest.mark.parametrize(
    "line",
    ["", "other 1", "speechbench", "speechbench 1 | colour red", "speechbench 1 | host a | host b"],
)
def test_a_line_that_is_no_signature_is_refused(line: str) -> None:
    with pytest.raises(SignatureError, match="signature"):
        parsed(line)


def test_a_part_with_a_bar_is_refused() -> None:
    with pytest.raises(SignatureError, match="host"):
        Signature("0.1.0", host="a|b")


def test_a_corpus_name_may_hold_a_bar() -> None:
    assert parsed(str(Signature("1", corpus=corpus_part("a|b", "00")))).corpus == "a/b 00"


def test_a_line_from_before_the_error_was_measured_is_still_read() -> None:
    line = "speechbench 0.1.0 | rule forced decision g2 | corpus files 00 | host abc"
    assert parsed(line).error == ""
    assert str(parsed(line)) == line


@pytest.mark.parametrize("streams", [1, 100])
@pytest.mark.parametrize("is_p99", [True, False])
def test_the_error_is_read_back_to_a_hundredth_of_a_millisecond(is_p99: bool, streams: int) -> None:
    part = error_part(p50_ms=0.1, tail_ms=12.5, is_p99=is_p99, streams=streams, verdict="usable")
    assert error_of(part) == HarnessError(0.1, 12.5, is_p99, streams, "usable")


@pytest.mark.parametrize("part", ["", "unknown", "0.1/0.2ms@8 fit", "0.08/0.41ms@8 fit "])
def test_other_words_are_no_known_error(part: str) -> None:
    assert error_of(part) is None


def test_two_numbers_made_alike_differ_only_in_the_error() -> None:
    before, error = split_error(str(WHOLE))
    assert error == "0.08/0.41ms@8 fit"
    assert before == str(replace(WHOLE, error=""))
    assert split_error(before) == (before, "")
    assert split_error("no signature") == ("no signature", "")
