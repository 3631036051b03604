"""Whose fault a failure is, and which. Few words, each fit for a metric's label."""

from dataclasses import dataclass
from enum import StrEnum


class Whose(StrEnum):
    """Who has to act."""

    HOST = "host"
    NETWORK = "network"
    PROVIDER = "provider"


class FaultKind(StrEnum):
    """What went wrong."""

    CONNECT = "connect"
    """No connection came about: no address, nobody listening, no route."""
    TLS = "tls"
    """The certificate or the handshake below the websocket."""
    HANDSHAKE = "handshake"
    """The provider refused the websocket, for no reason named here."""
    AUTH = "auth"
    """The key is missing, wrong or not allowed to do this."""
    QUOTA = "quota"
    """The account has no money or no allowance left."""
    RATE = "rate"
    """Too many requests or streams at once."""
    PROTOCOL = "protocol"
    """A message that breaks the provider's own rules, or ours as the provider sees them."""
    SERVER = "server"
    """The provider's own failure."""
    TIMEOUT = "timeout"
    """It did not answer in time."""
    CLOSED = "closed"
    """The connection ended before the answer was there."""
    HARNESS = "harness"
    """This program or this host."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One failure. ``detail`` is for people; it never holds a key."""

    whose: Whose
    kind: FaultKind
    detail: str = ""
    retry_after_s: float | None = None
    """How long the provider asks us to stay away."""

    def __str__(self) -> str:
        return f"{self.whose}, {self.kind}" + (f": {self.detail}" if self.detail else "")
