"""The second dashboard: one model in depth."""

from typing import Any

from exporters.grafana.parts import (
    COUNT,
    SECONDS,
    SHARE,
    Query,
    bars,
    board,
    chosen,
    curves,
    distribution,
    figure,
    filled,
    increase,
    or_zero,
    quantile,
    row,
    share,
    window,
)

_MODEL = 'model="$model"'
_STREAM = f'{_MODEL},dataset=~"$dataset",flow=~"$flow"'
_PROVIDER = 'provider=~"$provider"'
_QUANTILES = ((0.5, "p50"), (0.9, "p90"), (0.95, "p95"))
_FINAL, _PARTIAL = "time_to_final_seconds", "time_to_first_partial_seconds"
_RANGE = "$__range"


def model() -> Any:
    """The dashboard."""
    made = board(
        "Speechbench: one model",
        "speechbench-model",
        "One model in depth: how its answers are distributed, why sessions failed, and how much "
        "of the waiting is the network's.",
        (
            chosen("model", "sessions_total", several=False),
            chosen("provider", "sessions_total", _MODEL, several=False),
            chosen("dataset", "sessions_total", _MODEL),
            chosen("flow", "sessions_total", _MODEL),
            window(),
        ),
    )
    return filled(
        made,
        *_figures(),
        row("How long answers take"),
        *_latencies("Time to final", _FINAL),
        *_latencies("Time to first partial", _PARTIAL),
        row("How sessions end"),
        *_endings(),
        row("How much of it is the network"),
        *_network(),
        row("Words"),
        *_words(),
    )


def _figures() -> tuple[Any, ...]:
    def over_range(number: float, metric: str) -> Query:
        return Query(quantile(number, metric, "", _STREAM, _RANGE))

    return (
        figure("Final, median", SECONDS, over_range(0.5, _FINAL)),
        figure("Final, p95", SECONDS, over_range(0.95, _FINAL)),
        figure("First partial, median", SECONDS, over_range(0.5, _PARTIAL)),
        figure(
            "Sessions", COUNT, Query(f"round({_summed('sessions_total', '', _STREAM, _RANGE)})")
        ),
        figure(
            "Failed, whoever's fault",
            SHARE,
            Query(
                share(
                    _summed("session_failures_total", "", f'{_MODEL},flow=~"$flow"', _RANGE),
                    _summed("sessions_total", "", f'{_MODEL},flow=~"$flow"', _RANGE),
                )
            ),
            bad=0.01,
        ),
        figure("Word error rate", SHARE, Query(_word_errors("final", _RANGE))),
    )


def _latencies(title: str, metric: str) -> tuple[Any, ...]:
    return (
        curves(
            f"{title}, quantiles",
            SECONDS,
            *(Query(quantile(number, metric, "", _STREAM), name) for number, name in _QUANTILES),
            Query(
                share(
                    _summed(f"{metric}_sum", "", _STREAM),
                    _summed(f"{metric}_count", "", _STREAM),
                ),
                "mean",
            ),
        ),
        distribution(
            f"{title}, distribution",
            SECONDS,
            f"sum by (le) ({increase(f'{metric}_bucket', _STREAM)})",
            about="Sessions in each bucket; the lowest is what had arrived before it was asked.",
        ),
    )


def _endings() -> tuple[Any, ...]:
    flow = f'{_MODEL},flow=~"$flow"'
    failed = increase("session_failures_total", flow)
    return (
        bars(
            "Failures by reason",
            COUNT,
            Query(or_zero(failed, "reason"), "{{reason}}"),
            about="harness_…, socket_stalled, clock_step, cancelled, turn_unclear and vad_never "
            "are no fault of the provider's. Where nothing failed the line is at 0.",
            width=8,
        ),
        bars(
            "What was taken as the final",
            COUNT,
            Query(
                f"sum by (selection) ({increase('final_selections_total', flow)}) > 0", _SELECTED
            ),
            width=8,
        ),
        bars(
            "Closes by code",
            COUNT,
            Query(or_zero(increase("ws_closes_total", _MODEL), "code"), "{{code}}"),
            about="By the provider, or in answer to ours. 1000 is an orderly end; none: "
            "the connection just broke off.",
            width=8,
        ),
    )


_SELECTED = "{{selection}}"


def _network() -> tuple[Any, ...]:
    trip = share(
        _summed("tcp_rtt_seconds_sum", "", _PROVIDER),
        _summed("tcp_rtt_seconds_count", "", _PROVIDER),
    )
    final = share(_summed(f"{_FINAL}_sum", "", _STREAM), _summed(f"{_FINAL}_count", "", _STREAM))
    phase = share(
        _summed("connect_duration_seconds_sum", "phase", _PROVIDER),
        _summed("connect_duration_seconds_count", "phase", _PROVIDER),
    )
    return (
        curves(
            "Network share of time to final",
            SHARE,
            Query(f"({trip}) / ({final})", "one round trip"),
            about="One mean round trip (TCP_INFO, at zero) divided by the mean time to final.",
            width=8,
        ),
        curves(
            "Round trip and time to final, means",
            SECONDS,
            Query(trip, "round trip"),
            Query(final, "time to final"),
            width=8,
        ),
        curves(
            "Opening a stream, means",
            SECONDS,
            Query(phase, "{{phase}}"),
            about="In no latency: a stream is open before audio leaves.",
            width=8,
        ),
    )


def _words() -> tuple[Any, ...]:
    errors = f'{_MODEL},dataset=~"$dataset",transcript="final"'
    words = _summed("reference_words_total", "", errors)
    operations = _summed("word_errors_total", "operation", errors)
    return (
        curves(
            "Word error rate over time",
            SHARE,
            Query(_word_errors("final", "$window"), "final"),
            Query(_word_errors("first_partial", "$window"), "first partial"),
            width=8,
        ),
        bars(
            "Errors of finals, by operation",
            SHARE,
            Query(f"({operations}) / scalar(({words}) > 0)", "{{operation}}"),
            width=8,
        ),
        bars(
            "Messages received",
            COUNT,
            Query(
                _summed("ws_messages_total", "kind", f'{_MODEL},direction="received"') + " > 0",
                "{{kind}}",
            ),
            width=8,
        ),
    )


def _word_errors(transcript: str, window: str) -> str:
    which = f'{_MODEL},dataset=~"$dataset",transcript="{transcript}"'
    errors = _summed("word_errors_total", "", which, window)
    return share(errors, _summed("reference_words_total", "", which, window))


def _summed(metric: str, by: str, which: str, window: str = "$window") -> str:
    grown = increase(metric, which, window)
    return f"sum by ({by}) ({grown})" if by else f"sum({grown})"
