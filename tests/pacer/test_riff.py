"""Headers that lie: the samples come back whole, with one sentence on each lie."""

from struct import iter_unpack, unpack_from

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacer.riff import Mended, RiffError, is_riff, mended
from tests.pacer.wav import SPEECH, chunk, fmt, riff, wav

PCM = SPEECH.astype("<i2").tobytes()
FMT, DATA = chunk(b"fmt ", fmt()), chunk(b"data", PCM)
GUID = bytes.fromhex("0000000010008000 00aa00389b71")


def audio(content: bytes) -> bytes:
    """What is in the data chunk of a file whose header is right, by a reader that trusts it."""
    order = ">" if content[:4] == b"RIFX" else "<"
    assert unpack_from(order + "I", content, 4)[0] == len(content) - 8
    at = 12
    while content[at : at + 4] != b"data":
        (size,) = unpack_from(order + "I", content, at + 4)
        at += 8 + size + size % 2
    (size,) = unpack_from(order + "I", content, at + 4)
    assert at + 8 + size + size % 2 == len(content)
    return content[at + 8 : at + 8 + size]


def test_a_file_in_order_has_no_remarks() -> None:
    assert mended(wav()).remarks == ()
    assert audio(mended(wav()).content) == PCM


@pytest.mark.parametrize("claimed", [0, 0x7FFFFFFF, 0x7FFFF000, 0x80000000, 0xFFFFFFFF, 0xFFFFFFDB])
def test_a_size_written_before_the_length_was_known_costs_no_sample(claimed: int) -> None:
    found = mended(wav(size=claimed))
    assert audio(found.content) == PCM
    assert len(found.remarks) == 1
    assert "all 3,202 bytes behind it are read" in found.remarks[0]


def test_a_file_without_samples_is_not_one_whose_size_is_unknown() -> None:
    with pytest.raises(RiffError, match="holds no samples"):
        mended(riff(FMT, chunk(b"data", b""), chunk(b"LIST", b"INFOISFT\x04\0\0\0test")))
    with pytest.raises(RiffError, match="holds no samples"):
        mended(riff(FMT, chunk(b"data", b"")))


def test_samples_that_look_like_the_start_of_a_chunk_are_samples() -> None:
    for body in (b"noisNOISnoisNOIS", b"nois\x02\0\0\0ab\0\1\0\1"):
        content = riff(FMT, chunk(b"data", body, size=0))
        assert audio(mended(content).content) == body


def test_of_two_data_chunks_the_one_with_samples_counts() -> None:
    assert audio(mended(riff(FMT, chunk(b"data", b""), DATA)).content) == PCM


def test_what_is_left_of_a_cut_file_is_kept_and_the_loss_is_said() -> None:
    found = mended(wav()[: 44 + 1000])
    assert audio(found.content) == PCM[:1000]
    assert found.remarks == (
        "It is cut short: the header promises 3,202 bytes of audio, 1,000 bytes are there.",
    )


def test_half_a_sample_at_the_end_is_left_out() -> None:
    found = mended(wav()[: 44 + 1001])
    assert audio(found.content) == PCM[:1000]
    assert found.remarks[1] == "It ends in the middle of a sample; left out: 1 byte."


def test_part_of_the_channels_at_the_end_is_left_out() -> None:
    stereo = riff(chunk(b"fmt ", fmt(channels=2)), chunk(b"data", PCM))
    assert audio(mended(stereo).content) == PCM[:-2]


def test_chunks_around_the_audio_do_not_matter() -> None:
    tags = chunk(b"LIST", b"INFOISFT\x05\0\0\0test\0\0")
    found = mended(riff(tags, FMT, chunk(b"PEAK", b"wrong"), DATA, chunk(b"id3 ", b"ID3")))
    assert audio(found.content) == PCM
    assert found.remarks == ()


def test_an_odd_chunk_without_padding_hides_nothing() -> None:
    found = mended(riff(FMT, chunk(b"junk", b"abc", pad=False), DATA))
    assert audio(found.content) == PCM
    assert found.remarks == ("A chunk of odd size lacks its byte of padding.",)


def test_the_last_byte_of_an_odd_file_needs_no_padding() -> None:
    eight = chunk(b"fmt ", fmt(bits=8))
    found = mended(riff(eight, chunk(b"data", b"\x80" * 7, pad=False)))
    assert audio(found.content) == b"\x80" * 7
    assert found.remarks == ()


def test_the_fmt_chunk_may_stand_behind_the_audio() -> None:
    found = mended(riff(DATA, FMT))
    assert audio(found.content) == PCM
    assert found.remarks == ("The fmt chunk stands behind the audio.",)


def test_an_id3_tag_before_the_header_is_skipped() -> None:
    tag = b"ID3\x03\0\0\0\0\x01\x02" + bytes(130)
    assert is_riff(tag + wav())
    found = mended(tag + wav())
    assert audio(found.content) == PCM
    assert found.remarks == ("Left out before the RIFF header: an ID3 tag of 140 bytes.",)


def test_a_tag_before_something_else_is_no_riff_file() -> None:
    assert not is_riff(b"ID3\x03\0\0\0\0\0\x02abfLaC")
    assert not is_riff(b"ID3\x03")


def test_big_endian_files_are_read_as_such() -> None:
    big = SPEECH.astype(">i2").tobytes()
    whole = riff(
        chunk(b"fmt ", fmt(order=">"), order=">"), chunk(b"data", big, order=">"), order=">"
    )
    assert audio(mended(whole).content) == big
    assert mended(whole).remarks == ()


