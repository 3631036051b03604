"""The built-in clips: there, whole, quiet at their edges, and with the right words."""

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from measure.records import AudioClip
from pacer.builtin import CUTS, builtin_clips
from pacer.clips import ClipError

try:
    CLIPS = builtin_clips()
except ClipError:
    CLIPS = ()
installed = pytest.mark.skipif(not CLIPS, reason="the package with the recording is not here")

PAGE = (
    "It was the best of times, it was the worst of times, it was the age of wisdom, it was the age "
    "of foolishness, it was the epoch of belief, it was the epoch of incredulity, it was the "
    "season of Light, it was the season of Darkness, it was the spring of hope, it was the winter "
    "of despair, we had everything before us, we had nothing before us, we were all going direct "
    "to Heaven, we were all going direct the other way— in short, the period was so far like the "
    "present period, that some of its noisiest authorities insisted on its being received, for "
    "good or for evil, in the superlative degree of comparison only."
)


def loudness_db(clip: AudioClip, start_s: float, end_s: float) -> float:
    """Of a stretch of the clip, against full scale."""
    samples = np.frombuffer(clip.pcm, dtype="<i2") / 32768
    stretch = samples[round(start_s * clip.rate_hz) : round(end_s * clip.rate_hz)]
    return float(10 * np.log10(np.mean(stretch**2)))


def test_the_references_are_the_page_in_its_order_without_the_line_left_out() -> None:
    spoken = " ".join(cut.reference for cut in CUTS)
    unsure = "it was the season of Light, it was the season of Darkness, "
    assert spoken == PAGE.replace(unsure, "")
    assert len(PAGE.split()) == 119


def test_the_cuts_stand_in_order_and_share_no_more_than_a_pause() -> None:
    assert len({cut.name for cut in CUTS}) == len(CUTS) >= 5
    assert all(before.end_s - after.start_s <= 0.3 for before, after in pairwise(CUTS))
    assert all(3 <= cut.end_s - cut.start_s <= 9 for cut in CUTS)


@installed
def test_there_are_about_forty_seconds_of_speech() -> None:
    assert [clip.name for clip in CLIPS] == [cut.name for cut in CUTS]
    assert sum(clip.audio_s for clip in CLIPS) == pytest.approx(37.8)
    assert {clip.corpus for clip in CLIPS} == {"two-cities"}
    assert all(clip.reference and not clip.remarks for clip in CLIPS)
    assert CLIPS[0].source == "two_cities.wav 0.70-8.53 s, WAV PCM_16, 48000 Hz, 1 channel"


@installed
@pytest.mark.parametrize("clip", CLIPS, ids=lambda clip: clip.name)
def test_each_clip_begins_and_ends_in_a_pause(clip: AudioClip) -> None:
    assert loudness_db(clip, 0, 0.2) < -50
    assert loudness_db(clip, clip.audio_s - 0.2, clip.audio_s) < -50
    assert loudness_db(clip, 0.2, clip.audio_s - 0.2) > -40


@installed
def test_at_another_rate_they_are_the_same_clips() -> None:
    for clip, other in zip(CLIPS, builtin_clips(rate_hz=24_000), strict=True):
        assert (other.rate_hz, other.audio_s, other.reference) == (
            24_000,
            clip.audio_s,
            clip.reference,
        )
        assert other.sha256 != clip.sha256


def package_of(folder: Path, *, recording: bytes | None) -> None:
    """A package of the same name that must not be imported."""
    assets = folder / "moonshine_voice" / "assets"
    assets.mkdir(parents=True)
    (assets.parent / "__init__.py").write_text("raise AssertionError('it was imported')")
    if recording is not None:
        (assets / "two_cities.wav").write_bytes(recording)


def refused(monkeypatch: pytest.MonkeyPatch, path: Path) -> str:
    monkeypatch.syspath_prepend(path)
    with pytest.raises(ClipError) as caught:
        builtin_clips()
    assert str(caught.value).endswith(
        "install it with: pip install --no-deps moonshine-voice==0.0.73"
    )
    return str(caught.value)


def test_without_the_package_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "moonshine_voice", None)
    assert "moonshine_voice, which is not installed" in refused(monkeypatch, tmp_path)


def test_a_package_without_the_recording_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package_of(tmp_path, recording=None)
    assert "the recording of the built-in clips is missing" in refused(monkeypatch, tmp_path)


def test_an_altered_recording_is_not_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package_of(tmp_path, recording=b"RIFF")
    assert "(its sha256 is another)" in refused(monkeypatch, tmp_path)
