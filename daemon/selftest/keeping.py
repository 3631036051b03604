"""A self-test's result as a record of the journal, where no daemon is there to take it."""

from importlib.metadata import version
from pathlib import Path

from daemon.clock import HostClock
from daemon.selftest.result import SelftestResult, record_of
from daemon.supervise import start_exporter
from exporters.settings import Settings as ExporterSettings
from measure.records import SECOND


def keep_in_journal(result: SelftestResult, directory: Path) -> None:
    """Write one small segment with it. Raises UserError where nothing can be written there."""
    recording = start_exporter(
        ExporterSettings(
            journal_directory=str(directory), log_level="error", version=version("speechbench")
        )
    )
    recording.put(record_of(result, round(HostClock().current_time() * SECOND)))
    recording.stop()
