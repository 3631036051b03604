"""The first dashboard: all models side by side."""

from typing import Any

from exporters.grafana.parts import (
    COUNT,
    DOLLARS,
    SECONDS,
    SHARE,
    Query,
    bars,
    board,
    chosen,
    curves,
    filled,
    increase,
    quantile,
    ranking,
    row,
    share,
    sheet,
    window,
)
from measure.records import OUR_FAULT

OURS = "|".join(sorted(verdict.value for verdict in OUR_FAULT))
"""Reasons that are no provider's fault; the sessions are left out."""
_MODELS = 'provider=~"$provider",model=~"$model"'
_STREAMS = f'{_MODELS},dataset=~"$dataset"'
_BY = "model"
_WEEK = "provider_model_flow:speechbench_"
_FINAL = f"{_WEEK}time_to_final_seconds"
_PARTIAL = f"{_WEEK}time_to_first_partial_seconds"
_WORDS = "provider_model_mode_transcript:speechbench_wer_weighted:ratio_increase7d"
_CORPUS = "provider_model_dataset_mode_transcript:speechbench_wer:ratio_increase7d"
_SELECTED = "{" + _MODELS + "}"


def overview() -> Any:
    """The dashboard."""
    made = board(
        "Speechbench: models",
        "speechbench-overview",
        "How fast and how well each model answers, as its users would see it. Trends: the "
        "published figures are worked out from the journal.",
        (
            chosen("provider", "sessions_total"),
            chosen("model", "sessions_total", 'provider=~"$provider"'),
            chosen("dataset", "sessions_total", _MODELS),
            window(),
        ),
    )
    return filled(
        made,
        row("Seven days"),
        _table(),
        ranking(
            "Time to final, median of seven days",
            SECONDS,
            Query(f"sort(max by ({_BY}) ({_FINAL}:p50_increase7d{_SELECTED}))", "{{model}}"),
            about="From the force-endpoint message to the final; 0: it was there before.",
            width=7,
        ),
        ranking(
            "Time to first partial, median of seven days",
            SECONDS,
            Query(f"sort(max by ({_BY}) ({_PARTIAL}:p50_increase7d{_SELECTED}))", "{{model}}"),
            about="From the same moment to the first partial that says something new.",
            width=7,
        ),
        ranking(
            "Word error rate of finals, by corpus",
            SHARE,
            Query(
                f'max by (model, dataset) ({_CORPUS}{{{_STREAMS},transcript="final"}})',
                "{{model}} · {{dataset}}",
            ),
            about="Within a corpus each recording counts by its seconds.",
            width=10,
        ),
        row("Over time"),
        curves(
            "Time to final, median",
            SECONDS,
            Query(quantile(0.5, "time_to_final_seconds", "model", _STREAMS), "{{model}}"),
        ),
        curves(
            "Time to final, 95th percentile",
            SECONDS,
            Query(quantile(0.95, "time_to_final_seconds", "model", _STREAMS), "{{model}}"),
        ),
        curves("Sessions answered", SHARE, Query(_success(), "{{model}}"), about=_LEFT_OUT),
        curves(
            "Word error rate of finals",
            SHARE,
            Query(
                share(
                    _summed("word_errors_total", f'{_STREAMS},transcript="final"'),
                    _summed("reference_words_total", f'{_STREAMS},transcript="final"'),
                ),
                "{{model}}",
            ),
            about="Errors divided by words of the references, all corpora together.",
        ),
        row("How much"),
        bars("Sessions", COUNT, Query(_summed("sessions_total", _STREAMS), "{{model}}"), width=8),
        curves(
            "Audio sent",
            SECONDS,
            Query(_summed("audio_sent_seconds_total", _MODELS), "{{model}}"),
            width=8,
        ),
        curves(
            "Cost, at list prices",
            DOLLARS,
            Query(_summed("billed_cost_dollars_total", _MODELS), "{{model}}"),
            about="Estimated; 0 where no price is configured.",
            width=8,
        ),
    )


_LEFT_OUT = "Sessions that this program or its host spoiled are left out: they say nothing."


def _table() -> Any:
    success = f"{_WEEK}session_success:ratio_increase7d"
    final = f'{{{_MODELS},transcript="final"}}'
    return sheet(
        "Models",
        ("model",),
        Query(_best(f"{_FINAL}:p50_increase7d"), "Final p50", SECONDS),
        Query(_best(f"{_FINAL}:p95_increase7d"), "Final p95", SECONDS),
        Query(_best(f"{_PARTIAL}:p50_increase7d"), "First partial p50", SECONDS),
        Query(_best(f"{_PARTIAL}:p95_increase7d"), "First partial p95", SECONDS),
        Query(_best(success), "Answered", SHARE),
        Query(f"max by (model) ({_WORDS}{final})", "WER 50/25/25", SHARE),
        Query(f"round({_week_of('sessions_total')})", "Sessions", COUNT),
        about="WER 50/25/25 is there for models that all three corpora of AA-WER are measured "
        f"with. {_LEFT_OUT}",
    )


def _week_of(metric: str) -> str:
    return f"sum by ({_BY}) ({increase(metric, _MODELS, '7d')})"


def _best(name: str) -> str:
    return f"max by ({_BY}) ({name}{_SELECTED})"


def _summed(metric: str, which: str) -> str:
    return f"sum by (model) ({increase(metric, which)})"


def _success() -> str:
    failed = _summed("session_failures_total", f'{_MODELS},reason!~"{OURS}"')
    spoiled = _summed("session_failures_total", f'{_MODELS},reason=~"{OURS}"')
    counted = f"{_summed('sessions_total', _MODELS)} - {spoiled}"
    return f"1 - {share(failed, counted)}"
