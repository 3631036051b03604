"""One episode: a receiver, one client, and what both say of it."""

import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import Self

from benchmarks import certificates
from benchmarks.clients import CLIENTS, C
from benchmarks.clients.c_program import build, command, outcome_of
from benchmarks.host import cores
from benchmarks.load import Load, Outcome
from benchmarks.sentinel import Sentinel, Watch
from benchmarks.spread import Spread, rate_error_ppm, spread
from benchmarks.station import Arrival, StationSettings, read_arrivals, read_said

WARM_UP_FRAMES = 25
"""The first half second of each stream is not judged."""
PATIENCE_S = 120.0


class EpisodeFailed(Exception):
    """A client or the receiver did not do its work; says which and how it ended."""


@dataclass(frozen=True, slots=True)
class Episode:
    """What happened."""

    client: str
    load: Load
    outcome: Outcome
    arrivals: list[Arrival] = field(repr=False)
    said_ns: list[int] = field(repr=False)
    """When the receiver handed each of its messages to the socket."""
    host: Watch | None
    """What the sentinel saw meanwhile."""

    @property
    def lateness_ns(self) -> list[int]:
        """Of every frame after the warm-up."""
        return [a.late_ns for a in self.arrivals if a.index >= WARM_UP_FRAMES]

    @property
    def undisturbed_ns(self) -> list[int]:
        """The same without the frames that a stall of the host made late."""
        host = self.host
        if host is None or not host.stalls:
            return self.lateness_ns
        return [
            a.late_ns
            for a in self.arrivals
            if a.index >= WARM_UP_FRAMES and not host.spoils(a.due_ns)
        ]

    @property
    def complete(self) -> bool:
        """Every frame arrived."""
        return len(self.arrivals) == self.load.streams * self.load.frames

    @property
    def stamp_errors_ns(self) -> list[int]:
        """Of each message said while frames were judged: the client's stamp less the sender's."""
        return self._errors_ns(self.outcome.heard_ns)

    @property
    def user_errors_ns(self) -> list[int]:
        """The same by the program's own stamps; none where the client has no better ones."""
        heard_ns = self.outcome.user_heard_ns
        return self._errors_ns(heard_ns) if heard_ns else []

    def _errors_ns(self, heard_ns: list[int]) -> list[int]:
        from_ns = min(a.due_ns for a in self.arrivals if a.index == WARM_UP_FRAMES)
        until_ns = max(a.due_ns for a in self.arrivals)
        return [
            at_ns - self.said_ns[number]
            for number, at_ns in zip(self.outcome.heard_numbers, heard_ns, strict=True)
            if from_ns <= self.said_ns[number] <= until_ns
        ]

    def lateness(self) -> Spread:
        return spread(self.lateness_ns)

    def rate_error_ppm(self) -> float:
        """The median over the streams."""
        return median(
            rate_error_ppm([a.due_ns for a in frames], [a.arrived_ns for a in frames])
            for frames in by_stream(self.arrivals).values()
        )


def by_stream(arrivals: list[Arrival]) -> dict[int, list[Arrival]]:
    """The arrivals of each stream, after the warm-up, in order."""
    streams: dict[int, list[Arrival]] = {}
    for arrival in arrivals:
        if arrival.index >= WARM_UP_FRAMES:
            streams.setdefault(arrival.stream, []).append(arrival)
    return streams


class Stage:
    """Where episodes take place: a folder, certificates, the C program, the sentinel."""

    def __init__(self, folder: Path, *, watched: bool = True) -> None:
        self._folder = folder
        self._certificates = certificates.make(folder)
        self._cores = cores()
        self._watched = watched
        self._sentinel: Sentinel | None = None

    def __enter__(self) -> Self:
        self._sentinel = Sentinel(self._cores.client) if self._watched else None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        if self._sentinel is not None:
            self._sentinel.__exit__(kind, error, where)

    def play(self, client: str, load: Load, *, says_per_s: float = 0.0) -> Episode:
        """Let ``client`` do ``load``. Raises EpisodeFailed."""
        notes = self._folder / "arrivals"
        station = self._station(load, notes, says_per_s)
        assert station.stdout is not None
        try:
            port = int(station.stdout.readline() or 0)
            load = replace(
                load, port=port, core=self._cores.client, ca_path=str(self._certificates.ca)
            )
            if self._sentinel is not None:
                self._sentinel.take()
            outcome = self._client(client, load)
            host = self._sentinel.take() if self._sentinel is not None else None
        finally:
            station.communicate(timeout=PATIENCE_S)
        if station.returncode:
            raise EpisodeFailed(f"the receiver ended with {station.returncode}")
        return Episode(client, load, outcome, read_arrivals(notes), read_said(notes), host)

    def _station(self, load: Load, notes: Path, says_per_s: float) -> "subprocess.Popen[str]":
        settings = StationSettings(
            core=self._cores.station,
            notes=str(notes),
            certificate=str(self._certificates.server) if load.tls else "",
            says_per_s=says_per_s,
        )
        return subprocess.Popen(
            [sys.executable, "-m", "benchmarks.station", settings.to_json()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def _client(self, name: str, load: Load) -> Outcome:
        if name == C:
            return outcome_of(_printed(name, command(build(self._folder), load)))
        module = CLIENTS[name].module
        assert module is not None
        return Outcome.from_json(_printed(name, [sys.executable, "-m", module, load.to_json()]))


def _printed(name: str, words: list[str]) -> str:
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        raise EpisodeFailed(f"{name} was not done within {PATIENCE_S:g} s") from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["without a word"])[-1]
        raise EpisodeFailed(f"{name} ended with {done.returncode}: {last}")
    return done.stdout
