"""Looks over the JSON document of ``make demo``: ``python -m tests.demo_document FILE``.

Says in a line each what is not as a first measurement should be, and ends with 1 then.
"""

import json
import sys
from pathlib import Path
from typing import Any

CLIPS = 5
"""At least so many are measured."""
WORST_WER = 0.25


def complaints(document: dict[str, Any]) -> list[str]:
    """What is wrong with a run of the built-in configuration."""
    found = []
    measurements = document["measurements"]
    if len(measurements) < CLIPS:
        found.append(f"{len(measurements)} measurements, at least {CLIPS} were expected")
    for one in measurements:
        if not one["valid"]:
            found.append(f"{one['clip']}: {one['verdict']}")
        elif not one["transcript"] or one["time_to_final_ns"] is None:
            found.append(f"{one['clip']}: no text or no time")
    found += [
        f"{summary['model']}: word error rate {summary['wer']}"
        for summary in document["summaries"]
        if summary["wer"] is None or summary["wer"] > WORST_WER
    ]
    if not document["journal_complete"] or not Path(document["journal"]).is_file():
        found.append(f"the journal is not complete: {document['journal']}")
    return found


if __name__ == "__main__":
    wrong = complaints(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    sys.exit("\n".join(wrong) if wrong else 0)
