"""What the exporter process is told when it starts: where and how to export."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from measure.wire import Record

SETTINGS = "settings"
"""The kind of the first record that the exporter process receives; it is not journalled."""


LEVELS = ("debug", "info", "warning", "error", "critical")
FORMATS = ("auto", "json", "console")
LIVE = ("off", "rounds", "turns")


@dataclass(frozen=True, slots=True)
class Stream:
    """One thing that is measured: the labels under which its series start at 0."""

    provider: str
    model: str
    dataset: str
    flow: str


@dataclass(frozen=True, slots=True)
class WebOptions:
    """How the pages are served, besides where."""

    config_file: str | None = None
    """TLS and passwords, in Prometheus's format; an absolute path."""
    lifecycle: bool = False
    """Somebody may ask for a reload."""
    listen_fd: int | None = None
    """A socket that listens already; in the exporter process it has this number too."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All of it plain values: it crosses to another process."""

    journal_directory: str
    """An absolute path; it is created where it is missing."""
    listen: tuple[str, int] | None = None
    """Address and port for the metrics; port 0: any that is free. None: no metrics are served."""
    web: WebOptions = WebOptions()
    log_format: str = "auto"
    """``json``, ``console``, or ``auto``: console where standard error is a terminal."""
    log_level: str = "info"
    live: str = "off"
    """What somebody who watches is shown on standard error, instead of a line for each event.

    ``rounds``: how far each clip is, at a terminal. ``turns``: each turn of live audio as soon as
    it is read; where there is no terminal, as plain lines.
    """
    log_transcripts: bool = False
    """Lines may hold what was said."""
    version: str = ""
    config_sha256: str = ""
    streams: tuple[Stream, ...] = ()
    schedules: tuple[str, ...] = ()
    build: Mapping[str, str] = field(default_factory=dict)
    """The labels of ``build_info``; see exporters/metric_table.py."""
    models: tuple[Mapping[str, str], ...] = ()
    """The labels of ``model_info``, one map for each model."""
    segment_bytes: int = 64 << 20
    segment_s: float = 24 * 3600.0
    reserve_bytes: int = 0
    """With less than this free on the journal's disk nothing new is measured."""
    keep_age_s: float | None = None
    """How old segments may become; None: they are all kept."""
    keep_bytes: int | None = None
    """How large the journal may become; None: as large as the disk lets it."""

    def __post_init__(self) -> None:
        _one_of("log format", self.log_format, FORMATS)
        _one_of("log level", self.log_level, LEVELS)
        _one_of("live view", self.live, LIVE)

    def record(self) -> Record:
        """As it crosses."""
        return {"k": SETTINGS, "t": 0, **asdict(self)}


def settings_of(record: Mapping[str, Any]) -> Settings:
    """The settings in a record. Raises ValueError where they are none."""
    if record.get("k") != SETTINGS:
        raise ValueError(f"expected settings, got a record of kind {record.get('k')!r}")
    plain = {key: value for key, value in record.items() if key not in ("k", "t")}
    plain["streams"] = streams_of(plain["streams"])
    plain["web"] = WebOptions(**plain["web"])
    plain["schedules"] = tuple(plain["schedules"])
    plain["models"] = tuple(plain["models"])
    plain["listen"] = tuple(plain["listen"]) if plain["listen"] is not None else None
    return Settings(**plain)


def _one_of(what: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{what} {value!r}: allowed are {', '.join(allowed)}")


def streams_of(plain: Any) -> tuple[Stream, ...]:  # noqa: ANN401
    """The streams in a list of maps, as they cross."""
    return tuple(Stream(**stream) for stream in plain)
