"""Fetches metrics each second: ``python -m daemon.selftest.scraper HOST:PORT``.

Says ``ready``, then for each time how long it took in milliseconds and how many lines came. Ends
when its standard input does.
"""

import http.client
import select
import sys
import time

EVERY_S = 1.0
TIMEOUT_S = 5.0
STDIN = 0


def main(arguments: list[str]) -> int:
    """Fetch until standard input ends."""
    _say("ready")
    due_s = time.monotonic() + EVERY_S / 2
    while not select.select([STDIN], [], [], max(0.0, due_s - time.monotonic()))[0]:
        due_s += EVERY_S
        started_s = time.monotonic()
        try:
            lines = _fetched(arguments[0])
        except (OSError, http.client.HTTPException):
            continue  # what did not come is not counted
        _say(f"{(time.monotonic() - started_s) * 1000:.3f} {lines}")
    return 0


def _fetched(address: str) -> int:
    """How many lines there are."""
    connection = http.client.HTTPConnection(address, timeout=TIMEOUT_S)
    try:
        connection.request("GET", "/metrics")
        return connection.getresponse().read().count(b"\n")
    finally:
        connection.close()


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
