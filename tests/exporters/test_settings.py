"""What the exporter process is told crosses unchanged."""

import pytest

from exporters.packing import pack, unpack
from exporters.settings import Settings, Stream, settings_of

FULL = Settings(
    "/var/lib/speechbench",
    listen=("127.0.0.1", 9464),
    log_format="json",
    log_level="debug",
    live="turns",
    log_transcripts=True,
    version="0.1.0",
    config_sha256="c0ffee",
    streams=(Stream("local", "tiny", "files", "forced"),),
    schedules=("hourly",),
    build={"version": "0.1.0"},
    models=({"provider": "local"},),
    segment_bytes=1000,
    segment_s=60.0,
)


@pytest.mark.parametrize("settings", [FULL, Settings("/tmp/j")], ids=["all", "least"])
def test_settings_cross_as_they_are(settings: Settings) -> None:
    assert settings_of(unpack(pack(settings.record()))) == settings


def test_what_is_no_settings_is_refused() -> None:
    with pytest.raises(ValueError, match="expected settings, got a record of kind 'tick'"):
        settings_of({"k": "tick"})


@pytest.mark.parametrize(
    ("mistake", "complaint"),
    [
        ({"log_format": "xml"}, "log format 'xml': allowed are auto, json, console"),
        ({"log_level": "loud"}, "log level 'loud': allowed are debug, info, warning"),
        ({"live": "yes"}, "live view 'yes': allowed are off, rounds, turns"),
    ],
)
def test_a_mistake_is_said_with_what_is_allowed(mistake: dict[str, str], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Settings("/tmp/j", **mistake)  # type: ignore[arg-type]
