"""Amazon's signature, version 4, in the address of a request: pure, from key and moment to query.

key, day, region, service ──> signing key ──┐
request, moment, scope ──> what is signed ──┴──> X-Amz-Signature

The request is a GET whose one signed header is its host.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from hmac import digest
from urllib.parse import quote

ALGORITHM = "AWS4-HMAC-SHA256"
NO_BODY = sha256(b"").hexdigest()
Pairs = Iterable[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Credentials:
    """Who signs."""

    key_id: str
    secret: str = field(repr=False)
    token: str = field(default="", repr=False)
    """Of a session that ends; empty where the key is a lasting one."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a signature is good for: one service in one region, from a moment on."""

    region: str
    service: str
    wall_unix_s: float

    @property
    def moment(self) -> str:
        """As it is signed: 20130524T000000Z."""
        return datetime.fromtimestamp(int(self.wall_unix_s), UTC).strftime("%Y%m%dT%H%M%SZ")

    @property
    def day(self) -> str:
        return self.moment[:8]

    def __str__(self) -> str:
        return f"{self.day}/{self.region}/{self.service}/aws4_request"


def signed_query(
    who: Credentials,
    scope: Scope,
    *,
    host: str,
    path: str,
    settings: Pairs,
    expires_s: int,
    body_hash: str = NO_BODY,
) -> str:
    """The query of a GET request to ``path`` of ``host`` with these settings, signed."""
    own = {
        "X-Amz-Algorithm": ALGORITHM,
        "X-Amz-Credential": f"{who.key_id}/{scope}",
        "X-Amz-Date": scope.moment,
        "X-Amz-Expires": str(expires_s),
        "X-Amz-SignedHeaders": "host",
    }
    if who.token:
        own["X-Amz-Security-Token"] = who.token
    query = canonical_query([*settings, *own.items()])
    request = "\n".join(
        ("GET", quote(path, safe="/-_.~"), query, f"host:{host}\n", "host", body_hash)
    )
    return f"{query}&X-Amz-Signature={signature(who, scope, request)}"


def canonical_query(pairs: Pairs) -> str:
    """Names and values as they are signed: each sign but the plainest escaped, in their order."""
    escaped = [(quote(name, safe="-_.~"), quote(value, safe="-_.~")) for name, value in pairs]
    return "&".join(f"{name}={value}" for name, value in sorted(escaped))


def signature(who: Credentials, scope: Scope, request: str) -> str:
    """Of a request as it is signed: method, path, query, headers, their names, hash of the body."""
    hashed = sha256(request.encode()).hexdigest()
    signed = f"{ALGORITHM}\n{scope.moment}\n{scope}\n{hashed}"
    return digest(signing_key(who.secret, scope), signed.encode(), "sha256").hex()


def signing_key(secret: str, scope: Scope) -> bytes:
    """The key of one day, region and service."""
    key = f"AWS4{secret}".encode()
    for word in (scope.day, scope.region, scope.service, "aws4_request"):
        key = digest(key, word.encode(), "sha256")
    return key
