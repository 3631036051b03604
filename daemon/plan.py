"""What is to be measured, worked out beforehand: models with keys, clips in memory, speech found.

Everything that a user can have got wrong is found here, before the first second is streamed.
"""

import socket
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from daemon.clock import wall_ns
from daemon.config import (
    CONFIG_EXIT_CODE,
    ClipSection,
    ModelSection,
    Settings,
    read_settings,
)
from daemon.errors import UserError
from daemon.keys import Keys
from daemon.loaded import HEARD_RATE_HZ, Loaded
from daemon.order import Order, Speech
from daemon.selftest.host import fingerprint
from daemon.selftest.known import KnownError
from measure.records import MS, SECOND, AudioClip, Endpoint, Flow, Rule
from pacer.builtin import builtin_clips
from pacer.clips import ClipError, RawFormat, load_clip
from pacer.cut import STREAMING, Span
from providers import CATALOG
from providers.codec import Codec, Model, Options
from scoring.corpora.checksum import Content, corpus_sha256
from scoring.normalize import NORMALIZERS
from scoring.signature import Signature, corpus_part, normalizer_part, rule_part, vad_part
from vad.silero import STEP_MODEL, ModelError
from vad.survey import Survey, Surveyor, last_end

if TYPE_CHECKING:  # only parts of calls have one
    from scoring.rejoin import Call

LOCAL_ENGINES = {"local/moonshine-tiny": "moonshine", "local/pocketsphinx": "pocketsphinx"}
"""The models that are built in, and the engine that answers for each."""


@dataclass(frozen=True, slots=True)
class Target:
    """One model that can be measured."""

    name: str
    options: Options
    key: str = field(repr=False)
    rule: Rule
    price_usd_per_1000_min: float | None = None
    described: Model | None = field(default=None, repr=False)
    """Where the user has described it; None: as in the catalogue."""

    def codec(self) -> Codec:
        """A codec for one stream."""
        return (self.described or CATALOG[self.name]).make(self.options)

    @property
    def engine(self) -> str | None:
        """The engine that has to be started for it; None where its address is given."""
        return LOCAL_ENGINES.get(self.name) if self.options.url is None else None

    def at(self, url: str) -> "Target":
        """The same model at ``url``."""
        return replace(self, options=replace(self.options, url=url))


@dataclass(frozen=True, slots=True)
class Recording:
    """One clip, as the detector heard it and at each rate at which it will be sent."""

    clip: AudioClip
    turns: tuple[Speech, ...]
    """The speech whose end is an endpoint; none where nobody speaks."""
    at_rate: Mapping[int, AudioClip] = field(repr=False)
    call: "Call | None" = None
    """The recording that it is a part of, which has the reference and is scored as a whole."""

    @property
    def reference(self) -> str | None:
        """What is said in it, or in the whole that it is a part of."""
        return self.clip.reference if self.call is None else self.call.reference

    @property
    def speech(self) -> Speech | None:
        """From where speech begins to the last endpoint."""
        if not self.turns:
            return None
        first, last = self.turns[0], self.turns[-1]
        return replace(last, start_ms=first.start_ms, start_known_ms=first.start_known_ms)


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that is measured in one round."""

    settings: Settings
    targets: tuple[Target, ...]
    recordings: tuple[Recording, ...]
    skipped: tuple[str, ...]
    """Models that cannot be measured, a line each."""
    host: str
    known_error: KnownError
    """What the harness itself adds on this host, as the newest self-test found it."""

    corpora: Mapping[str, str] = field(init=False)
    """The hash of each corpus. Worked out once: each order needs it, while others are paced."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "corpora", hashes_of(self.recordings))

    def signature(self, rule: Rule, corpus: str) -> Signature:
        """How a number of this plan is made."""
        normalizer = NORMALIZERS["speechbench"]
        voice = self.settings.voice_settings
        force_at = rule.force_at.value if rule.flow is not Flow.FALLBACK else ""
        return Signature(
            software=_version_of("speechbench"),
            norm=normalizer_part(normalizer.name, normalizer.version, normalizer.data_sha256),
            vad=vad_part(
                "silero",
                _version_of("silero-vad"),
                STEP_MODEL.sha256,
                threshold=voice.threshold,
                min_silence_ms=voice.min_silence_ms,
                speech_pad_ms=voice.speech_pad_ms,
            ),
            rule=rule_part(
                rule.flow.value,
                force_at,
                endpoint=rule.endpoint.value,
                grace_s=rule.grace_ns / SECOND,
                patience_s=rule.patience_ns / SECOND,
                confirm_s=rule.confirm_ns / SECOND,
                settle_s=rule.settle_ns / SECOND,
                echo_counts=rule.echo_counts,
                budgets_ms=(
                    rule.late_budget_ns / MS,
                    rule.stall_budget_ns / MS,
                    rule.clock_step_budget_ns / MS,
                ),
            ),
            corpus=corpus_part(corpus, self.corpora[corpus]),
            host=self.host,
            error=self.known_error.part(),
        )

    def order(self, target: Target, recording: Recording, run_id: str) -> Order:
        """One measurement of this plan."""
        codec = target.codec()
        clip = recording.at_rate[codec.facts.audio.rate_hz]
        return Order(
            session_id=new_id(),
            run_id=run_id,
            model=target.name,
            codec=codec,
            key=target.key,
            clip=clip,
            speech=recording.turns[-1] if recording.turns else None,
            earlier=recording.turns[:-1],
            call=recording.call,
            rule=target.rule,
            signature=str(self.signature(target.rule, clip.corpus)),
            connect_s=self.settings.timeouts.connect_s,
            close_s=self.settings.timeouts.close_s,
            price_usd_per_1000_min=target.price_usd_per_1000_min,
        )


