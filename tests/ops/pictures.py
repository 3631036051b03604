"""Makes the pictures of the dashboards: ``python -m tests.ops.pictures docs/pictures``.

The world of the tests runs for a while; then its Prometheus is asked what the dashboards ask.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from exporters.grafana.__main__ import FOLDER
from exporters.grafana.page import WIDTH, looking_back, page
from tests.ops.png import packed
from tests.ops.world import FIRST, LOCAL, World, measured, world_in

CHROMIUM = (
    *("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--hide-scrollbars", "--force-device-scale-factor=1"),
    # Without these a busy host's picture lacks the parts that were not drawn in time.
    *("--run-all-compositor-stages-before-draw", "--virtual-time-budget=5000"),
)
CHOSEN = {
    "overview": {},
    "model": {"model": LOCAL, "provider": "local"},
    "harness": {"instance": FIRST},
}
MARGIN, HEAD, ROW = 24, 84, 30


def tell(line: str) -> None:
    """To whoever waits."""
    sys.stderr.write(f"{line}\n")


def pages(world: World, out: Path, window: str) -> None:
    """Ask, and write a page of each dashboard."""
    for name, chosen in CHOSEN.items():
        dashboard = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
        length_s = time.time() - world.begun_s
        choices = {"model": "|".join(world.models), **chosen, "window": window}
        looking = looking_back(world.prometheus, length_s, choices)
        (out / f"{name}.html").write_text(page(dashboard, looking), encoding="utf-8")


def shoot(name: str, folder: Path, out: Path) -> None:
    """Let a browser draw a page, in its whole height."""
    dashboard = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    places = [panel["gridPos"] for panel in dashboard["panels"]]
    height = HEAD + ROW * max(place.get("y", 0) + place["h"] for place in places)
    with tempfile.TemporaryDirectory() as profile:
        command = (
            *CHROMIUM,
            f"--user-data-dir={profile}",
            f"--window-size={WIDTH + MARGIN},{height}",
            f"--screenshot={out / f'{name}.png'}",
            (folder / f"{name}.html").resolve().as_uri(),
        )
        subprocess.run(command, check=True, capture_output=True, timeout=120)
    picture = out / f"{name}.png"
    picture.write_bytes(packed(picture.read_bytes()))


def main() -> None:
    """Let the world run, and take the pictures."""
    parser = argparse.ArgumentParser(prog="python -m tests.ops.pictures")
    parser.add_argument("out", type=Path)
    parser.add_argument("--minutes", type=float, default=12.0)
    parser.add_argument("--window", default="2m")
    parser.add_argument("--pages", type=Path, help="keep the pages there")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    html = args.pages or folder
    for made in (args.out, html):
        made.mkdir(parents=True, exist_ok=True)
    tell("testing this host")
    command = (sys.executable, "-m", "daemon.cli", "selftest", "--journal", str(folder / "journal"))
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
    with world_in(folder, tell) as world:
        measured(world, tell)
        while (left_s := world.begun_s + 60 * args.minutes - time.time()) > 0:
            tell(f"{left_s / 60:.1f} minutes more")
            time.sleep(min(left_s, 60))
        pages(world, html, args.window)
    for name in CHOSEN:
        shoot(name, html, args.out)
        tell(f"{args.out / f'{name}.png'}: {(args.out / f'{name}.png').stat().st_size} bytes")
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
