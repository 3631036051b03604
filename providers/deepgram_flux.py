"""Deepgram's Flux (listen v2) over one websocket: a stream of turns.

Each ``TurnInfo`` repeats all of its turn; ``EndOfTurn`` settles it and says what ended it. Our
ForceEndTurn makes that ``manual``. A force while no turn is open is no turn's end: it is ignored,
or a ``Warning`` says so.

    we:             <pcm> <pcm> <pcm>  ForceEndTurn <pcm>               CloseStream
    they:  Connected   StartOfTurn Update            EndOfTurn, manual        Update Close
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from measure.events import Event, ForceRejected, Notice, StreamReady, Transcript, Unread
from measure.faults import Fault
from measure.records import FinalRule, Flow, Rule
from providers.codec import ForceContext, Message, OpenRequest, Options
from providers.deepgram import NAMED_ERRORS
from providers.errors import ErrorMap
from providers.facts import AudioFormat, Ending, Facts, Forcing, Price, Source
from providers.families import JsonCodec, address, name_in, no_sense

URL = "wss://api.deepgram.com/v2/listen"
NO_TURN = "FORCE_END_TURN_NO_ACTIVE_TURN"
PRICED = Source("deepgram.com/pricing, pay as you go", "2026-11-04")
MULTI = "flux-general-multi"


class Flux(JsonCodec):
    """One stream to a Flux model."""

    facts = Facts(
        rule=Rule(Flow.FORCED, FinalRule.MARKER),
        audio=AudioFormat(rate_hz=16_000, chunk_ms=80),
        key_variable="DEEPGRAM_API_KEY",
        greets=True,
        natural_endpointing="off; a turn still ends after 30 s without words",
        forcing=Forcing(unanswered="nothing, or a warning that there is no turn"),
        ending=Ending.CLOSED,
        errors=ErrorMap(names=NAMED_ERRORS),
        languages=("en",),
        prompt="keyterm, many",
        sources=(
            Source("Deepgram's API specification, listen v2", "2026-07-22"),
            Source("Deepgram's pages on ForceEndTurn and on one's own turn detection", "2026-09"),
        ),
        why=(
            "At a threshold of 1.0 the model ends no turn by itself, so ForceEndTurn does. 80 ms"
            " is the piece that Deepgram recommends."
        ),
        awaits=(
            "Whether ForceEndTurn is enabled for the account; without it no turn is ever ended.",
            "Whether a threshold of 1.0 is a ceiling; 0.9 was seen not to be one.",
            "Whether a force without an open turn is ignored or warned of, and in which words.",
            "The codes of its errors.",
        ),
    )

    turns = (("eot_threshold", "1.0"), ("eot_timeout_ms", "30000"))
    """When the model may end a turn by itself."""

    def __init__(self, options: Options, *, model: str = "flux-general-en") -> None:
        language = options.language.partition("-")[0]
        settings = {
            "model": model,
            "encoding": "linear16",
            "sample_rate": str(self.facts.audio.rate_hz),
            **dict(self.turns),
        }
        if model == MULTI:
            self.facts = replace(self.facts, languages=("multi",), price=Price(7.8, PRICED))
            settings |= {} if language == "multi" else {"language_hint": language}
        elif language != "en":
            raise ValueError(f"Deepgram: {model} understands English alone; {MULTI} knows others")
        self._url = address(options.url or URL, settings, path="/v2/listen", who="Deepgram")
        self._finished = False

    def open(self, key: str) -> OpenRequest:
        return OpenRequest(self._url, {"Authorization": f"Token {key}"})

    def force(self, context: ForceContext) -> Iterable[Message]:
        """End the turn, now, with what was heard up to here."""
        return ('{"type":"ForceEndTurn"}',)

    def finish(self) -> Iterable[Message]:
        self._finished = True
        return ('{"type":"CloseStream"}',)

    def read(self, said: dict[str, object], at_ns: int) -> Iterator[Event]:
        match said:
            case {
                "type": "TurnInfo",
                "event": str(event),
                "turn_index": int(turn),
                "transcript": str(text),
                **rest,
            }:
                if event == "EndOfTurn":
                    yield Transcript(at_ns, text, True, rest.get("trigger") == "manual", str(turn))
                elif text:
                    yield Transcript(at_ns, text, final=False, segment=str(turn))
            case {"type": "Connected"}:
                yield StreamReady(at_ns)
            case {"type": "Warning", **rest}:
                refused = name_in((NO_TURN,), *rest.values())
                yield ForceRejected(at_ns, NO_TURN) if refused else Notice(at_ns, "Warning")
            case {"type": "Error", **rest}:
                words = [rest.get(name) for name in ("code", "variant", "description", "message")]
                named = name_in(NAMED_ERRORS, *words) or rest.get("code")
                raise self.facts.errors.error(named, rest.get("description") or rest.get("message"))
            case {"type": "TurnInfo"}:
                raise no_sense("TurnInfo without a turn and its transcript")
            case {"type": str(name)}:
                yield Unread(at_ns, name)
            case _:
                raise no_sense("a message without a type")

    def closed(self, code: int | None, reason: str) -> Fault | None:
        """Once it was told to finish, Flux ends the connection without a code."""
        return None if self._finished and code is None else super().closed(code, reason)
