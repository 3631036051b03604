"""Journals as each earlier version wrote them: they are read, and read the same, for ever.

A file is added with tests/exporters/store_journal.py when a version writes what none before it has;
none is ever changed or taken away.
"""

import hashlib
from pathlib import Path

import pytest

from exporters.export import TABLES
from exporters.segment import SCHEMA, read, read_journal
from measure.replay import Session, measurement_of, sessions_of

STORED = Path(__file__).with_name("journals")
SHA256 = {"v1": "e775d39af303683f10b878bf361c27c9a4885605d5c040b63a35a2f392b29a38"}
VERDICTS = {
    "v1": {
        "answered": "forced_final",
        "natural": "natural_final",
        "refused": "provider_error",
        "cut-short": None,
    }
}
VERSIONS = sorted(SHA256)


def sessions(version: str) -> list[Session]:
    return list(sessions_of(read_journal(STORED / f"{version}.sbj")))


def test_there_is_one_for_each_schema_there_has_been() -> None:
    found = {path.stem for path in STORED.glob("*.sbj")}
    assert found == set(SHA256)
    assert {f"v{number}" for number in range(1, SCHEMA + 1)} <= found


@pytest.mark.parametrize("version", VERSIONS)
def test_a_stored_journal_is_what_was_stored(version: str) -> None:
    content = (STORED / f"{version}.sbj").read_bytes()
    assert hashlib.sha256(content).hexdigest() == SHA256[version]
    assert len(content) < 20_000


@pytest.mark.parametrize("version", VERSIONS)
def test_every_record_of_it_is_read(version: str) -> None:
    end = read(STORED / f"{version}.sbj").scan()
    assert (end.damage, end.records) == (None, {"v1": 70}[version])


@pytest.mark.parametrize("version", VERSIONS)
def test_its_sessions_read_the_same_as_on_the_day(version: str) -> None:
    for session in sessions(version):
        measurement = measurement_of(session)
        recorded = session.finished
        if recorded is None:
            continue
        reading = measurement.reading
        again = {
            "verdict": reading.verdict.value,
            "time_to_final_ns": reading.time_to_final_ns,
            "time_to_first_partial_ns": reading.time_to_first_partial_ns,
            "transcript": reading.transcript,
            "frames": measurement.circumstances.frames,
            "late_max_ns": measurement.circumstances.late_max_ns,
            "partials": measurement.circumstances.partials,
            "connect_ns": measurement.circumstances.connect_ns,
        }
        assert again == {name: recorded[name] for name in again}


@pytest.mark.parametrize("version", VERSIONS)
def test_its_tables_are_whole(version: str) -> None:
    found = read_journal(STORED / f"{version}.sbj")
    rows = {row["session_id"]: row for row in TABLES["sessions"].rows(found)}
    assert {name: row["verdict"] for name, row in rows.items()} == VERDICTS[version]
    assert [name for name, row in rows.items() if not row["complete"]] == ["cut-short"]
    assert all(row["version"] == "0.1.0" and row["host"] == "host-1" for row in rows.values())
    events = list(TABLES["events"].rows(found))
    assert [row["problem"] for row in events if row["problem"]] == []
    for name, row in rows.items():
        kinds = [event["kind"] for event in events if event["session_id"] == name]
        assert len(kinds) > 1
        if row["frames"] is not None:
            assert kinds.count("frame_sent") == row["frames"]
