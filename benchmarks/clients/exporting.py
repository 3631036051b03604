"""The exporter process beside the paced streams, as it is beside measurements, and a scraper."""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

import trio

from daemon.clock import now_ns
from exporters.process import Exporter, launch
from exporters.settings import Settings, Stream
from measure.wire import Recorder

MODELS = 18
"""So many models of one provider make more than 2,500 lines of metrics."""
DRAIN_S = 0.1
STOP_S = 5.0


class Exporting:
    """Takes the records of all streams. Use it as a context, around the paced loop."""

    def __init__(self, scraped: bool) -> None:
        self._scraped = scraped
        self._folder = TemporaryDirectory()
        self._scraper: subprocess.Popen[str] | None = None
        self._exporter: Exporter
        self.scrape_lines = 0
        """How many lines the newest scrape had; 0: nobody scraped."""

    def __enter__(self) -> Self:
        self._exporter = launch(
            Settings(
                journal_directory=str(Path(self._folder.name, "journal")),
                listen=("127.0.0.1", 0),
                log_level="error",
                streams=tuple(
                    Stream("bench", f"bench/{model}", "files", "forced") for model in range(MODELS)
                ),
            )
        )
        address = self._exporter.wait_ready().address
        if self._scraped:
            self._scraper = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.scraper", str(address)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        if self._scraper is not None:
            printed, _ = self._scraper.communicate()
            self.scrape_lines = int(printed.split()[0])
        self._exporter.stop(STOP_S)
        self._folder.cleanup()

    def recorder(self, stream: int) -> Recorder:
        """What turns the frames of one stream into records and hands them over."""
        return Recorder(f"bench-{stream}", self._exporter.handoff.put)

    async def keep_flowing(self) -> None:
        """What the program does besides, ten times a second."""
        while True:
            self._exporter.handoff.drain()
            self._exporter.handoff.put({"k": "heartbeat", "t": now_ns(), "ready": True})
            await trio.sleep(DRAIN_S)
