"""``make soak``: the daemon against local providers while everything around it goes wrong.

Some minutes, and then proof from the journal. The clock of the host is not stepped: a time
namespace has no wall clock of its own, and setting the host's would reach everything else on it.
The measuring process alone is shown one that steps; the kernel's stamps do not follow it, which is
more than a real step does. Where something is not proven, journal and log are kept.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from daemon.config import Settings
from daemon.schedule import Every
from measure.records import SECOND
from tests.soak import proof
from tests.soak.world import DISK_MB, EVERY_S, MODELS, STEP_NS, World, world_in

QUIET_SHARE = 0.25
"""The beginning, in which nothing goes wrong and only the effect of scraping is looked at."""
WINDOW_S = 10.0
SCRAPES = 500
MOST_RSS_MB = 120.0
PAUSE_S = 9.0
"""Between two wrongs: all sessions that one reaches are over."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="make soak")
    parser.add_argument("minutes", nargs="?", type=float, default=30.0)
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside is not None:
        return _soak(args.minutes, args.inside)
    if os.geteuid() != 0:
        sys.stderr.write("soak: run it as root: it mounts a small disk to fill it\n")
        return 2
    with tempfile.TemporaryDirectory(prefix="speechbench-soak-") as folder:
        command = [sys.executable, "-m", "tests.soak", str(args.minutes), "--inside", folder]
        return subprocess.call(["unshare", "--mount", "--propagation", "private", *command])


def _soak(minutes: float, folder: Path) -> int:
    disk = folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "tmpfs", disk], check=True)
    with world_in(folder, disk, MODELS) as world:
        world.until(lambda: world.scrape(counted=False))
        said = _say(f"{minutes:g} minutes")
        ends_s = time.monotonic() + minutes * 60
        samples: list[proof.Sample] = []
        with_s, without_s = _quiet(world, minutes * 60 * QUIET_SHARE, samples)
        _wrongs(world, ends_s, minutes * 60 * (1 - QUIET_SHARE), samples, said)
        world.daemon.send_signal(signal.SIGTERM)
        code = world.daemon.wait(60)
        return _judge(world, samples, with_s, without_s, code)


Windows = list[tuple[int, int]]


def _quiet(world: World, lasts_s: float, samples: list[proof.Sample]) -> tuple[Windows, Windows]:
    """By turns scraped once a second and not at all."""
    scraped: Windows = []
    alone: Windows = []
    ends_s = time.monotonic() + lasts_s
    while time.monotonic() < ends_s:
        for windows, scrapes in ((scraped, True), (alone, False)):
            began_ns = time.monotonic_ns()
            for _ in range(int(WINDOW_S)):
                if scrapes:
                    world.scrape()
                samples.append(_sample(world))
                time.sleep(1)
            windows.append((began_ns, time.monotonic_ns()))
    return scraped, alone


def _wrongs(
    world: World,
    ends_s: float,
    lasts_s: float,
    samples: list[proof.Sample],
    say: Callable[[str], None],
) -> None:
    """One wrong after the other, with scrapes between them."""
    wrongs = [
        world.provider_flaps,
        world.exporter_is_killed,
        world.stands_still,
        world.disk_is_full,
        world.reloads,
        world.disk_has_nothing_left,
        *([] if world.wall is None else [world.clock_steps]),
    ]
    if world.wall is None:
        say("there is no C compiler (cc): the wall clock is not stepped")
    left = max(0, SCRAPES - world.scrapes)
    every_s = lasts_s / left if left else 1.0
    nth = 0
    while time.monotonic() < ends_s - 2 * PAUSE_S:
        do = wrongs[nth % len(wrongs)]
        nth += 1
        say(do.__name__)
        do()
        resumes_s = time.monotonic() + PAUSE_S
        while time.monotonic() < resumes_s:
            assert world.daemon.poll() is None, "the daemon has ended"
            world.scrape()
            samples.append(_sample(world))
            time.sleep(min(1.0, every_s * 0.6))
    while world.scrapes < SCRAPES:
        world.scrape()
        time.sleep(0.05)


