"""How fast a clip is heard beforehand, and whether it is heard the same as live."""

import time
from dataclasses import dataclass
from statistics import median

from benchmarks.clients import OURS
from benchmarks.figure import Figure, Result, Target
from benchmarks.rounds import Rounds
from benchmarks.size import Size
from measure.records import AudioClip, VoiceSettings
from pacer.builtin import builtin_clips
from vad.silero import SequenceModel, StepModel
from vad.survey import survey


@dataclass(frozen=True, slots=True)
class _Compared:
    """One clip, heard both ways."""

    difference: float
    """The largest of all probabilities."""
    same_edges: bool


def survey_speed(rounds: Rounds, size: Size) -> Result:
    """The built-in clips, by the model of whole clips and by the one of live audio."""
    rounds.say("survey of the built-in clips")
    clips = builtin_clips()
    sequence, step = SequenceModel.load(), StepModel.load()
    fast = median(_times_real_time(clips, sequence) for _ in range(size.survey_repeats))
    slow = _times_real_time(clips, step)
    compared = [_compare(clip, sequence, step) for clip in clips]
    return Result(
        "Survey",
        f"{len(clips)} clips of real speech, {sum(c.audio_s for c in clips):.0f} s, "
        "heard whole by the sequence model and window by window by the step model. "
        "Real time divided by processor time, on one core.",
        [
            Figure(
                "survey speed",
                "x real time",
                {OURS: fast, "step model": slow},
                (Target(300.0, at_least=True),),
            ),
            Figure(
                "survey, largest difference of a probability",
                "",
                {OURS: max(one.difference for one in compared)},
                (Target(1e-5),),
            ),
            Figure(
                "survey, clips with another end of speech",
                "clips",
                {OURS: float(sum(not one.same_edges for one in compared))},
                (Target(0.0),),
            ),
        ],
    )


def _times_real_time(clips: tuple[AudioClip, ...], model: SequenceModel | StepModel) -> float:
    before_ns = time.thread_time_ns()
    for clip in clips:
        survey(clip, model, VoiceSettings())
    return sum(c.audio_s for c in clips) * 1e9 / (time.thread_time_ns() - before_ns)


def _compare(clip: AudioClip, sequence: SequenceModel, step: StepModel) -> _Compared:
    whole = survey(clip, sequence, VoiceSettings())
    live = survey(clip, step, VoiceSettings())
    difference = abs(whole.probabilities - live.probabilities).max()
    return _Compared(float(difference), whole.edges == live.edges)
