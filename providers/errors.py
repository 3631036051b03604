"""What a provider's refusals mean, in the few words that all providers share.

A refusal comes as an HTTP status, as a message, or as a Close. What is common to all is here; a
provider's own names and codes are data, its ``ErrorMap``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from measure.faults import Fault, FaultKind, Whose

DETAIL_CHARS = 200
"""How much of a provider's own words is kept."""
STATUSES = {
    401: FaultKind.AUTH,
    403: FaultKind.AUTH,
    402: FaultKind.QUOTA,
    408: FaultKind.TIMEOUT,
    429: FaultKind.RATE,
    504: FaultKind.TIMEOUT,
}
CLOSES: dict[int | None, FaultKind | None] = {
    1000: None,
    1001: None,
    1005: None,
    None: FaultKind.CLOSED,
    1006: FaultKind.CLOSED,
    1002: FaultKind.PROTOCOL,
    1003: FaultKind.PROTOCOL,
    1007: FaultKind.PROTOCOL,
    1008: FaultKind.PROTOCOL,
    1009: FaultKind.PROTOCOL,
    1013: FaultKind.RATE,  # try again later
    3000: FaultKind.AUTH,
    3003: FaultKind.AUTH,
    3008: FaultKind.TIMEOUT,
}


class ProviderError(Exception):
    """The provider refused, failed or broke its own rules."""

    def __init__(
        self, kind: FaultKind, detail: str = "", *, retry_after_s: float | None = None
    ) -> None:
        self.fault = Fault(Whose.PROVIDER, kind, detail, retry_after_s)
        super().__init__(str(self.fault))


@dataclass(frozen=True, slots=True)
class ErrorMap:
    """One provider's own names and numbers of what went wrong."""

    names: Mapping[str, FaultKind] = field(default_factory=dict)
    """By a code or type in an error message, or by a word in the reason of a Close."""
    closes: Mapping[int, FaultKind] = field(default_factory=dict)
    """By the code of a Close, where it is not what it is with all others."""
    otherwise: FaultKind = FaultKind.SERVER
    """Of an error message with a code that is not known."""

    def error(
        self, code: object, said: object = "", *, retry_after_s: float | None = None
    ) -> ProviderError:
        """An error message: its code, a name or an HTTP status, and its words for people."""
        named = None if code is None or isinstance(code, bool) else one_line(str(code))
        words = " ".join(part for part in (named, one_line(said)) if part)
        return ProviderError(self._kind(code), words[:DETAIL_CHARS], retry_after_s=retry_after_s)

    def _kind(self, code: object) -> FaultKind:
        if isinstance(code, str) and code in self.names:
            return self.names[code]
        text = str(code) if isinstance(code, int | str) and not isinstance(code, bool) else ""
        if text in self.names:
            return self.names[text]
        if not (len(text) == 3 and text.isascii() and text.isdigit() and text[0] in "45"):
            return self.otherwise
        kind = fault_of_status(int(text), {}).kind
        return FaultKind.PROTOCOL if kind is FaultKind.HANDSHAKE else kind

    def closed(self, code: int | None, reason: str) -> Fault | None:
        """A Close; None where it is an ordinary end."""
        kind = next((kind for name, kind in self.names.items() if name in reason), None)
        if kind is None and code is not None:
            kind = self.closes.get(code)
        if kind is None:
            return fault_of_close(code, reason)
        said = "no Close" if code is None else f"Close {code}"
        return Fault(Whose.PROVIDER, kind, said + (f", {one_line(reason)}" if reason else ""))


def one_line(said: object) -> str:
    """The beginning of what a provider says for people; nothing where that is no text."""
    return " ".join(said.split())[:DETAIL_CHARS] if isinstance(said, str) else ""


def fault_of_status(status: int, headers: Mapping[str, str], detail: str = "") -> Fault:
    """What an HTTP refusal means, in the words that all providers share."""
    kind = STATUSES.get(status, FaultKind.SERVER if status >= 500 else FaultKind.HANDSHAKE)
    said = f"HTTP {status}" + (f", {detail}" if detail else "")
    return Fault(Whose.PROVIDER, kind, said, _retry_after_s(headers))


def fault_of_close(code: int | None, reason: str) -> Fault | None:
    """What a websocket's Close means where the provider has no codes of its own."""
    kind = CLOSES.get(code, FaultKind.SERVER)
    if kind is None:
        return None
    said = "no Close" if code is None else f"Close {code}" + (f", {reason}" if reason else "")
    whose = Whose.NETWORK if kind is FaultKind.CLOSED else Whose.PROVIDER
    return Fault(whose, kind, said)


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    for name, value in headers.items():
        if name.lower() == "retry-after" and value.strip().isdigit():
            return float(value)
    return None
