"""The canonical form of each family, in small stories."""

import pytest

from scoring.normalize.speechbench import FAMILIES, SPEECHBENCH, STAGES


def canonical(text: str) -> str:
    return " ".join(token.text for token in SPEECHBENCH.tokens(text))


def readings(text: str) -> set[str]:
    """What the last token may stand for as well."""
    return set(SPEECHBENCH.tokens(text)[-1].readings)


STORIES = {
    "fillers": [
        ("Um, so, uh, yes", "so yes"),
        ("20 mm", "20 millimeters"),
        ("mm-hmm", "uhhuh"),
        ("the ER now", "the er now"),
    ],
    "contractions": [
        ("I'm sure they won't", "i am sure they will not"),
        ("I shouldn't've", "i should not have"),
        ("John's car", "john's car"),
        ("it's", "it is"),
    ],
    "titles": [
        ("Dr. Lee", "doctor lee"),
        ("St. Louis", "saint louis"),
        ("Main St.", "main street"),
        ("Gen Z", "gen z"),
        ("my rep called", "my rep called"),
        ("No. 5", "number 5"),
    ],
    "spelling": [("colour totalled", "color totaled"), ("filled filed", "filled filed")],
    "symbols": [("profit & loss", "profit and loss"), ("x < 10", "x less than 10")],
    "ordinals": [("the 21st", "the 21st"), ("the twenty-first", "the 21st"), ("1990s", "1990s")],
    "signs": [
        ("-12%", "minus 12 percent"),
        ("negative twelve percent", "minus 12 percent"),
        ("negative feedback", "negative feedback"),
        ("minus the fees", "minus the fees"),
    ],
    "ranges": [
        ("15-20 minutes", "15 to 20 minutes"),
        ("303-775-4498", "3037754498"),
        ("555-0147", "5550147"),
        ("a 2-0 win", "a 2 0 win"),
        ("$5-10", "5 to 10 dollars"),
    ],
    "amounts": [("$5M", "5000000 dollars"), ("2bn", "2000000000"), ("10-K", "10 k")],
    "numbers": [
        ("two thousand and eight", "2008"),
        ("twelve million twelve million", "12000000 12000000"),
        ("sixty eight thousand sixty eight thousand", "68000 68000"),
        ("six million six hundred thousand", "6600000"),
        ("one hundred and two hundred", "100 and 200"),
        ("two thousand twenty-five hundred", "2000 2500"),
        ("between one hundred and one fifty", "between 100 and 150"),
        ("nineteen, twenty, twenty-one", "19 20 21"),
        ("four one five, five five five", "415555"),
        ("one, two, three", "1 2 3"),
        ("two. Three people", "2 3 people"),
        ("double five four one", "5541"),
        ("double check", "double check"),
        ("one eight hundred five five five", "1800555"),
        ("oh six one oh oh", "06100"),
        ("oh no", "oh no"),
        ("type O blood", "type o blood"),
        ("one point twenty-four dot three", "1.24.3"),
        ("zero point five million", "500000"),
        ("the point is clear", "the point is clear"),
        ("at this point five people left", "at this point 5 people left"),
        ("10,000 10,000", "10000 10000"),
        ("200 200 people", "200 200 people"),
        ("06100052", "06100052"),
        ("five hundred", "500"),
        ("hundreds of thousands", "hundreds of thousands"),
    ],
    "decades": [("the nineteen nineties", "the 1990s"), ("the eighties", "the 80s")],
    "fractions": [
        ("two thirds", "2/3"),
        ("one and a quarter", "1.25"),
        ("1½ cups", "1.5 cups"),
        ("two and a half million", "2500000"),
        ("the last three quarters", "the last 3 quarters"),
        ("an hour and a half", "an hour and a half"),
    ],
    "clock": [
        ("7:00pm", "7 pm"),
        ("ten thirty a m", "10:30 am"),
        ("17:30", "17:30"),
        ("0:00", "0:00"),
        ("five o'clock", "5 oclock"),
        ("I am here", "i am here"),
    ],
    "letters": [
        ("S-I-N-G-H", "singh"),
        ("P. A. T. E. L.", "patel"),
        ("F, B, I", "fbi"),
        ("plan A, I think", "plan a i think"),
        ("I am a D J", "i am a dj"),
        ("C O 2", "co 2"),
    ],
    "percent": [("5 per cent", "5 percent"), ("5%", "5 percent")],
    "units": [
        ("16 GB", "16 gigabytes"),
        ("95 mg/dL", "95 milligrams per deciliter"),
        ("1 km", "1 kilometer"),
        ("20 °C", "20 degrees celsius"),
        ("3 sq ft", "3 square feet"),
        ("5 in the morning", "5 in the morning"),
        ("45 MW", "45 megawatts"),
        ("code GB29", "code gb 29"),
        ("seven four t nine", "74 t 9"),
    ],
    "money": [
        ("$71.50", "71.50 dollars"),
        ("seventy-one dollars and fifty cents", "71.50 dollars"),
        ("$5.00", "5 dollars"),
        ("-$5 million", "minus 5000000 dollars"),
        ("£20", "20 pounds"),
    ],
    "shared": [("6% to 8%", "6 to 8 percent")],
}


@pytest.mark.parametrize(
    ("text", "expected"), [pair for stories in STORIES.values() for pair in stories]
)
def test_each_family_gives_its_canonical_form(text: str, expected: str) -> None:
    assert canonical(text) == expected


def test_what_is_said_in_two_numbers_may_be_written_in_many_ways() -> None:
    assert {"19.99", "19/99", "19 99"} <= readings("nineteen ninety-nine")
    assert "10:30" in readings("ten thirty")


def test_two_numbers_are_no_decimal_without_a_point() -> None:
    assert not any("." in reading for reading in readings("zero zero five"))


def test_the_day_of_a_month_is_read_as_an_ordinal_and_no_other_number_is() -> None:
    assert readings("June 3") == {"3rd"}
    assert readings("June 45") == set()


def test_what_is_written_stands_for_itself_alone() -> None:
    assert readings("99.99") == set()


@pytest.mark.parametrize("stage", STAGES)
def test_each_stage_can_be_switched_off_and_does_something(stage: str) -> None:
    without = SPEECHBENCH.without(stage)
    assert without.signature.endswith(f" -{stage}")
    assert without.data_sha256 != SPEECHBENCH.data_sha256


@pytest.mark.parametrize("family", sorted(set(FAMILIES) & set(STORIES)))
def test_without_its_family_at_least_one_story_ends_otherwise(family: str) -> None:
    without = SPEECHBENCH.without(family)
    changed = [
        text
        for text, expected in STORIES[family]
        if " ".join(token.text for token in without.tokens(text)) != expected
    ]
    assert changed


def test_each_token_tells_which_families_made_it() -> None:
    rules = {token.text: token.rules for token in SPEECHBENCH.tokens("Dr. Lee's 5 km colour")}
    assert "titles" in rules["doctor"]
    assert "units" in rules["kilometers"]
    assert "spelling" in rules["color"]
