"""Silero VAD on onnxruntime: how probable it is that somebody speaks, for each window of 32 ms.

The installed silero-vad package carries the same network in two forms, of which we take the files
and leave the Python code, which would need torch:

    StepModel       one window of one or of many streams; 8 and 16 kHz       live audio
    SequenceModel   all windows of one stream at once; 16 kHz only           whole clips

What the network remembers of a stream is handed in and out, so one model serves all streams, in
any order and from any thread. Both forms go on from the same memory and give the same values.
"""

import hashlib
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from vad.endpoint import window_samples

if TYPE_CHECKING:
    import onnxruntime

Floats = NDArray[np.float32]

PACKAGE = "silero-vad==6.2.3"
"""Where the model files come from, as one would install it."""
CONTEXT_SAMPLES = {16_000: 64, 8_000: 32}
"""The end of the window before, which the network hears again; it is deaf to a bare window."""
MEMORY_SHAPE = (2, 1, 128)
"""Hidden and cell state of the network's one LSTM, for one stream."""
WINDOWS_AT_ONCE = 128
"""As many as are needed for full speed (16 would do), and few enough for 10 MB of memory."""


class ModelError(Exception):
    """A model file is missing or is not the one that was tested; one line says what to do."""


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of the silero-vad package, as it was tested."""

    name: str
    sha256: str


STEP_MODEL = ModelFile(
    "silero_vad.onnx", "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3"
)
SEQUENCE_MODEL = ModelFile(
    "silero_vad_16k_sequence.onnx",
    "9ccdacc4719d8aa7e45a77536bfabec45a03ba1f2fad5e241ab4060b24238a85",
)


def model_folder() -> Path:
    """Where the package keeps its models. Looks it up without running it."""
    spec = importlib.util.find_spec("silero_vad")
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(f"the voice-activity model is not installed: install {PACKAGE}")
    return Path(spec.submodule_search_locations[0]) / "data"


def read_model(file: ModelFile, folder: Path) -> bytes:
    """The model itself. Raises ModelError where it is missing, unreadable or altered."""
    path = folder / file.name
    try:
        model = path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ModelError(f"{path}: {reason}: install {PACKAGE} anew") from error
    found = hashlib.sha256(model).hexdigest()
    if found != file.sha256:
        raise ModelError(
            f"{path} is not the model that was tested: its sha256 is {found}, "
            f"expected {file.sha256}: install {PACKAGE} anew"
        )
    return model


@dataclass(frozen=True, slots=True)
class StreamState:
    """What the network remembers of one stream; never changed, only replaced."""

    rate_hz: int
    context: Floats = field(repr=False)
    """The last samples heard: float32[64] at 16 kHz, float32[32] at 8 kHz."""
    memory: Floats = field(repr=False)
    """float32[2, 1, 128]."""


def new_stream(rate_hz: int) -> StreamState:
    """The memory of a stream of which nothing has been heard."""
    window_samples(rate_hz)  # refuses what no model hears
    context = np.zeros(CONTEXT_SAMPLES[rate_hz], np.float32)
    return StreamState(rate_hz, context, np.zeros(MEMORY_SHAPE, np.float32))


def samples_of(pcm: bytes) -> Floats:
    """16-bit little-endian ``pcm`` as the network wants it: float32, from -1 to 1."""
    return np.frombuffer(pcm, "<i2").astype(np.float32) / np.float32(32768)


class Model(Protocol):
    """Either form, for whole pieces of one stream."""

    def hear(self, samples: Floats, state: StreamState) -> tuple[Floats, StreamState]:
        """One probability a window; ``samples`` are whole windows."""


class StepModel:
    """The network one window at a time, at 8 or 16 kHz."""

    def __init__(self, model: bytes) -> None:
        self._session = _session(model)

    @classmethod
    def load(cls) -> Self:
        """From the installed package. Raises ModelError."""
        return cls(read_model(STEP_MODEL, model_folder()))

    def step(self, window: Floats, state: StreamState) -> tuple[float, StreamState]:
        """The probability of one window, and the stream's new memory.

        ``window`` is float32[512] at 16 kHz, float32[256] at 8 kHz; else ValueError.
        """
        probabilities, states = self.step_batch(window[np.newaxis], (state,))
        return float(probabilities[0]), states[0]

    def step_batch(
        self, windows: Floats, states: Sequence[StreamState]
    ) -> tuple[Floats, tuple[StreamState, ...]]:
        """The same for one window of each of several streams of one rate, a row each.

        Each row gives what it would give alone; 16 streams cost a third of 16 single steps.
        """
        rate_hz = _one_rate(states)
        _check(windows, (len(states), window_samples(rate_hz)), rate_hz)
        heard = np.concatenate([np.stack([state.context for state in states]), windows], axis=1)
        memory = np.concatenate([state.memory for state in states], axis=1)
        rate = np.array(rate_hz, np.int64)
        probabilities, memory = self._session.run(
            None, {"input": heard, "state": memory, "sr": rate}
        )
        contexts = heard[:, -CONTEXT_SAMPLES[rate_hz] :].copy()
        after = tuple(
            StreamState(rate_hz, contexts[row], memory[:, row : row + 1])
            for row in range(len(states))
        )
        return probabilities[:, 0], after

    def hear(self, samples: Floats, state: StreamState) -> tuple[Floats, StreamState]:
        """One probability a window of a stream's next ``samples``, which are whole windows."""
        windows = _windows(samples, state.rate_hz)
        probabilities = np.empty(len(windows), np.float32)
        for index, window in enumerate(windows):
            probabilities[index], state = self.step(window, state)
        return probabilities, state


