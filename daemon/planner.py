"""Reading a configuration again in a process of its own: ``python -m daemon.planner FD``.

    measuring process ── arguments ──> planner: reads, decodes, surveys ── plan in FD ──> thread

To read and survey clips takes memory, which a measuring process with locked pages would keep for
ever, and the interpreter, which it needs for its frames. Keys cross in memory alone.
"""

import argparse
import os
import pickle
import subprocess
import sys

import trio

from daemon.errors import UserError
from daemon.plan import Plan
from exporters.process import child_environment


async def planned_apart(args: argparse.Namespace) -> Plan:
    """What the configuration asks for now. Raises UserError."""
    fd = os.memfd_create("plan", os.MFD_CLOEXEC)
    try:
        ended = await trio.run_process(
            [sys.executable, "-P", "-m", "daemon.planner", str(fd)],
            stdin=pickle.dumps(args),
            capture_stderr=True,
            stdout=subprocess.DEVNULL,
            check=False,
            pass_fds=(fd,),
            env={**os.environ, **child_environment(os.environ)},
            start_new_session=True,
            deliver_cancel=_kill,
        )
        if ended.returncode != 0:
            said = ended.stderr.decode("utf-8", "replace").strip().splitlines()
            last = said[-1] if said else f"exit code {ended.returncode}"
            raise UserError(f"the configuration could not be read; please report this: {last}")
        return await trio.to_thread.run_sync(_plan_in, os.dup(fd), abandon_on_cancel=True)
    finally:
        os.close(fd)


async def _kill(process: trio.Process) -> None:
    process.kill()


def _plan_in(fd: int) -> Plan:
    """The plan in a file, piece by piece; it is closed. Raises UserError."""
    with os.fdopen(fd, "rb") as file:
        file.seek(0)
        answer = pickle.load(file)
    if isinstance(answer, UserError):
        raise answer
    assert isinstance(answer, Plan), "the planner writes nothing else"
    return answer


def main(arguments: list[str]) -> int:
    """Plan, and write what came of it; gives the exit code."""
    from daemon.lifetime_plan import plan_for

    if len(arguments) != 1 or not arguments[0].isdigit():
        sys.stderr.write("planner: this process is started by speechbench, not by hand\n")
        return 2
    args = pickle.load(sys.stdin.buffer)
    answer: Plan | UserError
    try:
        answer = plan_for(args)
    except UserError as error:
        answer = UserError(str(error), exit_code=error.exit_code)  # without what caused it
    with os.fdopen(int(arguments[0]), "wb") as file:
        pickle.dump(answer, file)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
