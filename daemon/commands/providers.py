"""``speechbench providers``: the models that can be measured; with a NAME, how one is driven.

What is said of a provider was found in its sources at their dates. Prices above all are those of a
list at a date, and nobody has asked since.
"""

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from daemon.commands.conform import TRANSCRIPTS, chosen
from daemon.conformance.described import fake_of, read_descriptions
from daemon.conformance.promise import Broken, Subject, subject_of
from daemon.conformance.transcript import conversations, errors
from measure.records import Flow
from providers import CATALOG
from providers.codec import Encoding, Ending, Facts, Price
from providers.described import model_of

HELP = "list the models that can be measured, or explain one"
COLUMNS = ("model", "flow", "final", "audio", "key")
ENDINGS = {
    Ending.SAID: "we announce it, and wait until the provider has said all",
    Ending.CLOSED: "we announce it, and wait for the provider's Close",
    Ending.HANG_UP: "we close the connection",
}
PAGE = """\
# Providers

{models} models of {providers} providers and servers can be measured. This page is made by
`speechbench providers --markdown` from the catalogue; `speechbench providers NAME` shows one.

Everything here was found in the sources that are named, at their dates. Prices are those of a list
at a date and were not checked since. What awaits a live key was never seen at the provider itself.

`flow` is how the end of speech is made known (forced: by a message; fallback: the provider ends the
segment by itself), `final` how the final that answers is told.
"""
NEVER_LIVE = "Nothing of it has been seen with a live key yet, unless a source says so."


