"""Plays episodes in turn, says how far it has come, and does without what cannot be run here."""

import sys
import time
from collections.abc import Iterable, Sequence

from benchmarks.clients import CLIENTS, OURS
from benchmarks.episode import Episode, EpisodeFailed, Stage
from benchmarks.load import STEP_NS, Load


def frames_in(seconds: float) -> int:
    """How many frames that is."""
    return round(seconds * 1e9 / STEP_NS)


class Rounds:
    """All episodes of a run, on one stage."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._started_s = time.monotonic()
        self.skipped: dict[str, str] = {}
        """Who or what is not measured, and why."""
        self.worst_stalls_ns: list[float] = []
        """Of each episode, the longest the sentinel was late."""
        for name, client in CLIENTS.items():
            if (reason := client.missing()) is not None:
                self.leave_out(name, reason)

    def leave_out(self, name: str, reason: str) -> None:
        """Do without it, and say so."""
        self.skipped[name] = reason
        self.say(f"{name} is left out: {reason}")

    def say(self, line: str) -> None:
        """One line of progress."""
        elapsed_s = int(time.monotonic() - self._started_s)
        sys.stderr.write(f"{elapsed_s // 60:2d}:{elapsed_s % 60:02d}  {line}\n")
        sys.stderr.flush()

    def here(self, clients: Iterable[str]) -> list[str]:
        """Those of them that can be run."""
        return [client for client in clients if client not in self.skipped]

    def play(self, client: str, load: Load, what: str, says_per_s: float = 0.0) -> Episode | None:
        """One episode; None where a rival failed, which is said. Ours failing is raised."""
        try:
            episode = self._stage.play(client, load, says_per_s=says_per_s)
        except EpisodeFailed as failed:
            if client == OURS:
                raise
            self.say(f"{what}: {failed}")
            return None
        if episode.host is not None:
            self.worst_stalls_ns.append(episode.host.late.max_ns)
        return episode

    def interleaved(
        self,
        clients: Sequence[str],
        load: Load,
        repeats: int,
        what: str,
        says_per_s: float = 0.0,
    ) -> dict[str, list[Episode]]:
        """A B C A B C …: all episodes of each client."""
        played: dict[str, list[Episode]] = {client: [] for client in self.here(clients)}
        for repeat in range(repeats):
            for client, episodes in played.items():
                self.say(f"{what}, {repeat + 1} of {repeats}: {client}")
                episode = self.play(client, load, what, says_per_s)
                if episode is not None:
                    episodes.append(episode)
        return {client: episodes for client, episodes in played.items() if episodes}
