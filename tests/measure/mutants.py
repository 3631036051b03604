"""Plants one small fault after another in the heart and says which of them no test notices.

``python -m tests.measure.mutants [FILE…] [--list] [--at-once N]``; without FILE every file of the
heart. What survives has to stand in ``survivors.toml`` with the reason why it changes nothing that
can be seen. What was judged before, under the same heart and the same tests, is not judged again.
Ends with 1 where a survivor does not stand there, where one that stands there is killed, or where
fewer than ``WANTED`` are killed.
"""

import argparse
import sys
import time
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.measure.judging import survivors_of
from tests.measure.planting import Key, Mutant, mutants_of
from tests.measure.remembering import ROOT, Memory

WANTED = 0.95
HEART = ROOT / "measure"
FILES = tuple(sorted(path.relative_to(HEART).as_posix() for path in HEART.rglob("*.py")))
SURVIVORS = Path(__file__).with_name("survivors.toml")


def explained(files: Sequence[str]) -> dict[Key, str]:
    """The survivors that are known in these files, and the reason of each."""
    listed = tomllib.loads(SURVIVORS.read_text(encoding="utf-8"))["survivor"]
    return {
        (one["file"], one["where"], one["change"]): one["reason"]
        for one in listed
        if one["file"] in files
    }


def report(
    mutants: Sequence[Mutant], survivors: Sequence[Mutant], reasons: dict[Key, str]
) -> tuple[list[str], bool]:
    """The summary, a line each, and whether all is as it should be."""
    alive = {mutant.key for mutant in survivors}
    lines = []
    for file in dict.fromkeys(mutant.file for mutant in mutants):
        planted = [mutant for mutant in mutants if mutant.file == file]
        killed = sum(mutant.key not in alive for mutant in planted)
        lines.append(f"{file:24} {killed:5} of {len(planted):5} killed")
    new = [f"survives, without a reason: {one}" for one in survivors if one.key not in reasons]
    gone = [f"does not survive any more: {': '.join(key)}" for key in reasons if key not in alive]
    share = 1 - len(survivors) / max(len(mutants), 1)
    lines += [*new, *gone]
    lines.append(f"{len(mutants) - len(survivors)} of {len(mutants)} killed, {100 * share:.1f} %")
    return lines, not new and not gone and share >= WANTED


def main(arguments: Iterable[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.measure.mutants")
    parser.add_argument("files", nargs="*", default=FILES, metavar="FILE", help=", ".join(FILES))
    parser.add_argument("--list", action="store_true", help="only say which mutants there are")
    parser.add_argument("--at-once", type=int, default=2, metavar="N", help="processes; 2")
    asked = parser.parse_args(list(arguments))
    unknown = [file for file in asked.files if file not in FILES]
    if unknown:
        parser.error(f"{unknown[0]}: not one of {', '.join(FILES)}")
    started_s = time.monotonic()
    mutants = [
        mutant
        for file in asked.files
        for mutant in mutants_of(file, (HEART / file).read_text(encoding="utf-8"))
    ]
    if asked.list:
        _say(*map(str, mutants))
        return 0
    _say(f"{len(mutants)} mutants")
    survivors = survivors_of(mutants, _say, asked.at_once, Memory())
    lines, right = report(mutants, survivors, explained(asked.files))
    _say(*lines, f"in {time.monotonic() - started_s:.0f} s")
    return 0 if right else 1


def _say(*lines: str) -> None:
    sys.stdout.writelines(line + "\n" for line in lines)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
