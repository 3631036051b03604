"""The exporter process as this program starts it: the exporters, and what they need from elsewhere.

``python -m daemon.exporter FD FD``; not meant for hands.
"""

import sys

from daemon.broken_off import broken_off
from daemon.scores import with_scores
from exporters.__main__ import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], enrich=with_scores, conclude=broken_off))
