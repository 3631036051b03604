"""``speechbench fake`` without a script: ``python -m daemon.fakes deepgram --port 9000``."""

import sys

from daemon.cli import main

if __name__ == "__main__":
    sys.exit(main(["fake", "--provider", *sys.argv[1:]]))
