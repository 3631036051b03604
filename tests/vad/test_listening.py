"""Many live streams in one thread fire what surveys of the same audio find."""

import threading

import pytest

from measure.events import SpeechEnd, SpeechStart
from measure.records import VoiceSettings
from tests.vad.signals import beckett, clip, speech
from vad.endpoint import Edge, EdgeKind
from vad.listening import BEHIND_LIMIT_S, Ear, FellBehind, Listener, event_of
from vad.silero import SequenceModel, StepModel
from vad.survey import survey

STEP = StepModel.load()
CLIPS = [clip(speech()), beckett()]
KNOWN = [survey(one, SequenceModel.load(), VoiceSettings()).edges for one in CLIPS]
FRAME_BYTES = 640


def heard(streams: int, *, close: bool) -> list[list[Edge]]:
    """What fires on so many streams, which play the clips by turns, in frames of 20 ms."""
    fired: list[list[Edge]] = [[] for _ in range(streams)]
    clips = [CLIPS[stream % len(CLIPS)] for stream in range(streams)]
    with Listener(STEP, 16_000, VoiceSettings()) as listener:
        ears = [listener.open(told.append) for told in fired]
        longest = max(len(one.pcm) for one in clips)
        for start in range(0, longest, FRAME_BYTES):
            for ear, one in zip(ears, clips, strict=True):
                if piece := one.pcm[start : start + FRAME_BYTES]:
                    hear_patiently(ear, piece)
        if close:
            for ear in ears:
                ear.close()
    assert listener.error is None
    return fired


def hear_patiently(ear: Ear, piece: bytes) -> None:
    """Here audio comes far faster than it is spoken."""
    while True:
        try:
            return ear.hear(piece)
        except FellBehind:
            threading.Event().wait(0.01)


def test_several_streams_fire_what_the_surveys_knew() -> None:
    for stream, fired in enumerate(heard(5, close=True)):
        assert tuple(fired) == KNOWN[stream % 2]


def test_what_is_open_when_a_stream_is_closed_ends_there() -> None:
    cut = beckett().pcm[: 16_000 * 2 * 2]
    fired: list[Edge] = []
    with Listener(STEP, 16_000, VoiceSettings()) as listener:
        ear = listener.open(fired.append)
        ear.hear(cut)
        ear.close()
    assert [edge.at_eof for edge in fired if edge.kind is EdgeKind.END][-1:] == [True]


def test_a_live_and_a_surveyed_end_are_the_same_event() -> None:
    live = [event_of(edge, 7) for edge in heard(1, close=True)[0]]
    assert live == [event_of(edge, 7) for edge in KNOWN[0]]
    assert isinstance(live[0], SpeechStart)
    assert isinstance(live[-1], SpeechEnd)


def test_a_host_that_cannot_keep_up_says_so_and_drops_nothing() -> None:
    listener = Listener(STEP, 16_000, VoiceSettings())  # not started: nobody hears
    ear = listener.open(lambda edge: None)
    ear.hear(bytes(int(BEHIND_LIMIT_S * 32_000) + 2))
    with pytest.raises(FellBehind, match="too slow for so many live streams"):
        ear.hear(bytes(640))
    assert len(ear.take()) == int(BEHIND_LIMIT_S * 32_000) + 2


def test_an_error_in_the_thread_is_kept_for_its_owner() -> None:
    def fails(edge: Edge) -> None:
        raise RuntimeError("no room for an edge")

    with Listener(STEP, 16_000, VoiceSettings()) as listener:
        listener.open(fails).hear(CLIPS[0].pcm)
    assert isinstance(listener.error, RuntimeError)
