"""What recognizers over gRPC share: results with alternatives, ends with a status, addresses.

address  grpcs://HOST:PORT/REST      where REST is whatever the provider makes of it
method   /package.Service/Method     what is called there
end      Close 4000 + status, or an ordinary Close where the status is OK

A message of ours that is empty ends our half of the call.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar
from urllib.parse import urlsplit

from measure.events import Event, Notice, Transcript
from measure.faults import Fault, FaultKind
from providers.codec import ErrorMap, Message, PlainCodec, one_line
from providers.families import address, no_sense
from providers.protobuf import Fields, fields, flag_in, messages_in, text_in

SCHEMES = ("grpc", "grpcs")
"""Without and with TLS."""
STATUS_CLOSE = 4000
"""A call that ends with a status other than OK ends with the Close of this plus the status."""
LAST_STATUS = 16
STATUSES = ErrorMap(
    closes={
        STATUS_CLOSE + status: kind
        for status, kind in {
            1: FaultKind.SERVER,  # cancelled, and not by us
            2: FaultKind.SERVER,
            3: FaultKind.PROTOCOL,
            4: FaultKind.TIMEOUT,
            5: FaultKind.PROTOCOL,  # no such recognizer, model or function
            6: FaultKind.PROTOCOL,
            7: FaultKind.AUTH,
            8: FaultKind.RATE,
            9: FaultKind.PROTOCOL,
            10: FaultKind.SERVER,
            11: FaultKind.TIMEOUT,  # audio came too slowly, or not at all
            12: FaultKind.PROTOCOL,
            13: FaultKind.SERVER,
            14: FaultKind.SERVER,
            15: FaultKind.SERVER,
            16: FaultKind.AUTH,
        }.items()
    }
)
RESULT_ALTERNATIVES, RESULT_FINAL, TRANSCRIPT = 1, 2, 1
"""Fields of a result and of an alternative, alike with all of them."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a recognizer is."""

    base: str
    """The address without a path."""
    host: str
    rest: str
    """What stands behind the host, without strokes at its ends."""


class Recognizer(PlainCodec):
    """A codec of one call; a subclass says what it sends and in which field results come."""

    results_field: ClassVar[int]

    def finish(self) -> Iterable[Message]:
        """Our half of the call ends; what is left comes before its status."""
        return (b"",)

    def decode(self, message: Message, at_ns: int) -> Iterator[Event]:
        """What one response says. Raises ProviderError where it is no sense."""
        if isinstance(message, str):
            raise no_sense("text where a response should be")
        results = messages_in(fields(message), self.results_field)
        if not results:
            yield Notice(at_ns, "no results")
        told = [(_text(one), flag_in(one, RESULT_FINAL)) for one in results]
        for text in (text for text, final in told if final):
            yield Transcript(at_ns, text.strip(), final=True)
        still_open = "".join(text for text, final in told if not final).strip()
        if still_open:
            yield Transcript(at_ns, still_open, final=False)

    def closed(self, code: int | None, reason: str) -> Fault | None:
        """The status in its own words."""
        fault = super().closed(code, reason)
        if fault is None or code is None or not STATUS_CLOSE < code <= STATUS_CLOSE + LAST_STATUS:
            return fault
        return replace(fault, detail=one_line(reason))


def _text(result: Fields) -> str:
    """Of the first alternative, which is the best."""
    alternatives = messages_in(result, RESULT_ALTERNATIVES)
    return text_in(alternatives[0], TRANSCRIPT) if alternatives else ""


def place_of(url: str, who: str) -> Place:
    """Where ``url`` leads. Raises ValueError, in which nothing of it is repeated."""
    parts = urlsplit(address(url, (), path="", who=who, schemes=SCHEMES))
    base = f"{parts.scheme}://{parts.netloc}"
    return Place(base, parts.hostname or "", parts.path.strip("/"))
