"""Which device a user means, and one line where none is meant."""

import pytest

from pacer.sound_device import NO_DEVICE, Device, Kind, SoundError, chosen

BOARD = Device(0, "HDA Intel: ALC257 (hw:0,0)", "ALSA", 2, 2, 44_100)
HDMI = Device(1, "HDA Intel: HDMI 0 (hw:0,3)", "ALSA", 0, 8, 44_100)
USB = Device(2, "USB Microphone", "ALSA", 1, 0, 48_000)
PULSE = Device(3, "pulse", "ALSA", 32, 32, 44_100, default_input=True, default_output=True)
TWIN = Device(4, "USB Microphone", "JACK", 1, 0, 48_000)
ALL = [BOARD, HDMI, USB, PULSE]


@pytest.mark.parametrize(
    ("wanted", "kind", "device"),
    [
        (None, "input", PULSE),
        (None, "output", PULSE),
        ("0", "input", BOARD),
        ("2", "input", USB),
        ("pulse", "output", PULSE),
        ("usb microphone", "input", USB),
        ("USB", "input", USB),
        ("HDA", "input", BOARD),  # the other has no input
        ("hdmi", "output", HDMI),
        ("USB Microphone, ALSA", "input", USB),
    ],
)
def test_the_one_that_is_meant_is_chosen(wanted: str | None, kind: Kind, device: Device) -> None:
    assert chosen(ALL, wanted, kind) == device


def test_a_whole_name_goes_before_a_part_of_another() -> None:
    longer = Device(5, "pulse monitor", "ALSA", 2, 0, 44_100)
    assert chosen([*ALL, longer], "pulse", "input") == PULSE


def test_the_only_one_is_taken_where_none_is_the_default() -> None:
    assert chosen([HDMI, USB], None, "input") == USB


def test_the_same_name_twice_is_told_apart_by_its_host_api() -> None:
    assert chosen([USB, TWIN], "USB Microphone, JACK", "input") == TWIN


@pytest.mark.parametrize(
    ("found", "wanted", "kind", "line"),
    [
        ([], None, "input", NO_DEVICE),
        ([], "USB", "input", NO_DEVICE),
        (
            [HDMI],
            None,
            "input",
            "no sound device here is an input; there are 1 'HDA Intel: HDMI 0 (hw:0,3)'",
        ),
        ([USB], None, "output", "no sound device here is an output; there are 2 'USB Microphone'"),
        (
            [BOARD, USB],
            None,
            "input",
            "no input device is the default; choose one of "
            "0 'HDA Intel: ALC257 (hw:0,0)', 2 'USB Microphone'",
        ),
        (
            [USB, TWIN],
            "usb",
            "input",
            "'usb' may be any of 2 'USB Microphone', 4 'USB Microphone'; choose by number",
        ),
        (
            [USB, PULSE],
            "headset",
            "input",
            "no input device is called 'headset'; there are 2 'USB Microphone', 3 'pulse' "
            "(what another program has to itself is not listed)",
        ),
        (
            [USB, PULSE],
            "7",
            "input",
            "no input device is called '7'; there are 2 'USB Microphone', 3 'pulse' "
            "(what another program has to itself is not listed)",
        ),
        (
            [HDMI, USB],
            "1",
            "input",
            "'HDA Intel: HDMI 0 (hw:0,3)' is no input; input devices are 2 'USB Microphone'",
        ),
        (
            [HDMI, USB],
            "hdmi",
            "input",
            "'HDA Intel: HDMI 0 (hw:0,3)' is no input; input devices are 2 'USB Microphone'",
        ),
        (
            [HDMI, USB],
            "usb",
            "output",
            "'USB Microphone' is no output; output devices are 1 'HDA Intel: HDMI 0 (hw:0,3)'",
        ),
    ],
)
def test_where_none_is_meant_one_line_names_those_that_there_are(
    found: list[Device], wanted: str | None, kind: Kind, line: str
) -> None:
    with pytest.raises(SoundError) as raised:
        chosen(found, wanted, kind)
    assert str(raised.value) == line
