"""``python -m tests.systemd.needed`` says what is missing to boot a container here."""

import sys

from tests.systemd.box import is_possible

if __name__ == "__main__":
    why = is_possible()
    if why is not None:
        sys.exit(f"make test-systemd: {why}")
