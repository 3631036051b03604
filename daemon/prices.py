"""The price lists that are in force: the user's own first, then the one that is shipped."""

import tomllib
from decimal import Decimal
from pathlib import Path

from daemon.errors import UserError
from scoring.price import Listed, PriceError, prices_in, shipped_prices


def price_lists(own: Path | None) -> tuple[Listed, ...]:
    """Every entry, in the order in which they count; see docs/prices.md.

    Raises UserError with a line for each mistake in the user's list.
    """
    return shipped_prices() if own is None else (*_own(own), *shipped_prices())


def _own(path: Path) -> tuple[Listed, ...]:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
        return prices_in(table)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: is not UTF-8 text (byte {error.start})") from error
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path}: is not TOML: {error}") from error
    except PriceError as error:
        lines = [f"{path}: {line}" for line in str(error).splitlines()]
        raise UserError("\n".join(lines)) from error
