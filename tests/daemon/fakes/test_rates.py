"""A fake counts its audio at the rate that its client has named, whenever that was said."""

import pytest
import trio
import trio.testing

from daemon.fakes import FAKES, Line, Script
from daemon.session import measure_once
from measure.events import FrameSent, Transcript
from providers import CATALOG
from providers.codec import Options
from tests.daemon.bench import ListRecorder, bench_of, memory_dial, order_of


@pytest.mark.parametrize(
    ("provider", "model"), [("vosk", "vosk/server"), ("deepgram", "deepgram/nova-3")]
)
async def test_words_come_where_the_script_has_them(
    provider: str, model: str, autojump_clock: trio.testing.MockClock
) -> None:
    codec = CATALOG[model].make(Options(url="ws://memory"))
    fake, recorder = FAKES[provider](Script(lines=(Line("good", 300),))), ListRecorder()
    async with trio.open_nursery() as world:
        async with bench_of(memory_dial([fake], world), recorder) as bench:
            await measure_once(order_of(codec, model), bench)
        world.cancel_scope.cancel()
    events = recorder.events()
    word = next(one for one in events if isinstance(one, Transcript) and one.text == "good")
    sent = [
        one.audio_ms for one in events if isinstance(one, FrameSent) and one.at_ns <= word.at_ns
    ]
    assert 300 <= sent[-1] <= 400
