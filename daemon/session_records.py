"""The records with which a session begins and ends: what was asked for, and what was read."""

from collections.abc import Sequence
from dataclasses import asdict

from daemon.budget import cost_usd
from daemon.order import Order
from measure.faults import Fault
from measure.measurement import Measurement
from measure.records import AudioClip
from measure.wire import Record


def started_record(order: Order, started_ns: int, started_wall_ns: int) -> Record:
    """The ``session_started`` record: what is measured, and under which rule."""
    clip = order.clip
    return {
        "k": "session_started",
        "t": started_ns,
        "s": order.session_id,
        "run_id": order.run_id,
        "provider": order.provider,
        "model": order.model,
        "dataset": clip.corpus,
        "clip": clip.name,
        "clip_sha256": clip.sha256,
        "audio_ms": clip.audio_ms,
        "rate_hz": clip.rate_hz,
        "flow": order.rule.flow.value,
        "reference": clip.reference,
        "rule": {name: _plain(value) for name, value in asdict(order.rule).items()},
        "wall_unix_ns": started_wall_ns,
        "signature": order.signature,
        "price_usd_per_1000_min": order.price_usd_per_1000_min,
        **_part_fields(clip),
        **({} if order.call is None else {"call_reference": order.call.reference}),
        **({} if order.live is None else {"live": True, "device": order.live.device}),
    }


def _part_fields(clip: AudioClip) -> Record:
    """Which part of which call it is; nothing where it is a recording of its own."""
    if clip.reference is not None:
        return {}
    from scoring.rejoin import part_name  # brings the alignment of words, for calls in parts alone

    named = part_name(clip.name)
    if named is None:
        return {}
    return {"call": named.call, "part": named.index + 1, "parts": named.parts}


def finish_records(
    measurements: Sequence[Measurement], now_ns: int, price_usd_per_1000_min: float | None
) -> list[Record]:
    """The end of one session: a record for each turn, and the last has the cost of them all."""
    *earlier, last = [finish_record(one, now_ns) for one in measurements]
    sent_s = max(one.circumstances.sent_ms for one in measurements) / 1000
    price = price_usd_per_1000_min
    cost = None if price is None else cost_usd(sent_s, price)
    return [*(one | {"k": "turn_finished"} for one in earlier), last | {"cost_usd": cost}]


def finish_record(measurement: Measurement, now_ns: int) -> Record:
    """The ``session_finished`` record: what was read, and how things stood."""
    reading = measurement.reading
    return {
        "k": "session_finished",
        "t": now_ns,
        "s": measurement.session_id,
        "run_id": measurement.run_id,
        "provider": measurement.provider,
        "model": measurement.model,
        "dataset": measurement.corpus,
        "clip": measurement.clip,
        "audio_ms": measurement.audio_ms,
        "wall_ms": measurement.wall_ns / 1e6,
        "flow": measurement.flow.value,
        "turn": measurement.turn,
        "verdict": reading.verdict.value,
        "selection": reading.selection.value if reading.selection else None,
        "valid": reading.valid,
        "zero_ns": reading.zero_ns,
        "time_to_final_ns": reading.time_to_final_ns,
        "time_to_first_partial_ns": reading.time_to_first_partial_ns,
        "confirmed_ns": reading.confirmed_ns,
        "transcript": reading.transcript,
        "first_partial_text": reading.first_partial.text if reading.first_partial else None,
        "remarks": [remark.value for remark in reading.remarks],
        "fault": _fault_record(reading.fault),
        "reference": measurement.reference,
        **asdict(measurement.circumstances),
        "signature": measurement.signature,
        "wall_unix_ns": measurement.started_wall_ns,
        "cost_usd": None,
    }


def _fault_record(fault: Fault | None) -> Record | None:
    if fault is None:
        return None
    return {
        "whose": fault.whose.value,
        "kind": fault.kind.value,
        "detail": fault.detail,
        "retry_after_s": fault.retry_after_s,
    }


def _plain(value: object) -> object:
    return getattr(value, "value", value)
