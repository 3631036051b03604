"""The latencies in use: each from one moment of a session to another.

first frame ── speech end ── decision ── zero ── partial ── final ── last final
"""

from measure.definitions.retelling import Replayed
from measure.definitions.value import SHARED, Missing, Value, between
from measure.records import Answer

NO_ZERO = "the watch never started"
NO_SPEECH_END = "no frame reached the end of speech"
NOT_CAPTURED = "no live audio, or the device does not say when it took it up"


def method(told: Replayed) -> Value:
    """The reading itself, where it counts; otherwise its verdict."""
    reading = told.reading
    reason = reading.verdict.value
    answer = reading.final if reading.valid else None
    return between(reading.zero_ns, answer.at_ns if answer else None, reason, reason)


def last_final(told: Replayed) -> Value:
    """From zero to the last final with text after it."""
    return _from_zero(told, told.reading.last_final, "no final with text after zero")


def confirmed(told: Replayed) -> Value:
    """From zero to the provider's confirmation of the force."""
    at_ns = told.reading.confirmed_ns
    return between(told.reading.zero_ns, at_ns, NO_ZERO, "the force was not confirmed")


def first_text(told: Replayed) -> Value:
    """From zero to the first transcript with text, of either kind."""
    return _from_zero(told, told.reading.first_text, "no text after zero")


def first_partial(told: Replayed) -> Value:
    """From zero to the first partial after it, and not after the answer."""
    return _from_zero(told, told.reading.first_partial, "no partial between zero and the answer")


def speech_end(told: Replayed) -> Value:
    """From the frame that holds the end of speech to the answer that stopped the watch."""
    final = told.reading.final
    return _from_speech_end(told, final.at_ns if final else None, told.reading.verdict.value)


def speech_end_last(told: Replayed) -> Value:
    """From the same frame to the last final with text of the whole session."""
    if told.said is None:
        return Missing(SHARED)
    finals = [said for said in told.said if said.transcript.final and said.text]
    at_ns = next((said.at_ns for said in reversed(finals) if not said.duplicate), None)
    return _from_speech_end(told, at_ns, "no final with text")


def captured(told: Replayed) -> Value:
    """From when the microphone took up the end of speech to the answer that stopped the watch."""
    end, final = told.speech_end, told.reading.final
    from_ns = None if end is None else told.captured_ns(end.audio_ms)
    to_ns = final.at_ns if final else None
    return between(from_ns, to_ns, NOT_CAPTURED, told.reading.verdict.value)


def audio_start(told: Replayed) -> Value:
    """From the first frame to the first partial with text, wherever it came."""
    if told.said is None:
        return Missing(SHARED)
    at_ns = next((one.at_ns for one in told.said if one.text and not one.transcript.final), None)
    return between(told.first_sent_ns, at_ns, "no audio was sent", "no partial")


def _from_zero(told: Replayed, answer: Answer | None, no_answer: str) -> Value:
    return between(told.reading.zero_ns, answer.at_ns if answer else None, NO_ZERO, no_answer)


def _from_speech_end(told: Replayed, to_ns: int | None, no_end: str) -> Value:
    end = told.speech_end
    from_ns = None if end is None else told.sent_ns(end.audio_ms)
    return between(from_ns, to_ns, NO_SPEECH_END, no_end)
