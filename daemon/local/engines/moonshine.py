"""Moonshine: a small model of high quality, spoken to through its C library.

The package's own Python code cannot be imported without a package that uses the network, so only
its folder is looked up and ``libmoonshine.so`` is bound here, as much of it as we need.

The library's own voice-activity detection makes its texts differ from run to run; with
``vad_threshold=0.0`` it is off, and the same audio gives the same text. Then a segment lasts from
start to stop and is transcribed whole at every request: the cost grows with its length.

    start ─ feed … feed ─ transcribe (partial) … ─ transcribe (forced update) ─ stop ─ read ─ start

Two traps: stop throws away whatever no transcription has looked at, hence the forced update
before it; and the memory of a result is the library's, valid until its next call.

Read in: moonshine-voice 0.0.73, moonshine_api.py (layouts, constants).
"""

import ctypes
import importlib.util
import os
from pathlib import Path

import numpy as np

from daemon.errors import UserError
from daemon.local.engines.shape import EngineError, Samples

PACKAGE = "moonshine_voice"
LIBRARY = "libmoonshine.so"
WEIGHTS = "assets/tiny-en"
INSTALL = "pip install --no-deps moonshine-voice==0.0.73"

INTERFACE_VERSION = 20_000
"""The version of the C interface whose layouts stand below."""
ARCHITECTURE_TINY = 0
FORCE_UPDATE = 1
"""Transcribe again even if less than 0.2 s of audio is new."""
RATE_HZ = 16_000
OPTIONS = {b"vad_threshold": b"0.0", b"return_audio_data": b"false"}


class Option(ctypes.Structure):
    """One setting, both sides as text."""

    _fields_ = (("name", ctypes.c_char_p), ("value", ctypes.c_char_p))


class Line(ctypes.Structure):
    """One line of a transcript; of all its fields only ``text`` is read here."""

    _fields_ = (
        ("text", ctypes.c_char_p),
        ("audio", ctypes.c_void_p),
        ("audio_samples", ctypes.c_size_t),
        ("start_s", ctypes.c_float),
        ("duration_s", ctypes.c_float),
        ("id", ctypes.c_uint64),
        ("complete", ctypes.c_int8),
        ("updated", ctypes.c_int8),
        ("new", ctypes.c_int8),
        ("text_changed", ctypes.c_int8),
        ("speakers_changed", ctypes.c_int8),
        ("speakers", ctypes.c_void_p),
        ("speaker_count", ctypes.c_uint64),
        ("latency_ms", ctypes.c_uint32),
        ("words", ctypes.c_void_p),
        ("word_count", ctypes.c_uint64),
    )


class Transcript(ctypes.Structure):
    """All lines of a stream since its start."""

    _fields_ = (("lines", ctypes.POINTER(Line)), ("line_count", ctypes.c_uint64))


