"""Which worker measures which models follows from their names alone."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.shards import shards

NAMES = st.lists(
    st.builds("{}/{}".format, st.sampled_from("abcdefgh"), st.integers(0, 5)), max_size=40
)
WORKERS = st.integers(1, 64)


def names_of(models: list[str], workers: int) -> list[list[str]]:
    return [[models[place] for place in shard] for shard in shards(models, workers)]


def provider(model: str) -> str:
    return model.partition("/")[0]


def test_two_providers_on_two_workers() -> None:
    models = ["deepgram/nova-3", "gladia/solaria-1", "deepgram/nova-2"]
    assert names_of(models, 2) == [["deepgram/nova-3", "deepgram/nova-2"], ["gladia/solaria-1"]]


def test_one_worker_has_all_in_their_order() -> None:
    assert shards(["b/1", "a/1", "b/2"], 1) == ((0, 1, 2),)


def test_the_largest_providers_are_spread_first() -> None:
    models = [*["a/1"], *["b/1", "b/2"], *["c/1", "c/2", "c/3"]]
    assert [len(shard) for shard in shards(models, 2)] == [3, 3]


def test_no_models_need_no_worker() -> None:
    assert shards([], 3) == ()


def test_no_workers_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="0 workers"):
        shards(["a/1"], 0)


@given(NAMES, WORKERS)
def test_every_model_is_in_one_shard(models: list[str], workers: int) -> None:
    places = [place for shard in shards(models, workers) for place in shard]
    assert sorted(places) == list(range(len(models)))


@given(NAMES, WORKERS)
def test_models_of_one_provider_are_together(models: list[str], workers: int) -> None:
    homes = [{provider(model) for model in shard} for shard in names_of(models, workers)]
    assert sum(map(len, homes)) == len({provider(model) for model in models})


@given(NAMES, WORKERS)
def test_there_are_as_many_shards_as_workers_or_providers(models: list[str], workers: int) -> None:
    found = shards(models, workers)
    assert len(found) == min(workers, len({provider(model) for model in models}))
    assert all(found)


@given(NAMES, WORKERS)
def test_no_shard_is_larger_than_another_by_more_than_one_provider(
    models: list[str], workers: int
) -> None:
    sizes = [len(shard) for shard in shards(models, workers)]
    largest = max(Counter(map(provider, models)).values(), default=0)
    assert max(sizes, default=0) - min(sizes, default=0) <= largest


@given(NAMES, WORKERS, st.randoms(use_true_random=False))
def test_the_order_of_the_models_changes_no_shard(
    models: list[str], workers: int, chance: object
) -> None:
    mixed = list(models)
    chance.shuffle(mixed)  # type: ignore[attr-defined]
    assert [sorted(shard) for shard in names_of(mixed, workers)] == [
        sorted(shard) for shard in names_of(models, workers)
    ]
