"""A small world on loopback: fakes, the daemon that measures them, Prometheus, Alertmanager.

fakes <── daemon ──┐                       ┌──> webhook of the test
                   ├──> Prometheus ──> Alertmanager
    second host ───┘
"""

import json
import re
import shutil
import sys
import time
import wave
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path

from daemon.selftest.host import fingerprint
from daemon.selftest.result import SelftestResult
from daemon.selftest.state import load, save
from exporters.grafana.ask import Prometheus, Stretch
from measure.records import AudioClip
from pacer.builtin import builtin_clips
from tests.daemon.selftest.levels import result
from tests.ops.process import Process, awaited, started
from tests.ops.webhook import Webhook

ROOT = Path(__file__).parents[2]
ALERTS = ROOT / "exporters" / "alerts"
RULES = ("rules.yml", "alerts.yml")
PROGRAMS = {
    "prometheus": "prometheus",
    "promtool": "prometheus",
    "prometheus-alertmanager": "prometheus-alertmanager",
    "chromium": "chromium",
}
"""What has to be there, and the package of Debian that has it."""
CLIP = "spring-of-hope"
CORPORA = ("AA-AgentTalk", "VoxPopuli-Cleaned-AA", "Earnings22-Cleaned-AA")
HEARD = "it was the spring of hope it was the winter of the pear"
"""What the fakes make of the clip: of twelve words one is wrong, and there is one too many."""
STEADY, FAILING, LOCAL = "deepgram/nova-3", "gladia/solaria-1", "local/moonshine-tiny"
FIRST, SECOND = "bench-1", "bench-2"
"""What Prometheus calls the hosts: the one with the daemon, and the one that is fed."""
SESSIONS = 12
"""So many of each model are waited for."""
FAKES = {
    STEADY: f"""
provider = "deepgram"
[[line]]
text = "it was the spring"
audio_ms = 1400
[[line]]
text = "it was the spring of hope it was"
audio_ms = 2600
[[answer]]
text = "{HEARD.removesuffix(" pear")}"
after_s = 0.06
final = false
[[answer]]
text = "{HEARD}"
after_s = 0.18
[faults]
connections = {list(range(3, 2000, 4))}
final_delay_s = 0.22
""",
    FAILING: f"""
provider = "gladia"
[speech]
text = "{HEARD}"
end_ms = 3400
[faults]
connections = {[number for at in range(7, 2000, 10) for number in range(at, at + 4)]}
[faults.hang_up]
at = "audio"
audio_ms = 1500
code = 1011
""",
}
"""What each fake does. At the second each session takes two connections, and two of five fail, or
at least one."""


def missing() -> list[str]:
    """The packages of Debian that are not there."""
    return sorted({package for name, package in PROGRAMS.items() if shutil.which(name) is None})


