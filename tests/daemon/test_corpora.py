"""Corpora on disk: loaded one by one, cut where asked, refused with all that is wrong."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from daemon.commands import corpus as command
from daemon.config import CorpusSection, Settings
from daemon.corpora import opened
from daemon.corpus_clips import Settled, settled
from daemon.errors import UserError
from daemon.loaded import HEARD_RATE_HZ, Loaded
from daemon.parquet_rows import AudioRows
from daemon.plan import Plan, recordings_of
from measure.records import AudioClip
from pacer.clips import ClipError
from pacer.cut import Limits, Span
from scoring.corpora import KINDS
from scoring.rejoin import part_name
from tests.pacer.wav import chunk, fmt, riff, wav
from vad.survey import Surveyor

PLENARY = "20140414-0900-PLENARY-19-en_20140414-22:40:11_0"


def sound(seconds: float, seed: int = 0) -> bytes:
    noise = np.random.RandomState(seed).randint(-3_000, 3_000, round(seconds * 16_000))
    return wav(noise.astype(np.int16))


def written(path: Path, content: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def lines(*rows: object) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def manifest(folder: Path, *rows: dict[str, object]) -> Path:
    """A folder with a NeMo manifest; every recording that it names lasts a second."""
    for seed, row in enumerate(rows):
        written(folder / str(row["audio_filepath"]), sound(1.0, seed))
    return written(folder / "manifest.jsonl", lines(*rows)).parent


def taken(
    path: Path,
    *,
    rates: Sequence[int] = (HEARD_RATE_HZ,),
    name: str | None = None,
    limits: Limits | None = None,
    calls: Path | None = None,
    speech: Sequence[Span] = (),
) -> tuple[list[Loaded], list[str]]:
    mistakes: list[str] = []
    wanted = Settled(path, calls=calls, name=name)
    found = settled(wanted, rates, mistakes, set(), limits=limits, speech_in=lambda clip: speech)
    return list(found), [line.removeprefix(f"{path}: ") for line in mistakes]


def heard(one: Loaded) -> AudioClip:
    return one.at_rate[HEARD_RATE_HZ]


def test_ids_with_colons_and_blanks_are_the_names_of_clips(tmp_path: Path) -> None:
    row = {"audio_filepath": "a b:c.wav", "text": "x", "id": f"{PLENARY} (1)", "duration": 1.0}
    (one,), mistakes = taken(manifest(tmp_path / "my calls", row))
    assert mistakes == []
    assert (heard(one).name, heard(one).corpus) == (f"{PLENARY} (1)", "my calls")
    assert (heard(one).reference, heard(one).audio_s) == ("x", 1.0)


def test_a_length_that_is_not_true_is_refused_with_both_figures(tmp_path: Path) -> None:
    row = {"audio_filepath": "a.wav", "text": "x", "duration": 1.25}
    found, mistakes = taken(manifest(tmp_path, row))
    assert found == []
    assert mistakes == ["manifest.jsonl:1: a: the manifest says 1.25 s, the audio lasts 1.000 s"]


NAMES = ("good", "gone", "text")


def test_every_recording_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"audio_filepath": f"{name}.wav", "text": "x"} for name in NAMES
    ]
    folder = manifest(tmp_path, *rows)
    (folder / "gone.wav").unlink()
    written(folder / "text.wav", "no sound at all")
    found, mistakes = taken(folder)
    assert [heard(one).name for one in found] == ["good"]
    assert [line.split(": ")[0] for line in mistakes] == ["manifest.jsonl:2", "manifest.jsonl:3"]


def test_stretches_of_a_recording_are_cut_out_of_it(tmp_path: Path) -> None:
    rows = [
        {"audio_filepath": "a.wav", "text": "x", "offset": 0.25, "duration": 0.5, "id": "1"},
        {"audio_filepath": "a.wav", "text": "y", "offset": 0.75, "duration": 0.25, "id": "2"},
    ]
    folder = manifest(tmp_path, *rows)
    whole = sound(1.0, 1)
    (first, second), mistakes = taken(folder)
    assert mistakes == []
    pcm = whole[-32_000:]
    assert heard(first).pcm == pcm[2 * 4_000 : 2 * 12_000]
    assert heard(second).pcm == pcm[2 * 12_000 :]


def test_at_one_rate_a_recording_is_in_memory_once(tmp_path: Path) -> None:
    (one,), _ = taken(manifest(tmp_path, {"audio_filepath": "a.wav", "text": "x"}))
    assert list(one.at_rate) == [HEARD_RATE_HZ]
    settings = Settings(corpus=(CorpusSection(path=tmp_path),))
    (recording,) = recordings_of(settings, [HEARD_RATE_HZ], Surveyor())
    assert recording.at_rate[HEARD_RATE_HZ] is recording.clip


PAUSE = [(0, 5 * 16_000 - 800), (5 * 16_000 + 800, 8 * 16_000)]
FIVE = Limits(aim_s=5, most_s=6)


@pytest.mark.parametrize("rate_hz", [16_000, 8_000, 44_100])
def test_long_recordings_are_cut_at_every_rate_and_nothing_is_lost(
    tmp_path: Path, rate_hz: int
) -> None:
    written(tmp_path / "call 1.wav", sound(8.0))
    written(tmp_path / "call 1.txt", "one two")
    written(tmp_path / "short.wav", sound(6.0))
    written(tmp_path / "short.txt", "three")
    found, mistakes = taken(tmp_path, rates=[rate_hz], limits=FIVE, speech=PAUSE)
    assert mistakes == []
    first, second, short = found
    assert [heard(one).audio_s for one in found] == [5.0, 3.0, 6.0]
    assert sum(one.at_rate[rate_hz].samples for one in (first, second)) == 8 * rate_hz
    assert [str(part_name(heard(one).name)) for one in (first, second)] == [
        "call 1 (part 1 of 2)",
        "call 1 (part 2 of 2)",
    ]
    assert first.call == second.call
    assert first.call is not None
    assert (first.call.reference, first.call.audio_s) == ("one two", 8.0)
    assert heard(first).reference is None
    assert (short.call, heard(short).reference) == (None, "three")


def test_the_last_sample_of_another_rate_is_not_lost(tmp_path: Path) -> None:
    odd = np.full(8 * 44_100 + 1, 500, np.int16)
    riffed = riff(chunk(b"fmt ", fmt(rate_hz=44_100)), chunk(b"data", odd.tobytes()))
    written(tmp_path / "a.wav", riffed)
    written(tmp_path / "a.txt", "x")
    found, _ = taken(tmp_path, rates=[44_100], limits=FIVE, speech=PAUSE)
    assert sum(one.at_rate[44_100].samples for one in found) == len(odd)


def parts_folder(tmp_path: Path, *, duration: float) -> Path:
    rows = [
        {"parent_id": "4483046", "chunk_index": index, "file_name": f"{index}.wav"}
        for index in (1, 0)
    ]
    for index in (0, 1):
        written(tmp_path / "parts" / "audio" / f"{index}.wav", sound(1.0 + index, index))
    call = {"id": "4483046", "duration": duration, "transcript": "a b", "file_name": "u.mp3"}
    written(tmp_path / "calls.jsonl", lines(call))
    return written(tmp_path / "parts" / "rows.jsonl", lines(*rows)).parent


def test_parts_that_come_as_parts_belong_to_their_call(tmp_path: Path) -> None:
    folder = parts_folder(tmp_path, duration=3.05)
    (first, second), mistakes = taken(folder, calls=tmp_path / "calls.jsonl")
    assert mistakes == []
    assert [heard(one).audio_s for one in (first, second)] == [1.0, 2.0]
    assert first.call is not None
    assert (first.call.name, first.call.parts, first.call.audio_s) == ("4483046", 2, 3.0)


def test_parts_that_are_not_the_whole_call_are_refused(tmp_path: Path) -> None:
    folder = parts_folder(tmp_path, duration=9.5)
    found, mistakes = taken(folder, calls=tmp_path / "calls.jsonl")
    assert found == []
    assert mistakes == ["call 4483046: the manifest says 9.5 s, its 2 parts last 3.000 s"]


def test_a_stand_in_does_not_carry_the_name_of_the_original(tmp_path: Path) -> None:
    folder = manifest(tmp_path, {"audio_filepath": "a.wav", "text": "x"})
    _, mistakes = taken(folder, name="VoxPopuli-cleaned-AA")
    (mistake,) = mistakes
    assert "the name of a published corpus of 628 recordings" in mistake
    assert mistake.endswith("give it a name of its own")


def test_a_corpus_needs_a_name_that_no_other_has(tmp_path: Path) -> None:
    folder = manifest(tmp_path / "x", {"audio_filepath": "a.wav", "text": "x"})
    twice = (CorpusSection(path=folder), CorpusSection(path=folder))
    with pytest.raises(UserError, match="clips of a corpus 'x' already"):
        recordings_of(Settings(corpus=twice), [], Surveyor())


def test_all_mistakes_of_all_corpora_are_told_at_once(tmp_path: Path) -> None:
    bad = written(tmp_path / "bad" / "m.jsonl", '{"audio_filepath": "a.wav"}\n{').parent
    sections = (CorpusSection(path=bad), CorpusSection(path=tmp_path / "none"))
    with pytest.raises(UserError) as error:
        recordings_of(Settings(corpus=sections), [], Surveyor())
    said = str(error.value).splitlines()
    assert [line.split(": ")[:2] for line in said] == [
        [str(bad), "m.jsonl:1"],
        [str(bad), "m.jsonl:2"],
        [str(tmp_path / "none"), "there is no such file or folder that can be read"],
    ]


def planned(corpus: CorpusSection) -> Plan:
    settings = Settings(corpus=(corpus,))
    recordings = recordings_of(settings, [], Surveyor())
    return Plan(settings, (), recordings, (), "host", known_error=None)  # type: ignore[arg-type]


def test_another_reference_makes_another_corpus_in_the_signature(tmp_path: Path) -> None:
    folder = manifest(tmp_path / "x", {"audio_filepath": "a.wav", "text": "yes"})
    before = planned(CorpusSection(path=folder)).corpora
    written(folder / "manifest.jsonl", lines({"audio_filepath": "a.wav", "text": "no"}))
    after = planned(CorpusSection(path=folder)).corpora
    assert before.keys() == after.keys() == {"x"}
    assert before != after


def test_the_hashes_are_not_worked_out_again_for_each_order(tmp_path: Path) -> None:
    plan = planned(CorpusSection(path=manifest(tmp_path, {"audio_filepath": "a.wav", "text": "x"})))
    assert plan.corpora is plan.corpora


def test_the_configuration_cuts_long_recordings(tmp_path: Path) -> None:
    written(tmp_path / "c" / "hold.wav", sound(41.0))
    written(tmp_path / "c" / "hold.txt", "please hold")
    plan = planned(CorpusSection(path=tmp_path / "c", long="parts"))
    assert [recording.reference for recording in plan.recordings] == ["please hold"] * 2
    assert sum(recording.clip.audio_s for recording in plan.recordings) == 41.0
    whole = planned(CorpusSection(path=tmp_path / "c"))
    assert len(whole.recordings) == 1


def test_the_configuration_knows_every_kind() -> None:
    kinds = [CorpusSection(path=Path(), kind=kind).kind for kind in KINDS]  # type: ignore[arg-type]
    assert kinds == list(KINDS)


# The command.


def ran(*words: str | Path) -> int:
    parser = argparse.ArgumentParser()
    command.arguments(parser)
    return command.run(parser.parse_args(["check", *(str(word) for word in words)]))


def document(capsys: pytest.CaptureFixture[str], *words: str | Path) -> dict[str, Any]:
    ran("--json", *words)
    said: dict[str, Any] = json.loads(capsys.readouterr().out)
    return said


def test_a_good_corpus_is_summed_up(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = manifest(
        tmp_path / "calls",
        {"audio_filepath": "a.wav", "text": "It's $5.00."},
        {"audio_filepath": "b.wav", "text": ""},
    )
    assert ran(folder) == 0
    said = capsys.readouterr().out
    for line in ("corpus   calls", "kind     nemo (found)", "clips    2", "problems none"):
        assert f"{line}\n" in said
    assert "hours    0.001 (2.0 s)" in said
    assert "words    4 in the references" in said
    assert "silent   1 references" in said


def test_the_hash_that_is_shown_is_the_one_of_the_plan(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = manifest(tmp_path / "x", {"audio_filepath": "a.wav", "text": "yes"})
    shown = document(capsys, folder)["sha256"]
    assert {"x": shown} == planned(CorpusSection(path=folder)).corpora


def test_problems_are_a_line_each_and_the_exit_code_says_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = manifest(tmp_path, {"audio_filepath": "a.wav", "text": "x", "duration": 7})
    written(folder / "manifest.jsonl", (folder / "manifest.jsonl").read_text() + "nonsense\n")
    assert ran(folder) == 1
    said = capsys.readouterr().out.splitlines()
    problems = [line for line in said if line.startswith("problem  ")]
    assert len(problems) == 2
    assert "manifest says 7 s, the audio lasts 1.000 s" in problems[1]
    assert said[-1] == "problems 2"


def test_parts_are_counted_as_their_calls(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = parts_folder(tmp_path, duration=3.0)
    found = document(capsys, folder, "--calls", tmp_path / "calls.jsonl")
    assert (found["clips"], found["calls"], found["words"]) == (2, 1, 2)
    assert found["problems"] == []


@pytest.mark.parametrize(
    ("kind", "said"),
    [(None, "nobody knows how it is laid out"), ("kaldi", "nothing in it is laid out as kaldi")],
)
def test_what_is_no_corpus_is_refused_in_one_line(
    tmp_path: Path, kind: str | None, said: str
) -> None:
    with pytest.raises(UserError, match=said) as error:
        opened(tmp_path, kind=kind)
    assert "\n" not in str(error.value)


def test_a_folder_that_could_be_two_kinds_must_be_told(tmp_path: Path) -> None:
    manifest(tmp_path, {"audio_filepath": "a.wav", "text": "x"})
    written(tmp_path / "b.trans.txt", "b x")
    with pytest.raises(UserError, match="it could be nemo or librispeech; name the kind"):
        opened(tmp_path)
    assert opened(tmp_path, kind="nemo").kind == "nemo"
    assert opened(tmp_path / "manifest.jsonl").kind == "nemo"


def test_a_manifest_that_is_no_text_is_refused(tmp_path: Path) -> None:
    written(tmp_path / "m.jsonl", b"\xff\xfe")
    with pytest.raises(UserError, match=r"m\.jsonl: is not UTF-8 text \(byte 0\)"):
        opened(tmp_path)


@pytest.mark.parametrize("name", ["x" * 300, "nul\0"])
def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="no such file or folder"):
        opened(tmp_path / name)


def test_a_file_with_a_name_that_is_no_text_is_told_in_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name, content in ((b"a\xff\n.wav", sound(1.0)), (b"a\xff\n.txt", b"x")):
        Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), name))).write_bytes(content)
    written(tmp_path / "b.wav", sound(1.0))
    written(tmp_path / "b.txt", "\ufeffx")
    assert ran(tmp_path) == 1
    said = capsys.readouterr().out
    said.encode()
    (problem,) = [line for line in said.splitlines() if line.startswith("problem  ")]
    assert "it must be printable" in problem


def test_a_mark_at_the_beginning_of_a_file_is_no_part_of_it(tmp_path: Path) -> None:
    written(tmp_path / "wav.scp", b"\xef\xbb\xbfa a.wav\r\n")
    written(tmp_path / "text", b"\xef\xbb\xbfa yes\r\n")
    written(tmp_path / "a.wav", sound(1.0))
    (one,), mistakes = taken(tmp_path)
    assert (mistakes, heard(one).name, heard(one).reference) == ([], "a", "yes")


def test_without_its_package_parquet_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "test.parquet", b"PAR1")
    monkeypatch.setitem(sys.modules, "arro3.io", None)
    with pytest.raises(UserError, match="install speechbench with its extra `parquet`"):
        opened(tmp_path)


def test_parquet_is_read_with_its_audio(tmp_path: Path) -> None:
    io = pytest.importorskip("arro3.io", reason="the extra `parquet` is not installed")
    core = pytest.importorskip("arro3.core")
    content = [sound(1.0, 1), sound(2.0, 2)]
    fields = [
        core.Field("bytes", core.DataType.binary()),
        core.Field("path", core.DataType.string()),
    ]
    text = core.DataType.string()
    audio = core.struct_array(
        [core.Array(content, core.DataType.binary()), core.Array(["a.wav", "b.wav"], text)],
        fields=fields,
    )
    columns = {
        "audio": audio,
        "text": core.Array(["yes", "no"], text),
        "id": core.Array([PLENARY, "b c"], text),
        "audio_length_s": core.Array([1.0, 2.5], core.DataType.float64()),
    }
    io.write_parquet(core.RecordBatch.from_pydict(columns), str(tmp_path / "test.parquet"))
    (one,), mistakes = taken(tmp_path)
    assert (heard(one).name, heard(one).reference, heard(one).audio_s) == (PLENARY, "yes", 1.0)
    assert mistakes == ["test.parquet row 1: b c: the manifest says 2.5 s, the audio lasts 2.000 s"]


@pytest.mark.parametrize("content", [b"PAR1", b"PAR1 and nothing more", b"PAR1....\xff\0\0\0PAR1"])
def test_a_parquet_file_that_is_none_is_refused(tmp_path: Path, content: bytes) -> None:
    pytest.importorskip("arro3.io", reason="the extra `parquet` is not installed")
    written(tmp_path / "test.parquet", content)
    with pytest.raises(UserError, match=r"test\.parquet: is no Parquet file"):
        opened(tmp_path)


def test_where_the_reader_of_parquet_gives_up_there_is_one_line(tmp_path: Path) -> None:
    pytest.importorskip("arro3.io", reason="the extra `parquet` is not installed")
    written(tmp_path / "test.parquet", b"PAR1....\x04\0\0\0PAR1")
    with pytest.raises(UserError, match=r"test\.parquet: cannot be read: ") as error:
        opened(tmp_path)
    assert "\n" not in str(error.value)


def test_rows_of_a_large_table_are_found_in_any_order(tmp_path: Path) -> None:
    io = pytest.importorskip("arro3.io", reason="the extra `parquet` is not installed")
    core = pytest.importorskip("arro3.core")
    rows = [str(number).encode() for number in range(100)]
    columns = {"audio": core.Array(rows, core.DataType.binary())}
    io.write_parquet(core.RecordBatch.from_pydict(columns), str(tmp_path / "t.parquet"))
    audio = AudioRows()
    for row in (0, 31, 32, 99, 5, 5, 64):
        assert audio.audio(tmp_path / "t.parquet", row) == rows[row]
    with pytest.raises(ClipError, match="there is no such row"):
        audio.audio(tmp_path / "t.parquet", 100)
