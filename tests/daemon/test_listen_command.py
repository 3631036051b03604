"""``speechbench listen``: what it takes from settings and command line, and what it says."""

from pathlib import Path

import pytest

from daemon import cli
from daemon.commands.listen import device_line
from daemon.listening import Ended
from measure.records import MS
from pacer.device_clock import Drift


@pytest.fixture(autouse=True)
def _no_card(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever this host has: nothing is found, and nothing is written outside of the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PULSE_SERVER", f"unix:{tmp_path / 'nobody'}")
    empty = tmp_path / "asound.conf"
    empty.write_text("</usr/share/alsa/alsa.conf>\n")
    monkeypatch.setenv("ALSA_CONFIG_PATH", str(empty))


def said_by(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str]]:
    code = cli.main(["listen", *arguments])
    return code, capsys.readouterr().err.splitlines()


def test_without_a_microphone_there_is_one_line_and_nothing_is_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, lines = said_by(capsys, "--model", "local/pocketsphinx", "--record", "heard.wav")
    assert code == 2
    (line,) = [line for line in lines if "error is not known" not in line]
    assert "PortAudio" in line
    assert [path.name for path in tmp_path.iterdir()] == ["asound.conf"]


def test_a_model_that_knows_only_one_endpoint_is_named_and_left_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, lines = said_by(capsys, "--model", "vllm/voxtral-mini-4b-realtime")
    assert code == 2
    assert any("it wants no audio after a force" in line for line in lines)
    assert lines[-1] == "speechbench: there is no model left to measure"


def test_one_address_for_several_models_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    models = ("--model", "deepgram/nova-3", "--model", "gladia/solaria-1")
    code, lines = said_by(capsys, *models, "--url", "ws://127.0.0.1:1")
    assert (code, len(lines)) == (2, 1)
    assert "--url belongs to one model" in lines[0]


@pytest.mark.parametrize(
    ("option", "value", "allowed"),
    [
        ("--seconds", "0", "seconds from 1 to 86400"),
        ("--seconds", "nan", "seconds from 1 to 86400"),
        ("--silence", "-1", "milliseconds from 0 to 5000"),
        ("--silence", "long", "milliseconds from 0 to 5000"),
        ("--latency", "high", "'low' or seconds from 0.001 to 2"),
        ("--latency", "3", "'low' or seconds from 0.001 to 2"),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_what_can(
    option: str, value: str, allowed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["listen", option, value])
    assert ended.value.code == 2
    assert allowed in capsys.readouterr().err


def test_what_is_known_of_the_device_is_said_with_how_sure_it_is() -> None:
    ended = Ended("USB Audio", None, 62_000.0, Drift(12.4, 2.6, 60), 41 * MS, 1)
    assert device_line(ended) == (
        "Device:  USB Audio, heard for 62.0 s; its clock +12 ± 3 ppm against this host's; "
        "delay 41 ms; 1 xrun"
    )


def test_what_is_not_known_of_the_device_is_said_too() -> None:
    assert device_line(Ended("USB Audio", heard_ms=4_000.0)) == (
        "Device:  USB Audio, heard for 4.0 s; drift not known: it takes ten steady seconds; "
        "delay not told; no xruns"
    )
