"""What a user can mend is one line, wherever in the program it is found."""

import argparse
from types import SimpleNamespace

import pytest

from daemon import cli
from daemon.errors import UserError


def ending_with(error: BaseException, patch: pytest.MonkeyPatch) -> int:
    def run(_: argparse.Namespace) -> int:
        raise error

    command = SimpleNamespace(HELP="", arguments=lambda parser: None, run=run)
    patch.setattr(cli, "_command", lambda name: command)
    return cli.main(["run"])


def test_a_mistake_among_tasks_that_ran_side_by_side_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    group = BaseExceptionGroup(
        "", [ExceptionGroup("", [UserError("no such engine", exit_code=78)])]
    )
    assert ending_with(group, monkeypatch) == 78
    assert capsys.readouterr().err == "speechbench: no such engine\n"


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), BaseExceptionGroup("", [KeyboardInterrupt()])]
)
def test_an_interruption_is_one_line_wherever_it_comes(
    error: BaseException, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ending_with(error, monkeypatch) == 130
    assert capsys.readouterr().err == "speechbench: interrupted\n"


def test_an_interruption_while_a_command_is_loaded_is_one_line_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def load(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_command", load)
    assert cli.main(["run"]) == 130
    assert capsys.readouterr().err == "speechbench: interrupted\n"


def test_a_library_that_is_interrupted_while_it_is_loaded_is_one_line_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error = ImportError("initialization failed")
    error.__cause__ = KeyboardInterrupt()
    assert ending_with(error, monkeypatch) == 130
    assert capsys.readouterr().err == "speechbench: interrupted\n"
    with pytest.raises(ImportError):
        ending_with(ImportError("no such module"), monkeypatch)


def test_what_is_no_mistake_of_a_user_stays_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    group = ExceptionGroup("", [UserError("no such engine"), ValueError("ours")])
    with pytest.raises(ExceptionGroup):
        ending_with(group, monkeypatch)


def test_each_line_of_a_mistake_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ending_with(UserError("one\ntwo"), monkeypatch) == 2
    assert capsys.readouterr().err == "speechbench: one\nspeechbench: two\n"
