"""The overall chapter: one figure over all corpora of a version of the method."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from daemon.reporting.estimates import success
from daemon.reporting.groups import grouped
from daemon.reporting.lines import Circumstances, Summed
from daemon.results import worst_error
from exporters.report_table import Chapter, Estimate, Latency, Line, ranked
from scoring.profiles import Figure, Overall, overall
from scoring.signature import SignatureError, parsed
from scoring.weigh import CorpusRate


def overall_chapter(summed: Sequence[Summed], about: Circumstances) -> Chapter:
    """One figure over all corpora, for each model that has it; why, for each that has not."""
    lines, notes, title = [], dict[str, list[str]](), about.profile.name
    ways = grouped(summed, lambda one: (one.line.model, one.way.without("corpus")))
    for group in ways.values():
        found, line = _overall_line(group, about)
        title = found.name
        if line.wer.value is None and line.time.mean.value is None:
            why = f"no overall figure, without {', '.join(found.missing)}"
            notes.setdefault(why, []).append(line.label)
        else:
            lines.append(line)
            if found.missing:
                notes.setdefault(f"no overall word error rate, without {', '.join(found.missing)}",
                                 []).append(line.label)  # fmt: skip
    said = tuple(f"{why}: {', '.join(models)}" for why, models in notes.items())
    return Chapter(title, None, tuple(ranked(lines, about.sort)), said)


def _overall_line(group: Sequence[Summed], about: Circumstances) -> tuple[Overall, Line]:
    places = {
        place: _filling(group, about.stand_ins.get(place, place))
        for place in (one.name for one in about.profile.corpora)
    }
    filled = {place: one for place, one in places.items() if one is not None}

    def over(value: Callable[[Line], Estimate]) -> Overall:
        figures = {
            place: Figure(one.corpus, _rated(value(one.line), one.audio_s))
            for place, one in filled.items()
        }
        return overall(about.profile, figures)

    def estimate(value: Callable[[Line], Estimate]) -> Estimate:
        return Estimate(over(value).rate, sum(value(one.line).n for one in filled.values()))

    lines = [one.line for one in filled.values()]
    answered, failed = sum(one.answered for one in lines), sum(one.failed for one in lines)
    line = replace(
        group[0].line,
        wer=estimate(lambda one: one.wer),
        first_partial_wer=estimate(lambda one: one.first_partial_wer),
        time=Latency(estimate(lambda one: one.time.mean)),
        first_partial=Latency(estimate(lambda one: one.first_partial.mean)),
        success=success(answered, failed),
        answered=answered,
        failed=failed,
        voided=sum(one.voided for one in lines),
        early=sum(one.early for one in lines),
        signature=_overall_signature(group, filled),
        harness_error=worst_error(one.harness_error for one in lines),
        notes=(),
    )
    return over(lambda one: one.wer), line


def _filling(group: Sequence[Summed], corpus: str) -> Summed | None:
    """What was found in the corpus of that name; None where it is missing, in parts, or twice."""
    found = [one for one in group if one.corpus == corpus and one.not_whole is None]
    return found[0] if len(found) == 1 else None


def _rated(estimate: Estimate, audio_s: float) -> CorpusRate:
    return CorpusRate(estimate.value, estimate.n, audio_s, 0, 0)


def _overall_signature(group: Sequence[Summed], filled: Mapping[str, Summed]) -> str:
    line = group[0].line.signature
    try:
        made = parsed(line)
        corpora = [parsed(one.line.signature).corpus for one in filled.values()]
    except SignatureError:
        return line
    error = worst_error(one.line.harness_error for one in filled.values())
    return str(replace(made, corpus=" + ".join(corpora), error=error))
