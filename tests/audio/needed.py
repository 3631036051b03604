"""``python -m tests.audio.needed`` says which packages are missing, and how to get them."""

import sys

from tests.audio.card import missing

if __name__ == "__main__":
    packages = missing()
    if packages:
        sys.exit(
            "make test-audio needs more: "
            f"apt-get install --no-install-recommends {' '.join(packages)}"
        )
