"""Servers of one's own that speak the realtime family: SGLang, speaches, and any other by address.

Which of its models the server is to use is said in the address, ``ws://HOST:PORT/?model=NAME``,
where it serves more than one. A key is sent where one is given: key_variable names where it is.

Source: SGLang's session.py of 2026, speaches's realtime routers of 2026, OpenAI's guide of 2026-09.
"""

from dataclasses import replace

from measure.faults import FaultKind
from measure.records import FinalRule, Flow, Rule
from providers.codec import (
    AudioFormat,
    Ending,
    ErrorMap,
    Facts,
    Forcing,
    Source,
    TextMode,
)
from providers.families_realtime import NAMED_ERRORS, Dialect
from providers.openai import GUIDE, RATE_HZ

FACTS = Facts(
    rule=Rule(Flow.FORCED, FinalRule.ITEM),
    audio=AudioFormat(rate_hz=RATE_HZ, chunk_ms=100, base64=True),
    greets=True,
    natural_endpointing="off: turn_detection is null",
    text_mode=TextMode.DELTA,
    forcing=Forcing(min_buffered_ms=100, unanswered="an error"),
    ending=Ending.HANG_UP,
    errors=ErrorMap(NAMED_ERRORS),
    sources=(GUIDE,),
    why="A commit ends the turn, and the item that it names is the answer.",
)
SGLANG_RATE_HZ = 16_000
BEHIND = {1009: FaultKind.SERVER}
"""SGLang closes so when its engine does not keep up."""


def _session(rate_hz: int, transcription: dict[str, object]) -> dict[str, object]:
    input_audio = {
        "format": {"type": "audio/pcm", "rate": rate_hz},
        "transcription": transcription,
        "turn_detection": None,
    }
    return {"type": "transcription", "audio": {"input": input_audio}}


SGLANG = Dialect(
    url="ws://localhost:30000/v1/realtime",
    facts=replace(
        FACTS,
        audio=AudioFormat(rate_hz=SGLANG_RATE_HZ, chunk_ms=100, base64=True),
        errors=ErrorMap(NAMED_ERRORS, BEHIND),
        sources=(Source("SGLang: entrypoints/openai/realtime/session.py", "2026"),),
        why=FACTS.why + " It serves one model, so none is named, and hears 60 s in one turn.",
        awaits=("How it answers while its engine is behind: the source closes with 1009.",),
    ),
    session=_session(SGLANG_RATE_HZ, {"language": "{language}"}),
    not_enough=("input_audio_buffer_commit_empty", "invalid_state"),
)
SPEACHES = Dialect(
    url="ws://localhost:8000/v1/realtime",
    facts=replace(
        FACTS,
        natural_endpointing="off: turn_detection is null; it is on by itself",
        sources=(Source("speaches: realtime/input_audio_buffer_event_router.py", "2026"),),
        why=FACTS.why + " Without its detector it shows no partials.",
        awaits=("A newer version may take the newer shape of the session only.",),
    ),
    settings={
        "intent": "transcription",
        "model": "Systran/faster-whisper-small",
        "language": "{language}",
    },
    session={"turn_detection": None},
)
CLONE = Dialect(
    url="ws://localhost:8000/v1/realtime",
    facts=replace(
        FACTS,
        why=FACTS.why + " This is what OpenAI's own service is told; a server may know less of it.",
        awaits=("Everything: it depends on the server.",),
    ),
    settings={"intent": "transcription"},
    session=_session(RATE_HZ, {"model": "{model}", "language": "{language}"}),
    model="whisper-1",
)
