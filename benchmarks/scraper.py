"""Scrapes metrics once a second, in a process of its own, as Prometheus would.

``python -m benchmarks.scraper ADDRESS``; when its standard input ends it prints how many lines the
newest answer had, and how often it asked.
"""

import select
import sys
import time
import urllib.request

EVERY_S = 1.0


def lines(address: str) -> int:
    """Ask once: how many lines there are."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as page:
        return int(page.read().count(b"\n"))


def main(address: str) -> None:
    """Ask until standard input ends."""
    over = select.poll()
    over.register(sys.stdin, select.POLLIN)
    due_s = time.monotonic()
    count = found = 0
    while True:
        found = lines(address)
        count += 1
        due_s += EVERY_S
        if over.poll(max(0.0, due_s - time.monotonic()) * 1000):
            print(found, count)
            return


if __name__ == "__main__":
    main(sys.argv[1])
