"""Samples for tests, and the lines and chapters that they become."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hypothesis import strategies as st

from daemon.reporting.chapters import chapters_of
from daemon.reporting.lines import Circumstances
from daemon.reporting.samples import Sample
from exporters.report_table import Chapter, Line, PriceTag
from scoring.profiles import PROFILES, Profile
from scoring.rejoin import part_name

SIGNATURE = (
    "speechbench 0.1.0 | norm old 1 | rule forced g2 | corpus calls 11112222 | host a | "
    "error 0.08/0.41ms@8 fit"
)
SAMPLE = Sample(
    session_id="s",
    run_id="r",
    model="a/quick",
    corpus="calls",
    clip="one",
    audio_s=10.0,
    flow="forced",
    wall_ns=0,
    signature=SIGNATURE,
    verdict="forced_final",
    valid=True,
    voided=False,
    early=False,
    time_ms=200.0,
    first_partial_ms=50.0,
    text="good day to you",
    first_partial_text="good day",
    reference="good day to you",
)
FAILED = replace(
    SAMPLE,
    verdict="no_final",
    valid=False,
    time_ms=None,
    first_partial_ms=None,
    text=None,
    first_partial_text=None,
)
VOIDED = replace(FAILED, verdict="harness_late", voided=True)
LATEST = PROFILES["AA-WER v2.2"]
CALL = "thank you for standing by today"
SAMPLES = st.builds(
    replace,
    st.sampled_from([SAMPLE, FAILED, VOIDED]),
    clip=st.sampled_from(["one", "two", "three"]),
    session_id=st.uuids().map(str),
    model=st.sampled_from(["a/a", "b/b"]),
)


def about(profile: Profile = LATEST, stand_ins: Mapping[str, str] | None = None) -> Circumstances:
    unpriced = PriceTag(None, missing="no")
    return Circumstances(profile, "a day", stand_ins or {}, lambda _: unpriced, "wer")


def chapters(samples: Sequence[Sample], settings: Circumstances | None = None) -> list[Chapter]:
    return chapters_of(samples, settings or about())


def line(*samples: Sample) -> Line:
    """The only line of the only corpus."""
    corpus, _ = chapters(samples)
    (only,) = corpus.lines
    return only


def part(number: int, text: str | None, parts: int = 2, **changes: object) -> Sample:
    clip = f"call 7 (part {number} of {parts})"
    whole = replace(
        SAMPLE,
        clip=clip,
        reference=None,
        part=part_name(clip),
        call_reference=CALL,
        text=text,
        first_partial_text=text,
    )
    return replace(whole, **changes)  # type: ignore[arg-type]


def in_corpus(corpus: str, said: str = "good day to you", **changes: object) -> Sample:
    named = SIGNATURE.replace("calls", corpus)
    changed = replace(SAMPLE, corpus=corpus, signature=named, text=said)
    return replace(changed, **changes)  # type: ignore[arg-type]
