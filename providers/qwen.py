"""Alibaba's Qwen-ASR realtime: the realtime family with partials of its own.

A partial has two parts: ``text`` will not change, ``stash`` still may. Every message of ours has an
``event_id``. The end is announced by ``session.finish`` and answered by ``session.finished``.

Source: Alibaba Cloud Model Studio, Qwen-ASR-Realtime, events of client and server, of 2026-10-11.
"""

from measure.faults import FaultKind
from measure.records import FinalRule, Flow, Rule
from providers.codec import AudioFormat, ErrorMap, Facts, Forcing, Price, Source, TextMode
from providers.families_realtime import NAMED_ERRORS, Dialect

URL = "wss://dashscope-intl.aliyuncs.com/api-ws/v1/realtime"
RATE_HZ = 16_000
ERRORS = ErrorMap(
    {
        **NAMED_ERRORS,
        "InvalidApiKey": FaultKind.AUTH,
        "AccessDenied": FaultKind.AUTH,
        "Arrearage": FaultKind.QUOTA,
        "Throttling": FaultKind.RATE,
        "Throttling.RateQuota": FaultKind.RATE,
        "Throttling.AllocationQuota": FaultKind.QUOTA,
    }
)
LANGUAGES = "zh yue en ja de ko ru fr pt ar it es hi id th tr uk vi cs da fil"
FACTS = Facts(
    rule=Rule(Flow.FORCED, FinalRule.ITEM),
    audio=AudioFormat(rate_hz=RATE_HZ, chunk_ms=100, base64=True),
    key_variable="DASHSCOPE_API_KEY",
    greets=True,
    natural_endpointing="off: turn_detection is null, which the maker calls manual mode",
    text_mode=TextMode.CUMULATIVE,
    forcing=Forcing(unanswered="an error"),
    errors=ERRORS,
    languages=tuple(LANGUAGES.split()),
    prompt="corpus.text, free text",
    price=Price(
        5.4, Source("Model Studio, Qwen realtime recognition, international", "2026-03-15")
    ),
    sources=(
        Source("Model Studio: client events, server events, interaction flow", "2026-10-11"),
        Source("dashscope's Python client", "2026"),
    ),
    why=(
        "In manual mode a commit ends the turn, and the item that it names is the answer. One turn"
        " may hold 60 s of audio. The address is that of Singapore; a key of Beijing needs"
        " wss://dashscope.aliyuncs.com and has another price."
    ),
    awaits=(
        "Whether partials come in manual mode before the commit.",
        "With which code a commit with nothing in the buffer is refused.",
        "Which HTTP status a wrong key gets.",
    ),
)


def qwen(model: str) -> Dialect:
    """A model by Alibaba's name."""
    return Dialect(
        url=URL,
        facts=FACTS,
        settings={"model": model},
        headers={"Authorization": "Bearer {key}", "OpenAI-Beta": "realtime=v1"},
        session={
            "modalities": ["text"],
            "input_audio_format": "pcm",
            "sample_rate": RATE_HZ,
            "input_audio_transcription": {"language": "{language}"},
            "turn_detection": None,
        },
        event_ids=True,
        finish={"type": "session.finish"},
    )
