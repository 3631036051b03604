"""Parts put together again: in order, whole or not at all, whatever the call is called."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.normalize import NORMALIZERS
from scoring.rejoin import Call, Joined, Part, PartName, RejoinError, joined, part_name, score_call
from scoring.words import WordErrors

CALL = Call("c", "Revenue grew 25%.", 58.0, 2)
NORMALIZER = NORMALIZERS["speechbench"]


def test_a_number_may_go_across_a_cut() -> None:
    found = score_call(
        CALL, [Part(1, "five percent"), Part(0, " revenue grew twenty\n")], NORMALIZER
    )
    assert found is not None
    assert found.errors == WordErrors(reference_words=4)


def test_silence_in_a_part_is_its_words_left_out() -> None:
    found = score_call(CALL, [Part(0, "revenue grew"), Part(1, "")], NORMALIZER)
    assert found is not None
    assert found.errors.deletions == 2


@pytest.mark.parametrize("lost", [[Part(0, "x")], [Part(0, "x"), Part(1, None)]])
def test_a_lost_part_is_nobodys_error(lost: list[Part]) -> None:
    assert score_call(CALL, lost, NORMALIZER) is None
    found = joined("c", 2, lost)
    assert found == Joined(None, (1,))
    assert str(found) == "incomplete: part 2 was lost"


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ([Part(0, "x"), Part(0, "x")], "c: part 1 is there twice"),
        ([Part(2, "x")], "c: part 3, but it has only 2"),
        ([Part(-1, "x")], "c: part 0, but it has only 2"),
    ],
)
def test_parts_that_do_not_belong_are_refused(parts: list[Part], said: str) -> None:
    with pytest.raises(RejoinError, match=said):
        joined("c", 2, parts)


texts = st.lists(st.text(alphabet="ab \n"), min_size=1, max_size=6)


@given(texts)
def test_the_order_in_which_parts_come_does_not_matter(said: list[str]) -> None:
    parts = [Part(index, text) for index, text in enumerate(said)]
    found = joined("c", len(said), parts[::-1])
    assert found == joined("c", len(said), parts)
    assert found.text is not None
    assert found.text.split() == " ".join(said).split()


@given(st.text(), st.integers(0, 400), st.integers(1, 400))
def test_a_parts_name_reads_back_whatever_the_call_is_called(
    call: str, index: int, more: int
) -> None:
    name = PartName(call, index, index + more)
    assert part_name(str(name)) == name


@pytest.mark.parametrize(
    "clip", ["", "a", "a (part 0 of 2)", "a (part 3 of 2)", "a (part 1 of 2) b", "a(part 1 of 2)"]
)
def test_another_name_is_no_parts_name(clip: str) -> None:
    assert part_name(clip) is None


def test_there_is_no_third_part_of_two() -> None:
    with pytest.raises(RejoinError, match="c: part 3 of 2; it must be one of 1 to 2"):
        PartName("c", 2, 2)
