"""What a client is asked to do, and what it says when it has done it. Plain values: they cross."""

import json
from dataclasses import asdict, dataclass, field
from typing import Self

from benchmarks.mark import binary_message, json_message

STEP_NS = 20_000_000
HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Load:
    """One client process's work against the receiver at ``port``."""

    port: int
    core: int
    streams: int = 1
    frames: int = 0
    """Of each stream; with ``bursts`` nothing is paced."""
    bursts: int = 0
    """How many times to send a few messages as fast as possible, to learn what one costs."""
    tls: bool = False
    json: bool = False
    """Text messages with base64 audio instead of binary ones."""
    ca_path: str = ""
    listen: bool = False
    """The receiver talks; say when each of its messages was stamped."""
    hear: bool = False
    """Run the live voice detector over as many streams beside it."""
    record: bool = False
    """Hand every frame's record to the exporter process. Ours only."""
    scraped: bool = False
    """And have its metrics scraped each second."""

    @property
    def url(self) -> str:
        return f"{'wss' if self.tls else 'ws'}://{HOST}:{self.port}/"

    @property
    def seconds(self) -> float:
        return self.frames * STEP_NS / 1e9

    def message(self, stream: int, index: int, due_ns: int) -> str | bytes:
        """What to send for one frame."""
        make = json_message if self.json else binary_message
        return make(stream, index, due_ns)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        return cls(**json.loads(text))


@dataclass(slots=True)
class Outcome:
    """What a client says of its work; what left when, the receiver says."""

    cpu_ns: int = 0
    """Of the whole process while it paced."""
    sent: int = 0
    burst_cpu_ns: list[float] = field(default_factory=list)
    """For each burst: processor time of one message."""
    heard_numbers: list[int] = field(default_factory=list)
    """The number of each message that came in."""
    heard_ns: list[int] = field(default_factory=list)
    """When each of them came, by the best stamp the client has."""
    user_heard_ns: list[int] = field(default_factory=list)
    """The same by a stamp of the program's own, where the best is the kernel's."""
    decision_delays_ns: list[int] = field(default_factory=list)
    """For each edge a live detector found: from the last frame it needed until it was told."""
    scrape_lines: int = 0

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        return cls(**json.loads(text))
