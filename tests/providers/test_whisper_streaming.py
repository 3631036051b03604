"""whisper_streaming's lines: two moments and the words that it is now sure of."""

import pytest

from measure.events import Transcript
from measure.faults import FaultKind
from providers.codec import Options, ProviderError
from providers.families_tcp import LONGEST_LINE_BYTES
from providers.whisper_streaming import WhisperStreaming
from tests.providers.talk import heard, refused


def test_lines_add_up_to_partials_of_all_that_was_said() -> None:
    said = heard(WhisperStreaming(Options()), b"0 900  good\n", b"900 1400  day to you\n")
    assert said == [
        Transcript(7, "good", final=False),
        Transcript(7, "good day to you", final=False),
    ]


@pytest.mark.parametrize("line", [b"0 900 \n", b"\n", b"\0\0", b"0 900  \n"])
def test_a_line_without_words_says_nothing(line: bytes) -> None:
    assert heard(WhisperStreaming(Options()), line) == []


def test_a_moment_may_lie_before_the_beginning() -> None:
    assert heard(WhisperStreaming(Options()), b"-20 900 hi\n") == [Transcript(7, "hi", False)]


@pytest.mark.parametrize("line", [b"good day\n", b"0 day good\n", b"0 900\n", b"\xff 0 good\n"])
def test_any_other_line_is_none_of_its_own(line: bytes) -> None:
    assert refused(WhisperStreaming(Options()), line).kind is FaultKind.PROTOCOL


def test_a_line_ends_where_it_says() -> None:
    codec = WhisperStreaming(Options())
    assert codec.cut(b"0 900 good") is None
    assert codec.cut(b"0 900 good\n900 1400") == len(b"0 900 good\n")
    with pytest.raises(ProviderError):
        codec.cut(b"x" * LONGEST_LINE_BYTES)


def test_nothing_is_said_at_the_end_but_a_farewell_by_hanging_up() -> None:
    codec = WhisperStreaming(Options())
    assert [*codec.hello(), *codec.finish()] == []
    assert codec.open("").url == "tcp://localhost:43007"
