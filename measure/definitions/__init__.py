"""Every definition of latency in use, each a function of a session told again.

DEFINITIONS is the only list of them. All are pure: a later start changes no value, nor does the
mere passing of time. Who uses which stands in docs/rescore.md.
"""

from measure.definitions.corrections import corrections
from measure.definitions.durations import (
    audio_start,
    captured,
    confirmed,
    first_partial,
    first_text,
    last_final,
    method,
    speech_end,
    speech_end_last,
)
from measure.definitions.emission import word_emission
from measure.definitions.value import Definition, Measured, Missing, Unit, Value

__all__ = ["DEFINITIONS", "METHOD", "Definition", "Measured", "Missing", "Unit", "Value"]

METHOD = "method"
"""The one that published numbers are made with."""

DEFINITIONS: dict[str, Definition] = {
    METHOD: Definition(
        "from zero to the first final with text, or what the method takes where there is none",
        Unit.NANOSECONDS,
        method,
        published_from=0,
    ),
    "last_final": Definition(
        "from zero to the last final with text after it", Unit.NANOSECONDS, last_final
    ),
    "confirmed": Definition(
        "from zero to the provider's confirmation of the force, with text or without",
        Unit.NANOSECONDS,
        confirmed,
    ),
    "speech_end": Definition(
        "from the end of speech in the audio, when its frame left, to the answer that stopped the "
        "watch: the detector's silence wait is inside",
        Unit.NANOSECONDS,
        speech_end,
    ),
    "speech_end_last": Definition(
        "from the end of speech in the audio, when its frame left, to the last final with text: "
        "the silence wait is inside",
        Unit.NANOSECONDS,
        speech_end_last,
    ),
    "captured": Definition(
        "live audio: from when the microphone took up the end of speech to the answer that stopped "
        "the watch: what a speaker waits for, the device's own delay and the silence wait included",
        Unit.NANOSECONDS,
        captured,
    ),
    "first_partial": Definition(
        "from zero to the first partial after it", Unit.NANOSECONDS, first_partial
    ),
    "first_text": Definition(
        "from zero to the first partial or final with text", Unit.NANOSECONDS, first_text
    ),
    "audio_start": Definition(
        "from the first frame to the first partial: how soon a stream shows anything at all",
        Unit.NANOSECONDS,
        audio_start,
    ),
    "words": Definition(
        "from a word's last sound leaving this host to its being shown, for the median word; only "
        "where the provider says when each word was spoken",
        Unit.NANOSECONDS,
        word_emission,
    ),
    "corrections": Definition(
        "how many partials took back words that were already shown", Unit.TIMES, corrections
    ),
}
"""Every definition by its name."""
