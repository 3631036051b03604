"""What a provider has said so far: small stories of segments, then two laws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measure.events import Transcript
from measure.heard import Heard, Said
from measure.records import Answer
from tests.measure.stories import final, finals, partial, partials


def heard(*transcripts: Transcript, joiner: str = " ") -> Heard:
    """All of them, told in this order."""
    said = Heard(joiner)
    for number, transcript in enumerate(transcripts):
        said.add((transcript.at_ns, number), transcript)
    return said


def last(*transcripts: Transcript, joiner: str = " ") -> Said:
    return heard(*transcripts, joiner=joiner).everything()[-1]


def test_a_partial_replaces_the_partial_before_it() -> None:
    assert last(partial(1, "goo"), partial(2, "good")).utterance == "good"


def test_a_final_takes_the_place_of_its_partials() -> None:
    assert last(partial(1, "goo"), final(2, "good")).utterance == "good"


def test_after_a_nameless_final_a_new_segment_begins() -> None:
    assert last(final(1, "good"), partial(2, "day")).utterance == "good day"


def test_two_nameless_finals_of_the_same_words_are_two_segments() -> None:
    assert last(final(1, "yes"), final(2, "yes")).finals == "yes yes"


def test_a_partial_is_no_part_of_the_finals() -> None:
    assert last(final(1, "good"), partial(2, "day")).finals == "good"


def test_finals_stand_in_the_order_in_which_their_segments_were_settled() -> None:
    said = last(partial(1, "go", "a"), final(2, "day", segment="b"), final(3, "good", segment="a"))
    assert said.finals == "day good"


def test_open_partials_stand_behind_the_finals() -> None:
    said = last(partial(1, "day", "b"), final(2, "good", segment="a"))
    assert said.utterance == "good day"


def test_the_partials_of_several_segments_are_all_open() -> None:
    assert last(partial(1, "good", "a"), partial(2, "day", "b")).utterance == "good day"


def test_a_final_settles_only_the_segment_that_it_names() -> None:
    assert last(partial(1, "day", "b"), final(2, "good", segment="a")).outstanding


def test_a_nameless_final_settles_all_that_is_open() -> None:
    assert not last(partial(1, "day", "b"), final(2, "good day")).outstanding


def test_a_later_final_of_a_segment_replaces_the_earlier_in_its_place() -> None:
    said = last(
        final(1, "good", segment="a"), final(2, "day", segment="b"), final(3, "Good", segment="a")
    )
    assert said.finals == "Good day"


def test_a_later_final_in_other_words_is_no_duplicate() -> None:
    assert not last(final(1, "good", segment="a"), final(2, "Good", segment="a")).duplicate


def test_a_final_that_comes_twice_is_a_duplicate() -> None:
    assert last(final(1, "good", segment="a"), final(2, "good ", segment="a")).duplicate


def test_the_first_of_two_equal_finals_is_no_duplicate() -> None:
    twice = heard(final(1, "good", segment="a"), final(2, "good", segment="a"))
    assert not twice.everything()[0].duplicate


def test_a_partial_is_no_duplicate() -> None:
    assert not last(final(1, "good", segment="a"), partial(2, "good", "a")).duplicate


def test_nameless_finals_are_no_duplicates() -> None:
    assert not last(final(1, "yes"), final(2, "yes")).duplicate


@pytest.mark.parametrize("nothing", ["", " "])
def test_a_final_without_words_takes_no_words_back(nothing: str) -> None:
    assert last(final(1, "good", segment="a"), final(2, nothing, segment="a")).finals == "good"


def test_finals_without_words_are_no_duplicates() -> None:
    assert not last(final(1, "", segment="a"), final(2, "", segment="a")).duplicate


def test_a_final_without_words_drops_the_partial_of_its_segment() -> None:
    assert last(partial(1, "good", "a"), final(2, "", segment="a")).utterance == ""


def test_what_repeats_a_settled_segment_adds_no_words() -> None:
    assert last(final(1, "good", segment="a"), partial(2, "good", "a")).utterance == "good"


def test_what_repeats_a_settled_segment_is_not_outstanding() -> None:
    assert not last(final(1, "good", segment="a"), partial(2, " good", "a")).outstanding


def test_other_words_for_a_settled_segment_stand_in_its_place() -> None:
    said = last(final(1, "good", segment="a"), final(2, "day", segment="b"), partial(3, "God", "a"))
    assert said.utterance == "God day"


def test_other_words_for_a_settled_segment_are_outstanding() -> None:
    assert last(final(1, "good", segment="a"), partial(2, "God", "a")).outstanding


def test_words_are_outstanding_until_a_final_settles_them() -> None:
    assert last(partial(1, "good")).outstanding
    assert not last(partial(1, "good"), final(2, "good")).outstanding


@pytest.mark.parametrize("nothing", ["", " "])
def test_a_partial_without_words_leaves_nothing_outstanding(nothing: str) -> None:
    assert not last(partial(1, "good"), partial(2, nothing)).outstanding


def test_blank_segments_are_not_joined() -> None:
    assert last(final(1, "good"), final(2, " "), final(3, "day")).finals == "good day"


def test_a_joiner_of_nothing_keeps_the_spaces_that_the_provider_sent() -> None:
    assert last(final(1, " good"), final(2, " day"), joiner="").finals == "good day"


def test_the_answer_of_a_final_is_everything_final() -> None:
    said = last(partial(1, "day", "b"), final(2, "good", segment="a"))
    assert said.answer == Answer("good", 2)


def test_the_answer_of_a_partial_is_the_whole_utterance() -> None:
    assert last(final(1, "good"), partial(2, "day")).answer == Answer("good day", 2)


def test_before_and_after_divide_at_a_mark() -> None:
    said = heard(partial(1, "a"), partial(2, "b"), partial(2, "c"), partial(3, "d"))
    before = said.before((2, 1))
    assert before is not None
    assert before.text == "b"
    assert [one.text for one in said.after((2, 1))] == ["c", "d"]


def test_before_the_first_transcript_nothing_was_said() -> None:
    assert heard(partial(2, "a")).before((1, 9)) is None


def test_transcripts_do_not_go_back() -> None:
    with pytest.raises(ValueError, match="transcripts went back 3 ns"):
        heard(partial(5, "good"), partial(2, "day"))


def test_transcripts_of_one_moment_come_in_the_order_in_which_they_are_told() -> None:
    assert last(partial(5, "good"), partial(5, "day")).utterance == "day"


@given(st.lists(st.one_of(partials, finals)), st.sampled_from([" ", ""]))
def test_no_final_is_lost_until_its_provider_replaces_it(
    transcripts: list[Transcript], joiner: str
) -> None:
    said = heard(*transcripts, joiner=joiner)
    nameless = [one.text for one in transcripts if one.final and one.segment is None]
    everything = said.everything()
    words = everything[-1].finals if everything else ""
    assert all(text.strip() in words for text in nameless)


@given(st.lists(st.one_of(partials, finals)))
def test_where_nothing_is_outstanding_the_utterance_is_the_finals(
    transcripts: list[Transcript],
) -> None:
    for said in heard(*transcripts).everything():
        assert said.outstanding or " ".join(said.utterance.split()) == " ".join(said.finals.split())


def test_each_transcript_is_no_older_than_the_one_before_it() -> None:
    with pytest.raises(ValueError, match="transcripts went back 2 ns"):
        heard(partial(1, "go"), partial(5, "good"), partial(3, "goods"))


def test_a_blank_partial_takes_back_nothing_that_was_settled() -> None:
    said = last(final(1, "good", segment="a"), partial(2, " ", "a"))
    assert (said.utterance, said.outstanding) == ("good", False)
