"""Where the newest result lies: one small file beside the journal, replaced as a whole."""

from dataclasses import dataclass
from pathlib import Path

from daemon.errors import UserError
from daemon.selftest.result import SelftestResult, result_in, text_of
from daemon.small_file import replace_file

NAME = "selftest.json"
MOST_BYTES = 1 << 20
"""A larger file is none of ours."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What was found. Neither: there is no file."""

    result: SelftestResult | None = None
    trouble: str | None = None
    """Why the file that is there is no result, in one line."""


def save(result: SelftestResult, directory: Path) -> Path:
    """Store it, durably, and gives where. Raises UserError.

    Whoever reads meanwhile finds the old one or the new one, whole.
    """
    path = directory / NAME
    try:
        replace_file(path, text_of(result))
    except OSError as error:
        raise UserError(
            f"selftest: cannot write {path}: {error.strerror or error}; "
            "give another folder with --journal, or let this user write there"
        ) from error
    return path


def load(directory: Path) -> Stored:
    """The newest result in a directory; a damaged file is no result, and ``trouble`` says so."""
    path = directory / NAME
    try:
        with path.open("rb") as file:
            text = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return Stored()
    except OSError as error:
        return Stored(trouble=f"{path} cannot be read: {error.strerror or error}")
    if len(text) > MOST_BYTES:
        return Stored(trouble=f"{path} is no self-test's result: it is larger than 1 MiB")
    try:
        return Stored(result_in(text))
    except ValueError as error:
        return Stored(trouble=f"{path} is no self-test's result: {error}")
