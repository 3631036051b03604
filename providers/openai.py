"""OpenAI's realtime transcription: the first member of the realtime family.

The session is for transcription only, so its model is named in ``session.update``; a model in the
address would make a conversation of it. The audio has 24 kHz, and each commit makes one item.

Source: OpenAI's guide to realtime transcription and its model pages, read in 2026.
"""

from measure.records import FinalRule, Flow, Rule
from providers.codec import (
    AudioFormat,
    Ending,
    ErrorMap,
    Facts,
    Forcing,
    Price,
    Source,
    TextMode,
)
from providers.families_realtime import NAMED_ERRORS, Dialect

URL = "wss://api.openai.com/v1/realtime"
RATE_HZ = 24_000
GUIDE = Source("OpenAI's guide to realtime transcription", "2026-09")
COMMIT_EMPTY = Source("users' reports of input_audio_buffer_commit_empty", "2026")
BY_MINUTE = Price(17.0, Source("OpenAI's model pages", "2026-09"))
"""What the live models cost; the gpt-4o models are billed by tokens."""
AWAITS = (
    "Which HTTP status a wrong key gets.",
    "How long a session may last.",
    "Whether an answer can come in more than one item.",
)


def openai(model: str, *, live: bool) -> Dialect:
    """A model by OpenAI's name; ``live``: it speaks while it hears, not only after the commit."""
    shown = "Its deltas come while one speaks." if live else "Its deltas come after the commit."
    facts = Facts(
        rule=Rule(Flow.FORCED, FinalRule.ITEM),
        audio=AudioFormat(rate_hz=RATE_HZ, chunk_ms=100, base64=True),
        key_variable="OPENAI_API_KEY",
        greets=True,
        natural_endpointing="off: turn_detection is null",
        text_mode=TextMode.DELTA,
        forcing=Forcing(
            min_buffered_ms=100, unanswered="below 100 ms of audio an error, else unknown"
        ),
        ending=Ending.HANG_UP,
        errors=ErrorMap(NAMED_ERRORS),
        languages=("multi",),
        prompt="keywords and languages" if live else "prompt, free text",
        price=BY_MINUTE if live else None,
        sources=(GUIDE, COMMIT_EMPTY),
        why=f"A commit ends the turn, and the item that it names is the answer. {shown}",
        awaits=(*AWAITS, "Whether this account may use it, and what delay does.")
        if live
        else AWAITS,
    )
    return Dialect(
        url=URL,
        facts=facts,
        settings={"intent": "transcription"},
        session={
            "type": "transcription",
            "audio": {
                "input": {
                    "format": {"type": "audio/pcm", "rate": RATE_HZ},
                    "transcription": {"model": model, "language": "{language}"},
                    "turn_detection": None,
                }
            },
        },
    )
