"""What is still recorded of a session whose process died: it has failed, and we are to blame.

The exporter process does it, from the records that it has of the session, with the same stopwatch
that would have been read in the process that died: a replay of the journal shows the same.
"""

from collections.abc import Sequence
from dataclasses import replace

from measure.events import Failed
from measure.faults import Fault, FaultKind, Whose
from measure.replay import Session, measurements_of
from measure.wire import Record, events_of, to_record

SAID = "the measuring process ended in the middle of the session"


def broken_off(records: Sequence[Record], now_ns: int) -> list[Record]:
    """The last records of the session that begins with the first of ``records``.

    Raises ValueError where they are no session.
    """
    from daemon.session_records import (
        finish_records,  # heavy, and hardly ever wanted in this process
    )

    started, *rest = records
    failed = Failed(now_ns, Fault(Whose.HOST, FaultKind.HARNESS, SAID))
    session = Session(started, (*events_of(rest), failed), None)
    began_ns = started["t"]
    if not isinstance(began_ns, int):
        raise ValueError("session_started: t is no moment")
    measurements = [
        replace(measurement, wall_ns=now_ns - began_ns) for measurement in measurements_of(session)
    ]
    price = started.get("price_usd_per_1000_min")
    paid = price if isinstance(price, int | float) else None
    ended = finish_records(measurements, now_ns, paid)
    return [to_record(failed, measurements[-1].session_id), *ended]
