"""What is shown to others: A21, A23."""

import io

from prometheus_client import generate_latest
from rich.console import Console

from daemon.results import row_of, summaries_of
from exporters.metric_table import METRICS, label_sets
from exporters.prometheus import Metrics
from exporters.settings import Stream
from exporters.table import print_run
from measure.faults import Fault, FaultKind, Whose
from measure.measurement import Circumstances, Measurement
from measure.records import MS, Answer, Flow, Reading, Verdict
from tests.exporters.records import finished, started
from tests.exporters.test_prometheus import series

KEPT = Stream("deepgram", "deepgram/nova-3", "files", "forced")
REMOVED = Stream("gladia", "gladia/solaria-1", "files", "fallback")

# A21


def reloaded(metrics: Metrics, *streams: Stream) -> None:
    """What the exporter is told after a SIGHUP with another configuration."""
    plain = [of(one) for one in streams]
    metrics.take(
        {
            "k": "configured",
            "t": 1,
            "successful": True,
            "streams": plain,
            "schedules": ["interval"],
            "wall_unix_ns": 10**18,
        }
    )


def of(stream: Stream) -> dict[str, object]:
    return {
        "provider": stream.provider,
        "model": stream.model,
        "dataset": stream.dataset,
        "flow": stream.flow,
    }


def session(metrics: Metrics, stream: Stream, name: str, said: str = "it was") -> None:
    metrics.take(started(name, **of(stream)))
    metrics.take(finished(name, **of(stream), transcript=said, first_partial_text=said))


def test_a21_a_target_that_is_removed_takes_all_its_series_with_it() -> None:
    metrics = Metrics([KEPT, REMOVED], ["interval"])
    session(metrics, KEPT, "s-1")
    session(metrics, REMOVED, "s-2")
    assert "gladia" in generate_latest(metrics.registry).decode()
    reloaded(metrics, KEPT)
    text = generate_latest(metrics.registry).decode()
    assert "gladia" not in text
    assert 'sessions_total{dataset="files",flow="forced",model="deepgram/nova-3"' in text


def test_a21_no_label_is_made_of_what_a_provider_says_or_of_a_session() -> None:
    metrics = Metrics([KEPT], ["interval"])
    session(metrics, KEPT, "canary-session", said="canary transcript")
    assert "canary" not in str(series(metrics))


def test_a21_the_number_of_series_is_that_of_the_configuration_and_stays_so() -> None:
    metrics = Metrics([KEPT, REMOVED], ["interval"])
    before = len(series(metrics))
    for nth in range(300):
        session(metrics, KEPT if nth % 2 else REMOVED, f"s-{nth}", said=f"word {nth}")
    assert len(series(metrics)) == before
    stream_labels = [metric for metric in METRICS if {"provider", "model"} <= set(metric.labels)]
    for metric in stream_labels:
        assert len(label_sets(metric, [KEPT, REMOVED], ["interval"])) < 200


# A23


def measurement(model: str, nth: int, time_to_final_ms: float | None) -> Measurement:
    """One that answered after so long, or one that failed."""
    failed = time_to_final_ms is None
    final = None if time_to_final_ms is None else Answer("a", round(time_to_final_ms * MS))
    reading = Reading(
        zero_ns=0,
        verdict=Verdict.PROVIDER_ERROR if failed else Verdict.FORCED_FINAL,
        selection=None if failed else Verdict.FORCED_FINAL,
        final=final,
        first_partial=None,
        first_text=None,
        last_final=None,
        confirmed_ns=None,
        transcript="",
        fault=Fault(Whose.PROVIDER, FaultKind.SERVER) if failed else None,
    )
    return Measurement(
        session_id=f"{model}-{nth}",
        run_id="r",
        model=model,
        corpus="files",
        clip="day.wav",
        audio_ms=1000.0,
        flow=Flow.FORCED,
        reading=reading,
        circumstances=Circumstances(),
        started_wall_ns=0,
        wall_ns=0,
        signature="speechbench test",
    )


BROKEN = [measurement("a/broken", nth, None) for nth in range(4)]
SLOW = [measurement("b/slow", 0, 900.0), measurement("b/slow", 1, 700.0)]
QUICK = [*(measurement("c/quick", nth, 300.0) for nth in range(3)), measurement("c/quick", 3, None)]


def shown() -> list[str]:
    """The table as it is printed."""
    out = io.StringIO()
    everything = [*BROKEN, *SLOW, *QUICK]
    rows = [row_of(one) for one in everything]
    print_run(Console(file=out, width=160), rows, summaries_of(everything))
    return out.getvalue().splitlines()


def test_a23_what_failed_is_in_no_median_and_is_counted() -> None:
    broken, slow, quick = summaries_of([*BROKEN, *SLOW, *QUICK])
    assert (broken.answered, broken.failed, broken.success_rate) == (0, 4, 0.0)
    assert broken.time_to_final_ms.p50 is None
    assert slow.time_to_final_ms.p50 == 800.0
    assert (quick.answered, quick.failed, quick.success_rate) == (3, 1, 0.75)
    assert quick.time_to_final_ms.p50 == 300.0


def test_a23_a_provider_that_always_fails_stands_last_without_a_figure_and_with_its_rate() -> None:
    lines = shown()
    places = {
        model: next(nth for nth, line in enumerate(lines) if line.startswith(f"{model} "))
        for model in ("a/broken", "b/slow", "c/quick")
    }
    assert max(places, key=places.__getitem__) == "a/broken"
    assert "0 of 4 answered" in lines[places["a/broken"]]
    assert "failed 100%" in lines[places["a/broken"]]
    assert "n/a" in lines[places["a/broken"] + 1]


def test_a23_the_others_are_ranked_by_their_median() -> None:
    lines = shown()
    text = "\n".join(lines)
    assert text.index("\nc/quick ") < text.index("\nb/slow ")
