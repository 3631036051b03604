"""Fakes of the realtime family: what is said belongs to an item."""

import json

import pytest

from daemon.conformance.fake_realtime import Deltas, Transcription
from daemon.fakes.realtime import Cumulative, Guided, Manual


@pytest.mark.parametrize("stream", [Transcription, Deltas, Cumulative, Guided, Manual])
def test_each_final_ends_its_item_and_what_follows_is_another(
    stream: type[Transcription],
) -> None:
    talker = stream(16_000)
    items = [
        json.loads(message)["item_id"]
        for text, final in (("good", False), ("good day", True), ("to", False), ("to you", True))
        for message in talker.said(text, final=final, marked=False, audio_ms=0.0)
    ]
    assert items == ["item_1", "item_1", "item_2", "item_2"]
