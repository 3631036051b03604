"""This process is prepared as far as the host allows it, and what it refuses is said."""

import gc
import os
import subprocess
import sys
import weakref
from pathlib import Path

import pytest

from daemon.host_setup import HostSetup, Refusal, collect_when_idle, take_precedence

PROGRAM = """
import os, sys
from daemon.host_setup import prepare_process
if sys.argv[1] == "nobody":
    os.setgid(65534); os.setuid(65534)
setup = prepare_process()
print(setup.real_time, setup.memory_locked, setup.timer_slack_ns, setup.frozen_objects > 1000,
      round(sys.getswitchinterval() * 1e6), os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK,
      [refusal.feature for refusal in setup.refusals])
"""


def prepared(user: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, user],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    return ran.stdout.strip()


def test_what_was_prepared_really_is() -> None:
    said = prepared("as we are")
    real_time, locked, slack, frozen, switch_us, policy, refused = said.split(maxsplit=6)
    assert (frozen, switch_us) == ("True", "200")
    assert real_time == str(int(policy) == os.SCHED_FIFO)
    assert (real_time == "False") == ("'real_time'" in refused)
    assert (locked == "False") == ("'memory_lock'" in refused)
    if real_time == "False":  # a real-time thread has no slack
        assert slack == "1000"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become nobody")
def test_a_user_without_rights_goes_on_without_and_is_told() -> None:
    real_time, *_ = prepared("nobody").split()
    assert real_time == "False"
    assert "'real_time'" in prepared("nobody")


def test_a_refusal_says_what_would_allow_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setscheduler", forbidden)
    refusal = take_precedence(10)
    assert refusal is not None
    assert str(refusal).startswith("real_time: Operation not permitted; in a unit: CPUScheduling")


def test_a_system_without_the_class_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "SCHED_FIFO")
    refusal = take_precedence(10)
    assert refusal is not None
    assert "no real-time class" in refusal.why


def test_garbage_is_collected_when_nothing_is_measured() -> None:
    class Ring:
        def __init__(self) -> None:
            self.me = self

    gone: list[bool] = []
    gc.disable()
    try:
        weakref.finalize(Ring(), gone.append, True)
        collect_when_idle(idle=False)
        assert gone == []
        collect_when_idle(idle=True)
        assert gone == [True]
    finally:
        gc.enable()


def test_the_policy_has_a_name() -> None:
    refusal = Refusal("real_time", "no", "ask")
    assert HostSetup(False, False, None, 0, (refusal,)).policy == "other"
    assert HostSetup(True, True, 1000, 0).policy == "fifo"
