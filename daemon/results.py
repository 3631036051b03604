"""Measurements as people and programs read them: rows, summaries, and one JSON document."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from daemon.scores import final_errors, first_partial_errors
from exporters.table import Row, Spread, Summary
from measure.measurement import Measurement
from measure.records import MS, OUR_FAULT, Verdict
from scoring.signature import UNKNOWN_ERROR, error_of, split_error
from scoring.weigh import Scored, quantile, time_weighted_rate
from scoring.words import WordErrors

SCHEMA = 1
"""Of the JSON document; it rises when a field changes its meaning or goes away."""


def published_ms(measurement: Measurement, duration_ns: int | None) -> float | None:
    """A duration as it is published: only of a valid reading, and 0 for what was there before."""
    if duration_ns is None or not measurement.reading.valid:
        return None
    return max(0.0, duration_ns / MS)


def rows_of(measurements: Sequence[Measurement]) -> list[Row]:
    """Each measurement as a line of the table; several turns of one stream by their numbers."""
    several = {one.session_id for one in measurements if one.turn > 1}
    return [row_of(one, numbered=one.session_id in several) for one in measurements]


def row_of(measurement: Measurement, *, numbered: bool = False) -> Row:
    """One measurement as a line of the table."""
    reading = measurement.reading
    late_ns = measurement.circumstances.late_max_ns
    return Row(
        clip=f"{measurement.clip}, turn {measurement.turn}" if numbered else measurement.clip,
        model=measurement.model,
        audio_s=measurement.audio_ms / 1000,
        verdict=reading.verdict.value,
        valid=reading.valid,
        time_to_final_ms=published_ms(measurement, reading.time_to_final_ns),
        time_to_first_partial_ms=published_ms(measurement, reading.time_to_first_partial_ns),
        wer=_rate(final_errors(measurement)),
        first_partial_wer=_rate(first_partial_errors(measurement)),
        late_max_ms=None if late_ns is None else late_ns / MS,
        note=_note(measurement),
    )


def summaries_of(measurements: Sequence[Measurement]) -> list[Summary]:
    """One for each model, and for each way of measuring it, in the order in which they came.

    A new self-test of the host is no other way of measuring.
    """
    groups: dict[tuple[str, str], list[Measurement]] = {}
    for measurement in measurements:
        way, _ = split_error(measurement.signature)
        groups.setdefault((measurement.model, way), []).append(measurement)
    return [_summary(group) for group in groups.values()]


def document_of(
    measurements: Sequence[Measurement], *, journal: str, complete: bool, skipped: Sequence[str]
) -> dict[str, Any]:
    """The whole run as plain values; durations are in nanoseconds and signed, as measured."""
    return {
        "schema": SCHEMA,
        "journal": journal,
        "journal_complete": complete,
        "skipped": list(skipped),
        "measurements": [_plain(measurement) for measurement in measurements],
        "summaries": [_plain_summary(summary) for summary in summaries_of(measurements)],
    }


def worst_error(errors: Iterable[str]) -> str:
    """Of the harness's errors that signatures say, the one to be shown; empty where none does."""
    said = [error for error in errors if error]
    return max(said, key=_badness, default="")


def _badness(error: str) -> float:
    known = error_of(error)
    return float("inf") if known is None else known.tail_ms


def _in_words(error: str) -> str:
    """The harness's error for people."""
    known = error_of(error)
    if known is None:
        unknown = f"{UNKNOWN_ERROR}: speechbench selftest measures it"
        return unknown if error == UNKNOWN_ERROR else error
    tail = "p99" if known.is_p99 else "max"
    streams = "1 stream" if known.streams == 1 else f"{known.streams} streams"
    return (
        f"p50 {known.p50_ms:.2f} ms, {tail} {known.tail_ms:.2f} ms with {streams} at once: "
        f"this host is {known.verdict}"
    )


def _summary(group: Sequence[Measurement]) -> Summary:
    valid = [one for one in group if one.reading.valid]
    voided = [one for one in group if one.reading.verdict in OUR_FAULT]
    finals = [published_ms(one, one.reading.time_to_final_ns) for one in valid]
    partials = [published_ms(one, one.reading.time_to_first_partial_ns) for one in valid]
    late_ms = [one.circumstances.late_p99_ns for one in group]
    way, _ = split_error(group[0].signature)
    error = worst_error(split_error(one.signature)[1] for one in group)
    return Summary(
        model=group[0].model,
        measurements=len(group),
        answered=len(valid),
        failed=len(group) - len(valid) - len(voided),
        voided=len(voided),
        already_final=sum(one.reading.verdict is Verdict.ALREADY_FINAL for one in valid),
        time_to_final_ms=_spread(finals),
        time_to_first_partial_ms=_spread(partials),
        wer=_weighted([(one, final_errors(one)) for one in valid]),
        first_partial_wer=_weighted([(one, first_partial_errors(one)) for one in valid]),
        late_p99_ms=max((late / MS for late in late_ms if late is not None), default=None),
        signature=f"{way} | error {error}" if error else way,
        harness_error=_in_words(error),
    )


