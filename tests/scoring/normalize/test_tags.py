import pytest

from scoring.normalize.tables import tables
from scoring.normalize.tags import is_sound, without_tags


@pytest.mark.parametrize(
    "tag",
    [
        "[music]", "[MUSIC PLAYING]", "<unk>", "<|en|>", "[BLANK_AUDIO]", "(laughs)", "*coughs*",
        "language English<asr_text>", "[00:00:12]", "[Speaker 1]", "[background noise]",
    ],
)  # fmt: skip
def test_an_annotation_is_overwritten_with_blanks(tag: str) -> None:
    assert without_tags(f"{tag} hello", tables()) == " " * len(tag) + " hello"


@pytest.mark.parametrize(
    "text",
    [
        "[welcome] back", "the amount is [fifty] dollars", "the company (formerly Acme)",
        "x < 10 and y > 5", "(303) 775-4498", "the language English is spoken",
        "the music industry",
    ],
)  # fmt: skip
def test_what_was_said_stays(text: str) -> None:
    assert without_tags(text, tables()) == text


def test_a_label_of_a_speaker_goes() -> None:
    assert without_tags("Speaker 1: hello", tables()).split() == ["hello"]


def test_a_sound_is_one_with_the_words_that_describe_it_only() -> None:
    assert is_sound("upbeat music", tables())
    assert not is_sound("music industry", tables())
    assert not is_sound("the", tables())
