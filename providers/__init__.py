"""How each provider speaks. One file per wire protocol; no sockets, no clocks, no keys kept.

CATALOG is the only list of models there is. To add one: write its file, add its line.
"""

from functools import partial

from providers.codec import Model
from providers.deepgram import Deepgram
from providers.gladia import Gladia
from providers.local import Local

CATALOG: dict[str, Model] = {
    "local/moonshine-tiny": Model(
        partial(Local, model="moonshine-tiny"), "Moonshine tiny (embedded)"
    ),
    "local/pocketsphinx": Model(partial(Local, model="pocketsphinx"), "PocketSphinx (embedded)"),
    "deepgram/nova-3": Model(partial(Deepgram, model="nova-3"), "Deepgram Nova-3"),
    "gladia/solaria-1": Model(partial(Gladia, model="solaria-1"), "Gladia Solaria-1"),
}
