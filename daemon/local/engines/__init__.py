"""The recognisers there are. To add one: write its file, add its line."""

from collections.abc import Callable

from daemon.local.engines.moonshine import Moonshine
from daemon.local.engines.pocketsphinx import PocketSphinx
from daemon.local.engines.shape import Engine

ENGINES: dict[str, Callable[[], Engine]] = {
    "moonshine": Moonshine,
    "pocketsphinx": PocketSphinx,
}
"""By name, what loads it. Raises UserError where its package is not installed."""
