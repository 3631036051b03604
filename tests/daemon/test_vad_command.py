"""``speechbench vad``: files in, where speech is out, for people and as JSON."""

import argparse
import importlib.util
import json
import sys
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from daemon.commands import vad
from daemon.errors import UserError
from tests.vad.signals import Samples, speech, zeros
from vad.silero import PACKAGE, SEQUENCE_MODEL, STEP_MODEL

SHARED = Path(__file__).parents[2].parent / "shared"
SILERO_WORDS = {
    "min_silence_duration_ms": "min-silence-ms",
    "min_speech_duration_ms": "min-speech-ms",
    "max_speech_duration_s": "max-speech-s",
    "min_silence_at_max_speech": "min-silence-at-max-ms",
}


def ran(*words: str | Path) -> int:
    parser = argparse.ArgumentParser()
    vad.arguments(parser)
    return vad.run(parser.parse_args([str(word) for word in words]))


def document(capsys: pytest.CaptureFixture[str], *words: str | Path) -> dict[str, Any]:
    """The only thing on stdout."""
    ran("--json", *words)
    said: dict[str, Any] = json.loads(capsys.readouterr().out)
    return said


def written(path: Path, samples: Samples, rate_hz: int = 16_000) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, rate_hz, 0, "NONE", ""))
        file.writeframes(samples.astype("<i2").tobytes())
    return path


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    return written(tmp_path / "talk.wav", speech())


def test_people_read_where_speech_is_and_when_a_live_detector_knows_it(
    talk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ran(talk) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{talk}: 2.100 s (WAV PCM_16, 16000 Hz, 1 channel)",
        "  Speech in the whole file:",
        "       0.290 -    0.830 s   (0.540 s)",
        "  As a live detector hears it:",
        "    start at    0.290 s, known at    0.352 s",
        "    end   at    0.830 s, known at    0.960 s",
        "    start at    1.186 s, known at    1.248 s",
        "    end   at    1.374 s, known at    1.504 s",
        "  Digital silence heard behind the file: 0.000 s.",
        "",
        "Settings: --rate 16000 --channels mix --threshold 0.5 --min-silence-ms 100 "
        "--speech-pad-ms 30 --min-speech-ms 250 --max-speech-s inf --min-silence-at-max-ms 98",
    ]


