"""Whole episodes with tiny numbers: everything arrives and is judged; how late is not asked."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.clients import CLIENTS, OURS, TRIO
from benchmarks.clients.c_program import command, outcome_of
from benchmarks.episode import WARM_UP_FRAMES, EpisodeFailed, Stage
from benchmarks.figures.receive import SAYS_PER_S
from benchmarks.load import Load

FRAMES = WARM_UP_FRAMES + 5
TINY = Load(port=0, core=0, streams=2, frames=FRAMES)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with Stage(tmp_path_factory.mktemp("stage"), watched=False) as stage:
        yield stage


@pytest.mark.parametrize("client", CLIENTS)
def test_every_frame_of_every_client_arrives_and_is_judged(stage: Stage, client: str) -> None:
    if (reason := CLIENTS[client].missing()) is not None:
        pytest.skip(reason)
    episode = stage.play(client, TINY)
    assert episode.complete
    assert episode.outcome.sent == 2 * FRAMES
    assert sorted((a.stream, a.index) for a in episode.arrivals) == [
        (stream, index) for stream in range(2) for index in range(FRAMES)
    ]
    assert len(episode.lateness_ns) == 2 * (FRAMES - WARM_UP_FRAMES)
    assert episode.outcome.cpu_ns > 0


@pytest.mark.parametrize("client", [OURS, TRIO])
def test_tls_and_json_and_a_talking_receiver(stage: Stage, client: str) -> None:
    load = Load(port=0, core=0, streams=2, frames=75, tls=True, json=True, listen=True)
    episode = stage.play(client, load, says_per_s=20 * SAYS_PER_S)
    assert episode.complete
    assert episode.stamp_errors_ns
    assert bool(episode.user_errors_ns) == (client == OURS)


def test_bursts_are_timed_and_nothing_is_paced(stage: Stage) -> None:
    episode = stage.play(OURS, Load(port=0, core=0, bursts=3))
    assert len(episode.outcome.burst_cpu_ns) == 3
    assert min(episode.outcome.burst_cpu_ns) > 0


def test_a_client_that_fails_is_named(stage: Stage) -> None:
    with pytest.raises(EpisodeFailed, match="trio tasks ended with 1"):
        stage.play(TRIO, Load(port=0, core=0, streams=-1, bursts=1))


def test_the_c_program_is_not_asked_for_what_it_cannot_do() -> None:
    with pytest.raises(ValueError, match="plain binary"):
        command(Path("paced"), Load(port=1, core=0, tls=True))


def test_what_the_c_program_prints_is_its_outcome() -> None:
    outcome = outcome_of("123456 50\n")
    assert (outcome.cpu_ns, outcome.sent) == (123_456, 50)


def test_a_load_crosses_to_another_process_as_it_is() -> None:
    assert Load.from_json(TINY.to_json()) == TINY
