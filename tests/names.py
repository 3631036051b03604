"""No other distribution may bring packages of our names: ours lie at the top level.

``python -m tests.names`` says so in one line and ends with 1 where one does.
"""

import sys
from importlib.metadata import packages_distributions

OURS = ("daemon", "exporters", "measure", "pacer", "providers", "scoring", "vad")


def strangers(owners: dict[str, list[str]]) -> list[str]:
    """Which other distribution brings which of our names."""
    return [
        f"{name} comes from {owner}"
        for name in OURS
        for owner in owners.get(name, [])
        if owner != "speechbench"
    ]


if __name__ == "__main__":
    found = strangers({name: list(owners) for name, owners in packages_distributions().items()})
    if found:
        sys.exit("another package takes our name: " + "; ".join(found))
