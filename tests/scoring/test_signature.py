import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.signature import (
    Signature,
    SignatureError,
    corpus_part,
    normalizer_part,
    parsed,
    rule_part,
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
    window="2026-03-01..2026-03-07",
)
part = st.text(st.characters(codec="ascii", exclude_characters="|", min_codepoint=33), min_size=1)


def test_a_signature_is_one_readable_line() -> None:
    assert str(WHOLE) == (
        "speechbench 0.1.0 | norm speechbench 1 a1b2c3d4 | vad silero 6.2.3 1a153a22 t0.5 s100 p30"
        " | rule forced decision g2 p10 c2 s0.5 b20/20/50 | corpus two-cities 9f31c0de | host abc"
        " | window 2026-03-01..2026-03-07"
    )


def test_what_does_not_apply_is_left_out() -> None:
    assert str(Signature("0.1.0", host="abc")) == "speechbench 0.1.0 | host abc"


@LAW
@given(st.builds(Signature, part, *[part | st.just("")] * 6))
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
