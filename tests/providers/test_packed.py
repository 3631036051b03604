"""MessagePack by hand says the same as the package that everybody uses."""

from array import array

import msgpack  # type: ignore[import-untyped, unused-ignore]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from measure.faults import FaultKind
from providers.codec import ProviderError
from providers.packed import DEEPEST, packed, packed_floats, unpacked

NAMES = st.text(max_size=8)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text(max_size=40)
    | st.binary(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=8,
)
maps = st.dictionaries(NAMES, values, max_size=4)


@given(maps)
def test_whatever_is_packed_is_read_again(said: dict[str, object]) -> None:
    assert unpacked(msgpack.packb(said)) == said


@pytest.mark.parametrize("size", [0, 1, 15, 16, 31, 32, 255, 256, 65_535, 65_536])
def test_every_length_has_its_own_mark(size: int) -> None:
    said = {"text": "x" * size, "bytes": b"x" * size, "list": [7] * size}
    said["map"] = {str(nth): nth for nth in range(size)}  # type: ignore[assignment]
    assert unpacked(msgpack.packb(said)) == said


@given(st.lists(st.floats(width=32, allow_nan=False), max_size=20))
def test_small_floats_are_read_as_they_are(numbers: list[float]) -> None:
    assert unpacked(msgpack.packb({"prs": numbers}, use_single_float=True)) == {"prs": numbers}


@given(st.lists(st.integers(-32_768, 32_767), max_size=2000))
def test_samples_are_a_list_of_floats(samples: list[int]) -> None:
    message = packed({"type": "Audio", "pcm": packed_floats(array("h", samples).tobytes())})
    said = msgpack.unpackb(message)
    assert said == {"type": "Audio", "pcm": [sample / 32_768 for sample in samples]}
    assert unpacked(message) == said


@given(st.text(max_size=300), st.integers(-(2**63), 2**63 - 1))
def test_a_small_map_is_what_the_package_reads(text: str, number: int) -> None:
    assert msgpack.unpackb(packed({"type": text, "id": number})) == {"type": text, "id": number}


@given(st.binary(max_size=200))
def test_noise_is_refused_or_read(noise: bytes) -> None:
    kinds = []
    try:
        unpacked(noise)
    except ProviderError as error:
        kinds.append(error.fault.kind)
    assert kinds in ([], [FaultKind.PROTOCOL])


@given(maps.filter(bool), st.data())
def test_what_is_cut_off_is_refused(said: dict[str, object], data: st.DataObject) -> None:
    whole = msgpack.packb(said)
    with pytest.raises(ProviderError):
        unpacked(whole[: data.draw(st.integers(0, len(whole) - 1))])


@pytest.mark.parametrize(
    "message",
    [
        b"",
        msgpack.packb([1]),
        msgpack.packb({7: "a name that is no text"}),
        b"\x81\x90\x01",  # a name that is a list
        msgpack.packb({"a": 1}) + b"\xc0",
        msgpack.packb({"a": msgpack.ExtType(3, b"x")}),
        b"\x81\xa1a\xa2\xff\xff",  # no UTF-8
        b"\x81\xa1a\xdd\xff\xff\xff\xff\x00",  # four thousand million items, it says
        b"\x81\xa1a\xc6\xff\xff\xff\xff\x00",
        b"\x81\xa1a\xc1",
        b"\x81\xa1a" + b"\x91" * 5000 + b"\xc0",
    ],
)
def test_what_is_no_message_is_refused(message: bytes) -> None:
    with pytest.raises(ProviderError):
        unpacked(message)


@pytest.mark.parametrize("layers", [DEEPEST, DEEPEST + 1])
def test_a_message_may_have_so_many_layers(layers: int) -> None:
    message = b"\x81\xa1a" + b"\x91" * (layers - 1) + b"\xc0"
    if layers == DEEPEST:
        assert list(unpacked(message)) == ["a"]
        return
    with pytest.raises(ProviderError):
        unpacked(message)
