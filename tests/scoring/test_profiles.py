"""The versions of the method: what they weigh, and what may carry their name."""

from fractions import Fraction

import pytest

from scoring.profiles import PROFILES, Figure, misnamed, overall
from scoring.weigh import CorpusRate

LATEST = PROFILES["AA-WER v2.2"]
AGENT, VOX, EARNINGS = (one.name for one in LATEST.corpora)


def figure(corpus: str, rate: float | None, audio_s: float = 60.0) -> Figure:
    return Figure(corpus, CorpusRate(rate, 1, audio_s, 0, 0))


def test_the_newest_version_weighs_half_a_quarter_a_quarter() -> None:
    assert LATEST.weights == {
        AGENT: Fraction(1, 2),
        VOX: Fraction(1, 4),
        EARNINGS: Fraction(1, 4),
    }
    assert next(iter(PROFILES)) == LATEST.name


@pytest.mark.parametrize("name", PROFILES)
def test_weights_are_a_whole_and_of_its_own_corpora(name: str) -> None:
    profile = PROFILES[name]
    if profile.weights is not None:
        assert sum(profile.weights.values()) == 1
        assert list(profile.weights) == [one.name for one in profile.corpora]


def test_with_all_the_originals_a_number_has_the_versions_name() -> None:
    figures = {AGENT: figure(AGENT, 0.03), VOX: figure(VOX, 0.05), EARNINGS: figure(EARNINGS, 0.11)}
    found = overall(LATEST, figures)
    assert (found.name, found.rate, str(found)) == ("AA-WER v2.2", 0.055, "AA-WER v2.2")


def test_a_stand_in_takes_the_name_from_the_number() -> None:
    figures = {
        AGENT: figure("my calls", 0.03),
        VOX: figure(VOX, 0.05),
        EARNINGS: figure(EARNINGS, 0.11),
    }
    found = overall(LATEST, figures)
    assert found.rate == 0.055
    assert found.stand_ins == (("my calls", AGENT),)
    assert found.name == "WER weighted as in AA-WER v2.2 (my calls in place of AA-AgentTalk)"


@pytest.mark.parametrize("missing", [{}, {AGENT: figure(AGENT, None)}])
def test_without_a_corpus_there_is_no_overall_figure(missing: dict[str, Figure]) -> None:
    found = overall(LATEST, {VOX: figure(VOX, 0.04), EARNINGS: figure(EARNINGS, 0.1), **missing})
    assert (found.rate, found.missing) == (None, (AGENT,))
    assert str(found) == "AA-WER v2.2: none, without AA-AgentTalk"


def test_the_first_version_weighed_every_second_the_same() -> None:
    first = PROFILES["AA-WER v1.0"]
    names = [one.name for one in first.corpora]
    figures = {
        name: figure(name, rate, audio_s)
        for name, rate, audio_s in zip(names, (0.1, 0.2, 0.4), (10.0, 10.0, 20.0), strict=True)
    }
    assert overall(first, figures).rate == pytest.approx(0.275)


def test_each_version_has_the_rules_of_its_time() -> None:
    latest, earlier = LATEST.normaliser(), PROFILES["AA-WER v2.1"].normaliser()
    first = PROFILES["AA-WER v2.0"].normaliser()
    said, written = "slash v one slash users", "/v1/users"
    assert [t.text for t in latest.tokens(said)] == [t.text for t in latest.tokens(written)]
    assert [t.text for t in earlier.tokens(said)] != [t.text for t in earlier.tokens(written)]
    assert len({one.signature for one in (latest, earlier, first)}) == 3
    assert PROFILES["AA-WER v1.0"].normaliser().name == "whisper"


@pytest.mark.parametrize("name", ["VoxPopuli-Cleaned-AA", "voxpopuli cleaned aa", "AA_AgentTalk"])
def test_the_name_of_an_original_is_for_the_original(name: str) -> None:
    said = misnamed(name, clips=3, audio_s=60)
    assert said is not None
    assert "give it a name of its own" in said


def test_the_original_may_have_its_name() -> None:
    assert misnamed("VoxPopuli-Cleaned-AA", clips=628, audio_s=119.4 * 60) is None
    assert misnamed("VoxPopuli-Cleaned-AA", clips=627, audio_s=119 * 60) is not None
    assert misnamed("VoxPopuli-Cleaned-AA", clips=628, audio_s=100 * 60) is not None
    assert misnamed("my calls", clips=3, audio_s=60) is None
