"""Chapters: one for each corpus, and the overall one."""

from collections.abc import Sequence

from daemon.reporting.groups import grouped
from daemon.reporting.lines import Circumstances, Summed, sum_up, told_apart
from daemon.reporting.overall import overall_chapter
from daemon.reporting.recordings import Counting
from daemon.reporting.samples import Sample
from daemon.reporting.ways import differing, way_of
from exporters.report_table import Chapter, ranked


def chapters_of(samples: Sequence[Sample], about: Circumstances) -> list[Chapter]:
    """A chapter for each corpus, by name, and the overall one."""
    counting = Counting(about.profile.normaliser())
    samples = sorted(samples, key=lambda one: (one.model, one.wall_ns, one.session_id))
    summed = [
        sum_up(group, about, counting)
        for group in grouped(samples, lambda one: (one.corpus, one.model, way_of(one))).values()
    ]
    summed = told_apart(summed)
    by_corpus = grouped(summed, lambda one: one.corpus)
    chapters = [
        Chapter(
            f"Corpus {corpus}", corpus, tuple(ranked([one.line for one in group], about.sort)),
            _across_notes(group),
        )
        for corpus, group in sorted(by_corpus.items())
    ]  # fmt: skip
    return [*chapters, overall_chapter(summed, about)]


def _across_notes(group: Sequence[Summed]) -> tuple[str, ...]:
    names = differing({one.way for one in group})
    notes = [f"the rows were made differently: {', '.join(names)}"] if names else []
    misused = next((one.not_whole for one in group if one.not_whole), None)
    return (*notes, misused) if misused else tuple(notes)