class Moonshine:
    """The tiny English model. Its calls let other Python threads run."""

    model = "moonshine-tiny"

    def __init__(self) -> None:
        folder = _folder()
        self._library = _library(folder / LIBRARY)
        options = (Option * len(OPTIONS))(*(Option(*option) for option in OPTIONS.items()))
        self._handle = self._library.moonshine_load_transcriber_from_files(
            os.fsencode(folder / WEIGHTS),
            ARCHITECTURE_TINY,
            options,
            len(options),
            INTERFACE_VERSION,
        )
        self._checked(self._handle, "load its model")

    def open_stream(self) -> "MoonshineStream":
        stream = self._library.moonshine_create_stream(self._handle, 0)
        self._checked(stream, "open a stream")
        self.start(stream)
        return MoonshineStream(self, stream)

    def close(self) -> None:
        self._library.moonshine_free_transcriber(self._handle)

    def start(self, stream: int) -> None:
        """Begin a segment."""
        self._checked(self._library.moonshine_start_stream(self._handle, stream), "start")

    def stop(self, stream: int) -> None:
        """End a segment; its lines can still be read."""
        self._checked(self._library.moonshine_stop_stream(self._handle, stream), "stop")

    def add(self, stream: int, samples: Samples) -> None:
        """Copy samples into the library's own buffer."""
        audio = np.ascontiguousarray(samples, np.float32)
        error = self._library.moonshine_transcribe_add_audio_to_stream(
            self._handle, stream, audio.ctypes.data, audio.size, RATE_HZ, 0
        )
        self._checked(error, "take audio")

    def text(self, stream: int, flags: int = 0) -> str:
        """The segment's text, copied out before anything else is called."""
        found = ctypes.POINTER(Transcript)()
        error = self._library.moonshine_transcribe_stream(
            self._handle, stream, flags, ctypes.byref(found)
        )
        self._checked(error, "transcribe")
        transcript = found.contents
        lines = [transcript.lines[index].text or b"" for index in range(transcript.line_count)]
        return b" ".join(lines).decode("utf-8", "replace").strip()

    def free(self, stream: int) -> None:
        """Give a stream back."""
        self._checked(self._library.moonshine_free_stream(self._handle, stream), "free a stream")

    def _checked(self, code: int, what: str) -> None:
        """Handles are not negative, errors are."""
        if code < 0:
            why = self._library.moonshine_error_to_string(code)
            raise EngineError(f"moonshine could not {what}: {(why or b'').decode()} ({code})")


class MoonshineStream:
    """One stream of the library, always started."""

    def __init__(self, engine: Moonshine, stream: int) -> None:
        self._engine = engine
        self._stream = stream

    def feed(self, samples: Samples) -> None:
        self._engine.add(self._stream, samples)

    def partial(self) -> str:
        return self._engine.text(self._stream)

    def finish(self) -> str:
        self._engine.text(self._stream, FORCE_UPDATE)
        self._engine.stop(self._stream)
        text = self._engine.text(self._stream)
        self._engine.start(self._stream)
        return text

    def close(self) -> None:
        self._engine.free(self._stream)


def _folder() -> Path:
    """Where the package lies; found without importing it."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise UserError(f"the engine moonshine is not installed: {INSTALL}")
    folder = Path(found.submodule_search_locations[0])
    for part in (LIBRARY, WEIGHTS):
        if not (folder / part).exists():
            raise UserError(f"the installed moonshine-voice carries no {part}: {INSTALL}")
    return folder


def _library(path: Path) -> ctypes.CDLL:
    """The library, its functions declared as far as we call them."""
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise UserError(f"the engine moonshine cannot be loaded here: {error}") from error
    version = library.moonshine_get_version()
    if version != INTERFACE_VERSION:
        said = f"the installed moonshine-voice speaks interface {version}, not {INTERFACE_VERSION}"
        raise UserError(f"{said}: {INSTALL}")
    _declare(library)
    return library


def _declare(library: ctypes.CDLL) -> None:
    handle, flags = ctypes.c_int32, ctypes.c_uint32
    size, text = ctypes.c_uint64, ctypes.c_char_p
    options = ctypes.POINTER(Option)
    found = ctypes.POINTER(ctypes.POINTER(Transcript))
    of_stream = [handle, handle]
    library.moonshine_error_to_string.restype = text
    library.moonshine_error_to_string.argtypes = [handle]
    library.moonshine_load_transcriber_from_files.argtypes = [text, flags, options, size, handle]
    library.moonshine_free_transcriber.argtypes = [handle]
    library.moonshine_free_transcriber.restype = None
    library.moonshine_create_stream.argtypes = [handle, flags]
    library.moonshine_start_stream.argtypes = of_stream
    library.moonshine_stop_stream.argtypes = of_stream
    library.moonshine_free_stream.argtypes = of_stream
    library.moonshine_transcribe_stream.argtypes = [*of_stream, flags, found]
    library.moonshine_transcribe_add_audio_to_stream.argtypes = [
        *of_stream,
        ctypes.c_void_p,
        size,
        ctypes.c_int32,
        flags,
    ]
