"""What a user can set: a TOML file becomes frozen settings, and all its mistakes are told at once.

Every value has a default and a range; ``docs/speechbench.example.toml`` states them all. Keys are
never in the file: it names the environment variable that holds one.
"""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from daemon.errors import UserError
from daemon.mistakes import no_such_setting, place, said, section_at
from measure.records import (
    MS,
    SECOND,
    Endpoint,
    FinalRule,
    Flow,
    ForceAt,
    Rule,
    VoiceSettings,
)
from providers import CATALOG
from providers.codec import Model
from providers.described import model_of
from providers.described_shape import ProviderTable

CONFIG_EXIT_CODE = 78
"""EX_CONFIG: a supervisor must not start the program again with the same file."""

DEFAULT_SCHEDULE = "interval"
"""The name of the schedule where the file has none."""

ADDRESSES = ("ws://", "wss://", "http://", "https://", "tcp://", "tcps://", "grpc://", "grpcs://")
Name = Annotated[str, Field(min_length=1, max_length=200)]


class Section(BaseModel):
    """One table of the file: nothing unknown in it, and it never changes."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class ModelSection(Section):
    """One model to measure."""

    name: Name
    """As in the catalogue: "deepgram/nova-3"."""
    url: str | None = None
    """Another address than the provider's own: a region, a proxy, a fake."""
    flow: Literal["forced", "fallback", "close"] | None = None
    """How the end of speech is made known to it, if not in the way that is its own."""
    language: Annotated[str, Field(min_length=2, max_length=20)] = "en"
    key_variable: str | None = None
    """The environment variable that holds the key; the provider's usual one if not given."""
    price_usd_per_1000_min: Annotated[float, Field(ge=0, le=100_000)] | None = None
    """What you pay for 1,000 minutes of audio; needed where spending is limited."""

    @field_validator("name")
    @classmethod
    def _is_known(cls, name: str, info: ValidationInfo) -> str:
        allowed = [*CATALOG, *(info.context or ())]
        if name not in allowed:
            raise ValueError(f"there is no model of that name; allowed: {', '.join(allowed)}")
        return name

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, url: str | None) -> str | None:
        if url is not None and not url.startswith(ADDRESSES):
            raise ValueError(f"an address begins with {', '.join(ADDRESSES)}")
        return url


class KeysSection(Section):
    """Where keys are besides the environment and systemd's credentials."""

    directory: Path | None = None
    """A folder with a file for each key, named after the provider; docs/add-a-provider.md."""


class RawSection(Section):
    """How to read a file that says nothing about itself."""

    encoding: Literal["s16le", "s16be", "s24le", "s32le", "u8", "f32le", "mulaw", "alaw"] = "s16le"
    rate_hz: Annotated[int, Field(ge=4_000, le=384_000)] = 16_000
    channels: Annotated[int, Field(ge=1, le=64)] = 1


class ClipSection(Section):
    """One recording to stream."""

    path: Path
    """Relative to the folder of this file."""
    reference: str | None = None
    """What is said in it; without it there is no word error rate."""
    name: Name | None = None
    corpus: Name = "files"
    channels: Literal["mix", "left", "right"] = "mix"
    raw: RawSection | None = None


class CorpusSection(Section):
    """Many recordings with references, as they came; docs/corpora.md has the kinds."""

    path: Path
    """Its folder or its manifest, relative to the folder of this file."""
    name: Name | None = None
    """Clips of one corpus are summed up together; default: the folder's name."""
    kind: (
        Literal[
            "nemo",
            "kaldi",
            "common-voice",
            "librispeech",
            "cleaned-aa",
            "cleaned-aa-parts",
            "pairs",
            "parquet",
        ]
        | None
    ) = None
    """How it is laid out; without it: what it looks like."""
    calls: Path | None = None
    """For parts of calls: the manifest with the texts of the whole calls."""
    channels: Literal["mix", "left", "right"] = "mix"
    long: Literal["whole", "parts"] = "whole"
    """Recordings of more than 40 s are streamed whole, or in parts of about 30 s."""


