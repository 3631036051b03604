"""Every model of the catalogue keeps what every codec promises: one line gets the whole suite."""

from pathlib import Path

import pytest

from daemon.conformance.kit import PROMISES
from daemon.conformance.promise import Verdict, outcome_of, subject_of
from providers import CATALOG

TRANSCRIPTS = Path(__file__).parent / "transcripts"


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("name", CATALOG)
def test_a_promise_is_kept(name: str, promise: str) -> None:
    subject = subject_of(name, CATALOG[name], TRANSCRIPTS)
    outcome = outcome_of(PROMISES[promise], subject)
    if outcome.verdict is Verdict.SKIPPED:
        pytest.skip(outcome.reason)
    assert outcome.verdict is Verdict.KEPT, outcome.reason