@dataclass(slots=True)
class World:
    """Everything that runs."""

    folder: Path
    prometheus: Prometheus
    webhook: Webhook
    daemon: Process
    second_host: Process
    daemon_address: str
    second_address: str
    models: tuple[str, ...]
    begun_s: float = field(default_factory=time.time)

    def stretch(self) -> Stretch:
        """From the beginning until now, in some 60 steps."""
        now_s = time.time()
        return Stretch(self.begun_s, now_s, max(1.0, (now_s - self.begun_s) // 60))

    def number(self, expr: str) -> float:
        """The value of a query that gives one series; 0 where it gives none."""
        found = self.prometheus.at(expr, time.time())
        return found[0].last if found else 0.0


@contextmanager
def world_in(folder: Path, tell: Callable[[str], None]) -> Iterator[World]:
    """It runs while the block does; everything that was started is ended."""
    with ExitStack() as stack:

        def start(name: str, *command: str, **environment: str) -> Process:
            process = started(name, command, folder, environment)
            stack.callback(process.end)
            return process

        webhook = Webhook()
        stack.callback(webhook.close)
        tell("starting the fakes, the daemon and a second host")
        addresses = {model: _fake(model, folder, start) for model in FAKES}
        models = (*addresses, *([LOCAL] if _engine() else []))
        config = folder / "speechbench.toml"
        config.write_text(_configuration(folder, addresses, models), encoding="utf-8")
        if load(folder / "journal").result is None:
            save(tested(), folder / "journal")
        keys = {"DEEPGRAM_API_KEY": "any-deepgram", "GLADIA_API_KEY": "any-gladia"}
        daemon = start(
            "daemon",
            sys.executable,
            "-m",
            "daemon.cli",
            "daemon",
            "--config.file",
            str(config),
            **keys,
        )
        second = start("second_host", sys.executable, "-m", "tests.ops.second_host")
        second_address = second.says(r"listening on (\S+)")
        daemon_address = daemon.says(r'"listen":"([\d.:]+)"')
        tell("starting Prometheus and Alertmanager")
        manager = _alertmanager(folder, webhook, start)
        prometheus = _prometheus(folder, manager, (daemon_address, second_address), start)
        yield World(
            folder,
            prometheus,
            webhook,
            daemon,
            second,
            daemon_address,
            second_address,
            models,
        )


def measured(world: World, tell: Callable[[str], None], sessions: int = SESSIONS) -> None:
    """Wait until every model was measured so often, and the rules have seen it."""
    told = ""

    def enough() -> bool:
        nonlocal told
        found = world.prometheus.at("sum by (model) (speechbench_sessions_total)", time.time())
        counts = {one.labels["model"]: int(one.last) for one in found}
        counts = {model: counts.get(model, 0) for model in world.models}
        said = ", ".join(f"{model} {count}" for model, count in counts.items())
        if said != told and sum(counts.values()) % 5 == 0:
            tell(f"measured: {said}")
        told = said
        return min(counts.values()) >= sessions

    awaited(f"{sessions} sessions of each model", enough)
    weighted = "provider_model_mode_transcript:speechbench_wer_weighted:ratio_increase7d"
    awaited("the last rule", lambda: bool(world.prometheus.at(weighted, time.time())))


def tested() -> SelftestResult:
    """A self-test of this host that is new: the daemon has no cause to begin one."""
    return replace(result(wall_unix_ns=time.time_ns()), fingerprint=fingerprint())


def _engine() -> bool:
    """The built-in recogniser is installed."""
    return find_spec("moonshine_voice") is not None


def _fake(model: str, folder: Path, start: Callable[..., Process]) -> str:
    name = model.partition("/")[0]
    script = folder / f"{name}.toml"
    script.write_text(FAKES[model], encoding="utf-8")
    command = ("-m", "daemon.cli", "fake", "--json", "--script", str(script))
    process = start(name, sys.executable, *command)
    return str(json.loads(process.says(r'(\{"address".*\})'))["address"])


def _configuration(folder: Path, addresses: dict[str, str], models: tuple[str, ...]) -> str:
    clip = next(one for one in builtin_clips(16_000) if one.name == CLIP)
    _write(clip, folder / "clip.wav")
    parts = [
        f'[journal]\ndirectory = "{folder / "journal"}"\nreserve_bytes = 0',
        '[web]\nlisten = "127.0.0.1:0"',
        '[log]\nformat = "json"',
        "[daemon]\ninterval_s = 16\njobs = 9\njobs_per_provider = 3",
        '[[spending.provider]]\nname = "deepgram"\nday_usd = 2.0',
        *(
            f'[[clip]]\npath = "clip.wav"\ncorpus = "{corpus}"\nreference = "{clip.reference}"'
            for corpus in CORPORA
        ),
    ]
    for model in models:
        url = f'url = "{addresses[model]}"\n' if model in addresses else ""
        price = "price_usd_per_1000_min = 7.7\n" if model == STEADY else ""
        parts.append(f'[[model]]\nname = "{model}"\n{url}{price}')
    return "\n".join(parts)


def _write(clip: AudioClip, path: Path) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(clip.rate_hz)
        file.writeframes(clip.pcm)


def hurried(rules: str) -> str:
    """The same rules, worked out every other second and without waiting for confirmation."""
    rules = re.sub(r"interval: \d+m\n", "interval: 2s\n", rules)
    return re.sub(r"for: \d+[mh]\n", "for: 2s\n", rules)


def _alertmanager(folder: Path, webhook: Webhook, start: Callable[..., Process]) -> str:
    config = folder / "alertmanager.yml"
    config.write_text(
        "route: {receiver: hook, group_by: [alertname, instance], group_wait: 1s, "
        "group_interval: 2s, repeat_interval: 1h}\n"
        f"receivers: [{{name: hook, webhook_configs: [{{url: '{webhook.url}'}}]}}]\n",
        encoding="utf-8",
    )
    process = start(
        "alertmanager",
        "prometheus-alertmanager",
        f"--config.file={config}",
        f"--storage.path={folder / 'alertmanager'}",
        "--web.listen-address=127.0.0.1:0",
        "--cluster.listen-address=",
    )
    return process.says(r'msg="Listening on" address=(\S+)')


def _prometheus(
    folder: Path, manager: str, targets: tuple[str, str], start: Callable[..., Process]
) -> Prometheus:
    for name in RULES:
        rules = hurried((ALERTS / name).read_text(encoding="utf-8"))
        (folder / name).write_text(rules, encoding="utf-8")
    config = folder / "prometheus.yml"
    config.write_text(
        "global: {scrape_interval: 1s, evaluation_interval: 2s}\n"
        f"rule_files: [{', '.join(RULES)}]\n"
        f"alerting: {{alertmanagers: [{{static_configs: [{{targets: ['{manager}']}}]}}]}}\n"
        "scrape_configs:\n- job_name: speechbench\n  static_configs:\n"
        f"  - {{targets: ['{targets[0]}'], labels: {{instance: {FIRST}, region: here}}}}\n"
        f"  - {{targets: ['{targets[1]}'], labels: {{instance: {SECOND}, region: there}}}}\n",
        encoding="utf-8",
    )
    process = start(
        "prometheus",
        "prometheus",
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'tsdb'}",
        "--web.listen-address=127.0.0.1:0",
        "--enable-feature=exemplar-storage",
        "--rules.alert.resend-delay=3s",
    )
    address = process.says(r'msg="Listening on" address=(\S+)')
    process.says(r'(msg="Server is ready to receive web requests)')
    return Prometheus(f"http://{address}")
