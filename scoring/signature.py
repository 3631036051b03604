"""How a number was made, in one line that a person can read and a program can read back.

    speechbench 0.1.0 | norm speechbench 1 a1b2c3d4 | vad silero 6.2.3 1a153a22 t0.5 s100 p30 |
    rule forced decision g2 p10 c2 s0.5 b20/20/50 | corpus two-cities 9f31c0de | host a |
    error 0.08/0.41ms@8 fit

Pure: everything is handed in. What does not apply is left out, never written as a blank.
"""

import re
from dataclasses import dataclass, fields

UNKNOWN_ERROR = "unknown"
"""The harness's own error, where it was not measured on this host, or too long ago."""
HASH_CHARACTERS = 8
"""How much of a SHA-256 is shown: enough to tell versions apart, short enough to read."""
_ERROR_WORD = "error "
_ERROR = re.compile(r"(\d+\.\d\d)/(\d+\.\d\d)ms(\(max\))?@(\d+) (\w+)", re.ASCII)


class SignatureError(ValueError):
    """A line that is no signature; says what it lacks."""


@dataclass(frozen=True, slots=True)
class Signature:
    """The circumstances of a number. An empty one does not apply to it."""

    software: str
    """Version of this program."""
    norm: str = ""
    """Name, version and data hash of the normaliser."""
    vad: str = ""
    """Name, version, model hash and settings of the voice-activity detector."""
    rule: str = ""
    """Flow, when the force is sent, grace and patience."""
    corpus: str = ""
    """Its name and the hash of its contents."""
    host: str = ""
    error: str = ""
    """What the harness itself adds on that host; lines of before it was measured have none."""
    window: str = ""
    """The stretch of time that the number sums up."""

    def __post_init__(self) -> None:
        for part in fields(self):
            if "|" in getattr(self, part.name):
                raise SignatureError(f"a signature's {part.name} must not hold a '|'")

    def __str__(self) -> str:
        named = [(part.name, getattr(self, part.name)) for part in fields(self)[1:]]
        said = [f"{name} {value}" for name, value in named if value]
        return " | ".join([f"speechbench {self.software}", *said])


def parsed(line: str) -> Signature:
    """The signature that was written as this line. Raises SignatureError where it is none."""
    first, *others = [part.strip() for part in line.split("|")]
    program, _, software = first.partition(" ")
    if program != "speechbench" or not software:
        raise SignatureError(f"a signature begins with 'speechbench' and a version, not {first!r}")
    allowed = [part.name for part in fields(Signature)[1:]]
    values: dict[str, str] = {}
    for part in others:
        name, _, value = part.partition(" ")
        if name not in allowed or not value or name in values:
            raise SignatureError(f"{part!r} is no part of a signature; parts: {', '.join(allowed)}")
        values[name] = value
    return Signature(software, **values)


def normalizer_part(name: str, version: str, data_sha256: str) -> str:
    """The normaliser, as a part of the line."""
    return " ".join(part for part in (name, version, short_hash(data_sha256)) if part)


def vad_part(
    name: str,
    version: str,
    model_sha256: str,
    *,
    threshold: float,
    min_silence_ms: int,
    speech_pad_ms: int,
) -> str:
    """The voice-activity detector and its settings, as a part of the line."""
    settings = f"t{threshold:g} s{min_silence_ms} p{speech_pad_ms}"
    return f"{name} {version} {short_hash(model_sha256)} {settings}"


def rule_part(
    flow: str,
    force_at: str = "",
    *,
    endpoint: str = "last",
    grace_s: float,
    patience_s: float,
    confirm_s: float,
    settle_s: float,
    echo_counts: bool,
    budgets_ms: tuple[float, float, float],
) -> str:
    """The rule by which an answer is chosen, as a part of the line.

    Where only the last endpoint counts, as is usual, nothing is said of it. ``force_at`` is also
    when the end of the stream is announced, in the close flow.
    ``budgets_ms``: lateness, standstill, step of the clock, beyond which it does not count.
    """
    every = "" if endpoint == "last" else endpoint
    words = [flow, force_at, every, f"g{grace_s:g}", f"p{patience_s:g}", f"c{confirm_s:g}"]
    words += [f"s{settle_s:g}", "echo" if echo_counts else ""]
    words += ["b" + "/".join(f"{budget_ms:g}" for budget_ms in budgets_ms)]
    return " ".join(word for word in words if word)


def corpus_part(name: str, sha256: str) -> str:
    """A corpus, as a part of the line; its name may hold spaces."""
    return f"{name} {short_hash(sha256)}".replace("|", "/")


def error_part(*, p50_ms: float, tail_ms: float, is_p99: bool, streams: int, verdict: str) -> str:
    """The harness's own error of the time to final, as a part of the line: "0.08/0.41ms@8 fit".

    The middle and the p99, with so many streams at the same time; "(max)" marks the largest where
    there were too few for a p99.
    """
    mark = "" if is_p99 else "(max)"
    return f"{p50_ms:.2f}/{tail_ms:.2f}ms{mark}@{streams} {verdict}"


@dataclass(frozen=True, slots=True)
class HarnessError:
    """The harness's own error, as a signature says it."""

    p50_ms: float
    tail_ms: float
    is_p99: bool
    streams: int
    verdict: str


def error_of(part: str) -> HarnessError | None:
    """What ``error_part`` wrote; None where it is unknown, or said in other words."""
    found = _ERROR.fullmatch(part)
    if found is None:
        return None
    p50, tail, mark, streams, verdict = found.groups()
    return HarnessError(float(p50), float(tail), not mark, int(streams), verdict)


def split_error(line: str) -> tuple[str, str]:
    """A signature without its error, and that; two numbers made alike differ only in the latter.

    The error is empty where the line is older than self-tests, or no signature.
    """
    parts = line.split(" | ")
    errors = [part for part in parts if part.startswith(_ERROR_WORD)]
    rest = [part for part in parts if part not in errors]
    return " | ".join(rest), errors[0].removeprefix(_ERROR_WORD) if errors else ""


def short_hash(sha256: str) -> str:
    """The beginning of a hash, as it is shown."""
    return sha256[:HASH_CHARACTERS]