def _sample(world: World) -> proof.Sample:
    exporter = world.exporter_pid()
    return proof.Sample(
        time.monotonic_ns(),
        _rss_mb(world.daemon.pid),
        _fds(world.daemon.pid),
        0.0 if exporter is None else _rss_mb(exporter),
        0 if exporter is None else _fds(exporter),
    )


def _rss_mb(pid: int) -> float:
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return next(
        (int(line.split()[1]) / 1024 for line in text.splitlines() if line.startswith("VmRSS:")),
        0.0,
    )


def _fds(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except (FileNotFoundError, ProcessLookupError):
        return 0


def _judge(
    world: World, samples: list[proof.Sample], scraped: Windows, alone: Windows, code: int
) -> int:
    records, lines = world.records(), world.lines
    wrongs = world.wrongs
    kills = sum(wrong.what == "exporter_is_killed" for wrong in wrongs)
    fills = sum(wrong.what == "disk_has_nothing_left" for wrong in wrongs)
    every, seed = Every(EVERY_S * SECOND), Settings().daemon.seed
    unproven = 0
    proofs: dict[str, Callable[[], str]] = {
        "acknowledged": lambda: proof.nothing_acknowledged_is_lost(records, lines),
        "losses": lambda: proof.losses_are_those_of_the_wrongs(records, lines, kills, fills),
        "gaps": lambda: proof.the_holed_are_marked(records, wrongs),
        "standstills": lambda: proof.standstills_are_marked(records, wrongs),
        "clock": lambda: proof.clock_steps_change_no_value(records, wrongs, STEP_NS),
        "level": lambda: proof.memory_and_files_are_level(samples),
        "schedule": lambda: proof.runs_follow_the_schedule(records, wrongs, every, seed),
        "end": lambda: proof.it_ended_in_order(records, code, world.plain),
    }
    for name, prove in proofs.items():
        try:
            _line(name, prove())
        except proof.Unproven as error:
            unproven += 1
            _line(name, f"NOT PROVEN: {error}")
    with_n, with_us = proof.lateness_us(records, scraped)
    without_n, without_us = proof.lateness_us(records, alone)
    _line(
        "scraping",
        f"lateness p99 {with_us:.0f} us of {with_n} frames with, "
        f"{without_us:.0f} us of {without_n} without",
    )
    _line("start", f"{proof.start_ms(lines, world.started_ns):.0f} ms to ready")
    most_mb = max(sample.rss_mb for sample in samples)
    _line("memory", f"{most_mb:.0f} MB at most, {proof.most_at_once(records)} streams at most")
    _line("scrapes", f"{world.scrapes}, {world.unanswered} of them while no exporter was there")
    _line("wrongs", f"{len(wrongs)}: {sorted({wrong.what for wrong in wrongs})}")
    if most_mb > MOST_RSS_MB:
        unproven += 1
    if unproven:
        _line("kept", f"journal, log and what was done are in {_kept(world)}")
    return 1 if unproven else 0


def _kept(world: World) -> Path:
    """What there is to look into, where it outlives the small disk."""
    folder = Path(tempfile.mkdtemp(prefix="speechbench-soak-kept-"))
    shutil.copytree(world.journal, folder / "journal")
    for path in (world.folder / "log", world.config, *world.folder.glob("fake-*")):
        shutil.copy2(path, folder)
    done = [f"{wrong.from_ns} {wrong.to_ns} {wrong.what}\n" for wrong in world.wrongs]
    (folder / "wrongs").write_text("".join(done))
    return folder


def _line(name: str, text: str) -> None:
    sys.stdout.write(f"{name:>14}  {text}\n")
    sys.stdout.flush()


def _say(first: str) -> Callable[[str], None]:
    began_s = time.monotonic()

    def say(what: str) -> None:
        sys.stderr.write(f"soak {time.monotonic() - began_s:6.0f} s  {what}\n")

    say(first)
    return say


if __name__ == "__main__":
    sys.exit(main())
