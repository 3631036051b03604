"""``python -m daemon.local``: the server alone, as a run starts it."""

import argparse
import sys

from daemon.commands import local_server
from daemon.errors import UserError


def main() -> int:
    """What ``speechbench local-server`` does, without the rest of the program."""
    parser = argparse.ArgumentParser(prog="local-server", description=local_server.HELP)
    local_server.arguments(parser)
    try:
        return local_server.run(parser.parse_args())
    except UserError as error:
        sys.stderr.write(f"local-server: {error}\n")
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
