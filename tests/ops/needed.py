"""``python -m tests.ops.needed`` says which packages are missing, and how to get them."""

import sys

from tests.ops.world import missing

if __name__ == "__main__":
    packages = missing()
    if packages:
        sys.exit(f"make test-ops needs more: apt-get install {' '.join(packages)}")
