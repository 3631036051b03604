"""A configuration is taken whole or refused whole, with every mistake told at once."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from daemon.config import (
    CONFIG_EXIT_CODE,
    ClipSection,
    ModelSection,
    RawSection,
    Settings,
    read_settings,
    settings_of,
)
from daemon.errors import UserError
from measure.records import ForceAt
from providers import CATALOG
from providers.codec import Options

EXAMPLE = Path(__file__).parents[2] / "docs" / "speechbench.example.toml"


def refused(tmp_path: Path, text: str | bytes) -> list[str]:
    """The lines that a file of this content is refused with."""
    path = tmp_path / "bench.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(UserError) as error:
        read_settings(path)
    assert error.value.exit_code == CONFIG_EXIT_CODE
    return [line.removeprefix(f"{path}: ") for line in str(error.value).splitlines()]


def test_the_example_states_the_defaults() -> None:
    example, default = read_settings(EXAMPLE), Settings()
    assert example.journal.directory == EXAMPLE.parent / default.journal.directory
    without_paths = {"journal": default.journal}
    assert example.model_copy(update=without_paths) == default


@pytest.mark.parametrize(
    "section",
    [ModelSection, ClipSection, RawSection]
    + [
        field.annotation
        for field in Settings.model_fields.values()
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
    ],
    ids=lambda section: section.__name__,
)
def test_the_example_names_every_setting(section: type[BaseModel]) -> None:
    text = EXAMPLE.read_text()
    assert [
        name for name in section.model_fields if f"{name} =" not in text and name != "raw"
    ] == []


def uncommented() -> dict[str, Any]:
    """The example with every setting that is commented out put to use."""
    return tomllib.loads(re.sub(r"(?m)^# (?=\[|\w+ = )", "", EXAMPLE.read_text()))


def test_what_is_commented_out_in_the_example_is_allowed_and_complete(tmp_path: Path) -> None:
    table = uncommented()
    settings_of(table, tmp_path / "bench.toml")
    assert table.keys() == Settings.model_fields.keys()
    assert [table["model"][0].keys(), table["clip"][0].keys(), table["clip"][0]["raw"].keys()] == [
        section.model_fields.keys() for section in (ModelSection, ClipSection, RawSection)
    ]


def test_the_example_states_the_defaults_of_a_clip() -> None:
    (clip,) = uncommented()["clip"]
    assert (clip["corpus"], clip["channels"]) == ("files", ClipSection(path=Path()).channels)
    assert RawSection(**clip["raw"]) == RawSection()


@pytest.mark.parametrize(
    ("section", "name", "lowest", "highest"),
    [
        (section, name, float(lowest), float(highest))
        for section, body in re.findall(
            r"(?m)^(?:# )?\[([\w.]+)\](.*(?:\n.+)*)", EXAMPLE.read_text()
        )
        for name, lowest, highest in re.findall(
            r"(?m)^(?:# )?(\w+) = [^#\n]*# ([\d.]+) to ([\d.]+)(?: |:|$)", body
        )
    ],
)
def test_a_range_in_the_example_is_the_one_that_is_held_to(
    section: str, name: str, lowest: float, highest: float, tmp_path: Path
) -> None:
    def table(value: float) -> dict[str, object]:
        inner = {name: int(value) if value.is_integer() else value}
        if section == "clip.raw":
            return {"clip": [{"path": "a.raw", "raw": inner}]}
        return {section: inner}

    for allowed in (lowest, highest):
        settings_of(table(allowed), tmp_path / "bench.toml")
    for beyond in (lowest - 1, highest + 1, highest * 1.01):
        with pytest.raises(UserError, match=name):
            settings_of(table(beyond), tmp_path / "bench.toml")


def test_all_mistakes_are_told_at_once_each_with_its_place(tmp_path: Path) -> None:
    lines = refused(
        tmp_path,
        """
        [[model]]
        name = "deepgrm/nova"
        [method]
        grace_s = "long"
        wrong = 1
        [log]
        level = "loud"
        [nonsense]
        """,
    )
    assert len(lines) == 5
    assert lines[0].startswith("model[1].name: there is no model of that name; allowed: local/")
    assert lines[1].startswith("method.grace_s: ")
    assert lines[1].endswith("(it is 'long'); default: 2.0")
    assert lines[2].startswith("method.wrong: there is no such setting; allowed: endpoint, ")
    assert "'debug', 'info', 'warning' or 'error'" in lines[3]
    assert lines[4].startswith("nonsense: there is no such setting; allowed: model, clip, ")


def test_a_value_out_of_range_is_told_the_range(tmp_path: Path) -> None:
    (line,) = refused(tmp_path, "[method]\npatience_s = 1000")
    assert line.startswith("method.patience_s: input should be less than or equal to 120")
    assert line.endswith("(it is 1000); default: 10.0")


def test_what_is_not_toml_is_one_line(tmp_path: Path) -> None:
    (line,) = refused(tmp_path, "[method\n")
    assert line.startswith("is not TOML: ")
    (line,) = refused(tmp_path, b"\xff")
    assert line == "is not UTF-8 text (byte 0)"


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "none.toml"
    with pytest.raises(UserError) as error:
        read_settings(path)
    assert str(error.value) == f"{path}: cannot be read: No such file or directory"
    assert error.value.exit_code == CONFIG_EXIT_CODE == 78


@pytest.mark.parametrize("address", ["ftp://x?token=canary", "canary"])
def test_an_address_is_never_repeated(address: str, tmp_path: Path) -> None:
    (line,) = refused(tmp_path, f'[[model]]\nname = "deepgram/nova-3"\nurl = "{address}"')
    assert "canary" not in line


@pytest.mark.parametrize("listen", ["9810", "localhost:", "localhost:99999", ":1"])
def test_an_address_to_listen_at_has_host_and_port(listen: str, tmp_path: Path) -> None:
    (line,) = refused(tmp_path, f'[web]\nlisten = "{listen}"')
    assert line.startswith("web.listen: write HOST:PORT")


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    path = tmp_path / "bench.toml"
    path.write_text('[[clip]]\npath = "a.wav"\n[journal]\ndirectory = "j"')
    settings = read_settings(path)
    assert settings.clip[0].path == tmp_path / "a.wav"
    assert settings.journal.directory == tmp_path / "j"


def test_the_users_choices_meet_the_providers_facts(tmp_path: Path) -> None:
    path = tmp_path / "bench.toml"
    path.write_text(
        '[method]\nforce_at = "speech_end"\ngrace_s = 1.5\n[budgets]\nframe_late_ms = 5'
    )
    facts = CATALOG["deepgram/nova-3"].make(Options()).facts
    rule = read_settings(path).rule(facts.rule)
    assert rule.force_at is ForceAt.SPEECH_END
    assert (rule.grace_ns, rule.late_budget_ns) == (1_500_000_000, 5_000_000)
    assert (rule.flow, rule.final_rule) == (facts.rule.flow, facts.rule.final_rule)
