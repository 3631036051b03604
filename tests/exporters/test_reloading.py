"""Whoever asks for a reload is answered with what came of the file as it was then, or later."""

import threading

from exporters.reloading import Reloads


def configured(asked: int, error: str | None = None) -> dict[str, object]:
    return {"k": "configured", "asked": asked, "successful": error is None, "error": error}


class Asking:
    """Somebody asks, in a thread of their own."""

    def __init__(self, reloads: Reloads) -> None:
        self.answer: list[str | None] = []
        self._thread = threading.Thread(target=lambda: self.answer.append(reloads.ask()))
        self._thread.start()

    def answered_within(self, seconds: float) -> bool:
        self._thread.join(seconds)
        return bool(self.answer)

    def over(self) -> str | None:
        self._thread.join(60)
        (answer,) = self.answer
        return answer


def reloads() -> tuple[Reloads, threading.Semaphore]:
    asked = threading.Semaphore(0)

    def pass_on() -> bool:
        asked.release()
        return True

    return Reloads(pass_on), asked


def test_the_answer_is_that_of_the_reload_that_was_asked_for() -> None:
    made, asked = reloads()
    for nth, error in enumerate([None, "a mistake", None], start=1):
        asking = Asking(made)
        asked.acquire()
        made.take(configured(nth, error))
        assert asking.over() == error


def test_a_reload_that_was_begun_earlier_is_no_answer() -> None:
    made, asked = reloads()
    asking = Asking(made)
    asked.acquire()
    made.take(configured(0))  # after a SIGHUP, with the file as it was before
    assert not asking.answered_within(0.5)
    made.take(configured(1, "a mistake"))
    assert asking.over() == "a mistake"


def test_where_nobody_can_be_asked_that_is_the_answer_and_counts_for_nothing() -> None:
    room = [False, True]
    made = Reloads(lambda: room.pop(0))
    assert made.ask() == "the measuring process cannot be asked now; try again"
    asking = Asking(made)
    while room:
        pass
    made.take(configured(1))
    assert asking.over() is None


def test_other_records_are_no_answer() -> None:
    made, asked = reloads()
    asking = Asking(made)
    asked.acquire()
    made.take({"k": "heartbeat"})
    made.take(configured(1))
    assert asking.over() is None
