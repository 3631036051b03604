"""What codecs have in common that speak on a plain connection, without HTTP or a websocket."""

from urllib.parse import urlsplit

from providers.families import address, no_sense

SCHEMES = ("tcp", "tcps")
"""As they are, and under TLS."""
LONGEST_LINE_BYTES = 1 << 16
LINE_END = b"\n"


def tcp_address(url: str, *, port: int, who: str) -> str:
    """``url``, with the provider's usual port where it has none.

    Raises ValueError, in which nothing of it is repeated.
    """
    known = address(url, {}, path="", who=who, schemes=SCHEMES)
    parts = urlsplit(known)
    if parts.port is not None:
        return known
    return parts._replace(netloc=f"{parts.netloc.rstrip(':')}:{port}").geturl()


def line_cut(come: bytes) -> int | None:
    """How long the line at the beginning is, with its end; None while it is not whole.

    Raises ProviderError where it is longer than any line can be.
    """
    end = come.find(LINE_END, 0, LONGEST_LINE_BYTES)
    if end >= 0:
        return end + 1
    if len(come) >= LONGEST_LINE_BYTES:
        raise no_sense(f"a line of more than {LONGEST_LINE_BYTES} bytes")
    return None