class SequenceModel:
    """The network over many windows of one stream at once, at 16 kHz: several times as fast."""

    RATE_HZ = 16_000

    def __init__(self, model: bytes) -> None:
        self._session = _session(model)

    @classmethod
    def load(cls) -> Self:
        """From the installed package. Raises ModelError."""
        return cls(read_model(SEQUENCE_MODEL, model_folder()))

    def hear(self, samples: Floats, state: StreamState) -> tuple[Floats, StreamState]:
        """One probability a window of a stream's next ``samples``, which are whole windows."""
        if state.rate_hz != self.RATE_HZ:
            raise ValueError(f"the sequence model hears {self.RATE_HZ} Hz, not {state.rate_hz}")
        windows = _windows(samples, state.rate_hz)
        heard = [np.empty(0, np.float32)]
        for first in range(0, len(windows), WINDOWS_AT_ONCE):
            probabilities, state = self._run(windows[first : first + WINDOWS_AT_ONCE], state)
            heard.append(probabilities)
        return np.concatenate(heard), state

    def _run(self, windows: Floats, state: StreamState) -> tuple[Floats, StreamState]:
        size = CONTEXT_SAMPLES[state.rate_hz]
        contexts = np.concatenate([state.context[np.newaxis], windows[:-1, -size:]])
        hidden, cell = state.memory[:1], state.memory[1:]
        probabilities, hidden, cell = self._session.run(
            None, {"input": np.concatenate([contexts, windows], axis=1), "h": hidden, "c": cell}
        )
        memory = np.concatenate([hidden, cell])
        return probabilities, StreamState(state.rate_hz, windows[-1, -size:].copy(), memory)


def load_model(rate_hz: int) -> Model:
    """The fastest model for whole clips at this rate. Raises ModelError, and ValueError."""
    window_samples(rate_hz)  # refuses what no model hears
    return SequenceModel.load() if rate_hz == SequenceModel.RATE_HZ else StepModel.load()


def _session(model: bytes) -> "onnxruntime.InferenceSession":
    # Imported with the first model: a start that has no clip to hear need not load it.
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # So small a network gains nothing from threads, and they would disturb what is being paced.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _one_rate(states: Sequence[StreamState]) -> int:
    rates = {state.rate_hz for state in states}
    if len(rates) != 1:
        raise ValueError(f"a batch needs streams of one rate, not of {sorted(rates) or 'none'}")
    return rates.pop()


def _check(samples: Floats, shape: tuple[int, ...], rate_hz: int) -> None:
    if samples.dtype != np.float32:
        raise ValueError(f"samples must be float32 from -1 to 1, not {samples.dtype}")
    if samples.shape != shape:
        raise ValueError(
            f"a window at {rate_hz} Hz has {shape[-1]} samples: expected {shape}, "
            f"not {samples.shape}"
        )


def _windows(samples: Floats, rate_hz: int) -> Floats:
    window = window_samples(rate_hz)
    if samples.ndim != 1 or len(samples) % window:
        raise ValueError(
            f"a window at {rate_hz} Hz has {window} samples: {samples.shape} are not whole windows"
        )
    windows = samples.reshape(-1, window)
    _check(windows, windows.shape, rate_hz)
    return windows
