"""The arguments of ``speechbench local-server``."""

import argparse

import pytest

from daemon.commands import local_server


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    local_server.arguments(parser)
    return parser.parse_args(words)


def test_by_hand_it_listens_where_the_provider_looks() -> None:
    args = parsed()
    assert (args.engine, args.host, args.port) == ("moonshine", "127.0.0.1", 8790)
    assert args.endpoint_ms is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--engine", "parrot"), "invalid choice: 'parrot'"),
        (("--port", "65536"), "'65536' is not a whole number from 0 to 65535"),
        (("--port", "-1"), "'-1' is not a whole number"),
        (("--port", "²"), "'²' is not a whole number"),
        (("--endpoint-ms", "99"), "'99' is not a whole number from 100 to 10000"),
        (("--workers", "0"), "'0' is not a whole number from 1 to 64"),
        (("--streams", "many"), "'many' is not a whole number from 1 to 1000"),
    ],
)
def test_what_cannot_be_is_one_line_with_what_can(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parsed(*words)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
