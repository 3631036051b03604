"""Runs the tests of the heart on one mutant after another, each in a process of its own.

Every test is first run without a mutant: which functions does it call, how long does it take? Then
a process is forked off for each mutant. Where one function was changed, its new code is put into
the modules that are loaded already and only the tests that call it are run, quickest first. Where
something else was changed, all modules are loaded again.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import resource
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import Phase, settings

from tests.measure.planting import Mutant

ROOT = Path(__file__).parents[2]
HEART = str(ROOT / "measure") + os.sep
TESTS = "tests/measure"
PATIENCE = 10
"""A mutant may make a test run for ever: it gets so many times what the test took without it,"""
PATIENCE_S = 2
"""and so much more; of the processor, for the host may be busy;"""
RELOADED_S = 120
"""where everything is loaded again, so much for all tests."""
MEMORY_BYTES = 4 << 30
"""It may fill the memory as well."""
WATCHED_S = 1.0
"""What a law calls it calls in its first second; to watch it for longer takes too long."""
PROFILE = "mutants-judged"
EXAMPLES = 40
"""Of each law: what is killed at all is killed soon, and what survives has to run through all."""
KILLED, SURVIVED, RELOAD = 1, 0, 3
ARGUMENTS = (
    *("-o", "addopts=", "-p", "no:cacheprovider", "--capture=no", "-x"),
    *("-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"),
)

Told = Callable[[str], None]


def survivors_of(mutants: Sequence[Mutant], told: Told, at_once: int) -> list[Mutant]:
    """Those that no test notices; ``told`` hears of each and of how far it is."""
    settings.register_profile(
        PROFILE,
        derandomize=True,
        deadline=None,
        database=None,
        max_examples=EXAMPLES,
        phases=[Phase.explicit, Phase.generate],
        report_multiple_bugs=False,
    )
    os.environ["HYPOTHESIS_PROFILE"] = PROFILE
    rehearsal = _Rehearsal(mutants, told, at_once)
    ended = pytest.main([*ARGUMENTS, "-p", "no:terminal", TESTS], plugins=[rehearsal])
    if rehearsal.failed or ended not in (0, 5):
        raise RuntimeError(f"without any mutant the tests fail: {rehearsal.failed or ended}")
    outcomes = rehearsal.outcomes
    rest = [mutant for mutant in mutants if outcomes.get(mutant.key, RELOAD) == RELOAD]
    told(f"{len(rest)} for which everything is loaded again")

    def judge_reloaded(mutant: Mutant) -> int:
        return _reloaded(mutant, rehearsal.seconds)

    outcomes |= _forked(rest, judge_reloaded, told, at_once)
    return [mutant for mutant in mutants if outcomes[mutant.key] == SURVIVED]


class _Rehearsal:
    """A pytest plugin: runs each test once as it is, then the right ones on each mutant."""

    def __init__(self, mutants: Sequence[Mutant], told: Told, at_once: int) -> None:
        self.failed: list[str] = []
        self.seconds: dict[str, float] = {}
        self.outcomes: dict[tuple[str, str, str], int] = {}
        self._mutants = mutants
        self._told = told
        self._at_once = at_once
        self._callers: dict[tuple[str, str], list[pytest.Item]] = defaultdict(list)
        self._kills: Counter[tuple[str, str]] = Counter()
        """How many mutants of a function a test has killed: it is asked first about the next."""
        self._heard, self._say = os.pipe()
        os.set_blocking(self._heard, False)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        for item in session.items:
            self._rehearse(item)
        if not self.failed:
            self._told(f"{len(session.items)} tests, {sum(self.seconds.values()):.0f} s")
            patched = [mutant for mutant in self._mutants if _function(mutant) is not None]
            self.outcomes = _forked(
                patched, self._judge, self._told, self._at_once, self._take_kills
            )
        return True

    def _take_kills(self) -> None:
        """What the processes have said until now: a line for each kill."""
        try:
            lines = os.read(self._heard, 1 << 20).decode().splitlines()
        except BlockingIOError:
            return
        for line in lines:
            place, _, test = line.partition("\t")
            self._kills[place, test] += 1

    def _rehearse(self, item: pytest.Item) -> None:
        called: set[CodeType] = set()
        started_s = time.process_time()

        def note(frame: FrameType, event: str, _: object) -> None:
            if event == "call":
                called.add(frame.f_code)
                if time.process_time() - started_s > WATCHED_S:
                    sys.setprofile(None)

        sys.setprofile(note)
        reports = runtestprotocol(item, log=False, nextitem=None)
        sys.setprofile(None)
        self.seconds[item.nodeid] = time.process_time() - started_s
        self.failed += [item.nodeid for report in reports if report.failed]
        for place in {_place(code) for code in called if code.co_filename.startswith(HEART)}:
            self._callers[place].append(item)

    def _judge(self, mutant: Mutant) -> int:
        function = _function(mutant)
        assert function is not None, "only these are judged here"
        place = f"{mutant.file} {mutant.where}"
        changed = _code_of(mutant, function.__code__.co_qualname)
        if changed is None or changed.replace(co_linetable=b"") == function.__code__.replace(
            co_linetable=b""
        ):
            return RELOAD  # a default, say
        try:
            function.__code__ = changed
        except ValueError:  # it has lost the last use of a variable around it
            return RELOAD

        def urgency(item: pytest.Item) -> tuple[int, float]:
            return -self._kills[place, item.nodeid], self.seconds[item.nodeid]

        callers = self._callers[mutant.file, mutant.where]
        if not callers:
            return RELOAD  # it is called while the modules are loaded, if at all
        for item in sorted(callers, key=urgency):
            patience_s = PATIENCE_S + PATIENCE * self.seconds[item.nodeid]
            signal.setitimer(signal.ITIMER_PROF, patience_s)  # when it ends, so does the process
            if any(report.failed for report in runtestprotocol(item, log=False, nextitem=None)):
                os.write(self._say, f"{place}\t{item.nodeid}\n".encode())
                return KILLED
        return SURVIVED


def _place(code: CodeType) -> tuple[str, str]:
    """A function's file and name; of one inside another, that of the outer one."""
    return code.co_filename.removeprefix(HEART), code.co_qualname.partition(".<locals>")[0]


