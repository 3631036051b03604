"""Which opener opens what."""

from contextlib import AbstractAsyncContextManager, nullcontext
from typing import cast

import pytest

from daemon.any_opener import AnyOpener
from daemon.order import Link, LinkFailed
from measure.faults import Whose
from providers.codec import Codec, Options, Transport
from providers.deepgram import Deepgram
from providers.google import Google


class Named:
    """Remembers what it is asked to open."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, str, float]] = []

    def __call__(
        self, codec: Codec, key: str, timeout_s: float
    ) -> AbstractAsyncContextManager[Link]:
        self.asked.append((codec, key, timeout_s))
        return cast("AbstractAsyncContextManager[Link]", nullcontext())


def test_the_transport_says_who_opens() -> None:
    websocket, grpc = Named(), Named()
    opener = AnyOpener({Transport.WEBSOCKET: websocket, Transport.GRPC: grpc})
    one, other = Deepgram(Options(), model="nova-3"), Google(Options())
    opener(one, "key", 1.0)
    opener(other, "token", 2.0)
    assert websocket.asked == [(one, "key", 1.0)]
    assert grpc.asked == [(other, "token", 2.0)]


def test_a_transport_that_nobody_opens_is_our_own_fault() -> None:
    with pytest.raises(LinkFailed, match="over grpc") as caught:
        AnyOpener({})(Google(Options()), "token", 1.0)
    assert caught.value.fault.whose is Whose.HOST