class MethodSection(Section):
    """The choices that the method leaves open; part of the signature of every number."""

    endpoint: Literal["last", "every"] = "last"
    """Which ends of speech count: the last one of a clip, or each with a reading of its own."""
    force_at: Literal["decision", "speech_end"] = "decision"
    """Force when a live detector could know, or as soon as the speech itself has left."""
    grace_s: Annotated[float, Field(ge=0.1, le=30)] = 2.0
    """Without a force: for how long only a final will do."""
    patience_s: Annotated[float, Field(ge=0.5, le=120)] = 10.0
    """How long after zero an answer is awaited."""
    confirm_s: Annotated[float, Field(ge=0, le=30)] = 2.0
    """How long after a first final its confirmation is awaited."""
    settle_s: Annotated[float, Field(ge=0, le=30)] = 0.5
    """How long after a complete answer further finals are listened for."""
    echo_counts: bool = False
    """A partial that only repeats what was known at zero counts as the first partial."""


class VoiceSection(Section):
    """How speech is told from silence: Silero's own defaults."""

    threshold: Annotated[float, Field(ge=0.16, le=0.99)] = 0.5
    min_silence_ms: Annotated[int, Field(ge=0, le=5_000)] = 100
    speech_pad_ms: Annotated[int, Field(ge=0, le=1_000)] = 30


class BudgetsSection(Section):
    """Beyond these a measurement is our fault and does not count."""

    frame_late_ms: Annotated[float, Field(ge=0.1, le=1_000)] = 20.0
    loop_stall_ms: Annotated[float, Field(ge=1, le=1_000)] = 20.0
    clock_step_ms: Annotated[float, Field(ge=1, le=10_000)] = 50.0


class TimeoutsSection(Section):
    """How long a provider may take outside of what is measured."""

    connect_s: Annotated[float, Field(ge=0.1, le=120)] = 10.0
    """From the first packet to being ready for audio."""
    close_s: Annotated[float, Field(ge=0, le=1.0)] = 1.0
    """To finish orderly once the answer is there."""


class JournalSection(Section):
    """Where every event is kept, and how much of it."""

    directory: Path = Path("journal")
    segment_bytes: Annotated[int, Field(ge=1 << 20, le=1 << 40)] = 64 << 20
    """A new file begins when one has this size,"""
    segment_hours: Annotated[float, Field(ge=0.1, le=24 * 366)] = 24.0
    """or this age."""
    reserve_bytes: Annotated[int, Field(ge=0, le=1 << 50)] = 64 << 20
    """With less than this free on the disk no measurement begins; those that run are recorded."""
    max_age_days: Annotated[float, Field(ge=1, le=36_600)] | None = None
    """Files whose last record is older are removed; None: they are all kept."""
    max_bytes: Annotated[int, Field(ge=2 << 20, le=1 << 60)] | None = None
    """The oldest files are removed when all together are larger; None: they are all kept."""

    @model_validator(mode="after")
    def _keeps_what_it_has_just_closed(self) -> "JournalSection":
        if self.max_bytes is not None and self.max_bytes < 2 * self.segment_bytes:
            raise ValueError(
                f"max_bytes is {self.max_bytes}, it must be at least twice segment_bytes, "
                f"which is {self.segment_bytes}"
            )
        return self


class ScheduleSection(Section):
    """When some models are measured with some corpora."""

    name: Annotated[str, Field(pattern="^[a-z][a-z0-9_-]{0,39}$")]
    """As it stands in metrics and logs: small letters, digits, "-" and "_"."""
    every_s: Annotated[float, Field(ge=1, le=86_400 * 31)] | None = None
    """Once in each interval of this length,"""
    times_a_day: Annotated[int, Field(ge=1, le=1440)] | None = None
    """or so many times a day, at random moments, one in each equal part of the day."""
    models: tuple[Name, ...] = ()
    """Of those configured; none: all of them."""
    corpora: tuple[Name, ...] = ()
    """Of those configured; none: all of them."""
    clips: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """How many clips of a corpus one run takes, by turns; None: all of them."""

    @model_validator(mode="after")
    def _has_one_timing(self) -> "ScheduleSection":
        if (self.every_s is None) == (self.times_a_day is None):
            raise ValueError("give either every_s or times_a_day")
        return self


Dollars = Annotated[float, Field(ge=0, le=1_000_000)]


class ProviderSpendingSection(Section):
    """What one provider may cost."""

    name: Name
    """The part of a model's name before the slash: "deepgram"."""
    day_usd: Dollars | None = None
    month_usd: Dollars | None = None