def test_a_block_align_that_does_not_fit_is_put_right() -> None:
    found = mended(riff(chunk(b"fmt ", fmt(align=4)), DATA))
    assert found.remarks == ("The block align in the header is 4 instead of 2 bytes.",)
    assert audio(found.content) == PCM
    assert unpack_from("<IIHH", found.content, 24) == (16_000, 32_000, 2, 16)


def test_24_bits_in_32_are_left_to_the_decoder() -> None:
    body = fmt(bits=24, align=4)
    assert body in mended(riff(chunk(b"fmt ", body), DATA)).content


def test_an_extensible_header_is_known_by_its_real_codec() -> None:
    more = bytes.fromhex("1600 1000 04000000")
    plain = chunk(b"fmt ", fmt(0xFFFE, more=more + b"\x01\0" + GUID))
    found = mended(riff(plain, DATA))
    assert found.remarks == ()
    assert audio(found.content) == PCM
    strange = chunk(b"fmt ", fmt(0xFFFE, more=more + b"\x92\0" + GUID))
    with pytest.raises(RiffError, match="codec 0x0092 cannot be decoded"):
        mended(riff(strange, DATA))


def test_a_packed_codec_keeps_its_file_as_it_is() -> None:
    gsm = riff(chunk(b"fmt ", fmt(0x31, bits=0, align=65)), chunk(b"fact", b"\x40\x01\0\0"), DATA)
    assert mended(gsm) == Mended(gsm)


def test_bytes_behind_the_last_chunk_are_left_out() -> None:
    found = mended(wav() + b"\0rubbish")
    assert audio(found.content) == PCM
    assert found.remarks == ("Left out behind the last chunk: 8 bytes that belong to nothing.",)


def test_a_wrong_size_of_the_whole_changes_nothing() -> None:
    found = mended(riff(FMT, DATA, size=12))
    assert audio(found.content) == PCM
    assert found.remarks == ("The header says 20 bytes for a file of 3,246.",)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (riff(form=b"AVI "), "a RIFF file, but not a WAVE"),
        (riff(), "without a data chunk"),
        (b"RIFF", "not a WAVE"),
        (riff(FMT), "without a data chunk"),
        (riff(DATA), "without a fmt chunk"),
        (riff(DATA, chunk(b"fmt ", fmt()[:14])), "fmt chunk is too short: 14 bytes"),
        (riff(chunk(b"fmt ", fmt(0xFFFE, more=bytes(2))), DATA), "fmt chunk is too short: 18"),
        (riff(chunk(b"fmt ", fmt(channels=0)), DATA), "says 0 channels"),
        (riff(chunk(b"fmt ", fmt(rate_hz=0)), DATA), "says 0 Hz"),
        (riff(chunk(b"fmt ", fmt(bits=0)), DATA), "says 0 bits a sample"),
        (riff(chunk(b"fmt ", fmt(0x1234)), DATA), "codec 0x1234 cannot be decoded"),
        (riff(chunk(b"fmt ", fmt(0x55)), DATA), "says MP3, but describes plain samples"),
        (riff(FMT, chunk(b"data", b"\x01")), "holds no samples"),
        (riff(chunk(b"fmt ", fmt(), size=0x66666666), DATA), "without a data chunk"),
    ],
)
def test_what_cannot_be_saved_is_refused_with_its_reason(content: bytes, why: str) -> None:
    with pytest.raises(RiffError, match=why):
        mended(content)


chunks_about = st.lists(
    st.builds(
        chunk,
        st.sampled_from([b"LIST", b"junk", b"bext", b"what", b"fact"]),
        st.binary(max_size=9),
    ),
    max_size=3,
).map(b"".join)


@settings(deadline=None)
@given(
    st.binary(min_size=2, max_size=64),
    chunks_about,
    chunks_about,
    st.sampled_from([0, 0x7FFF_0000, 0xFFFFFFFF]) | st.integers(64, 0xFFFFFFFF),
)
def test_whatever_the_size_claims_to_the_end_of_the_file_it_is_audio(
    body: bytes, before: bytes, between: bytes, claimed: int
) -> None:
    body = b"\0" + body  # no chunk begins so
    content = riff(before, FMT, between, chunk(b"data", body, size=claimed, pad=False))
    assert audio(mended(content).content) == body[: len(body) // 2 * 2]


@settings(deadline=None)
@given(st.binary(min_size=2, max_size=64), chunks_about, chunks_about, chunks_about)
def test_a_true_size_is_believed_whatever_stands_around_it(
    body: bytes, before: bytes, between: bytes, behind: bytes
) -> None:
    found = mended(riff(before, FMT, between, chunk(b"data", body), behind))
    assert audio(found.content) == body[: len(body) // 2 * 2]
    assert list(found.remarks) == (
        ["It ends in the middle of a sample; left out: 1 byte."] if len(body) % 2 else []
    )


lies = st.lists(st.tuples(st.integers(0, 79), st.binary(min_size=1, max_size=4)), max_size=6)


@settings(deadline=None)
@given(lies, st.integers(0, 200))
def test_any_file_is_mended_for_good_or_refused(changes: list[tuple[int, bytes]], end: int) -> None:
    content = bytearray(riff(chunk(b"junk", b"a"), FMT, chunk(b"data", PCM[:120])))
    for at, bytes_ in changes:
        content[at : at + len(bytes_)] = bytes_
    found, line = None, ""
    try:
        found = mended(bytes(content[:end]))
    except RiffError as error:
        line = str(error)
    assert line.isprintable()
    if found is not None:
        assert all(remark.isprintable() for remark in found.remarks)
        again = mended(found.content)
        assert again.content == found.content
        assert again.remarks == ()


def test_the_reader_of_these_tests_reads_samples() -> None:
    assert [sample for (sample,) in iter_unpack("<h", audio(wav()))] == SPEECH.tolist()
