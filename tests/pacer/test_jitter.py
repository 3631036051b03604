"""Pushes that come early or late are heard evenly, and what is not heard is counted."""

from hypothesis import given
from hypothesis import strategies as st

from pacer.jitter import MOST_MS, PAUSE_MS, TARGET_MS, Jitter

RATE_HZ = 16_000
PIECE = 640
"""20 ms."""
TARGET = TARGET_MS // 20
MOST = MOST_MS // 20


def piece(number: int) -> bytes:
    return bytes([number % 255 + 1]) * PIECE


def filled(pieces: int) -> Jitter:
    jitter = Jitter(RATE_HZ)
    for number in range(pieces):
        jitter.push(piece(number))
    return jitter


def test_nothing_is_heard_before_the_target_is_there() -> None:
    jitter = filled(TARGET - 1)
    assert jitter.pull(PIECE) == bytes(PIECE)
    jitter.push(piece(TARGET - 1))
    assert [jitter.pull(PIECE) for _ in range(TARGET)] == [piece(n) for n in range(TARGET)]
    assert (jitter.underflows, jitter.overflows) == (0, 0)


def test_a_push_that_is_late_by_less_than_the_target_is_not_noticed() -> None:
    jitter = filled(TARGET)
    assert [jitter.pull(PIECE) for _ in range(TARGET)] == [piece(n) for n in range(TARGET)]
    jitter.push(piece(TARGET))
    assert jitter.pull(PIECE) == piece(TARGET)
    assert jitter.underflows == 0


def test_where_it_runs_dry_there_is_silence_until_the_target_is_there_again() -> None:
    jitter = filled(TARGET)
    for _ in range(TARGET):
        jitter.pull(PIECE)
    assert jitter.pull(PIECE) == bytes(PIECE)
    for number in range(TARGET):
        assert jitter.pull(PIECE) == bytes(PIECE)
        jitter.push(piece(number))
    assert jitter.pull(PIECE) == piece(0)
    assert jitter.underflows == 1


def test_half_a_piece_is_filled_up_with_silence() -> None:
    jitter = filled(TARGET)
    jitter.pull(PIECE * TARGET - 100)
    assert jitter.pull(PIECE) == piece(TARGET - 1)[:100] + bytes(PIECE - 100)


def test_a_pause_is_no_underflow() -> None:
    jitter = filled(TARGET)
    for _ in range(TARGET + PAUSE_MS // 20):
        jitter.pull(PIECE)
    jitter.push(piece(0))
    assert jitter.underflows == 0


def test_just_less_than_a_pause_is_one() -> None:
    jitter = filled(TARGET)
    for _ in range(TARGET + PAUSE_MS // 20 - 1):
        jitter.pull(PIECE)
    jitter.push(piece(0))
    assert jitter.underflows == 1


def test_the_oldest_is_let_go_of_where_too_much_has_come() -> None:
    jitter = filled(MOST)
    assert jitter.overflows == 0
    jitter.push(piece(MOST))
    assert jitter.overflows == 1
    heard = [jitter.pull(PIECE) for _ in range(TARGET)]
    assert heard == [piece(n) for n in range(MOST + 1 - TARGET, MOST + 1)]


def test_what_is_there_at_the_end_is_heard_though_it_is_little() -> None:
    jitter = filled(1)
    jitter.finish()
    assert not jitter.is_empty
    assert jitter.pull(PIECE) == piece(0)
    assert jitter.is_empty


@given(st.lists(st.integers(-3, 3), max_size=300))
def test_whatever_comes_when_what_is_heard_is_in_order_and_of_the_right_length(
    steps: list[int],
) -> None:
    """Positive: so many pieces are pushed; else as many are pulled."""
    jitter, pushed, heard = Jitter(RATE_HZ), 0, b""
    for step in steps:
        for _ in range(abs(step)):
            if step > 0:
                pushed += 1
                jitter.push(pushed.to_bytes(2, "little") * (PIECE // 2))
            else:
                pulled = jitter.pull(PIECE)
                assert len(pulled) == PIECE
                heard += pulled
    numbers = [int.from_bytes(heard[at : at + 2], "little") for at in range(0, len(heard), PIECE)]
    sounding = [number for number in numbers if number]
    assert sounding == sorted(set(sounding))
    lost = set(range(1, max(sounding, default=0) + 1)) - set(sounding)
    assert not lost or jitter.overflows
