"""What on our own side makes a reading invalid. Method: section 4."""

from collections import deque

from measure.events import (
    BytesUnsent,
    ClockStepped,
    Event,
    FrameSent,
    HostStalled,
    LoopStalled,
)
from measure.records import SECOND, Rule, Verdict


class Health:
    """Keeps watch over our own part of one measurement."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._recent: deque[FrameSent] = deque()
        self._stalls: list[LoopStalled] = []
        self._host_stalls: list[HostStalled] = []
        self._unsent = False
        self._offsets_ns = [0]
        self._zero_late: bool | None = None
        """None before zero."""
        self.late_max_ns: int | None = None

    def feed(self, event: Event) -> None:
        match event:
            case FrameSent():
                self._take_frame(event)
            case LoopStalled():
                self._stalls.append(event)
            case HostStalled():
                self._host_stalls.append(event)
            case BytesUnsent(unsent_bytes=unsent, chunk_bytes=chunk):
                self._unsent = self._unsent or unsent > chunk
            case ClockStepped(step_ns=step_ns):
                self._offsets_ns.append(self._offsets_ns[-1] + step_ns)

    def zero(self, at_ns: int, due_ns: int) -> None:
        """The watch starts: what makes it and the frames of the last second are judged, no more.

        ``due_ns``: when it could have started at the earliest.
        """
        self._forget_before(at_ns - SECOND)
        self._zero_late = at_ns - due_ns > self._rule.late_budget_ns or self._frames_late()

    def invalid(self, zero_ns: int | None, until_ns: int) -> Verdict | None:
        """Why a reading of ``zero_ns`` to ``until_ns`` would be ours to blame; None where not."""
        if self._frames_late() if self._zero_late is None else self._zero_late:
            return Verdict.HARNESS_LATE
        if zero_ns is None:
            return None  # nothing was being timed that the rest could have spoiled
        if self._stalled(zero_ns, until_ns):
            return Verdict.HARNESS_STALLED
        if self._unsent:
            return Verdict.SOCKET_STALLED
        if max(self._offsets_ns) - min(self._offsets_ns) > self._rule.clock_step_budget_ns:
            return Verdict.CLOCK_STEP
        return None

    def _take_frame(self, frame: FrameSent) -> None:
        late_ns = frame.at_ns - frame.due_ns
        self.late_max_ns = late_ns if self.late_max_ns is None else max(self.late_max_ns, late_ns)
        if self._zero_late is None:
            self._recent.append(frame)
            self._forget_before(frame.at_ns - SECOND)

    def _forget_before(self, at_ns: int) -> None:
        while self._recent and self._recent[0].at_ns < at_ns:
            self._recent.popleft()

    def _frames_late(self) -> bool:
        budget_ns = self._rule.late_budget_ns
        return any(sent.at_ns - sent.due_ns > budget_ns for sent in self._recent)

    def host_stalled(self, zero_ns: int, until_ns: int) -> bool:
        """The host stood still for too long, in the last second before zero or until the answer."""
        return self._any_stall(self._host_spans(), zero_ns - SECOND, until_ns)

    def _stalled(self, zero_ns: int, until_ns: int) -> bool:
        ours = [(stall.at_ns, stall.stalled_ns) for stall in self._stalls]
        return self._any_stall([*ours, *self._host_spans()], zero_ns, until_ns)

    def _host_spans(self) -> list[tuple[int, int]]:
        return [(stall.ended_ns, stall.stalled_ns) for stall in self._host_stalls]

    def _any_stall(self, spans: list[tuple[int, int]], from_ns: int, until_ns: int) -> bool:
        """One that is too long, ``(ended_ns, stalled_ns)``, reaches into that time."""
        return any(
            stalled_ns > self._rule.stall_budget_ns
            and ended_ns > from_ns
            and ended_ns - stalled_ns < until_ns
            for ended_ns, stalled_ns in spans
        )