@cache
def _version_of(package: str) -> str:
    """Of what is installed. Each look reads files, and leaves dozens of objects in circles."""
    return version(package)


def hashes_of(recordings: Iterable[Recording]) -> dict[str, str]:
    """The hash of each corpus, over names, audio and references of its clips."""
    contents: dict[str, list[Content]] = {}
    for recording in recordings:
        clip = recording.clip
        content = (clip.name, clip.sha256, recording.reference)
        contents.setdefault(clip.corpus, []).append(content)
    return {corpus: corpus_sha256(found) for corpus, found in contents.items()}


def new_id() -> str:
    """A name for a run or a session that no other has."""
    return uuid.uuid4().hex[:16]


def targets_of(
    settings: Settings, environment: Mapping[str, str]
) -> tuple[list[Target], list[str]]:
    """The models that can be measured, and a line for each that cannot."""
    targets, skipped = [], []
    for section in settings.model:
        target = _target(section, settings, environment)
        if isinstance(target, str):
            skipped.append(target)
        else:
            targets.append(target)
    return targets, skipped


def _target(
    section: ModelSection, settings: Settings, environment: Mapping[str, str]
) -> Target | str:
    options = Options(url=section.url, language=section.language)
    described = None if section.name in CATALOG else settings.catalogue[section.name]
    try:
        codec = (described or CATALOG[section.name]).make(options)
        facts = codec.facts
    except ValueError as error:  # an address that this provider cannot have
        raise UserError(f"{section.name}: {error}", exit_code=CONFIG_EXIT_CODE) from error
    rule = settings.rule(facts.rule, _flow(section, settings, codec))
    variable = section.key_variable or facts.key_variable
    keys = Keys(environment, settings.keys.directory)
    provider = section.name.partition("/")[0]
    key = keys.find(provider, variable) if variable else None
    if variable and key is None:
        return keys.missing(section.name, variable)
    secret = key.value if key else ""
    price_usd = section.price_usd_per_1000_min
    return Target(section.name, options, secret, rule, price_usd, described)


def _flow(section: ModelSection, settings: Settings, codec: Codec) -> Flow:
    """The flow that is asked for, if the model knows it and it leaves something to measure."""
    own = codec.facts.rule.flow
    flow = own if section.flow is None else Flow(section.flow)
    allowed = [own, *([Flow.CLOSE] if list(codec.finish()) else [])]
    if flow not in allowed:
        raise UserError(
            f"{section.name}: there is no flow {flow.value!r} with it; "
            f"allowed: {', '.join(one.value for one in allowed)}",
            exit_code=CONFIG_EXIT_CODE,
        )
    every = Endpoint(settings.method.endpoint) is Endpoint.EVERY
    if flow is Flow.FORCED and every and not codec.facts.silence_after_force:
        raise UserError(
            f"{section.name}: it wants no audio after a force, "
            "so that method.endpoint must be 'last'",
            exit_code=CONFIG_EXIT_CODE,
        )
    if flow is Flow.CLOSE and Endpoint(settings.method.endpoint) is Endpoint.EVERY:
        raise UserError(
            f"{section.name}: the flow 'close' ends the stream, "
            "so that method.endpoint must be 'last'",
            exit_code=CONFIG_EXIT_CODE,
        )
    return flow


def recordings_of(
    settings: Settings, rates_hz: Iterable[int], surveyor: Surveyor
) -> tuple[Recording, ...]:
    """All clips, read and surveyed. Raises UserError with a line for each that cannot be used."""
    rates = sorted({HEARD_RATE_HZ, *rates_hz})
    mistakes: list[str] = []
    recordings: list[Recording] = []
    clips = (Loaded(at_rate) for at_rate in _clips(settings, rates, mistakes))
    for one in chain(clips, _of_corpora(settings, rates, mistakes, surveyor)):
        clip = one.at_rate[HEARD_RATE_HZ]
        survey = surveyor.survey(clip, settings.voice_settings)
        turns = turns_of(survey, Endpoint(settings.method.endpoint))
        recordings.append(Recording(clip, turns, one.at_rate, one.call))
    if mistakes:
        raise UserError("\n".join(mistakes))
    return tuple(_with_names_of_their_own(recordings))


