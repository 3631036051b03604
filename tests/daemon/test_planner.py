"""A configuration that is read in another process is the same, and so are its mistakes."""

import argparse
import os
from pathlib import Path

import pytest
import trio

from daemon.config import CONFIG_EXIT_CODE
from daemon.errors import UserError
from daemon.lifetime_plan import plan_for
from daemon.planner import main, planned_apart
from tests.daemon.serving import KEYS, clip_in, model
from tests.daemon.several import PATIENCE_S, children_of, until


def asked(config: Path) -> argparse.Namespace:
    return argparse.Namespace(config=config, listen=None, log_level="debug", log_format=None)


def written(folder: Path, more: str = "") -> Path:
    clip_in(folder)
    file = folder / "daemon.toml"
    models = model("deepgram/nova-3", "ws://127.0.0.1:1")
    file.write_text(f'{models}[[clip]]\npath = "words.wav"\nreference = "it was"\n{more}')
    return file


async def test_the_plan_is_the_one_that_this_process_would_have_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)
    args = asked(written(tmp_path))
    apart, here = await planned_apart(args), plan_for(args)
    assert apart.settings == here.settings
    assert apart.settings.log.level == "debug"
    assert apart.targets == here.targets
    assert apart.targets[0].key == KEYS["DEEPGRAM_API_KEY"]
    assert apart.recordings == here.recordings
    assert apart.corpora == here.corpora


@pytest.mark.parametrize("more", ["nonsense = 1\n", '[[clip]]\npath = "nowhere.wav"\n'])
async def test_mistakes_are_told_in_the_same_words(tmp_path: Path, more: str) -> None:
    args = asked(written(tmp_path, more))
    with pytest.raises(UserError) as here:
        plan_for(args)
    with pytest.raises(UserError) as apart:
        await planned_apart(args)
    assert str(apart.value) == str(here.value)
    assert apart.value.exit_code == here.value.exit_code == CONFIG_EXIT_CODE


async def test_who_does_not_want_to_wait_leaves_nothing_behind(tmp_path: Path) -> None:
    args = asked(written(tmp_path, '[[clip]]\npath = "pipe.wav"\n'))
    os.mkfifo(tmp_path / "pipe.wav")  # who opens it to read waits for a writer
    with trio.fail_after(PATIENCE_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(planned_apart, args)
            await until(lambda: bool(children_of(os.getpid(), "daemon.planner")))
            nursery.cancel_scope.cancel()
    assert not children_of(os.getpid(), "daemon.planner")


def test_it_is_nothing_for_hands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["x"]) == 2
    assert "started by speechbench" in capsys.readouterr().err
