"""Runs the tests of the heart on one mutant after another, each in a process of its own.

Every test is first run without a mutant: which functions does it call, how long does it take? Then
a process is forked off for each mutant. Where one function was changed, its new code is put into
the modules that are loaded already and only the tests that call it are run, quickest first. Where
something else was changed, all modules are loaded again. What was judged before is remembered.
"""

import gc
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import resource
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import count
from types import CodeType, FrameType, FunctionType, ModuleType

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import Phase, settings

from tests.measure.planting import Key, Mutant
from tests.measure.remembering import ROOT, Memory

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
WATCHED = 100_000
"""What a law calls it calls among its first calls; to watch all of them takes too long."""
PROFILE = "mutants-judged"
EXAMPLES = 25
"""Of each law: what is killed at all is killed soon, and what survives has to run through all."""
KILLED, SURVIVED, RELOAD, BROKEN = 1, 0, 3, 4
ARGUMENTS = (
    *("-o", "addopts=", "-p", "no:cacheprovider", "--capture=no", "-x"),
    *("-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"),
)

Told = Callable[[str], None]


def survivors_of(
    mutants: Sequence[Mutant], told: Told, at_once: int, memory: Memory
) -> list[Mutant]:
    """Those that no test notices; ``told`` hears of each and of how far it is."""
    new = [mutant for mutant in mutants if memory.outcome(mutant) is None]
    if new:
        told(f"{len(new)} to be judged")
        try:
            _judge_all(new, told, at_once, memory)
        finally:
            memory.save()
    return [mutant for mutant in mutants if memory.outcome(mutant) == SURVIVED]


def _judge_all(mutants: Sequence[Mutant], told: Told, at_once: int, memory: Memory) -> None:
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
    courts = _Courts(told, at_once, memory)
    rehearsal = _Rehearsal(mutants, courts)
    ended = pytest.main([*ARGUMENTS, "-p", "no:terminal", TESTS], plugins=[rehearsal])
    if rehearsal.failed or ended not in (0, 5):
        raise RuntimeError(f"without any mutant the tests fail: {rehearsal.failed or ended}")
    rest = [mutant for mutant in mutants if memory.outcome(mutant) is None]
    told(f"{len(rest)} for which everything is loaded again")
    courts.judge(rest, lambda mutant: _reloaded(mutant, courts, rehearsal.seconds))


class _Rehearsal:
    """A pytest plugin: runs each test once as it is, then the right ones on each mutant."""

    def __init__(self, mutants: Sequence[Mutant], courts: "_Courts") -> None:
        self.failed: list[str] = []
        self.seconds: dict[str, float] = {}
        self._mutants = mutants
        self._courts = courts
        self._callers: dict[tuple[str, str], list[pytest.Item]] = defaultdict(list)

    def pytest_configure(self, config: pytest.Config) -> None:
        config.option.tbstyle = "native"  # nobody reads it, and it is the quickest

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        for item in session.items:
            self._rehearse(item)
        if not self.failed:
            self._courts.told(f"{len(session.items)} tests, {sum(self.seconds.values()):.0f} s")
            patched = [mutant for mutant in self._mutants if _function(mutant) is not None]
            self._courts.judge(patched, self._judge)
        return True

    def _rehearse(self, item: pytest.Item) -> None:
        called: set[CodeType] = set()
        started_s = time.process_time()
        calls = count()

        def note(frame: FrameType, _event: str, _: object) -> None:
            called.add(frame.f_code)
            if next(calls) > WATCHED:
                sys.settrace(None)

        sys.settrace(note)
        reports = runtestprotocol(item, log=False, nextitem=None)
        sys.settrace(None)
        self.seconds[item.nodeid] = time.process_time() - started_s
        self.failed += [item.nodeid for report in reports if report.failed]
        for place in {_place(code) for code in called if code.co_filename.startswith(HEART)}:
            self._callers[place].append(item)

    def _judge(self, mutant: Mutant) -> int:
        function = _function(mutant)
        assert function is not None, "only these are judged here"
        changed = _code_of(mutant, function.__code__.co_qualname)
        if changed is None or changed.replace(co_linetable=b"") == function.__code__.replace(
            co_linetable=b""
        ):
            return RELOAD  # a default, say
        try:
            function.__code__ = changed
        except ValueError:  # it has lost the last use of a variable around it
            return RELOAD

        def urgency(item: pytest.Item) -> tuple[float, float]:
            return -self._courts.kills(mutant, item.nodeid), self.seconds[item.nodeid]

        callers = self._callers[mutant.file, mutant.where]
        if not callers:
            return RELOAD  # it is called while the modules are loaded, if at all
        for item in sorted(callers, key=urgency):
            patience_s = PATIENCE_S + PATIENCE * self.seconds[item.nodeid]
            signal.setitimer(signal.ITIMER_PROF, patience_s)  # when it ends, so does the process
            if any(report.failed for report in runtestprotocol(item, log=False, nextitem=None)):
                self._courts.say(mutant, item.nodeid)
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


