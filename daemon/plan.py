"""What is to be measured, worked out beforehand: models with keys, clips in memory, speech found.

Everything that a user can have got wrong is found here, before the first second is streamed.
"""

import hashlib
import socket
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path

from daemon.config import (
    CONFIG_EXIT_CODE,
    ClipSection,
    ModelSection,
    Settings,
    read_settings,
)
from daemon.errors import UserError
from daemon.order import Order, Speech
from measure.records import MS, SECOND, AudioClip, Flow, Rule
from pacer.builtin import builtin_clips
from pacer.clips import ClipError, RawFormat, load_clip
from providers import CATALOG
from providers.codec import Codec, Options
from scoring.normalize import NORMALIZERS
from scoring.signature import Signature, corpus_part, normalizer_part, rule_part, vad_part
from vad.silero import STEP_MODEL, ModelError
from vad.survey import Survey, Surveyor, last_end

HEARD_RATE_HZ = 16_000
"""The rate at which the detector hears every clip."""
LOCAL_ENGINES = {"local/moonshine-tiny": "moonshine", "local/pocketsphinx": "pocketsphinx"}
"""The models that are built in, and the engine that answers for each."""


@dataclass(frozen=True, slots=True)
class Target:
    """One model that can be measured."""

    name: str
    options: Options
    key: str = field(repr=False)
    rule: Rule

    def codec(self) -> Codec:
        """A codec for one stream."""
        return CATALOG[self.name].make(self.options)

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
    speech: Speech | None
    at_rate: Mapping[int, AudioClip] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that is measured in one round."""

    settings: Settings
    targets: tuple[Target, ...]
    recordings: tuple[Recording, ...]
    skipped: tuple[str, ...]
    """Models that cannot be measured, a line each."""
    host: str

    @property
    def corpora(self) -> dict[str, str]:
        """The hash of each corpus: over the hashes of its clips, in order."""
        digests: dict[str, hashlib._Hash] = {}
        for recording in self.recordings:
            digest = digests.setdefault(recording.clip.corpus, hashlib.sha256())
            digest.update(recording.clip.sha256.encode())
        return {corpus: digest.hexdigest() for corpus, digest in digests.items()}

    def signature(self, rule: Rule, corpus: str) -> Signature:
        """How a number of this plan is made."""
        normalizer = NORMALIZERS["speechbench"]
        voice = self.settings.voice_settings
        force_at = rule.force_at.value if rule.flow is Flow.FORCED else ""
        return Signature(
            software=version("speechbench"),
            norm=normalizer_part(normalizer.name, normalizer.version, normalizer.data_sha256),
            vad=vad_part(
                "silero",
                version("silero-vad"),
                STEP_MODEL.sha256,
                threshold=voice.threshold,
                min_silence_ms=voice.min_silence_ms,
                speech_pad_ms=voice.speech_pad_ms,
            ),
            rule=rule_part(
                rule.flow.value,
                force_at,
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
            speech=recording.speech,
            rule=target.rule,
            signature=str(self.signature(target.rule, clip.corpus)),
            connect_s=self.settings.timeouts.connect_s,
            close_s=self.settings.timeouts.close_s,
        )


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
    try:
        facts = CATALOG[section.name].make(options).facts
    except ValueError as error:  # an address that this provider cannot have
        raise UserError(f"{section.name}: {error}", exit_code=CONFIG_EXIT_CODE) from error
    variable = section.key_variable or facts.key_variable
    key = environment.get(variable, "").strip() if variable else ""
    if variable and not key:
        return f"{section.name}: no key; put it into the environment variable {variable}"
    return Target(section.name, options, key, settings.rule(facts.rule))


def recordings_of(
    settings: Settings, rates_hz: Iterable[int], surveyor: Surveyor
) -> tuple[Recording, ...]:
    """All clips, read and surveyed. Raises UserError with a line for each that cannot be used."""
    rates = sorted({HEARD_RATE_HZ, *rates_hz})
    mistakes: list[str] = []
    recordings: list[Recording] = []
    for at_rate in _clips(settings, rates, mistakes):
        clip = at_rate[HEARD_RATE_HZ]
        survey = surveyor.survey(clip, settings.voice_settings)
        recordings.append(Recording(clip, speech_of(survey), at_rate))
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


def _clips(
    settings: Settings, rates: list[int], mistakes: list[str]
) -> Iterator[dict[int, AudioClip]]:
    """Each clip at every rate that is needed."""
    try:
        if not settings.clip:
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
    return Plan(settings, tuple(targets), recordings, tuple(skipped), host_name())


def configured_plan(path: Path | None, environment: Mapping[str, str]) -> Plan:
    """What the configuration in ``path`` asks for. Raises UserError that a supervisor heeds."""
    try:
        return plan_of(read_settings(path), environment)
    except UserError as error:
        raise UserError(str(error), exit_code=CONFIG_EXIT_CODE) from error


def host_name() -> str:
    """What this host calls itself, as it stands in signatures."""
    return socket.gethostname().replace("|", "/") or "unnamed"
