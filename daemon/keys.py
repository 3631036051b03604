"""Where the keys of the providers come from: environment variables, and directories of files.

    DEEPGRAM_API_KEY=…                       the environment
    keys.d/deepgram                          a directory of your own, a file for each key
    $CREDENTIALS_DIRECTORY/keys_deepgram     what systemd's LoadCredential=keys:… makes of one

A file is named after the provider, with or without ``keys_`` before it, or after the variable. The
environment goes first, then your own directory, then systemd's. A key is never part of a message.
"""

import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from daemon.errors import UserError

CREDENTIALS = "CREDENTIALS_DIRECTORY"
"""The variable in which systemd says where the credentials of a service are."""
LONGEST_BYTES = 16_384
"""A longer file is not one key."""
OTHERS = stat.S_IRGRP | stat.S_IWGRP | stat.S_IROTH | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class Key:
    """One key and where it was found."""

    value: str = field(repr=False)
    source: str
    """For people: "the variable DEEPGRAM_API_KEY", or the path of a file."""


@dataclass(frozen=True, slots=True)
class Keys:
    """Everywhere a key may be."""

    environment: Mapping[str, str] = field(repr=False)
    directory: Path | None = None
    """The user's own."""

    def find(self, provider: str, variable: str) -> Key | None:
        """The key of ``provider``, whose usual variable is ``variable``; None where there is none.

        Raises UserError where a file is there and holds no key.
        """
        value = self.environment.get(variable, "").strip()
        if value:
            return Key(_whole(value, f"the variable {variable}"), f"the variable {variable}")
        return next((key for path in self._paths(provider, variable) if (key := _read(path))), None)

    def missing(self, model: str, variable: str) -> str:
        """One line for a model that has no key: what to do about it."""
        provider = model.partition("/")[0]
        places = [f"the environment variable {variable}"]
        places += [str(folder / provider) for folder in self._folders]
        return f"{model}: no key; put it into {' or '.join(places)}"

    def warnings(self) -> list[str]:
        """One line for each file of the user's own directory that others than its owner may read.

        Raises UserError where the directory is none.
        """
        if self.directory is None:
            return []
        if not self.directory.is_dir():
            raise UserError(f"{self.directory}: there is no such directory of keys")
        entries = [self.directory, *sorted(self.directory.iterdir())]
        return [line for path in entries if (line := _warning(path))]

    @property
    def _folders(self) -> list[Path]:
        systemd = self.environment.get(CREDENTIALS)
        own = [] if self.directory is None else [self.directory]
        return [*own, *([Path(systemd)] if systemd else [])]

    def _paths(self, provider: str, variable: str) -> Iterator[Path]:
        names = (provider, f"keys_{provider}", variable, f"keys_{variable}")
        for folder in self._folders:
            yield from (folder / name for name in names if "/" not in name)


def _read(path: Path) -> Key | None:
    """The key in a file; None where there is no such file."""
    try:
        with path.open("rb") as file:
            raw = file.read(LONGEST_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"{path}: the key cannot be read: {error.strerror}") from None
    try:
        value = raw.decode("utf-8").strip()
    except UnicodeDecodeError:
        raise UserError(f"{path}: holds no key: it is not text") from None
    if not value or len(raw) > LONGEST_BYTES:
        why = "it is too long" if value else "it is empty"
        raise UserError(f"{path}: holds no key: {why}")
    return Key(_whole(value, str(path)), str(path))


def _whole(value: str, where: str) -> str:
    """The same, if it can be sent in a header at all. The refusal does not repeat it."""
    if not value.isascii() or not value.isprintable() or " " in value:
        raise UserError(f"{where}: holds no key: it has spaces, line ends or other signs in it")
    return value


def _warning(path: Path) -> str | None:
    try:
        mode = path.stat().st_mode
    except OSError:
        return None
    if not mode & OTHERS:
        return None
    wanted = "0700" if stat.S_ISDIR(mode) else "0600"
    return f"{path}: others may read or change it (mode {stat.S_IMODE(mode):04o}); chmod {wanted}"
