"""Records as bytes."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exporters.packing import pack, unpack

calm = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""A busy machine is no failure."""
texts = st.text(st.characters(exclude_categories=()))
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False)
    | texts | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)  # fmt: skip


@calm
@given(st.dictionaries(texts, values))
def test_a_record_comes_back_as_it_was(record: dict[str, object]) -> None:
    assert unpack(pack(record)) == record


@calm
@given(st.binary(max_size=60))
def test_noise_raises_only_a_value_error(noise: bytes) -> None:
    try:
        record = unpack(noise)
    except ValueError:
        return
    assert isinstance(record, dict)


@pytest.mark.parametrize("unpackable", [object(), 2**64, {1, 2}])
def test_what_cannot_be_packed_is_named_with_its_kind(unpackable: object) -> None:
    with pytest.raises(ValueError, match="record of kind 'tick'"):
        pack({"k": "tick", "x": unpackable})


@pytest.mark.parametrize("payload", [b"", b"\xc1", b"\x93\x01\x02\x03", b"\x81\x01\x02"])
def test_what_is_no_record_is_refused(payload: bytes) -> None:
    with pytest.raises(ValueError, match="not a record"):
        unpack(payload)
