"""What a person watches while a run goes on: which clip, how far, and what the provider has heard.

It is drawn by the exporter process, which gets every event anyway, so that drawing it cannot make a
frame late.
"""

from dataclasses import dataclass
from typing import Any, Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from measure.records import MS
from measure.wire import FRAMES, Record, frames_of

REFRESH_NS = 150 * MS
TEXT_COLUMNS = 60
"""How much of the newest text is shown: its end."""


class View(Protocol):
    """What is shown to a person who watches; for one thread."""

    def take(self, record: Record) -> None: ...
    def draw(self, now_ns: int) -> None: ...
    def print_line(self, line: bytes) -> None: ...
    def close(self) -> None: ...


@dataclass(slots=True)
class _Session:
    model: str
    clip: str
    audio_ms: float
    sent_ms: float = 0.0
    state: str = "connecting"
    text: str = ""


class LiveView:
    """Fed with records like every exporter; ``draw`` puts it on the terminal."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._console = console
        self._sessions: dict[str, _Session] = {}
        self._wanted = 0
        self._finished = 0
        self._drawn_ns = 0
        self._live.start()

    def take(self, record: Record) -> None:
        """Take note of one record."""
        match record.get("k"):
            case "run_started":
                self._wanted += int(_number(record.get("clips"))) * len(_list(record.get("models")))
            case "session_started":
                self._sessions[str(record["s"])] = _Session(
                    str(record["model"]), str(record["clip"]), _number(record["audio_ms"])
                )
            case "turn_finished":
                session = self._sessions.get(str(record["s"]))
                if session is not None:
                    self._console.print(_finished(session, record))
            case "session_finished":
                session = self._sessions.pop(str(record["s"]), None)
                self._finished += 1
                if session is not None:
                    self._console.print(_finished(session, record))
            case _:
                session = self._sessions.get(str(record.get("s")))
                if session is not None:
                    _follow(session, record)

    def draw(self, now_ns: int) -> None:
        """Show how things stand; not more often than eyes can follow."""
        if now_ns - self._drawn_ns >= REFRESH_NS:
            self._drawn_ns = now_ns
            self._live.update(self._picture(), refresh=True)

    def print_line(self, line: bytes) -> None:
        """A line of the log, above the picture."""
        self._console.print(Text(line.decode("utf-8", "replace").rstrip("\n")))

    def close(self) -> None:
        """Take the picture away; what was printed stays."""
        self._live.stop()

    def _picture(self) -> Group:
        done = f"{self._finished} of {self._wanted} measured" if self._wanted else "starting"
        return Group(Text(done, style="bold"), *map(_line, self._sessions.values()))


class LiveWriter:
    """Takes the lines of the log where they would otherwise run through the picture."""

    def __init__(self, view: View) -> None:
        self._view = view

    def write(self, line: bytes) -> None:
        """One line, above the picture."""
        self._view.print_line(line)

    def flush(self) -> None:
        """Nothing waits."""

    def take_dropped(self) -> int:
        """None ever is."""
        return 0

    def close(self) -> None:
        """The end of the picture."""
        self._view.close()


def _follow(session: _Session, record: Record) -> None:
    match record.get("k"):
        case "stream_ready":
            session.state = "speaking"
        case kind if kind == FRAMES:
            session.sent_ms = frames_of(record)[-1].audio_ms
        case "force_sent":
            session.state = "waiting for the final"
        case "transcript":
            session.text = str(record["text"]) or session.text


def _line(session: _Session) -> Table:
    line = Table.grid(padding=(0, 1))
    line.add_row(
        Text(f"{session.clip}", style="cyan"),
        Text(session.model, style="dim"),
        ProgressBar(session.audio_ms, min(session.sent_ms, session.audio_ms), width=24),
        f"{min(session.sent_ms, session.audio_ms) / 1000:4.1f} of {session.audio_ms / 1000:.1f} s",
        session.state,
    )
    words = Table.grid()
    words.add_row(Text(f"  {_end_of(session.text)}", style="italic"))
    whole = Table.grid()
    whole.add_row(line)
    whole.add_row(words)
    return whole


def _finished(session: _Session, record: Record) -> Text:
    final_ns = record.get("time_to_final_ns")
    valid = bool(record.get("valid"))
    took = f" after {max(0.0, final_ns / MS):.0f} ms" if valid and isinstance(final_ns, int) else ""
    said = f"{session.clip}, {session.model}: {record.get('verdict')}{took}"
    return Text(said, style="green" if valid else "red")


def _end_of(text: str) -> str:
    text = "".join(char if char.isprintable() else " " for char in text)
    return text if len(text) <= TEXT_COLUMNS else "…" + text[-TEXT_COLUMNS:]


def _number(value: Any) -> float:  # noqa: ANN401
    return float(value)


def _list(value: Any) -> list[Any]:  # noqa: ANN401
    return list(value)