class _Courts:
    """Asks about each mutant in a process of its own, some at the same time."""

    def __init__(self, told: Told, at_once: int, memory: Memory) -> None:
        self.told = told
        self._at_once = at_once
        self._memory = memory
        self._killers: dict[Key, str] = {}
        self._kills: Counter[tuple[str, str, str]] = Counter()
        """How many mutants of a function a test has killed: it is asked first about the next."""
        self._heard, self._say = os.pipe()
        os.set_blocking(self._heard, False)

    def judge(self, mutants: Sequence[Mutant], judge: Callable[[Mutant], int]) -> None:
        """Remembers what ``judge`` says of each, but RELOAD."""
        running: dict[int, Mutant] = {}
        gc.collect()
        gc.freeze()  # or each process would copy all that is loaded, only to look for garbage
        for number, mutant in enumerate(mutants, start=1):
            running[_fork(lambda mutant=mutant: judge(mutant))] = mutant  # type: ignore[misc]
            if len(running) >= self._at_once:
                self._take_one(running)
            if number % 100 == 0:
                self.told(f"{number} of {len(mutants)}")
        while running:
            self._take_one(running)

    def kills(self, mutant: Mutant, test: str) -> float:
        """How likely it is that this test kills it: more for one more of its kind killed."""
        known = 1_000_000 if self._memory.killer(mutant) == test else 0
        return known + self._kills[mutant.file, mutant.where, test]

    def say(self, mutant: Mutant, test: str) -> None:
        """In the process of a mutant: this test killed it."""
        os.write(self._say, json.dumps([*mutant.key, test]).encode() + b"\n")

    def _take_one(self, running: dict[int, Mutant]) -> None:
        pid, status = os.wait()
        mutant = running.pop(pid)
        outcome = os.waitstatus_to_exitcode(status)
        self._take_kills()
        if outcome == RELOAD:
            return
        killer = self._killers.get(mutant.key) if outcome == KILLED else None
        self._memory.keep(mutant, SURVIVED if outcome == SURVIVED else KILLED, killer)
        if outcome == SURVIVED:
            self.told(f"survived: {mutant}")
        if outcome < 0:
            self.told(f"did not end: {mutant}")
        if outcome > KILLED:
            self.told(f"broke: {mutant}")

    def _take_kills(self) -> None:
        """What the processes have said until now: a line for each kill."""
        try:
            lines = os.read(self._heard, 1 << 20).decode().splitlines()
        except BlockingIOError:
            return
        for file, where, change, test in map(json.loads, lines):
            self._kills[file, where, test] += 1
            self._killers[file, where, change] = test


def _fork(judge: Callable[[], int]) -> int:
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    outcome = BROKEN
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


def _reloaded(mutant: Mutant, courts: _Courts, seconds: dict[str, float]) -> int:
    """The files of tests one after another, those first that killed such mutants before."""
    resource.setrlimit(resource.RLIMIT_CPU, (RELOADED_S, RELOADED_S))
    files: dict[str, float] = defaultdict(float)
    for test, test_s in seconds.items():
        files[test.partition("::")[0]] += test_s
    for name in list(_heart_and_tests()):
        del sys.modules[name]
    sys.meta_path.insert(0, _Planted(mutant))
    for file in sorted(files, key=lambda file: (-courts.kills(mutant, file), files[file])):
        if pytest.main([*ARGUMENTS, "--tb=native", file]) != 0:
            courts.say(mutant, file)
            return KILLED
    return SURVIVED


def _heart_and_tests() -> Iterator[str]:
    return (name for name in sys.modules if name.partition(".")[0] in ("measure", "tests"))
