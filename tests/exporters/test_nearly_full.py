"""The exporter process on a disk that is nearly full: all who ask are told, and all is kept."""

import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from daemon.gate import Gate
from exporters.segment import read_journal
from tests.exporters.records import Said, finished, journalled, started
from tests.exporters.test_process import PATIENCE_S, House

MORE_THAN_ANY_DISK = 1 << 62


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path)
    yield house
    house.clear()


def test_the_measuring_side_the_probe_and_the_metrics_hear_of_it_and_records_are_kept(
    house: House,
) -> None:
    settings = house.settings(reserve_bytes=MORE_THAN_ANY_DISK, listen=("127.0.0.1", 0))
    exporter = house.start(settings)
    assert exporter.handoff.ready is not None
    exporter.handoff.put({"k": "heartbeat", "t": 1, "ready": True, "loop_lag_ns": [], "waiting": 0})
    exporter.handoff.put(started())
    exporter.handoff.put(finished())
    exporter.handoff.flush(PATIENCE_S)
    assert exporter.handoff.report.full
    assert Gate(exporter.handoff, Said()).closed == "journal_full"
    address = f"http://{exporter.handoff.ready.address}"
    with pytest.raises(urllib.error.HTTPError, match="503") as refused:
        urllib.request.urlopen(f"{address}/-/ready", timeout=PATIENCE_S)
    assert b"the journal is full" in refused.value.read()
    refused.value.close()
    with urllib.request.urlopen(f"{address}/metrics", timeout=PATIENCE_S) as page:
        assert "speechbench_harness_healthy 0.0\n" in page.read().decode()
    assert exporter.stop(PATIENCE_S)
    assert journalled(house.journal, "session_started", "session_finished") == [
        started(),
        finished(),
    ]
    assert exporter.handoff.losses.total == 0
    low = [line for line in house.lines() if line["event"] == "journal_disk_low"]
    assert [line["level"] for line in low] == ["error"]


async def test_a_gate_before_a_real_exporter_with_room_is_open(house: House) -> None:
    exporter = house.start(house.settings(reserve_bytes=1))
    said = Said()
    with trio.fail_after(PATIENCE_S):
        await Gate(exporter.handoff, said).passed()
    assert said.events == []
    assert exporter.stop(PATIENCE_S)


def test_what_need_not_be_kept_is_removed_by_the_process_and_said(house: House) -> None:
    house.journal.mkdir()
    for name in ("1.sbj", "2.sbj"):
        (house.journal / name).write_bytes(b"x" * 3000)
    settings = house.settings(keep_bytes=4000)
    assert house.start(settings).stop(PATIENCE_S)
    assert not (house.journal / "1.sbj").exists()
    removed = [line for line in house.lines() if line["event"] == "journal_removed"]
    assert [Path(line["path"]).name for line in removed] == ["1.sbj"]
    assert [line["reason"] for line in removed] == ["size"]


def test_how_large_and_how_old_segments_become_is_as_told(house: House) -> None:
    exporter = house.start(house.settings(segment_bytes=2000, keep_age_s=3600.0))
    for i in range(100):
        exporter.handoff.put({"k": "note", "t": i, "i": i, "text": "x" * 50})
    assert exporter.stop(PATIENCE_S)
    assert len(list(house.journal.glob("*.sbj"))) > 3
    assert [record["i"] for record in journalled(house.journal, "note")] == list(range(100))
    assert read_journal(house.journal).damaged == []