class SpendingSection(Section):
    """What measuring may cost; a run that would go beyond it is not begun. UTC days and months."""

    day_usd: Dollars | None = None
    """All providers together."""
    month_usd: Dollars | None = None
    provider: tuple[ProviderSpendingSection, ...] = ()

    @property
    def limits_anything(self) -> bool:
        """Some amount is set."""
        amounts = [self.day_usd, self.month_usd]
        amounts += [amount for one in self.provider for amount in (one.day_usd, one.month_usd)]
        return any(amount is not None for amount in amounts)

    def limits(self, provider: str) -> bool:
        """The runs of a provider count against some amount."""
        overall = self.day_usd is not None or self.month_usd is not None
        return overall or any(one.name == provider for one in self.provider)


class WebSection(Section):
    """Where Prometheus finds the metrics."""

    listen: str = "127.0.0.1:9810"
    """HOST:PORT; empty: nowhere. ``speechbench run`` serves metrics only if told to."""

    @field_validator("listen")
    @classmethod
    def _is_host_and_port(cls, listen: str) -> str:
        host, _, port = listen.rpartition(":")
        if listen and not (host and port.isdigit() and int(port) < 65_536):
            raise ValueError("write HOST:PORT, such as 127.0.0.1:9810, or nothing to serve none")
        return listen


