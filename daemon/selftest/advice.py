"""What to change on a host whose figures could be better. Pure; one sentence each."""

from collections.abc import Iterator, Sequence

from daemon.selftest.figures import Level
from daemon.selftest.host import Conditions, Fingerprint
from daemon.selftest.verdict import STALL_NS

CORES = 2
"""One for the measuring process, one for all that is beside it."""
BUSY_LOAD = 0.7
"""Programs that want each core; above it, ours often has to wait for one."""
FAST_GOVERNORS = frozenset({"performance", "schedutil"})


def advice(
    fingerprint: Fingerprint, conditions: Conditions, levels: Sequence[Level]
) -> tuple[str, ...]:
    """What would make the figures better, the most effective first; empty where nothing stands out.

    None of it is needed where a host is fit already.
    """
    return (
        *_of_the_program(fingerprint, conditions),
        *_of_the_host(fingerprint, conditions),
        *_of_the_figures(levels),
    )


def _of_the_program(fingerprint: Fingerprint, conditions: Conditions) -> Iterator[str]:
    if fingerprint.scheduling != "fifo":
        yield (
            "real-time priority is not allowed: put LimitRTPRIO=20 into the service's unit, or "
            "'USER - rtprio 20' into /etc/security/limits.conf and log in again "
            "(in a container: --cap-add SYS_NICE --ulimit rtprio=20)"
        )
    if fingerprint.stamps != "kernel":
        yield (
            "the kernel does not stamp what arrives, so our own delay is in every latency: "
            "use Linux, and a sandbox that allows SO_TIMESTAMPNS"
        )
    if not conditions.exact_timer:
        yield (
            "there is no timerfd, so frames leave half a millisecond late: "
            "use Linux, and a sandbox that allows timerfd_create"
        )


def _of_the_host(fingerprint: Fingerprint, conditions: Conditions) -> Iterator[str]:
    if fingerprint.cores < CORES:
        yield (
            f"there is {fingerprint.cores} processor core for the measuring process and all "
            f"others: give it {CORES}"
        )
    governor = conditions.governor
    if governor is not None and governor not in FAST_GOVERNORS:
        yield (
            f"the processor saves power (governor {governor}): cpupower frequency-set "
            "--governor performance"
        )
    load = conditions.load_per_core
    if load is not None and load > BUSY_LOAD:
        yield (
            f"other programs keep the host busy (load {load:.1f} for each core): "
            "move them elsewhere, or give the service CPUWeight=10000 in its unit"
        )


def _of_the_figures(levels: Sequence[Level]) -> Iterator[str]:
    stalls_ns = [level.sentinel.p99_ns for level in levels if level.sentinel.p99_ns is not None]
    if stalls_ns and max(stalls_ns) > STALL_NS:
        yield (
            f"the host itself stands still ({max(stalls_ns) / 1e6:.1f} ms at the 99th percentile "
            "of a thousand wakes a second): a virtual machine wants processors of its own"
        )
    if any(level.untold for level in levels):
        yield "the known-delay server was held up as well: end what else runs, and test again"