def arguments(parser: argparse.ArgumentParser) -> None:
    """What can be chosen."""
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help='"deepgram/nova-3", or "deepgram" for all of it'
    )
    parser.add_argument(
        "--described", type=Path, metavar="FILE", help="a TOML file with providers of your own"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document instead of a table")
    parser.add_argument(
        "--markdown", action="store_true", help="the page docs/providers.md instead of a table"
    )


def run(args: argparse.Namespace) -> int:
    """List or explain. Raises UserError."""
    subjects = subjects_of(args.described)
    if args.names:
        models = {one.name: one.model for one in subjects}
        wanted = chosen(models, args.names, everything=False)
        subjects = [one for one in subjects if one.name in wanted]
    if args.json:
        documents = [document_of(one) for one in subjects]
        print(json.dumps(documents, ensure_ascii=False, indent=1))  # noqa: T201
    elif args.markdown:
        print("\n".join(page(subjects)))  # noqa: T201
    elif args.names:
        print("\n\n".join("\n".join(explained(one)) for one in subjects))  # noqa: T201
    else:
        print("\n".join(table(subjects)))  # noqa: T201
    return 0


def subjects_of(described: Path | None = None) -> list[Subject]:
    """All models with what they are proven by. Raises UserError."""
    own = read_descriptions(described) if described else {}
    known = [subject_of(name, model, TRANSCRIPTS) for name, model in CATALOG.items()]
    return known + [
        Subject(name, model_of(shape), None, fake_of(shape)) for name, shape in own.items()
    ]


def table(subjects: list[Subject]) -> Iterator[str]:
    """A line for each."""
    rows = [COLUMNS, *(_row(one) for one in subjects)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def _row(subject: Subject) -> tuple[str, ...]:
    facts = subject.codec().facts
    return (
        subject.name,
        facts.rule.flow.value,
        facts.rule.final_rule.value,
        audio_of(facts),
        facts.key_variable or "none needed",
    )


def audio_of(facts: Facts) -> str:
    """How audio goes out, in a few words."""
    audio = facts.audio
    coded = "" if audio.encoding is Encoding.S16LE else " float"
    wrapped = " base64" if audio.base64 else ""
    return f"{audio.chunk_ms} ms, {audio.rate_hz / 1000:g} kHz{coded}{wrapped}"


def page(subjects: list[Subject]) -> Iterator[str]:
    """docs/providers.md: all models in a table, and what is known of each."""
    yield PAGE.format(
        models=len(subjects), providers=len({subject.provider for subject in subjects})
    )
    yield f"| {' | '.join(COLUMNS)} |"
    yield f"|{' --- |' * len(COLUMNS)}"
    for subject in subjects:
        yield f"| {' | '.join(_row(subject))} |"
    for subject in subjects:
        title, *lines = explained(subject)
        yield f"\n## {title}\n\n```text"
        yield from (line.removeprefix("  ") for line in lines)
        yield "```"


def explained(subject: Subject) -> Iterator[str]:
    """How one model is driven and why, what is proven, and what is not."""
    facts = subject.codec().facts
    yield f"{subject.name}: {subject.model.title}"
    for name, said in _told(subject, facts):
        if said:
            first, *others = said if isinstance(said, list) else [said]
            yield f"  {name:<18}{first}"
            yield from (f"  {'':<18}{other}" for other in others)


def _told(subject: Subject, facts: Facts) -> Iterator[tuple[str, str | list[str]]]:
    yield "flow", _flow(facts)
    yield "why", facts.why
    yield "endpointing", f"its own: {facts.natural_endpointing}"
    yield "transport", facts.transport.value
    yield "audio", _audio(facts)
    yield "text", f"{facts.text_mode.value}, finals joined with {facts.rule.joiner!r}"
    yield "around the force", list(_around_the_force(facts))
    yield "sign of life", f"after {facts.keepalive_s:g} s" if facts.keepalive_s else ""
    yield "end", ENDINGS[facts.ending]
    yield "limits", list(_limits(facts))
    yield "languages", ", ".join(facts.languages)
    yield "prompt", facts.prompt
    yield "key", _key(facts)
    yield "price", _price(facts.price)
    yield "sources", [f"{one.what}, {one.date}" for one in facts.sources]
    yield "proven", proven(subject)
    needs_key = facts.key_variable is not None
    yield "awaits a live key", list(facts.awaits) or ([NEVER_LIVE] if needs_key else [])


def _flow(facts: Facts) -> str:
    if facts.rule.flow is Flow.FORCED:
        return f"forced; the final that answers is told by: {facts.rule.final_rule.value}"
    return f"{facts.rule.flow.value}; no endpoint can be forced"


def _audio(facts: Facts) -> str:
    audio = facts.audio
    least = f", at least {audio.min_chunk_ms} ms" if audio.min_chunk_ms else ""
    most = f", at most {audio.max_chunk_ms} ms" if audio.max_chunk_ms else ""
    return f"{audio_of(facts)} at once{least}{most}"


def _around_the_force(facts: Facts) -> Iterator[str]:
    forcing = facts.forcing
    if facts.rule.flow is not Flow.FORCED:
        return
    if forcing.min_buffered_ms:
        yield f"at least {forcing.min_buffered_ms} ms of audio since the last one"
    if forcing.silence_before_ms:
        yield f"{forcing.silence_before_ms} ms of silence before it, which count in the latency"
    if not facts.silence_after_force:
        yield "no audio after it"
    elif forcing.silence_after_ms is not None:
        yield f"{forcing.silence_after_ms} ms of silence after it"
    else:
        yield "silence after it until the answer is complete"
    if forcing.min_gap_s:
        yield f"at least {forcing.min_gap_s:g} s from one to the next"
    if forcing.unanswered:
        yield f"where nothing was heard: {forcing.unanswered}"


def _limits(facts: Facts) -> Iterator[str]:
    limits = facts.limits
    if limits.session_s is not None:
        yield f"a stream lasts {limits.session_s:g} s at most"
    if limits.idle_s is not None:
        yield f"it ends after {limits.idle_s:g} s without audio or sign of life"
    if limits.streams is not None:
        yield f"{limits.streams} streams at a time"


def _key(facts: Facts) -> str:
    if facts.key_variable is None:
        return "none needed"
    return f"in {facts.key_variable}" + (f", as {facts.key_form}" if facts.key_form else "")


def _price(price: Price | None) -> str:
    if price is None:
        return ""
    return (
        f"{price.usd_per_1000_min:g} USD per 1,000 minutes ({price.unit}) "
        f"was listed in {price.source.date} by {price.source.what}; not checked since"
    )


def proven(subject: Subject) -> list[str]:
    """What its codec is proven against."""
    try:
        found = [one.name for one in conversations(subject)]
        failures = len(errors(subject))
    except Broken as broken:
        return [str(broken)]
    said = [f"conversation on paper: {name}" for name in found]
    if failures:
        said.append(f"failures on paper: {failures}")
    if subject.fake is not None:
        said.append(f"its fake: speechbench conform {subject.name}")
    return said or ["nothing beside this installation"]


def document_of(subject: Subject) -> dict[str, object]:
    """The same for programs."""
    facts = subject.codec().facts
    plain = json.loads(json.dumps(asdict(facts), default=str))
    assert isinstance(plain, dict)
    return {
        "model": subject.name,
        "title": subject.model.title,
        **_without_settings(plain),
        "proven": proven(subject),
    }


def _without_settings(facts: Mapping[str, object]) -> dict[str, object]:
    """Of the rule only what is the provider's own."""
    rule = facts["rule"]
    assert isinstance(rule, dict)
    own = {name: rule[name] for name in ("flow", "final_rule", "joiner")}
    return {**facts, "rule": own}
