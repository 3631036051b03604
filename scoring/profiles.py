"""The versions of the published method, each by its name: corpora, weights, normaliser.

A number says with which profile it was made. A corpus that stands in for one that is not to be had
is called by its own name, and so is the number: it is not the version's.

The published text says what each version changed and gives no code, so each profile is our
**reading** of it: of a version's normaliser we leave out the rules that later versions added, as
far as they are rules of their own here.

Method: METHOD.md section 6.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from scoring.normalize import NORMALIZERS, Normalizer
from scoring.normalize.speechbench import SPEECHBENCH
from scoring.weigh import CorpusRate, across

MINUTES_TOLERANCE = 0.02
"""The published lengths are rounded: "about 119 minutes"."""


@dataclass(frozen=True, slots=True)
class Original:
    """A corpus of the method, by what is published about it."""

    name: str
    clips: int | None = None
    """How many recordings; None where that is not published."""
    minutes: float | None = None
    public: bool = True


AGENT_TALK = Original("AA-AgentTalk", 469, 250, public=False)
VOXPOPULI_CLEANED = Original("VoxPopuli-Cleaned-AA", 628, 119)
EARNINGS22_CLEANED = Original("Earnings22-Cleaned-AA", 6, 115)
AMI = Original("AMI-SDM")
VOXPOPULI = Original("VoxPopuli")
EARNINGS22 = Original("Earnings22")
ORIGINALS = {
    one.name: one
    for one in (AGENT_TALK, VOXPOPULI_CLEANED, EARNINGS22_CLEANED, AMI, VOXPOPULI, EARNINGS22)
}
"""Every corpus of the method, by its name."""


@dataclass(frozen=True, slots=True)
class Profile:
    """One version of the method."""

    name: str
    """As it is published."""
    since: str
    until: str
    """Months; empty where it is the current one."""
    weights: Mapping[str, Fraction] | None
    """Of each corpus; None: every second of audio counts the same."""
    corpora: tuple[Original, ...]
    normalizer: str = "speechbench"
    """One of NORMALIZERS."""
    off: tuple[str, ...] = ()
    """Stages of it that the version did not have."""

    def normaliser(self) -> Normalizer:
        """What counts as the same word in this version."""
        if self.normalizer != SPEECHBENCH.name:
            return NORMALIZERS[self.normalizer]
        return SPEECHBENCH.without(*self.off)


SINCE_2_0 = {
    AGENT_TALK.name: Fraction(1, 2),
    VOXPOPULI_CLEANED.name: Fraction(1, 4),
    EARNINGS22_CLEANED.name: Fraction(1, 4),
}
CLEANED = (AGENT_TALK, VOXPOPULI_CLEANED, EARNINGS22_CLEANED)
ADDED_IN_2_2 = ("technical", "signs", "fractions", "units")
ADDED_IN_2_1 = ("ranges", "letters", "pairs")

PROFILES: dict[str, Profile] = {
    one.name: one
    for one in (
        Profile("AA-WER v2.2", "2026-05", "", SINCE_2_0, CLEANED),
        Profile("AA-WER v2.1", "2026-04", "2026-05", SINCE_2_0, CLEANED, off=ADDED_IN_2_2),
        Profile(
            "AA-WER v2.0", "2026-02", "2026-04", SINCE_2_0, CLEANED,
            off=(*ADDED_IN_2_2, *ADDED_IN_2_1),
        ),
        Profile(
            "AA-WER v1.0", "2025-09", "2026-02", None, (AMI, VOXPOPULI, EARNINGS22), "whisper"
        ),
    )
}  # fmt: skip
"""Every version by its name; the first is the current one."""


@dataclass(frozen=True, slots=True)
class Figure:
    """What was found in the corpus that fills one place of a profile."""

    corpus: str
    """Its own name."""
    rate: CorpusRate


@dataclass(frozen=True, slots=True)
class Overall:
    """One figure over all corpora of a profile, and what it may be called."""

    name: str
    rate: float | None
    """None where a corpus is missing."""
    missing: tuple[str, ...] = ()
    stand_ins: tuple[tuple[str, str], ...] = ()
    """Own name and the name of the corpus that it stands in for."""

    def __str__(self) -> str:
        if self.missing:
            return f"{self.name}: none, without {', '.join(self.missing)}"
        return self.name


def overall(profile: Profile, figures: Mapping[str, Figure]) -> Overall:
    """The figure of ``profile`` from those of its corpora, by the name of each place.

    None where one is missing: the others do not stand in for it. With a stand-in, the figure is
    weighted as the version's, and is not called by its name.
    """
    places = [one.name for one in profile.corpora]
    missing = tuple(p for p in places if p not in figures or figures[p].rate.rate is None)
    stand_ins = tuple(
        (figures[place].corpus, place)
        for place in places
        if place in figures and figures[place].corpus != place
    )
    rate = None if missing else _weighted(profile, {p: figures[p].rate for p in places})
    return Overall(_called(profile, stand_ins), rate, missing, stand_ins)


def _weighted(profile: Profile, rates: Mapping[str, CorpusRate]) -> float | None:
    weights = profile.weights
    if weights is None:
        seconds = {place: Fraction(one.audio_s) for place, one in rates.items()}
        whole = sum(seconds.values())
        weights = {place: one / whole for place, one in seconds.items()}
    return across({place: one.rate for place, one in rates.items()}, weights)


def _called(profile: Profile, stand_ins: tuple[tuple[str, str], ...]) -> str:
    if not stand_ins:
        return profile.name
    said = ", ".join(f"{own} in place of {place}" for own, place in stand_ins)
    return f"WER weighted as in {profile.name} ({said})"


def misnamed(name: str, *, clips: int, audio_s: float) -> str | None:
    """Why a corpus must not be called ``name``; None where it may.

    The names of the method's corpora are for those corpora: with as many clips as are published,
    and as many minutes. Case, blanks and hyphens make no other name of it.
    """
    original = next((one for one in ORIGINALS.values() if _plain(one.name) == _plain(name)), None)
    if original is None or original.clips is None or original.minutes is None:
        return None
    off = abs(audio_s / 60 - original.minutes) / original.minutes
    if clips == original.clips and off <= MINUTES_TOLERANCE:
        return None
    return (
        f"{name!r} is the name of a published corpus of {original.clips} recordings, about "
        f"{original.minutes:g} min; this one has {clips}, {audio_s / 60:.1f} min: "
        "give it a name of its own"
    )


def _plain(name: str) -> str:
    return "".join(character for character in name.casefold() if character.isalnum())
