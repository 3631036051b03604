"""The words of the status page, each with what it means."""

from typing import Final

from measure.records import Verdict

FIGURES: Final = {
    "time to final": (
        "from zero, the end of the speech as a voice detector knows it, "
        "to the transcript that is used as final"
    ),
    "first partial": "from zero to the first transcript after it that is not final yet",
    "word errors": "words that are wrong, missing or too many, of the words that were said",
    "latest frame": (
        "how long after its moment the latest frame of audio left this host: our own error"
    ),
    "not counted": "this program or its host spoiled the session; the provider is not blamed",
}
VERDICTS: Final = {
    Verdict.FORCED_FINAL: "the first final with text after the provider was told to end",
    Verdict.CLOSED_FINAL: "the first final with text after the end of the stream",
    Verdict.NATURAL_FINAL: "the first final, which the provider gave by itself",
    Verdict.LATE_PARTIAL: "no final came within the grace: the first partial after it",
    Verdict.LATE_FINAL: "the first final, after the grace",
    Verdict.LAST_PARTIAL: "nothing came after the grace: the newest partial before",
    Verdict.ALREADY_FINAL: "everything had been final at zero; shown as 0",
    Verdict.ACK_ONLY: "the end was acknowledged without any text",
    Verdict.NO_FINAL: "nothing came in time",
    Verdict.PROVIDER_ERROR: "the provider refused or failed",
    Verdict.CONNECTION_LOST: "the connection ended before there was an answer",
    Verdict.NETWORK_ERROR: "no connection came about",
    Verdict.HARNESS_LATE: "audio left too late; not counted",
    Verdict.HARNESS_STALLED: "this program stood still; not counted",
    Verdict.SOCKET_STALLED: "too much audio had not left this host; not counted",
    Verdict.CLOCK_STEP: "the clock of this host was set; not counted",
    Verdict.HARNESS_ERROR: "this program could not do its part; not counted",
    Verdict.VAD_NEVER: "there is no speech in the clip; not counted",
    Verdict.TURN_UNCLEAR: "it cannot be told whose answer it was; not counted",
    Verdict.CANCELLED: "ended before its time; not counted",
}
MISSED: Final = {
    "still_running": "the same run had not ended since its last moment",
    "provider_busy": "as many streams as allowed were open at its provider",
    "too_many": "as many runs as allowed went on",
    "provider_paused": "the provider had refused us: its key, its quota or its rate limit",
    "over_budget": "it would have cost more than may be spent",
    "journal_full": "too little was free on the disk",
    "exporter_gone": "the process that records was being started again",
    "worker_gone": "the process that measures its provider was being started again",
    "selftest": "the host was testing itself",
    "not_running": "this program was not running, or stood still",
}
"""Why a run did not begin."""
