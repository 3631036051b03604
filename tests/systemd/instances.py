"""Instances of the unit in the container, each with a provider of its own on its loopback."""

from tests.systemd.box import PROGRAM, Box

KEY = "canary-unit-5f0c-of-thirty-chars"
FAKE_PORT = 9_400
CONFIG = """
[[model]]
name = "deepgram/nova-3"
url = "ws://127.0.0.1:{fake}"
[web]
listen = "127.0.0.1:{port}"
[daemon]
interval_s = {interval_s}
[budgets]
frame_late_ms = 1000
loop_stall_ms = 1000
"""


def fake_provider(box: Box) -> None:
    """A provider that every instance measures; once for all of them."""
    if box.show("fake.service", "ActiveState") != "active":
        box.run(
            *("systemd-run", "--quiet", "--unit=fake", "--collect"),
            *(PROGRAM, "fake", "--port", str(FAKE_PORT)),
        )


def configured(box: Box, name: str, port: int, *, interval_s: float = 3, more: str = "") -> str:
    """Put the configuration and the key of an instance in place; gives the name of its unit."""
    fake_provider(box)
    box.write("/etc/speechbench/keys.d/deepgram", KEY + "\n", "600")
    text = CONFIG.format(fake=FAKE_PORT, port=port, interval_s=interval_s)
    box.write(f"/etc/speechbench/{name}.toml", text + more)
    return f"speechbench@{name}.service"


def started(box: Box, name: str, port: int, *, interval_s: float = 3, more: str = "") -> str:
    """The same, started; with Type=notify this returns when it measures."""
    unit = configured(box, name, port, interval_s=interval_s, more=more)
    done = box.run("systemctl", "start", unit, check=False)
    assert done.returncode == 0, box.says("journalctl", "-u", unit, "-n", "40", "--no-pager")
    return unit


def drop_in(box: Box, name: str, text: str) -> None:
    """Change an instance as ``systemctl edit`` would."""
    box.write(f"/etc/systemd/system/speechbench@{name}.service.d/test.conf", text)
    box.run("systemctl", "daemon-reload")


def pids_below(box: Box, pid: int) -> list[int]:
    """The processes that a process has started, as it numbers them."""
    return [int(word) for word in box.says("pgrep", "-P", str(pid)).split()]
