"""Ways of measuring: what may stand together."""

from dataclasses import replace

import pytest

from daemon.errors import UserError
from daemon.reporting.samples import Sample
from daemon.reporting.ways import refuse_mixed
from tests.daemon.reporting.sampled import SAMPLE, SIGNATURE, in_corpus


def test_a_new_self_test_is_no_other_way_of_measuring() -> None:
    newer = replace(SAMPLE, signature=SIGNATURE.replace("0.41", "0.50").replace("old 1", "new 2"))
    refuse_mixed([SAMPLE, newer])


@pytest.mark.parametrize(
    ("changed", "parts"),
    [
        (replace(SAMPLE, signature=SIGNATURE.replace("host a", "host b")), "host"),
        (replace(SAMPLE, signature=SIGNATURE.replace("g2", "g3")), "rule"),
        (replace(SAMPLE, signature=SIGNATURE.replace("1111", "3333")), "corpus"),
        (replace(SAMPLE, flow="close"), "flow"),
        (replace(SAMPLE, signature="something else"), "corpus, host, rule, signature, software"),
    ],
)
def test_mixed_signatures_are_refused_naming_what_differs(changed: Sample, parts: str) -> None:
    with pytest.raises(UserError) as error:
        refuse_mixed([SAMPLE, changed])
    said = str(error.value)
    assert f"a/quick: signatures are mixed that differ in {parts}; --by-signature" in said
    assert "\n" not in said


def test_different_corpora_and_different_models_are_no_mixture() -> None:
    other = replace(SAMPLE, model="b/slow", signature=SIGNATURE.replace("g2", "g3"))
    refuse_mixed([SAMPLE, in_corpus("others"), other])


def test_one_model_on_two_hosts_is_refused_also_across_corpora() -> None:
    elsewhere = in_corpus("others")
    moved = replace(elsewhere, signature=elsewhere.signature.replace("host a", "host b"))
    with pytest.raises(UserError, match="differ in host"):
        refuse_mixed([SAMPLE, moved])
