"""Word errors of measurements, counted in the exporter process for the record, and for tables.

The same texts give the same counts in both places; nothing is scored while a clip is being paced.
"""

from collections.abc import Mapping
from dataclasses import asdict

from measure.measurement import Measurement
from measure.wire import Record
from scoring.normalize import NORMALIZERS
from scoring.words import WordErrors, score

NORMALIZER = NORMALIZERS["speechbench"]


def final_errors(measurement: Measurement) -> WordErrors | None:
    """Of all that counts as the final text; None without a reference or an answer."""
    if measurement.reference is None or not measurement.reading.valid:
        return None
    return score(measurement.reference, measurement.reading.transcript, NORMALIZER)


def first_partial_errors(measurement: Measurement) -> WordErrors | None:
    """Of the first partial after the end of speech; None where there was none."""
    partial = measurement.reading.first_partial
    if measurement.reference is None or partial is None or not measurement.reading.valid:
        return None
    return score(measurement.reference, partial.text, NORMALIZER)


def with_scores(record: Record) -> Record:
    """A ``session_finished`` record with its word errors; any other record as it is."""
    if record.get("k") not in ("turn_finished", "session_finished"):
        return record
    reference = record.get("reference") if record.get("valid") else None
    return {
        **record,
        "score": _counts(reference, record.get("transcript")),
        "first_partial_score": _counts(reference, record.get("first_partial_text")),
    }


def _counts(reference: object, said: object) -> Mapping[str, int] | None:
    if not isinstance(reference, str) or not isinstance(said, str):
        return None
    return asdict(score(reference, said, NORMALIZER))
