"""Writes dashboards/*.json: ``python -m exporters.grafana [FOLDER]``."""

import sys
from pathlib import Path

from exporters.grafana.harness import harness
from exporters.grafana.model import model
from exporters.grafana.overview import overview
from exporters.grafana.parts import as_json

FOLDER = Path(__file__).parent / "dashboards"
DASHBOARDS = {"overview": overview, "model": model, "harness": harness}


def pages() -> dict[str, str]:
    """The name of each file and what is in it."""
    return {f"{name}.json": as_json(made()) for name, made in DASHBOARDS.items()}


def main(folder: Path) -> None:
    """Write them all."""
    for name, page in pages().items():
        (folder / name).write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
