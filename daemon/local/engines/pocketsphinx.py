"""PocketSphinx: small, old, truly incremental; less accurate, but its final costs nearly nothing.

A decoder serves one stream at a time and takes 0.4 s to load, so those that are given back wait
for the next stream. The feature normalisation is reset before each utterance: left alone, it
carries over, and texts depend on what was heard before.

Its calls hold Python's lock: while it decodes, nothing else in its process runs.

Read in: pocketsphinx 5.1.1, Decoder.
"""

import importlib.util
from typing import Any

from daemon.errors import UserError
from daemon.local.engines.shape import Samples

INSTALL = "pip install --no-deps pocketsphinx==5.1.1"
RATE_HZ = 16_000


class PocketSphinx:
    """The American English model of the package."""

    model = "pocketsphinx"

    def __init__(self) -> None:
        if importlib.util.find_spec("pocketsphinx") is None:
            raise UserError(f"the engine pocketsphinx is not installed: {INSTALL}")
        self._idle = [_decoder()]

    def open_stream(self) -> "PocketSphinxStream":
        decoder = self._idle.pop() if self._idle else _decoder()
        return PocketSphinxStream(decoder, self._idle)

    def close(self) -> None:
        self._idle.clear()


class PocketSphinxStream:
    """One decoder, lent to one stream."""

    def __init__(self, decoder: Any, idle: list[Any]) -> None:  # noqa: ANN401 - it has no types
        self._decoder = decoder
        self._idle = idle
        self._open = False

    def feed(self, samples: Samples) -> None:
        if not self._open:
            self._decoder.reinit_feat()
            self._decoder.start_utt()
            self._open = True
        self._decoder.process_raw((samples * 32768).astype("<i2").tobytes())

    def partial(self) -> str:
        return self._text() if self._open else ""

    def finish(self) -> str:
        if not self._open:
            return ""
        self._decoder.end_utt()
        self._open = False
        return self._text()

    def close(self) -> None:
        self.finish()
        self._idle.append(self._decoder)

    def _text(self) -> str:
        found = self._decoder.hyp()
        return found.hypstr.strip() if found else ""


def _decoder() -> Any:  # noqa: ANN401
    from pocketsphinx import Decoder  # an extra: it may be absent until it is asked for

    # Without its second pass (fwdflat) the final comes ten times sooner and is no worse.
    return Decoder(samprate=RATE_HZ, loglevel="FATAL", fwdflat=False)
