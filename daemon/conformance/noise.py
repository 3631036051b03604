"""Messages that no provider should send, from a seed: the same ones each time."""

import json
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

from providers.codec import Message

Place = tuple[str | int, ...]
Maker = Callable[[Random, Sequence[Message]], Message]
SCRAPS: tuple[object, ...] = (
    None,
    True,
    0,
    -1,
    2**70,
    1e300,
    "",
    "x",
    "\N{GRINNING FACE}",
    [],
    {},
    [[]],
    {"type": 7},
    {"message": None},
)


def noise(near: Sequence[Message], *, seed: int, count: int) -> Iterator[Message]:
    """``count`` messages: nonsense, and messages of ``near`` that something has happened to."""
    random = Random(seed)
    makers: list[Maker] = [_text, _bytes, _json]
    if near:
        makers += [_damaged, _changed, _changed, _changed]
    for _ in range(count):
        yield random.choice(makers)(random, near)


def _text(random: Random, near: Sequence[Message]) -> str:
    return "".join(chr(random.randrange(1, 0x3000)) for _ in range(random.randrange(12)))


def _bytes(random: Random, near: Sequence[Message]) -> bytes:
    return random.randbytes(random.randrange(80))


def _json(random: Random, near: Sequence[Message]) -> str:
    names = ("type", "error", "message", "message_type", "event", "text", "code", "result")
    said = {random.choice(names): random.choice(SCRAPS) for _ in range(3)}
    return json.dumps(random.choice([said, said, list(said), random.choice(SCRAPS)]))


def _damaged(random: Random, near: Sequence[Message]) -> Message:
    message = random.choice(near)
    at, end = sorted(random.randrange(len(message) + 1) for _ in range(2))
    end = min(end, at + 4)
    if isinstance(message, str):
        return message[:at] + _text(random, near)[:2] + message[end:]
    return message[:at] + random.randbytes(2) + message[end:]


def _changed(random: Random, near: Sequence[Message]) -> Message:
    """One value in it is another one or is gone."""
    message = random.choice(near)
    try:
        value = json.loads(message)
    except ValueError:
        return _damaged(random, near)
    place = random.choice(list(places(value)))
    return json.dumps(with_changed(value, place, random.choice([..., *SCRAPS])))


def places(value: object, path: Place = ()) -> Iterator[Place]:
    """Every place inside a JSON value, the whole included."""
    yield path
    if isinstance(value, dict):
        for name in value:
            yield from places(value[name], (*path, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from places(item, (*path, index))


def with_changed(value: object, path: Place, other: object) -> object:
    """``value`` with ``other`` at the place ``path``, or without that place where it is ``...``."""
    if not path:
        return None if other is ... else other
    assert isinstance(value, dict | list)
    copy: Any = value.copy()
    if other is ... and len(path) == 1:
        del copy[path[0]]
    else:
        copy[path[0]] = with_changed(copy[path[0]], path[1:], other)
    return copy
