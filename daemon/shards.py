"""Which worker measures which models: a pure function of their names."""

from collections.abc import Sequence

Shard = tuple[int, ...]
"""Places in the list of models, in its order."""


def shards(models: Sequence[str], workers: int) -> tuple[Shard, ...]:
    """The models of each worker, as evenly as can be; at most ``workers`` shards, none empty.

    The models of one provider stay together, because what it allows at the same time is seen to in
    one process. The largest providers are placed first, each where there is least so far; so the
    order of the models changes nothing but the order within a shard.
    """
    if workers < 1:
        raise ValueError(f"{workers} workers: there must be at least one")
    groups: dict[str, list[int]] = {}
    for place, model in enumerate(models):
        groups.setdefault(model.partition("/")[0], []).append(place)
    loads: list[list[int]] = [[] for _ in range(min(workers, len(groups)))]
    for _, places in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])):
        min(loads, key=len).extend(places)
    return tuple(tuple(sorted(load)) for load in loads)
