"""Amazon's signature against the examples that Amazon has published."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.sigv4 import (
    NO_BODY,
    Credentials,
    Scope,
    canonical_query,
    signature,
    signed_query,
    signing_key,
)

WHO = Credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
MAY_2013 = 1_369_353_600
"""20130524T000000Z"""
AUGUST_2015 = 1_440_938_160
"""20150830T123600Z"""


def test_the_key_of_a_day_is_that_of_the_published_example() -> None:
    scope = Scope("us-east-1", "iam", AUGUST_2015)
    assert signing_key(SECRET, scope).hex() == (
        "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9"
    )


def test_an_address_is_signed_as_in_the_published_example() -> None:
    query = signed_query(
        WHO,
        Scope("us-east-1", "s3", MAY_2013),
        host="examplebucket.s3.amazonaws.com",
        path="/test.txt",
        settings=(),
        expires_s=86_400,
        body_hash="UNSIGNED-PAYLOAD",
    )
    signed = "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
    assert query == (
        "X-Amz-Algorithm=AWS4-HMAC-SHA256"
        "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
        "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
        f"&X-Amz-Signature={signed}"
    )


def test_the_plainest_request_is_signed_as_in_the_published_suite() -> None:
    who = Credentials("AKIDEXAMPLE", SECRET)
    headers = "host:example.amazonaws.com\nx-amz-date:20150830T123600Z\n"
    request = f"GET\n/\n\n{headers}\nhost;x-amz-date\n{NO_BODY}"
    assert signature(who, Scope("us-east-1", "service", AUGUST_2015), request) == (
        "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
    )


@pytest.mark.parametrize("wall_unix_s", [MAY_2013 + 0.999, float(MAY_2013)])
def test_a_part_of_a_second_is_left_out(wall_unix_s: float) -> None:
    assert Scope("r", "s", wall_unix_s).moment == "20130524T000000Z"


@given(st.lists(st.tuples(st.text(max_size=5), st.text(max_size=5)), max_size=5))
def test_the_order_of_settings_does_not_matter(pairs: list[tuple[str, str]]) -> None:
    assert canonical_query(pairs) == canonical_query(reversed(pairs))
    assert " " not in canonical_query(pairs)
    assert "+" not in canonical_query(pairs)


def test_the_token_of_a_session_is_signed_as_well() -> None:
    scope = Scope("us-east-1", "transcribe", MAY_2013)
    who = Credentials(WHO.key_id, WHO.secret, "a/token+")
    query = signed_query(who, scope, host="h", path="/", settings=(), expires_s=5)
    assert "X-Amz-Security-Token=a%2Ftoken%2B" in query
    other = signed_query(WHO, scope, host="h", path="/", settings=(), expires_s=5)
    assert query.rpartition("=")[2] != other.rpartition("=")[2]


def test_no_secret_is_shown() -> None:
    assert "secret" not in repr(Credentials("name", "secret", "secret token"))
