"""How each provider speaks. One file per wire protocol; no sockets, no clocks, no keys kept.

CATALOG is the only list of models there is. To add one: write its file, add its line.
"""

from providers.codec import Model

CATALOG: dict[str, Model] = {}
