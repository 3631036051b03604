"""A member of the realtime family for tests: one line in a catalogue, and a fake of two."""

from functools import partial

from daemon.conformance.fake_realtime import Deltas, FakeRealtime
from daemon.conformance.promise import Subject
from daemon.conformance.talker import Talker
from measure.records import FinalRule, Flow, Rule
from providers.codec import (
    AudioFormat,
    Ending,
    ErrorMap,
    Facts,
    Forcing,
    Model,
    Source,
    TextMode,
)
from providers.families_realtime import NAMED_ERRORS, Dialect, Realtime

FACTS = Facts(
    rule=Rule(Flow.FORCED, FinalRule.ITEM),
    audio=AudioFormat(rate_hz=24_000, chunk_ms=100, base64=True),
    key_variable="ACME_API_KEY",
    greets=True,
    text_mode=TextMode.DELTA,
    forcing=Forcing(min_buffered_ms=100),
    ending=Ending.HANG_UP,
    errors=ErrorMap(NAMED_ERRORS),
    sources=(Source("the family's guide", "2026-08"),),
)
DIALECT = Dialect(
    url="wss://acme.example/v1/realtime",
    facts=FACTS,
    settings={"intent": "transcription"},
    session={"audio": {"input": {"transcription": {"language": "{language}"}}}},
)


class FakeAcme(FakeRealtime):
    """Its deltas hold what is new."""

    def transcription(self) -> Talker:
        return Deltas(self.rate_hz)


MODEL = Model(partial(Realtime, dialect=DIALECT), "Acme realtime")
SUBJECT = Subject("acme/realtime", MODEL, None, FakeAcme)
