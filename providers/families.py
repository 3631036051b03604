"""What codecs of one kind share: addresses with settings, JSON messages, audio in other clothes.

JsonCodec       JSON objects come in; a subclass says in ``read`` what each means
Segments        deltas put together to all of a segment so far
address         a provider's websocket address with our settings
"""

import json
from array import array
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from sys import byteorder
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from measure.events import Event
from measure.faults import FaultKind
from providers.codec import Message, PlainCodec, ProviderError, parsed

Settings = Iterable[tuple[str, str]] | Mapping[str, str]
SAMPLE_SCALE = 1 / 32_768


class JsonCodec(PlainCodec):
    """A codec of JSON objects, one per message."""

    def decode(self, message: Message, at_ns: int) -> Iterator[Event]:
        """What one message says. Raises ProviderError where it is a failure or no sense."""
        yield from self.read(parsed(message), at_ns)

    def read(self, said: dict[str, object], at_ns: int) -> Iterable[Event]:
        """What one object says. Raises ProviderError as ``decode`` does."""
        raise NotImplementedError


class Segments:
    """Texts that come in pieces, each put behind the others of its segment."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def add(self, piece: str, segment: str = "", *, joiner: str = "") -> str:
        """All of the segment so far, with this piece."""
        before = self._texts.get(segment, "")
        self._texts[segment] = before + joiner + piece if before and piece else before + piece
        return self._texts[segment]

    def take(self, segment: str = "") -> str:
        """All of the segment, which is forgotten: a new one of that name begins empty."""
        return self._texts.pop(segment, "")

    def so_far(self, segment: str = "") -> str:
        """All of the segment so far."""
        return self._texts.get(segment, "")


def address(
    url: str, settings: Settings, *, path: str, who: str, schemes: tuple[str, ...] = ("ws", "wss")
) -> str:
    """``url`` with the provider's own path where it has none, and with all settings.

    What ``url`` itself sets stays as it is. Raises ValueError, in which nothing of it is repeated.
    """
    try:
        parts = urlsplit(url)
        known = parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        known = False
    if not known:
        allowed = " or ".join(f"{scheme}://HOST…" for scheme in schemes)
        raise ValueError(f"{who}: the address must be {allowed}")
    theirs = parse_qsl(parts.query, keep_blank_values=True)
    named = {name for name, _ in theirs}
    given = settings.items() if isinstance(settings, Mapping) else settings
    ours = [(name, value) for name, value in given if name not in named]
    own = parts.path if parts.path.strip("/") else path
    query = urlencode(ours + theirs, quote_via=quote)
    return parts._replace(path=own, query=query, fragment="").geturl()


def bearer(key: str) -> dict[str, str]:
    """The header for a server of one's own: it knows no keys, but what stands before it may."""
    return {"Authorization": f"Bearer {key}"} if key else {}


def compact(said: Mapping[str, object]) -> str:
    """A JSON object as one text message."""
    return json.dumps(said, separators=(",", ":"), ensure_ascii=False)


def base64_of(pcm: bytes) -> str:
    """Audio as text."""
    return b64encode(pcm).decode("ascii")


def float32_of(pcm: bytes) -> bytes:
    """16-bit samples as 32-bit floats from -1 up to 1, both little-endian."""
    samples = array("h", pcm)
    if byteorder == "big":
        samples.byteswap()
    floats = array("f", [sample * SAMPLE_SCALE for sample in samples])
    if byteorder == "big":
        floats.byteswap()
    return floats.tobytes()


def no_sense(what: str) -> ProviderError:
    """A message that is JSON and yet breaks the provider's own rules."""
    return ProviderError(FaultKind.PROTOCOL, what)


def name_in(names: Iterable[str], *said: object) -> str | None:
    """The first of ``names`` that occurs in any of these texts; what is no text holds none."""
    text = "\n".join(one for one in said if isinstance(one, str))
    return next((name for name in names if name in text), None)
