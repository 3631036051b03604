"""A result is the same after it has been to the disk, and says when it no longer counts."""

import json
from dataclasses import replace

import pytest

from daemon.selftest.result import (
    AHEAD_NS,
    STALE_NS,
    plain,
    record_of,
    result_in,
    signature_part,
    stale,
    text_of,
)
from exporters.packing import pack, unpack
from measure.records import SECOND
from scoring.signature import HarnessError, error_of
from tests.daemon.selftest.levels import HOST, WALL_NS, error, level, result


def test_a_result_is_read_back_as_it_was_written() -> None:
    written = result(level(1, sessions=5, final_error=error(0.1, None, n=5)), level(8))
    assert result_in(text_of(written)) == written


def test_a_result_can_be_packed_as_a_record() -> None:
    record = record_of(result(), 5)
    assert unpack(pack(record)) == record
    assert (record["k"], record["t"], record["verdict"]) == ("selftest", 5, "fit")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "the whole"),
        (b"{", "the whole"),
        (b"[]", "the whole"),
        (b"{}", "schema"),
        (json.dumps({**plain(result()), "verdict": "splendid"}).encode(), "verdict"),
        (json.dumps({**plain(result()), "levels": [{}]}).encode(), "levels.0"),
        (json.dumps({**plain(result()), "schema": 2}).encode(), "schema: it is 2"),
    ],
)
def test_what_is_no_result_is_refused_in_one_line(text: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said) as refused:
        result_in(text)
    assert "\n" not in str(refused.value)


def test_every_cut_of_a_result_is_refused() -> None:
    text = text_of(result()).rstrip()
    for end in range(0, len(text), 97):
        with pytest.raises(ValueError):  # noqa: PT011  the words are the reader's own
            result_in(text[:end])


def test_a_result_counts_for_a_week_and_for_its_own_host() -> None:
    one = result()
    assert stale(one, HOST, WALL_NS + STALE_NS) is None
    assert stale(one, HOST, WALL_NS + STALE_NS + 1) == "it is 7 days old, more than 7"
    assert stale(one, HOST, WALL_NS - AHEAD_NS) is None
    assert stale(one, HOST, WALL_NS - AHEAD_NS - 1) == "it is dated in the future"
    changed = replace(HOST, kernel="Linux 7", scheduling="other")
    said = stale(one, changed, WALL_NS + SECOND)
    assert said is not None
    assert said.endswith("kernel, scheduling")


def test_the_signature_says_the_level_for_as_many_streams_as_are_measured() -> None:
    one = result(level(8), level(32, final_error=error(0.1, 2.5)))
    assert signature_part(one, 1) == "0.08/0.41ms@8 fit"
    assert signature_part(one, 9) == "0.10/2.50ms@32 usable"
    assert signature_part(one, 33) == "unknown"
    assert signature_part(None, 1) == "unknown"


def test_the_signature_marks_a_maximum_that_stands_for_a_p99() -> None:
    one = result(level(8, final_error=error(0.08, None, n=97)))
    assert signature_part(one, 8) == "0.08/9.00ms(max)@8 unfit"
    assert error_of("0.08/9.00ms(max)@8 unfit") == HarnessError(0.08, 9.0, False, 8, "unfit")