def _spread(values: Sequence[float | None]) -> Spread:
    there = [value for value in values if value is not None]
    return Spread(quantile(there, 0.50), quantile(there, 0.95))


def _weighted(scored: Sequence[tuple[Measurement, WordErrors | None]]) -> float | None:
    return time_weighted_rate(
        [Scored(errors, one.audio_ms / 1000) for one, errors in scored if errors is not None]
    )


def _rate(errors: WordErrors | None) -> float | None:
    return None if errors is None else errors.rate


def _note(measurement: Measurement) -> str:
    reading = measurement.reading
    said = [str(reading.fault)] if reading.fault else []
    said += [remark.value for remark in reading.remarks]
    return "; ".join(said)


def _plain(measurement: Measurement) -> dict[str, Any]:
    reading, seen = measurement.reading, measurement.circumstances
    fault = reading.fault
    return {
        "session_id": measurement.session_id,
        "run_id": measurement.run_id,
        "model": measurement.model,
        "corpus": measurement.corpus,
        "clip": measurement.clip,
        "turn": measurement.turn,
        "audio_ms": measurement.audio_ms,
        "flow": measurement.flow.value,
        "verdict": reading.verdict.value,
        "selection": reading.selection.value if reading.selection else None,
        "valid": reading.valid,
        "time_to_final_ns": reading.time_to_final_ns,
        "time_to_final_published_ms": published_ms(measurement, reading.time_to_final_ns),
        "time_to_first_partial_ns": reading.time_to_first_partial_ns,
        "confirmed_ns": _since_zero(measurement, reading.confirmed_ns),
        "transcript": reading.transcript,
        "first_partial": reading.first_partial.text if reading.first_partial else None,
        "reference": measurement.reference,
        "errors": _counts(final_errors(measurement)),
        "first_partial_errors": _counts(first_partial_errors(measurement)),
        "remarks": [remark.value for remark in reading.remarks],
        "fault": None
        if fault is None
        else {"whose": fault.whose.value, "kind": fault.kind.value, "detail": fault.detail},
        "frames": seen.frames,
        "frames_late": seen.frames_late,
        "late_p50_ns": seen.late_p50_ns,
        "late_p99_ns": seen.late_p99_ns,
        "late_max_ns": seen.late_max_ns,
        "end_error_ns": seen.end_error_ns,
        "force_delay_ns": seen.force_delay_ns,
        "partials": seen.partials,
        "finals": seen.finals,
        "connect_ns": seen.connect_ns,
        "rtt_ns": seen.rtt_ns,
        "signature": measurement.signature,
    }


def _plain_summary(summary: Summary) -> dict[str, Any]:
    return {
        "model": summary.model,
        "measurements": summary.measurements,
        "answered": summary.answered,
        "failed": summary.failed,
        "voided": summary.voided,
        "already_final": summary.already_final,
        "success_rate": summary.success_rate,
        "time_to_final_ms": {
            "p50": summary.time_to_final_ms.p50,
            "p95": summary.time_to_final_ms.p95,
        },
        "time_to_first_partial_ms": {
            "p50": summary.time_to_first_partial_ms.p50,
            "p95": summary.time_to_first_partial_ms.p95,
        },
        "wer": summary.wer,
        "first_partial_wer": summary.first_partial_wer,
        "late_p99_ms": summary.late_p99_ms,
        "harness_error": _plain_error(summary.signature),
        "signature": summary.signature,
    }


def _plain_error(signature: str) -> dict[str, Any] | None:
    """The harness's own error of the time to final; None where it is not known."""
    known = error_of(split_error(signature)[1])
    return None if known is None else asdict(known)


def _since_zero(measurement: Measurement, at_ns: int | None) -> int | None:
    zero_ns = measurement.reading.zero_ns
    return None if at_ns is None or zero_ns is None else at_ns - zero_ns


def _counts(errors: WordErrors | None) -> dict[str, Any] | None:
    if errors is None:
        return None
    return {
        "reference_words": errors.reference_words,
        "substitutions": errors.substitutions,
        "insertions": errors.insertions,
        "deletions": errors.deletions,
        "wer": errors.rate,
    }
