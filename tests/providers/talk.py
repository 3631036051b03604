"""What tests of codecs have in common: hearing messages, and looking at what is said."""

import json
from urllib.parse import parse_qsl, urlsplit

import pytest

from measure.events import Event
from measure.faults import Fault
from providers.codec import Codec, ForceContext, Message, ProviderError

KEY = "s3cret-canary"
AT_NS = 7


def heard(codec: Codec, *said: dict[str, object] | Message) -> list[Event]:
    """The events of these messages, all of one moment."""
    return [event for one in said for event in codec.decode(_message(one), AT_NS)]


def refused(codec: Codec, said: dict[str, object] | Message) -> Fault:
    """The failure that this message is."""
    with pytest.raises(ProviderError) as caught:
        heard(codec, said)
    return caught.value.fault


def orders(codec: Codec, context: ForceContext | None = None) -> list[object]:
    """What makes final and what ends the stream; each must be text."""
    said = [*codec.force(context or ForceContext(0)), *codec.finish()]
    assert all(isinstance(one, str) for one in said), "in a binary message it would be audio"
    return [json.loads(one) if one else one for one in said]


def settings(codec: Codec) -> dict[str, str]:
    """What the address asks for."""
    return dict(parse_qsl(urlsplit(codec.open(KEY).url).query, keep_blank_values=True))


def _message(said: dict[str, object] | Message) -> Message:
    return json.dumps(said) if isinstance(said, dict) else said
