import subprocess
import sys

import pytest

from scoring.normalize import NORMALIZERS
from scoring.normalize.speechbench import SPEECHBENCH, rendered
from scoring.normalize.tables import tables
from scoring.words import score


def test_the_name_version_and_data_are_part_of_the_signature() -> None:
    assert (
        SPEECHBENCH.signature == f"speechbench {SPEECHBENCH.version} {SPEECHBENCH.data_sha256[:8]}"
    )
    assert len(SPEECHBENCH.data_sha256) == 64


def test_aliases_make_names_the_same_and_change_the_signature() -> None:
    names = SPEECHBENCH.with_aliases([["Loma Negra", "Lomanegra"], ["Steven", "Stephen"]])
    assert score("the Loma Negra call", "the Lomanegra call", names).errors == 0
    assert score("Stephen's", "Steven's", names).errors == 0
    assert score("Stevenson", "Stephenson", names).errors == 1
    assert names.data_sha256 != SPEECHBENCH.data_sha256


def test_the_method_s_own_alias_is_known_from_the_start() -> None:
    assert score("Mateo", "Matteo", SPEECHBENCH).errors == 0
    assert score("Mateo", "Matthew", SPEECHBENCH).errors == 1


def test_given_aliases_do_not_take_the_first_ones_away() -> None:
    names = SPEECHBENCH.with_aliases([["Ann", "Anne"]])
    assert score("Mateo and Ann", "Matteo and Anne", names).errors == 0


def test_a_stage_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="colours"):
        SPEECHBENCH.without("colours")


def test_spans_point_into_the_original_text() -> None:
    text = "It\u2019s Dr. M\u00fcller\u2019s \u00a320"
    found = {t.text: text[t.start : t.end] for t in SPEECHBENCH.tokens(text)}
    assert found["doctor"] == "Dr"
    assert found["muller's"] == "M\u00fcller\u2019s"
    assert found["20"] == "20"


def test_a_canonical_text_keeps_neighbouring_numbers_apart() -> None:
    assert SPEECHBENCH.text("in 2019, 2020 and 2021") == "in 2019, 2020 and 2021"
    assert rendered(SPEECHBENCH.tokens("A, B and C")) == "a, b and c"


def test_the_tables_are_read_once_and_have_a_hash() -> None:
    assert tables() is tables()
    assert len(tables().sha256) == 64


def test_nothing_heavy_is_imported() -> None:
    code = "import sys, scoring.words, scoring.normalize; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "rapidfuzz" in loaded
    assert loaded.isdisjoint({"numpy", "trio", "rich", "pydantic", "whisper_normalizer", "regex"})


def test_every_normaliser_has_a_name_that_finds_it() -> None:
    assert [normalizer.name for normalizer in NORMALIZERS.values()] == list(NORMALIZERS)
