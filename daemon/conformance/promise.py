"""What is promised, of whom, and how it turned out."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from daemon.fakes import FAKES
from daemon.fakes.server import Fake
from daemon.mask import masked
from providers.codec import Codec, Model, Options

SECRET = "6f1d2c"
"""What every canary key holds, and nothing else does."""
PLAIN_CANARY = f"canary-{SECRET}-of-thirty-characters"

REASON_CHARS = 300


class Broken(Exception):
    """The promise is not kept; the message says what was seen instead."""


class Skipped(Exception):
    """The promise could not be looked at; the message says why."""


class Verdict(StrEnum):
    """How it turned out."""

    KEPT = "kept"
    BROKEN = "broken"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Subject:
    """A model under test, and what there is to test it with."""

    name: str
    model: Model
    transcripts: Path | None = None
    """The folder with its conversations; None: there is none on this host."""
    fake: type[Fake] | None = None
    """None: no fake speaks like it."""

    def codec(self, options: Options | None = None) -> Codec:
        """A codec for one stream."""
        return self.model.make(options or Options())

    @property
    def provider(self) -> str:
        return self.name.partition("/")[0]

    @property
    def canary(self) -> str:
        """A key that looks like one of this provider's, and can be found again anywhere."""
        form = self.codec().facts.key_form
        parts = form.split(":") if form else []
        return ":".join(f"canary-{SECRET}-{part.lower()}" for part in parts) or PLAIN_CANARY


def subject_of(name: str, model: Model, transcripts: Path | None) -> Subject:
    """The model with the fake that belongs to it."""
    fake = FAKES.get(model.fake or name.partition("/")[0])
    return Subject(name, model, transcripts if transcripts and transcripts.is_dir() else None, fake)


@dataclass(frozen=True, slots=True)
class Promise:
    """One thing that every codec promises."""

    name: str
    sentence: str
    look: Callable[[Subject], str]
    """Gives what was seen in a few words. Raises Broken, or Skipped."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one promise turned out, and why."""

    promise: Promise
    verdict: Verdict
    reason: str


def outcome_of(promise: Promise, subject: Subject, secret: str = "") -> Outcome:
    """Look at one promise. An exception that is neither word of ours breaks it as well.

    ``secret`` is a key that is really in use: it is kept out of the reason, as the canary is.
    """
    outcome = _seen(promise, subject)
    reason = masked(masked(outcome.reason, secret), subject.canary)
    return replace(outcome, reason=" ".join(reason.split())[:REASON_CHARS])


def _seen(promise: Promise, subject: Subject) -> Outcome:
    try:
        return Outcome(promise, Verdict.KEPT, promise.look(subject))
    except Skipped as skipped:
        return Outcome(promise, Verdict.SKIPPED, str(skipped))
    except Broken as broken:
        return Outcome(promise, Verdict.BROKEN, str(broken))
    except Exception as error:  # whatever a codec under development raises
        return Outcome(promise, Verdict.BROKEN, f"{type(error).__name__}: {error}")


def hold(condition: object, otherwise: str) -> None:
    """The promise is broken unless ``condition``."""
    if not condition:
        raise Broken(otherwise)
