"""Together's realtime transcription: the realtime family, all settings in the address.

A delta repeats all of its item and may take words back. An item may complete without text although
its deltas had some; then the last delta is its text.

Source: Together's pages on streaming transcription, pipecat's and the Coval benchmarks' clients.
"""

from measure.records import FinalRule, Flow, Rule
from providers.codec import AudioFormat, Ending, ErrorMap, Facts, Forcing, Source
from providers.families_realtime import NAMED_ERRORS, Dialect

URL = "wss://api.together.ai/v1/realtime"
LOOKAHEAD_MS = 1_600
"""Nemotron looks 1.12 s ahead, and a commit drops what it has not yet looked at."""


def together(model: str, *, looks_ahead: bool = False) -> Dialect:
    """A model by Together's name, OWNER/NAME; ``looks_ahead``: a commit needs silence before it."""
    forcing = Forcing(
        silence_before_ms=LOOKAHEAD_MS if looks_ahead else 0, unanswered="an item without text"
    )
    facts = Facts(
        rule=Rule(Flow.FORCED, FinalRule.ITEM),
        audio=AudioFormat(rate_hz=16_000, chunk_ms=100, base64=True),
        key_variable="TOGETHER_API_KEY",
        greets=True,
        natural_endpointing="off: turn_detection=none",
        forcing=forcing,
        ending=Ending.HANG_UP,
        errors=ErrorMap(NAMED_ERRORS),
        sources=(
            Source("Together's pages on streaming transcription and its detector", "2026"),
            Source("pipecat's client", "2026-08-21"),
            Source("Coval benchmarks' client and its fixtures", "2026-08-21"),
        ),
        why="A commit ends the turn. "
        + (
            f"{LOOKAHEAD_MS / 1000:g} s of silence go before it, for the model looks ahead; they"
            " count in the latency, which therefore says little of the engine."
            if looks_ahead
            else "An item that completes without text has that of its last delta."
        ),
        awaits=(
            "Whether a commit is confirmed with the name of its item; where items have no names,"
            " the next one that completes is taken.",
            "What a commit with nothing in the buffer is answered with.",
            "The codes of its errors, and the HTTP status of a wrong key.",
        ),
    )
    return Dialect(
        url=URL,
        facts=facts,
        settings={
            "intent": "transcription",
            "model": model,
            "turn_detection": "none",
            "input_audio_format": "pcm_s16le_16000",
        },
        headers={"Authorization": "Bearer {key}", "OpenAI-Beta": "realtime=v1"},
        delta_is_all=True,
    )