def speech_of(survey: Survey) -> Speech | None:
    """The part of a survey that a measurement with one endpoint needs."""
    end = last_end(survey)
    if end is None:
        return None
    start = survey.starts[0]
    return Speech(start.audio_ms, start.known_ms, end.audio_ms, end.known_ms, end.at_eof)


def turns_of(survey: Survey, endpoint: Endpoint) -> tuple[Speech, ...]:
    """The parts of a survey that a measurement needs, one for each endpoint."""
    if endpoint is Endpoint.LAST:
        speech = speech_of(survey)
        return () if speech is None else (speech,)
    return tuple(
        Speech(start.audio_ms, start.known_ms, end.audio_ms, end.known_ms, end.at_eof)
        for start, end in zip(survey.starts, survey.ends, strict=True)
    )


def _clips(
    settings: Settings, rates: list[int], mistakes: list[str]
) -> Iterator[dict[int, AudioClip]]:
    """Each clip at every rate that is needed."""
    try:
        if not settings.clip and not settings.corpus:
            by_rate = {rate: builtin_clips(rate) for rate in rates}
            for index in range(len(by_rate[HEARD_RATE_HZ])):
                yield {rate: clips[index] for rate, clips in by_rate.items()}
    except ClipError as error:
        mistakes.append(str(error))
    for section in settings.clip:
        try:
            yield {rate: _loaded(section, rate) for rate in rates}
        except ClipError as error:
            mistakes.append(str(error))


def _of_corpora(
    settings: Settings, rates: list[int], mistakes: list[str], surveyor: Surveyor
) -> Iterator[Loaded]:
    """Each recording of each corpus; long ones in parts where that is asked for."""

    def speech_in(clip: AudioClip) -> Sequence[Span]:
        found = surveyor.survey(clip, settings.voice_settings)
        starts, ends = found.starts, found.ends
        return [(one.sample, other.sample) for one, other in zip(starts, ends, strict=True)]

    if not settings.corpus:
        return
    # Manifests, normalisers and lengths of corpora: a start without a corpus need not load them.
    from daemon.corpus_clips import Settled, settled

    taken = {clip.corpus for clip in settings.clip}
    for section in settings.corpus:
        corpus = Settled(section.path, section.kind, section.calls, section.channels, section.name)
        limits = STREAMING if section.long == "parts" else None
        yield from settled(corpus, rates, mistakes, taken, limits=limits, speech_in=speech_in)


def _loaded(section: ClipSection, rate_hz: int) -> AudioClip:
    raw = section.raw
    return load_clip(
        section.path,
        rate_hz=rate_hz,
        channels=section.channels,
        raw=RawFormat(raw.encoding, raw.rate_hz, raw.channels) if raw else None,
        name=section.name,
        reference=section.reference,
        corpus=section.corpus,
    )


def _with_names_of_their_own(recordings: list[Recording]) -> Iterator[Recording]:
    """Two clips of one name would be one clip in every table: the later one gets a number."""
    seen: dict[tuple[str, str], int] = {}
    for recording in recordings:
        clip = recording.clip
        count = seen[clip.corpus, clip.name] = seen.get((clip.corpus, clip.name), 0) + 1
        if count == 1:
            yield recording
            continue
        name = f"{clip.name} ({count})"
        yield replace(
            recording,
            clip=replace(clip, name=name),
            at_rate={rate: replace(one, name=name) for rate, one in recording.at_rate.items()},
        )


def plan_of(settings: Settings, environment: Mapping[str, str]) -> Plan:
    """Everything that ``settings`` ask for. Raises UserError with a line for each mistake."""
    targets, skipped = targets_of(settings, environment)
    rates_hz = [target.codec().facts.audio.rate_hz for target in targets]
    try:
        recordings = recordings_of(settings, rates_hz, Surveyor())
    except ModelError as error:
        raise UserError(str(error)) from error
    return Plan(
        settings, tuple(targets), recordings, tuple(skipped), host_name(), known_error(settings)
    )


def known_error(settings: Settings, streams: int | None = None) -> KnownError:
    """What is known of this host's own error, for as many streams as are measured at once.

    None: as many as the settings allow.
    """
    allowed = max(settings.daemon.parallel * settings.daemon.workers, settings.daemon.jobs)
    return KnownError(
        directory=settings.journal.directory.absolute(),
        streams=allowed if streams is None else streams,
        fingerprint=fingerprint(),
        wall_ns=wall_ns,
    )


def configured_plan(
    path: Path | None,
    environment: Mapping[str, str],
    overrule: Callable[[Settings], Settings] = lambda settings: settings,
) -> Plan:
    """What the configuration in ``path`` asks for. Raises UserError that a supervisor heeds.

    ``overrule`` may change what the file says: what stands on a command line counts more.
    """
    try:
        return plan_of(overrule(read_settings(path)), environment)
    except UserError as error:
        raise UserError(str(error), exit_code=CONFIG_EXIT_CODE) from error


def host_name() -> str:
    """What this host calls itself, as it stands in signatures."""
    return socket.gethostname().replace("|", "/") or "unnamed"
