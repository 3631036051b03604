"""Corpora as people have them: what their manifests say, and what is wrong with them."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.corpora import KINDS, LAYOUTS, Entry, kinds_of
from scoring.corpora.parquet import place_of, read_rows
from scoring.corpora.rows import Row
from tests.scoring.corpora.folders import Files, read
from tests.scoring.laws import LAW

PLENARY = "20140414-0900-PLENARY-19-en_20140414-22:40:11_0"


def lines(*rows: object) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


NEMO = lines(
    {"audio_filepath": "wav/a b:c.wav", "text": "good morning", "duration": 1.50, "id": "x: 1"},
    {"audio_filepath": "/data/d.wav", "text": " hello ", "duration": 2, "offset": 0.25},
)
KALDI = {
    "wav.scp": "rec1 audio/one.wav\nrec2 /data/two words.wav\n",
    "segments": "rec1-001 rec1 0.5 2.25\nrec2-001 rec2 0 -1\n",
    "text": "rec1-001 good morning\nrec2-001\n",
    "audio/one.wav": "",
}
COMMON_VOICE = {
    "en/test.tsv": (
        "client_id\tpath\tsentence\tup_votes\n"
        'c1\tcommon_voice_en_1.mp3\t"Quoted" she said.\t2\nc2\tcommon_voice_en_2\tYes.\t0\n'
    ),
    "en/train.tsv": "client_id\tpath\tsentence\n",
    "en/clip_durations.tsv": "clip\tduration[ms]\ncommon_voice_en_1.mp3\t4128\n",
}
LIBRI = {
    "84/121123/84-121123.trans.txt": "84-121123-0000 GO DO YOU HEAR\n84-121123-0001 BUT\n",
    "84/121123/84-121123-0000.flac": "",
    "84/121123/84-121123-0001.flac": "",
}
PAIRS = {"b/call 1.wav": "", "b/call 1.txt": "good morning\n", "two.FLAC": "", "two.txt": "hello"}
VOXPOPULI = {
    "voxpopuli_cleaned_aa_v1.jsonl": lines(
        {
            "id": PLENARY,
            "gender": "female",
            "duration": 12.08,
            "transcript": "Thank you Mr President,",
            "language": "en",
            "url": "audio/p19_0.wav",
            "dataset": "voxpopuli_en_test",
            "file_name": "p19_0.wav",
        }
    ),
    "audio/p19_0.wav": "",
}
CALLS = lines(
    {"id": "4483046", "duration": 1187, "transcript": "Good morning", "file_name": "u.mp3"},
    {"id": "4468919_trimmed", "duration": 985, "transcript": "Welcome", "file_name": "v.mp3"},
)
PARTS = {
    "rows.jsonl": lines(
        {"parent_id": "4483046", "chunk_index": 1, "file_name": "4483046_1.wav"},
        {"parent_id": "4483046", "chunk_index": 0, "file_name": "4483046_0.wav"},
    )
}


def test_nemo_names_files_beside_the_manifest_and_keeps_every_digit() -> None:
    first, second = read("nemo", {"sub/manifest.jsonl": NEMO}).entries
    assert first == Entry(
        "x: 1", "sub/wav/a b:c.wav", "good morning", "sub/manifest.jsonl:1", Decimal("1.5")
    )
    assert (second.id, second.audio, second.reference) == ("d", "/data/d.wav", "hello")
    assert (second.start_s, second.duration_s) == (Decimal("0.25"), Decimal(2))


def test_stretches_of_one_file_without_ids_get_names_of_their_own() -> None:
    rows = [
        {"audio_filepath": "a.wav", "text": "x", "duration": 1, "offset": start}
        for start in (0, 1.5)
    ]
    found = read("nemo", {"m.jsonl": lines(*rows)})
    assert found.problems == ()
    assert [entry.id for entry in found.entries] == ["a.wav", "a.wav 1.5 s"]


def test_kaldi_joins_its_four_files() -> None:
    first, second = read("kaldi", KALDI).entries
    assert first == Entry(
        "rec1-001", "audio/one.wav", "good morning", "text:1", Decimal("1.75"), Decimal("0.5")
    )
    assert (second.audio, second.reference) == ("/data/two words.wav", "")
    assert (second.start_s, second.duration_s) == (Decimal(0), None)


def test_kaldi_without_segments_takes_whole_recordings_and_their_lengths() -> None:
    texts = {"d/wav.scp": "a a.wav\n", "d/text": "a yes\n", "d/utt2dur": "a 3.20\n"}
    (entry,) = read("kaldi", texts).entries
    assert entry == Entry("a", "d/a.wav", "yes", "d/text:1", Decimal("3.20"))


@pytest.mark.parametrize(
    ("scp", "said"),
    [
        ("a sph2pipe -f wav a.sph |", "a command, which is not run"),
        ("a | cat", "a command, which is not run"),
        ("a", "no file is named"),
        ("a raw.ark:17", "a place in an archive"),
        ("b b.wav", "no recording 'a' in wav.scp"),
    ],
)
def test_kaldi_never_runs_a_command(scp: str, said: str) -> None:
    found = read("kaldi", {"wav.scp": scp, "text": "a yes"})
    assert found.entries == ()
    assert said in " ".join(found.problems)


@pytest.mark.parametrize(
    "line", ["u rec1 1", "u rec1 one 2", "u rec1 2 2", "u rec1 -1 2", "u rec1 nan 2"]
)
def test_a_segment_that_is_none_is_refused(line: str) -> None:
    found = read("kaldi", {**KALDI, "segments": line})
    assert any(problem.startswith("segments:1: u: ") for problem in found.problems)


def test_common_voice_takes_the_test_table_and_its_lengths_and_no_quotes() -> None:
    first, second = read("common-voice", COMMON_VOICE).entries
    assert first == Entry(
        "common_voice_en_1",
        "en/clips/common_voice_en_1.mp3",
        '"Quoted" she said.',
        "en/test.tsv:2",
        Decimal("4.128"),
    )
    assert (second.audio, second.duration_s) == ("en/clips/common_voice_en_2.mp3", None)


def test_of_several_tables_none_is_guessed() -> None:
    texts = {"a.tsv": "path\tsentence\n", "b.tsv": "path\tsentence\n"}
    (problem,) = read("common-voice", texts).problems
    assert problem == "a.tsv, b.tsv: several tables and no test.tsv; name one of them"


def test_librispeech_has_one_file_of_texts_in_each_folder() -> None:
    first, second = read("librispeech", LIBRI).entries
    assert (first.id, first.audio) == ("84-121123-0000", "84/121123/84-121123-0000.flac")
    assert (first.reference, second.reference) == ("GO DO YOU HEAR", "BUT")


def test_a_text_beside_a_recording_is_its_reference() -> None:
    first, second = read("pairs", PAIRS).entries
    assert (first.id, first.audio, first.reference) == ("b/call 1", "b/call 1.wav", "good morning")
    assert second.audio == "two.FLAC"


def test_what_has_no_other_half_is_told() -> None:
    found = read("pairs", {"a.wav": "", "b.txt": "x", "c.wav": "", "c.txt": "x"})
    assert found.problems == (
        "a.wav: no text beside it; it must be in a.txt",
        "b.txt: no recording beside it",
    )


def test_the_cleaned_corpora_are_read_as_they_are_published() -> None:
    (entry,) = read("cleaned-aa", VOXPOPULI).entries
    assert entry == Entry(
        PLENARY,
        "audio/p19_0.wav",
        "Thank you Mr President,",
        "voxpopuli_cleaned_aa_v1.jsonl:1",
        Decimal("12.08"),
    )


@pytest.mark.parametrize("beside", [True, False])
def test_parts_come_in_order_and_their_texts_are_the_calls(*, beside: bool) -> None:
    texts = {**PARTS, "earnings22_cleaned_aa_v1.jsonl": CALLS} if beside else PARTS
    found = read("cleaned-aa-parts", texts, calls=None if beside else CALLS)
    assert found.problems == ()
    assert [(part.call, part.index, part.audio) for part in found.entries] == [
        ("4483046", 0, "audio/4483046_0.wav"),
        ("4483046", 1, "audio/4483046_1.wav"),
    ]
    assert all(part.reference is None for part in found.entries)
    (call,) = found.calls
    assert (call.id, call.reference, call.duration_s) == ("4483046", "Good morning", Decimal(1187))


def test_a_call_that_lacks_a_part_or_a_text_is_refused() -> None:
    rows = lines(
        {"parent_id": "4483046", "chunk_index": 2, "file_name": "a.wav"},
        {"parent_id": "4483046", "chunk_index": 0, "file_name": "b.wav"},
        {"parent_id": "unknown", "chunk_index": 0, "file_name": "c.wav"},
    )
    found = read("cleaned-aa-parts", {"rows.jsonl": rows}, calls=CALLS)
    assert found.problems == (
        "rows.jsonl:1: call 4483046: part 1 is missing",
        "rows.jsonl:3: call unknown: no recording of this id has a text",
    )
    alone = read("cleaned-aa-parts", PARTS)
    assert "name the manifest of the whole recordings" in alone.problems[0]


def test_rows_of_a_table_keep_their_places() -> None:
    rows: list[tuple[str, int, Row]] = [
        ("test.parquet", 0, {"id": "a:b c", "text": "yes", "audio_length_s": Decimal("2.5")}),
        ("test.parquet", 1, {"sentence": "no", "audio_path": "clip 2.wav"}),
    ]
    first, second = read_rows(rows).entries
    assert first == Entry("a:b c", "test.parquet#0", "yes", "test.parquet row 0", Decimal("2.5"))
    assert (second.id, second.reference) == ("clip 2.wav", "no")
    assert place_of("a#b.parquet#17") == ("a#b.parquet", 17)


FOLDERS = {
    "nemo": {"manifest.json": NEMO},
    "kaldi": KALDI,
    "common-voice": COMMON_VOICE,
    "librispeech": LIBRI,
    "cleaned-aa": VOXPOPULI,
    "cleaned-aa-parts": {**PARTS, "earnings22_cleaned_aa_v1.jsonl": CALLS},
    "parquet": {"data/test-00000.parquet": "", "README.txt": ""},
    "pairs": PAIRS,
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_recognised_as_itself_and_as_nothing_else(kind: str) -> None:
    assert kinds_of(Files(FOLDERS[kind])) == [kind]


def test_texts_beside_the_recordings_of_another_kind_do_not_confuse() -> None:
    assert kinds_of(Files({**LIBRI, **PAIRS})) == ["librispeech"]
    assert kinds_of(Files({"a.txt": "x"})) == []


def test_a_manifest_that_is_named_is_the_only_one_read() -> None:
    folder = Files({"a.jsonl": NEMO, "b.jsonl": NEMO}, chosen="b.jsonl")
    assert kinds_of(folder) == ["nemo"]
    assert {entry.where[:7] for entry in LAYOUTS["nemo"].read(folder).entries} == {"b.jsonl"}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ('{"audio_filepath": "a.wav"}', "no text that says what is said"),
        ('{"audio_filepath": "a.wav", "text": null}', "no text that says what is said"),
        ('{"audio_filepath": 3, "text": "x"}', "no file of audio is named"),
        ('{"audio_filepath": "http://h/a.wav", "text": "x"}', "fetch it first"),
        ('{"audio_filepath": "a.wav", "text": "x", "duration": "3"}', "must be a number"),
        ('{"audio_filepath": "a.wav", "text": "x", "duration": true}', "must be a number"),
        ('{"audio_filepath": "a.wav", "text": "x", "duration": -1}', "must be 0 to 1,000,000 s"),
        ('{"audio_filepath": "a.wav", "text": "x", "duration": 1e999999}', "must be 0 to"),
        ('{"audio_filepath": "a.wav", "text": "x", "duration": NaN}', "it is not JSON"),
        ('{"audio_filepath": "a.wav", "text": "x", "offset": 1}', "an offset without a duration"),
        ('{"audio_filepath": "a.wav", "text": "x", "id": "a\\nb"}', "must be printable"),
        ('{"audio_filepath": "a.wav", "text": "x", "id": ""}', ""),
        ('{"audio_filepath": "a.wav", "text": "\\ud800"}', "half a character"),
        ("[1]", "it must be an object"),
        ("{", "it is not JSON"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(row: str, said: str) -> None:
    good = '{"audio_filepath": "good.wav", "text": "x"}'
    found = read("nemo", {"m.jsonl": f"{good}\n{row}\n"})
    if not said:
        assert [entry.id for entry in found.entries] == ["good", "a"]
        return
    assert [entry.id for entry in found.entries] == ["good"]
    (problem,) = found.problems
    assert problem.startswith("m.jsonl:2: ")
    assert said in problem


def test_an_id_that_is_there_twice_is_told_with_both_places() -> None:
    row = {"audio_filepath": "a.wav", "text": "x", "id": "same"}
    found = read("nemo", {"m.jsonl": lines(row, row)})
    assert found.problems == ("m.jsonl:2: id 'same' is there already, at m.jsonl:1",)


def test_a_corpus_of_nothing_says_so() -> None:
    assert read("nemo", {"m.jsonl": ""}).problems == ("there is not one recording in it",)


names = st.sampled_from(
    ["m.jsonl", "wav.scp", "text", "segments", "test.tsv", "a.trans.txt", "a.wav", "a.txt"]
)
texts = st.one_of(
    st.text(max_size=60),
    st.sampled_from([NEMO, CALLS, *PARTS.values(), *KALDI.values(), *COMMON_VOICE.values()]),
    st.builds(lambda a, b: a[: len(a) // 2] + b, st.sampled_from([NEMO, CALLS]), st.text()),
)


@LAW
@given(st.dictionaries(names, texts), st.sampled_from(sorted(LAYOUTS)))
def test_no_folder_whatsoever_raises(files: dict[str, str], kind: str) -> None:
    kinds_of(Files(files))
    found = LAYOUTS[kind].read(Files(files))
    assert found.entries or found.problems
    assert all(problem.isprintable() or "\n" not in problem for problem in found.problems)
    assert len({entry.id for entry in found.entries}) == len(found.entries)
