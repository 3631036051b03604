"""Chapters: what is the same whatever samples they are made of."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from daemon.reporting.samples import Sample
from tests.daemon.reporting.sampled import SAMPLES, chapters


@given(st.lists(SAMPLES, min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_the_order_in_which_sessions_came_changes_no_figure(
    samples: list[Sample], random: Random
) -> None:
    shuffled = [*samples]
    random.shuffle(shuffled)
    assert chapters(samples) == chapters(shuffled)
