"""The exporter process as this program starts it: the exporters, and what they need from elsewhere.

``python -m daemon.exporter FD``; not meant for hands.
"""

import sys

from daemon.scores import with_scores
from exporters.__main__ import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], enrich=with_scores))
