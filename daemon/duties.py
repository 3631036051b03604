"""From a configuration to what has to be done: which runs there are, when, and what each costs."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from daemon.admission import Limits
from daemon.budget import Allowance, cost_usd
from daemon.config import CONFIG_EXIT_CODE, DEFAULT_SCHEDULE, ScheduleSection, Settings
from daemon.dispatch import Assignment
from daemon.errors import UserError
from daemon.order import Pair
from daemon.plan import Plan
from daemon.schedule import Every, Job, TimesADay, Timing
from measure.records import SECOND

TRAILING_S = 5.0
"""How much silence a run may send behind a clip, for the estimate of what it will cost."""


@dataclass(frozen=True, slots=True)
class Line:
    """One schedule, as the dispatcher needs it."""

    name: str
    timing: Timing
    models: tuple[str, ...]
    corpora: tuple[str, ...]
    clips: int | None


def lines_of(plan: Plan) -> tuple[Line, ...]:
    """The schedules of a plan. Raises UserError with a line for each name that is not known."""
    sections = plan.settings.schedule
    if not sections:
        every = Every(round(plan.settings.daemon.interval_s * SECOND))
        return (Line(DEFAULT_SCHEDULE, every, (), (), None),)
    mistakes = [*_twice(sections), *_unknown(plan, sections)]
    if mistakes:
        raise UserError("\n".join(mistakes), exit_code=CONFIG_EXIT_CODE)
    return tuple(
        Line(one.name, _timing(one), one.models, one.corpora, one.clips) for one in sections
    )


def assignments_of(plan: Plan) -> tuple[Assignment, ...]:
    """Every run that a plan asks for. Raises UserError for limited money and no price."""
    _require_prices(plan)
    return tuple(
        Assignment(
            Job(line.name, target.name, corpus), line.timing, _cost(plan, line, place, corpus)
        )
        for line in lines_of(plan)
        for place, target in enumerate(plan.targets)
        if not line.models or target.name in line.models
        for corpus in plan.corpora
        if not line.corpora or corpus in line.corpora
    )


def require_work(plan: Plan) -> None:
    """There is something to measure, now and again. Raises UserError."""
    if not plan.targets:
        lines = [*plan.skipped, "there is no model left to measure"]
        raise UserError("\n".join(lines), exit_code=CONFIG_EXIT_CODE)
    if not assignments_of(plan):
        said = "schedule: none of them has a model that can be measured and a corpus that is there"
        raise UserError("\n".join([*plan.skipped, said]), exit_code=CONFIG_EXIT_CODE)


def pairs_of_job(plan: Plan, job: Job, wall_ns: int) -> list[Pair]:
    """The measurements of one run: all clips of its corpus, or as many as are its turn then."""
    line = next(line for line in lines_of(plan) if line.name == job.schedule)
    target = next(place for place, one in enumerate(plan.targets) if one.name == job.model)
    places = _clips_of(plan, job.corpus)
    if line.clips is None or line.clips >= len(places):
        return [Pair(target, place) for place in places]
    first = line.timing.slot_at(wall_ns) * line.clips
    return [Pair(target, places[(first + nth) % len(places)]) for nth in range(line.clips)]


def limits_of(settings: Settings) -> Limits:
    """How much may go on at the same time."""
    section = settings.daemon
    within_ns = round(section.start_within_s * SECOND)
    return Limits(section.jobs, section.jobs_per_provider, within_ns)


def most_streams(plan: Plan) -> int:
    """How many streams there can be at the same time; a run has one."""
    limits = limits_of(plan.settings)
    at_provider = Counter(assignment.job.provider for assignment in assignments_of(plan))
    return min(limits.jobs, sum(min(limits.jobs_per_provider, n) for n in at_provider.values()))


def allowance_of(settings: Settings, provider: str) -> Allowance:
    """What one provider may cost."""
    for one in settings.spending.provider:
        if one.name == provider:
            return Allowance(one.day_usd, one.month_usd)
    return Allowance()


def overall_of(settings: Settings) -> Allowance:
    """What all providers together may cost."""
    return Allowance(settings.spending.day_usd, settings.spending.month_usd)


def price_of(settings: Settings, model: str) -> float | None:
    """What 1,000 minutes of this model cost, as the user says; None where that is not said."""
    for section in settings.model:
        if section.name == model:
            return section.price_usd_per_1000_min
    return None


def _timing(section: ScheduleSection) -> Timing:
    if section.times_a_day is not None:
        return TimesADay(section.times_a_day)
    assert section.every_s is not None, "the configuration was checked"
    return Every(round(section.every_s * SECOND))


def _clips_of(plan: Plan, corpus: str) -> list[int]:
    return [
        place for place, recording in enumerate(plan.recordings) if recording.clip.corpus == corpus
    ]


def _cost(plan: Plan, line: Line, target: int, corpus: str) -> float:
    """The most that one run will cost: the longest clips there are, and the silence behind them."""
    price = price_of(plan.settings, plan.targets[target].name)
    if price is None:
        return 0.0
    lengths_s = sorted(
        (plan.recordings[place].clip.audio_s + TRAILING_S for place in _clips_of(plan, corpus)),
        reverse=True,
    )
    return cost_usd(sum(lengths_s[: line.clips]), price)


def _twice(sections: Sequence[ScheduleSection]) -> list[str]:
    names = [section.name for section in sections]
    return [
        f"schedule[{place}].name: {name!r} is the name of another schedule"
        for place, name in enumerate(names, start=1)
        if name in names[: place - 1]
    ]


def _unknown(plan: Plan, sections: Sequence[ScheduleSection]) -> list[str]:
    models = [section.name for section in plan.settings.model]
    mistakes = []
    for place, section in enumerate(sections, start=1):
        for what, wanted, known in (
            ("models", section.models, models),
            ("corpora", section.corpora, list(plan.corpora)),
        ):
            mistakes += [
                f"schedule[{place}].{what}: {name!r} is not configured; allowed: {', '.join(known)}"
                for name in wanted
                if name not in known
            ]
    return mistakes


def _require_prices(plan: Plan) -> None:
    """Money cannot be limited where nobody has said what is paid."""
    spending = plan.settings.spending
    mistakes = [
        f"spending: the price of {target.name} is not known; say what you pay: "
        "price_usd_per_1000_min in its [[model]], 0 where it costs nothing"
        for target in plan.targets
        if spending.limits(target.name.partition("/")[0])
        and price_of(plan.settings, target.name) is None
    ]
    if mistakes:
        raise UserError("\n".join(mistakes), exit_code=CONFIG_EXIT_CODE)
