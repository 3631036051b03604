"""What the exporter process is told before it works: where to write, which series there are."""

import hashlib
import os
import platform
from collections.abc import Iterable
from importlib.metadata import version

from daemon.config import DEFAULT_SCHEDULE
from daemon.plan import Plan, Target
from exporters.settings import Settings, Stream, WebOptions
from scoring.normalize import NORMALIZERS
from vad.silero import STEP_MODEL


def exporter_settings(
    plan: Plan, listen: str, *, live: str = "off", web: WebOptions | None = None
) -> Settings:
    """What the exporter process is told: where to write, and which series there will be."""
    settings = plan.settings
    host, _, port = listen.rpartition(":")
    return Settings(
        journal_directory=str(settings.journal.directory.absolute()),
        segment_bytes=settings.journal.segment_bytes,
        segment_s=settings.journal.segment_hours * 3600,
        reserve_bytes=settings.journal.reserve_bytes,
        keep_age_s=_seconds_of(settings.journal.max_age_days),
        keep_bytes=settings.journal.max_bytes,
        listen=(host.strip("[]"), int(port)) if listen else None,
        web=web or WebOptions(),
        log_format=settings.log.format,
        log_level=settings.log.level,
        version=version("speechbench"),
        config_sha256=hashlib.sha256(settings.model_dump_json().encode()).hexdigest(),
        streams=tuple(streams_of(plan)),
        schedules=tuple(one.name for one in settings.schedule) or (DEFAULT_SCHEDULE,),
        build=build_labels(),
        models=tuple(model_labels(target) for target in plan.targets),
        live=live,
    )


def streams_of(plan: Plan) -> Iterable[Stream]:
    """Everything that has series of its own in the metrics."""
    for target in plan.targets:
        provider = target.name.partition("/")[0]
        for corpus in plan.corpora:
            yield Stream(provider, target.name, corpus, target.rule.flow.value)


def build_labels() -> dict[str, str]:
    """The labels of ``build_info``: what this program is made of."""
    normalizer = NORMALIZERS["speechbench"]
    return {
        "version": version("speechbench"),
        "revision": os.environ.get("SPEECHBENCH_REVISION", ""),
        "python": platform.python_version(),
        "onnxruntime": version("onnxruntime"),
        "silero_model": STEP_MODEL.sha256[:8],
        "normalizer": f"{normalizer.name} {normalizer.version}",
    }


def model_labels(target: Target) -> dict[str, str]:
    """The labels of ``model_info``."""
    facts = target.codec().facts
    return {
        "provider": target.name.partition("/")[0],
        "model": target.name,
        "api_version": "",
        "force_endpoint": target.rule.final_rule.value,
        "chunk_ms": str(facts.audio.chunk_ms),
    }


def _seconds_of(days: float | None) -> float | None:
    return None if days is None else days * 86_400
