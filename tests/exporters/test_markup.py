"""The parts of pages: text stays text, and who listens to a table is told what is what."""

import pytest

from exporters.markup import Column, Markup, ahead, bad, document, moment, notice, section, table

COLUMNS = (Column("what"), Column("late (ms)", number=True))


def test_text_is_escaped_and_markup_is_taken_as_it_is() -> None:
    made = table((Column("<a>"), Column("b")), [("<i>", Markup("<b>1</b>"))], caption="<c>")
    assert "<a>" not in made
    assert "<i>" not in made
    assert "<c>" not in made
    assert "<b>1</b>" in made
    assert "&lt;x&gt;" in bad("<x>", "<y>").html
    assert "&lt;y&gt;" in bad("<x>", "<y>").html
    assert "<z>" not in notice("<z>", "<z>")
    assert "<z>" not in section("<z>", "")
    assert "<title>&lt;z&gt;</title>" in document("<z>")


@pytest.mark.parametrize("cards", [False, True])
def test_a_table_says_what_its_columns_and_rows_are(cards: bool) -> None:
    made = table(COLUMNS, [("clock", "3")], cards=cards)
    assert '<th scope="col" role="columnheader" class="whole">what</th>' in made
    assert '<th scope="row" role="rowheader" class="whole">clock</th>' in made
    assert '<td role="cell" class="n" data-label="late (ms)">3</td>' in made


def test_a_page_says_its_language_and_fits_a_phone() -> None:
    made = document("x")
    assert '<html lang="en">' in made
    assert 'name="viewport" content="width=device-width, initial-scale=1"' in made


def test_a_section_without_content_is_not_there() -> None:
    assert section("Budgets", None) == ""
    assert section("Budgets", "", anchor="b") == '<section id="b"><h2>Budgets</h2></section>'


def test_a_moment_is_for_people_and_for_programs() -> None:
    assert moment(1_700_000_000.9) == Markup(
        '<time datetime="2023-11-14T22:13:20Z">2023-11-14 22:13:20 UTC</time>'
    )


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-5, "now"),
        (0.9, "now"),
        (1, "1 s"),
        (89, "89 s"),
        (90, "2 min"),
        (5399, "90 min"),
        (5400, "1.5 h"),
    ],
)
def test_how_long_it_is_until_then_is_said_as_people_do(seconds: float, said: str) -> None:
    assert ahead(seconds) == said
