"""A wall clock that a soak sets for one program alone; nothing else on the host sees it."""

import mmap
import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_name("wall_clock.c")
_AHEAD = struct.Struct("=q")


@dataclass(frozen=True, slots=True)
class WallClock:
    """The clock of whoever is started with ``environment``."""

    environment: dict[str, str]
    _shared: mmap.mmap

    def set_ahead(self, ahead_ns: int) -> None:
        """From now on it is so much ahead of the host's; 0: as the host's."""
        _AHEAD.pack_into(self._shared, 0, ahead_ns)


def wall_clock(folder: Path) -> WallClock | None:
    """One that can be set, built in ``folder``; None where there is no C compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    library, file = folder / "wall_clock.so", folder / "wall_ahead"
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)
    file.write_bytes(_AHEAD.pack(0))
    with file.open("r+b") as shared:
        mapped = mmap.mmap(shared.fileno(), _AHEAD.size)
    return WallClock({"LD_PRELOAD": str(library), "WALL_AHEAD_FILE": str(file)}, mapped)