def _module(mutant: Mutant) -> str:
    name = mutant.file.removesuffix(".py").replace("/", ".")
    return f"measure.{name}".removesuffix(".__init__")


def _function(mutant: Mutant) -> FunctionType | None:
    """The function in the loaded module in which something is changed."""
    found: object = sys.modules.get(_module(mutant))
    for name in mutant.where.split("."):
        if isinstance(found, FunctionType) or not isinstance(found, ModuleType | type):
            break
        found = vars(found).get(name)
        match found:
            case property(fget=inner) | cached_property(func=inner):
                found = inner
            case staticmethod(__func__=inner) | classmethod(__func__=inner):
                found = inner
    return found if isinstance(found, FunctionType) else None


def _code_of(mutant: Mutant, qualname: str) -> CodeType | None:
    """The changed code of the function of that name."""
    waiting = [compile(mutant.source, HEART + mutant.file, "exec")]
    while waiting:
        code = waiting.pop()
        if code.co_qualname == qualname:
            return code
        waiting += [const for const in code.co_consts if isinstance(const, CodeType)]
    return None


# Processes.


def _forked(
    mutants: Sequence[Mutant],
    judge: Callable[[Mutant], int],
    told: Told,
    at_once: int,
    before: Callable[[], None] = lambda: None,
) -> dict[tuple[str, str, str], int]:
    """What ``judge`` says of each, asked in a process of its own, some at the same time."""
    outcomes: dict[tuple[str, str, str], int] = {}
    running: dict[int, Mutant] = {}
    for number, mutant in enumerate(mutants, start=1):
        before()
        running[_fork(lambda mutant=mutant: judge(mutant))] = mutant  # type: ignore[misc]
        if len(running) >= at_once:
            _take_one(running, outcomes, told)
        if number % 100 == 0:
            told(f"{number} of {len(mutants)}")
    while running:
        _take_one(running, outcomes, told)
    return outcomes


def _take_one(
    running: dict[int, Mutant], outcomes: dict[tuple[str, str, str], int], told: Told
) -> None:
    pid, status = os.wait()
    mutant = running.pop(pid)
    outcome = os.waitstatus_to_exitcode(status)
    outcomes[mutant.key] = outcome if outcome in (SURVIVED, RELOAD) else KILLED
    if outcome == SURVIVED:
        told(f"survived: {mutant}")
    if outcome < 0:
        told(f"did not end: {mutant}")


def _fork(judge: Callable[[], int]) -> int:
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    outcome = KILLED
    try:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        outcome = judge()
    finally:
        os._exit(outcome)


# Everything loaded again.


class _Planted(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Finds the mutant where its module is asked for."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _module(self._mutant):
            return None
        return importlib.util.spec_from_loader(fullname, self)

    def get_source(self, fullname: str) -> str:
        return self._mutant.source


class _QuickestFirst:
    """A pytest plugin."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self._seconds = seconds

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: self._seconds.get(item.nodeid, 0.0))


def _reloaded(mutant: Mutant, seconds: dict[str, float]) -> int:
    resource.setrlimit(resource.RLIMIT_CPU, (RELOADED_S, RELOADED_S))
    for name in list(_heart_and_tests()):
        del sys.modules[name]
    sys.meta_path.insert(0, _Planted(mutant))
    ended = pytest.main([*ARGUMENTS, TESTS], plugins=[_QuickestFirst(seconds)])
    return SURVIVED if ended == 0 else KILLED


def _heart_and_tests() -> Iterator[str]:
    return (name for name in sys.modules if name.partition(".")[0] in ("measure", "tests"))