def test_people_read_how_much_silence_the_last_end_took(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran(written(tmp_path / "cut.wav", speech()[:6_400]))
    said = capsys.readouterr().out
    assert "    end   at    0.510 s, known at    0.640 s\n" in said
    assert "Digital silence heard behind the file: 0.240 s.\n" in said


def test_people_read_that_no_end_was_decided(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = written(tmp_path / "cut.wav", speech()[:6_400])
    ran(cut, "--tail-silence-s", "0.1")
    said = capsys.readouterr().out
    assert "Digital silence heard behind the file: 0.100 s; no end had been decided then." in said
    ran(cut, "--threshold", "0.1")
    assert "known at    0.400 s, the file ends in speech\n" in capsys.readouterr().out


def test_people_read_that_there_is_no_speech(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran(written(tmp_path / "silence.wav", zeros(16_000)))
    said = capsys.readouterr().out
    assert "  No speech in the whole file.\n  A live detector hears none.\n" in said


def test_programs_read_timestamps_and_events_in_samples(
    talk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert document(capsys, talk) == {
        "model": SEQUENCE_MODEL.name,
        "model_sha256": SEQUENCE_MODEL.sha256,
        "rate_hz": 16_000,
        "window_samples": 512,
        "settings": {
            "threshold": 0.5,
            "neg_threshold": None,
            "min_silence_ms": 100,
            "speech_pad_ms": 30,
            "min_speech_ms": 250,
            "max_speech_s": None,
            "min_silence_at_max_ms": 98,
            "longest_silence_at_max": True,
        },
        "tail_silence_s": 0.0,
        "files": [
            {
                "file": str(talk),
                "source": "WAV PCM_16, 16000 Hz, 1 channel",
                "remarks": [],
                "samples": 33_600,
                "audio_s": 2.1,
                "heard_as": "int16",
                "timestamps": [{"start": 4_640, "end": 13_280}],
                "events": [
                    {"kind": "start", "sample": 4_640, "fired_at": 5_632},
                    {"kind": "end", "sample": 13_280, "fired_at": 15_360},
                    {"kind": "start", "sample": 18_976, "fired_at": 19_968},
                    {"kind": "end", "sample": 21_984, "fired_at": 24_064},
                ],
                "speaking": False,
            }
        ],
    }


def test_programs_read_one_probability_a_window_if_they_ask(
    talk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (plain,) = document(capsys, talk)["files"]
    assert "probabilities" not in plain
    (entry,) = document(capsys, talk, "--probabilities", "--tail-silence-s", "1")["files"]
    assert len(entry["probabilities"]) == 66  # 65.6 windows; none of the silence behind
    assert max(entry["probabilities"]) == pytest.approx(0.9435, abs=1e-4)


def test_the_window_follows_the_rate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = document(capsys, written(tmp_path / "t.wav", speech(8_000), 8_000), "--rate", "8000")
    assert (said["rate_hz"], said["window_samples"], said["model"]) == (8_000, 256, STEP_MODEL.name)
    assert said["files"][0]["events"][:2] == [
        {"kind": "start", "sample": 2_320, "fired_at": 2_816},
        {"kind": "end", "sample": 7_152, "fired_at": 8_192},
    ]


def test_silence_behind_the_file_lets_the_last_end_fire(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = written(tmp_path / "cut.wav", speech()[:6_400])
    (bare,) = document(capsys, cut)["files"]
    assert [event["kind"] for event in bare["events"]] == ["start"]
    assert bare["speaking"]
    said = document(capsys, cut, "--tail-silence-s", "0.24")
    assert said["tail_silence_s"] == 0.24
    assert said["files"][0]["events"][1] == {"kind": "end", "sample": 8_160, "fired_at": 10_240}
    assert not said["files"][0]["speaking"]
    assert said["files"][0]["samples"] == 6_400


def test_every_setting_changes_what_is_found(
    talk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def stretches(*words: str) -> list[tuple[int, int]]:
        (entry,) = document(capsys, talk, *words)["files"]
        return [(found["start"], found["end"]) for found in entry["timestamps"]]

    assert stretches() == [(4_640, 13_280)]
    assert stretches("--speech-pad-ms", "0") == [(5_120, 12_800)]
    assert stretches("--min-speech-ms", "100") == [(4_640, 13_280), (18_976, 21_984)]
    assert stretches("--min-silence-ms", "500") == [(4_640, 21_984)]
    assert stretches("--threshold", "0.95") == []
    assert stretches("--neg-threshold", "0.01") == [(4_640, 33_600)]
    # After 0.35 s in the middle of a syllable, or at the dip between two of them.
    split = ("--min-silence-ms", "500", "--max-speech-s", "0.35")
    assert stretches(*split)[0] == (4_640, 9_984)
    assert stretches(*split, "--min-silence-at-max-ms", "31")[0] == (4_640, 8_672)
    # The dip is over and counts as a silence; the pause that follows is still going on.
    longer = ("--min-silence-ms", "500", "--max-speech-s", "0.9", "--min-silence-at-max-ms", "31")
    assert stretches(*longer)[0] == (4_640, 8_672)
    assert stretches(*longer, "--last-silence-at-max")[0] == (4_640, 13_280)


def test_a_file_finer_than_16_bits_is_heard_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fine, coarse = tmp_path / "fine.wav", tmp_path / "coarse.wav"
    quiet = (speech() / 32_768 / 300).astype(np.float32)
    soundfile.write(fine, quiet, 16_000, subtype="FLOAT")
    written(coarse, np.rint(quiet * 32_768).astype(np.int16))
    files = document(capsys, fine, coarse, "--probabilities")["files"]
    assert [entry["heard_as"] for entry in files] == ["float32", "int16"]
    assert files[0]["probabilities"] != files[1]["probabilities"]


def test_floats_that_16_bits_hold_are_heard_as_16_bits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "float.wav"
    soundfile.write(path, (speech() / 32_768).astype(np.float32), 16_000, subtype="FLOAT")
    assert document(capsys, path)["files"][0]["heard_as"] == "int16"


def test_a_file_at_another_rate_or_with_two_channels_is_heard_as_it_would_be_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    silent = np.zeros((48_000, 2), np.float32)
    stereo, fast = tmp_path / "stereo.wav", tmp_path / "fast.wav"
    soundfile.write(stereo, silent + np.float32(1e-6), 16_000, subtype="FLOAT")
    soundfile.write(fast, silent[:, :1] + np.float32(1e-6), 48_000, subtype="FLOAT")
    files = document(capsys, stereo, fast)["files"]
    assert [entry["heard_as"] for entry in files] == ["int16", "int16"]
    assert [entry["samples"] for entry in files] == [48_000, 16_000]


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_shown(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing, text = tmp_path / "missing.wav", tmp_path / "text.wav"
    text.write_text("no audio", encoding="utf-8")
    assert ran(missing, talk, text) == 1
    said = capsys.readouterr()
    assert f"{talk}: 2.100 s" in said.out
    blamed = said.err.splitlines()
    assert len(blamed) == 2
    assert str(missing) in blamed[0]
    assert str(text) in blamed[1]


def test_programs_are_told_which_file_could_not_be_read(
    talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "missing.wav"
    assert ran("--json", missing, talk) == 1
    said = capsys.readouterr()
    bad, good = json.loads(said.out)["files"]
    assert bad["file"] == str(missing)
    assert str(missing) in bad["error"]
    assert good["events"]
    assert len(said.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--threshold 2", "--threshold 2: it must be a number from 0.01 to 1"),
        ("--threshold nan", "--threshold nan: it must be a number from 0.01 to 1"),
        ("--threshold x", "--threshold x: it must be a number from 0.01 to 1"),
        ("--neg-threshold 0.6", "--neg-threshold 0.6: it must be no higher than --threshold, 0.5"),
        ("--min-silence-ms 1.5", "--min-silence-ms 1.5: it must be a whole number from 0 to 60000"),
        ("--min-silence-ms -1", "--min-silence-ms -1: it must be a whole number from 0 to 60000"),
        ("--max-speech-s 0", "--max-speech-s 0: it must be a number from 0.1 to inf"),
        ("--tail-silence-s inf", "--tail-silence-s inf: it must be a number from 0 to 60"),
        ("--rate 44100", "--rate 44100: it must be 8000 or 16000"),
        ("--channels centre", "--channels centre: it must be mix, left or right"),
        ("--probabilities", "--probabilities: it goes with --json only"),
    ],
)
def test_a_value_that_is_not_allowed_is_named_with_what_is(words: str, says: str) -> None:
    with pytest.raises(UserError) as raised:
        ran("talk.wav", *words.split())
    assert str(raised.value) == says
    assert raised.value.exit_code == 2


def test_without_the_model_it_says_what_to_install(
    talk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "silero_vad", None)  # as Python marks what is not there
    with pytest.raises(UserError, match=f"install {PACKAGE}"):
        ran(talk)


RECORDINGS = (
    "ami_ES2011a_headset0_40-46",
    "beckett",
    "fleurs_ja_jp_000595",
    "google_commercial_mono",
    "libri_1088-134315-0000_rvb",  # 32-bit float
    "libri_2412-153948-0000",
    "vosk_test8k",
)


def official(name: str) -> tuple[Path, dict[str, Any]]:
    """A recording and what the official package made of it."""
    results = SHARED / "vad_reference" / f"{name}.json"
    if not results.is_file():
        pytest.skip(f"the stored results are not there: {results.name}")
    said: dict[str, Any] = json.loads(results.read_text(encoding="utf-8"))
    path = next(filter(Path.is_file, places(said["file"])), None)
    if path is None:
        pytest.skip(f"the recording is not there: {said['file']}")
    return path, said


def places(file: str) -> Iterator[Path]:
    yield SHARED / "audio" / file
    spec = importlib.util.find_spec("moonshine_voice")
    if spec is not None and spec.submodule_search_locations:
        yield Path(spec.submodule_search_locations[0]) / "assets" / file


def in_our_words(settings: dict[str, Any]) -> list[str]:
    words = []
    for name, value in settings.items():
        if name == "use_max_poss_sil_at_max_speech":
            words += [] if value else ["--last-silence-at-max"]
        else:
            words += [f"--{SILERO_WORDS.get(name, name.replace('_', '-'))}", str(value)]
    return words


def found(entry: dict[str, Any]) -> list[list[int]]:
    return [[stretch["start"], stretch["end"]] for stretch in entry["timestamps"]]


def fired(entry: dict[str, Any]) -> list[list[str | int]]:
    return [[event["kind"], event["sample"], event["fired_at"]] for event in entry["events"]]


@pytest.mark.parametrize("name", RECORDINGS)
def test_the_document_equals_the_official_results(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path, results = official(name)
    (entry,) = document(capsys, path, "--probabilities", "--rate", str(results["sample_rate"]))[
        "files"
    ]
    assert entry["samples"] == results["samples"]
    assert entry["probabilities"] == pytest.approx(results["probabilities"], abs=1e-4)
    assert found(entry) == results["timestamps"][0]["speech"]
    bare = next(run for run in results["iterator"] if run["tail_silence_s"] == 0)
    assert fired(entry) == bare["events"]


@pytest.mark.parametrize("name", ["beckett", "vosk_test8k"])
def test_the_document_equals_the_official_results_under_all_settings(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path, results = official(name)
    words = (path, "--rate", str(results["sample_rate"]))
    for run in results["timestamps"]:
        (entry,) = document(capsys, *words, *in_our_words(run["settings"]))["files"]
        assert found(entry) == run["speech"]
    for run in results["iterator"]:
        tail = ("--tail-silence-s", str(run["tail_silence_s"]))
        (entry,) = document(capsys, *words, *tail, *in_our_words(run["settings"]))["files"]
        assert fired(entry) == run["events"]
