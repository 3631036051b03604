from importlib.util import find_spec

import pytest

from scoring.normalize import NORMALIZERS, NormalizerUnavailableError
from scoring.normalize.baselines import PlainNormalizer
from scoring.words import score

NONE, WHISPER = NORMALIZERS["none"], NORMALIZERS["whisper"]
HAS_WHISPER = find_spec("whisper_normalizer") is not None


def test_none_compares_what_is_written() -> None:
    assert score("Yes, 5%", "yes five percent", NONE).errors == 3
    assert [token.text for token in NONE.tokens("Yes,  5%")] == ["Yes,", "5%"]


def test_a_rewriting_is_applied_to_the_whole_text() -> None:
    loud = PlainNormalizer("loud", rewriting=lambda: str.upper)
    assert [token.text for token in loud.tokens("a b")] == ["A", "B"]


@pytest.mark.skipif(HAS_WHISPER, reason="whisper-normalizer is installed")
def test_a_missing_whisper_says_what_to_install() -> None:
    with pytest.raises(NormalizerUnavailableError, match="whisper-normalizer"):
        WHISPER.tokens("a")
    assert WHISPER.signature == "whisper missing"


@pytest.mark.skipif(not HAS_WHISPER, reason="whisper-normalizer is not installed")
def test_whisper_reads_numbers() -> None:
    assert score("I have twenty five", "i have 25", WHISPER).errors == 0