class LogSection(Section):
    """What is written to standard error."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["auto", "json", "console"] = "auto"


class DaemonSection(Section):
    """When the daemon measures, and how much at the same time."""

    interval_s: Annotated[float, Field(ge=1, le=86_400 * 7)] = 900.0
    """Where there is no [[schedule]]: each model hears each corpus once in so many seconds."""
    parallel: Annotated[int, Field(ge=1, le=100)] = 1
    """``speechbench run``: models measured at the same time; each hears one clip at a time."""
    jobs: Annotated[int, Field(ge=1, le=400)] = 8
    """The daemon: runs that go on at the same time; a run is one model with one corpus."""
    jobs_per_provider: Annotated[int, Field(ge=1, le=100)] = 1
    """How many of them may have streams at one provider."""
    start_within_s: Annotated[float, Field(ge=1, le=3_600)] = 30.0
    """A run that cannot begin so soon after its moment is missed, and not made up for."""
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    """Where in its interval each run lies; another number on each host spreads them."""
    workers: Annotated[int, Field(ge=1, le=64)] = 1
    """Measuring processes: the models are shared out among them, each measures ``parallel``."""


class ReportSection(Section):
    """What ``speechbench report`` needs to know besides the journal."""

    prices: Path | None = None
    """A price list, relative to the folder of this file; docs/prices.md says how to write one."""


class Settings(Section):
    """The whole file."""

    model: tuple[ModelSection, ...] = (ModelSection.model_construct(name="local/moonshine-tiny"),)
    """Without any: the recogniser that is built in."""
    clip: tuple[ClipSection, ...] = ()
    """Without any, and without a corpus: the recordings that are built in."""
    corpus: tuple[CorpusSection, ...] = ()
    provider: tuple[ProviderTable, ...] = ()
    """Providers that are described here, beside those of the catalogue."""
    keys: KeysSection = KeysSection()
    method: MethodSection = MethodSection()
    voice: VoiceSection = VoiceSection()
    budgets: BudgetsSection = BudgetsSection()
    timeouts: TimeoutsSection = TimeoutsSection()
    journal: JournalSection = JournalSection()
    web: WebSection = WebSection()
    log: LogSection = LogSection()
    daemon: DaemonSection = DaemonSection()
    schedule: tuple[ScheduleSection, ...] = ()
    """Without any: everything, each ``daemon.interval_s``."""
    spending: SpendingSection = SpendingSection()
    report: ReportSection = ReportSection()

    @property
    def catalogue(self) -> dict[str, Model]:
        """All models that there are, the described ones among them."""
        described = {one.name: model_of(one.description()) for one in self.provider}
        return {**CATALOG, **described}

    @property
    def voice_settings(self) -> VoiceSettings:
        return VoiceSettings(
            self.voice.threshold, self.voice.min_silence_ms, self.voice.speech_pad_ms
        )

    def rule(self, provider: Rule, flow: Flow | None = None) -> Rule:
        """The provider's own facts, with the user's choices; ``flow`` where it is another."""
        own = flow in (None, provider.flow)
        return Rule(
            flow=flow or provider.flow,
            final_rule=provider.final_rule if own else FinalRule.NONE,
            joiner=provider.joiner,
            echo_counts=self.method.echo_counts,
            force_at=ForceAt(self.method.force_at),
            endpoint=Endpoint(self.method.endpoint),
            grace_ns=round(self.method.grace_s * SECOND),
            patience_ns=round(self.method.patience_s * SECOND),
            confirm_ns=round(self.method.confirm_s * SECOND),
            settle_ns=round(self.method.settle_s * SECOND),
            late_budget_ns=round(self.budgets.frame_late_ms * MS),
            stall_budget_ns=round(self.budgets.loop_stall_ms * MS),
            clock_step_budget_ns=round(self.budgets.clock_step_ms * MS),
        )


def read_settings(path: Path | None) -> Settings:
    """The settings in ``path``; the built-in ones without it.

    Raises UserError with one line for each mistake in the file.
    """
    if path is None:
        return Settings()
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _config_error(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise _config_error(f"{path}: is not UTF-8 text (byte {error.start})") from error
    except tomllib.TOMLDecodeError as error:
        raise _config_error(f"{path}: is not TOML: {error}") from error
    return settings_of(table, path)


def settings_of(table: Mapping[str, object], path: Path) -> Settings:
    """The settings in a table that was read from ``path``."""
    try:
        settings = Settings.model_validate(table, context=_described(table))
    except ValidationError as error:
        lines = [f"{path}: {line}" for line in _mistakes(error)]
        raise _config_error("\n".join(lines)) from error
    return _beside(settings, path.parent)


def _described(table: Mapping[str, object]) -> list[str]:
    """The names of the providers that a table describes, right or wrong."""
    tables = table.get("provider")
    names = (
        [one.get("name") for one in tables or () if isinstance(one, dict)]
        if isinstance(tables, list | tuple)
        else []
    )
    return [name for name in names if isinstance(name, str)]


def settings_with(settings: Settings, changes: Mapping[str, Mapping[str, object]]) -> Settings:
    """The same with some settings of some sections overruled. Raises UserError."""
    if not any(changes.values()):
        return settings
    try:
        sections = {
            name: type(getattr(settings, name)).model_validate(
                {**getattr(settings, name).model_dump(), **section}
            )
            for name, section in changes.items()
        }
    except ValidationError as error:
        lines = [f"command line: {line}" for line in _mistakes(error)]
        raise _config_error("\n".join(lines)) from error
    return settings.model_copy(update=sections)


def _beside(settings: Settings, folder: Path) -> Settings:
    """Paths in the file are relative to the file, wherever the program was started."""
    clips = tuple(
        clip.model_copy(update={"path": folder / clip.path.expanduser()}) for clip in settings.clip
    )
    corpora = tuple(_corpus_beside(corpus, folder) for corpus in settings.corpus)
    journal = settings.journal.model_copy(
        update={"directory": folder / settings.journal.directory.expanduser()}
    )
    prices = settings.report.prices
    report = settings.report.model_copy(
        update={"prices": None if prices is None else folder / prices.expanduser()}
    )
    keys = settings.keys.directory
    changes = {
        "clip": clips,
        "corpus": corpora,
        "journal": journal,
        "report": report,
        "keys": KeysSection(directory=None if keys is None else folder / keys.expanduser()),
    }
    return settings.model_copy(update=changes)


def _corpus_beside(corpus: CorpusSection, folder: Path) -> CorpusSection:
    calls = None if corpus.calls is None else folder / corpus.calls.expanduser()
    return corpus.model_copy(update={"path": folder / corpus.path.expanduser(), "calls": calls})


def _config_error(text: str) -> UserError:
    return UserError(text, exit_code=CONFIG_EXIT_CODE)


def _mistakes(error: ValidationError) -> Iterator[str]:
    for mistake in error.errors():
        where, what = place(mistake["loc"]), said(str(mistake["msg"]))
        if mistake["type"] == "extra_forbidden":
            yield f"{where}: {no_such_setting(mistake['loc'], Settings)}"
            continue
        default = _default(mistake["loc"])
        yield f"{where}: {what}{_shown(mistake['input'], where)}{default}"


def _shown(given: object, where: str) -> str:
    """The value that was wrong; not an address, which may carry a token, and nothing long."""
    if isinstance(given, dict | list) or where.endswith("url") or len(repr(given)) > 80:
        return ""
    return f" (it is {given!r})"


def _default(location: tuple[int | str, ...]) -> str:
    last = location[-1] if location else None
    field = section_at(location[:-1], Settings).model_fields.get(str(last))
    if field is None or field.is_required() or isinstance(field.default, BaseModel | tuple):
        return ""
    return "" if field.default is None else f"; default: {field.default!r}"
