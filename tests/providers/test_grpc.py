"""What is special in providers over gRPC: their configurations, results in pieces, the force."""

from collections.abc import Callable
from functools import partial

import pytest

from daemon.conformance.talker import Talker
from daemon.fakes.dialect import Alive, Audio, Finish, Force, Wrong
from daemon.fakes.google import Stream as GoogleStream
from daemon.fakes.riva import FakeRiva
from daemon.fakes.riva import Stream as RivaStream
from measure.events import Notice, Transcript
from measure.records import FinalRule, Flow, Frame
from providers.codec import Codec, ForceContext, HttpRequest, HttpResponse, Options
from providers.families_grpc import Recognizer
from providers.google import Google
from providers.protobuf import Fields, fields, message, messages_in, text_in
from providers.riva import SILENCE, Riva

PIECE = b"\1\0" * 1600


def result(text: str, *, final: bool = False) -> bytes:
    best, other = message((1, text), (2, 0.9)), message((1, "another"))
    return message((1, best), (1, other), (2, final))


def heard(codec: Recognizer, *results: bytes) -> list[object]:
    return list(codec.decode(message(*((codec.results_field, one) for one in results)), 7))


def first(codec: Codec) -> Fields:
    (hello,) = codec.hello()
    assert isinstance(hello, bytes)
    return fields(hello)


def inner(found: Fields, *path: int) -> Fields:
    for number in path:
        (found,) = messages_in(found, number)
    return found


CODECS = [Google(Options()), Riva(Options(), forced=True)]


@pytest.mark.parametrize("codec", CODECS)
def test_what_is_not_final_is_one_hypothesis_in_pieces(codec: Recognizer) -> None:
    assert heard(codec, result("the blue"), result(" kettle")) == [
        Transcript(7, "the blue kettle", final=False)
    ]


@pytest.mark.parametrize("codec", CODECS)
def test_a_final_goes_before_what_is_still_open(codec: Recognizer) -> None:
    assert heard(codec, result(" Good. ", final=True), result(" day")) == [
        Transcript(7, "Good.", final=True),
        Transcript(7, "day", final=False),
    ]


@pytest.mark.parametrize("codec", CODECS)
def test_a_response_without_results_or_text_says_nothing(codec: Recognizer) -> None:
    assert heard(codec) == [Notice(7, "no results")]
    assert heard(codec, message((3, 0.5))) == []
    assert heard(codec, message((2, True))) == [Transcript(7, "", final=True)]


def test_a_status_is_told_in_its_own_words() -> None:
    fault = Google(Options()).closed(4016, "UNAUTHENTICATED: no\ntoken")
    assert fault is not None
    assert fault.detail == "UNAUTHENTICATED: no token"


@pytest.mark.parametrize(
    ("url", "recognizer"),
    [
        (
            "grpcs://eu-speech.googleapis.com/projects/p/locations/eu/recognizers/_",
            "projects/p/locations/eu/recognizers/_",
        ),
        (None, "projects/YOUR-PROJECT/locations/us/recognizers/_"),
        (
            "grpcs://speech.googleapis.com/",
            "projects/YOUR-PROJECT/locations/global/recognizers/_",
        ),
    ],
)
def test_the_address_names_googles_recognizer(url: str | None, recognizer: str) -> None:
    codec = Google(Options(url=url))
    assert text_in(first(codec), 3) == recognizer
    assert codec.open("token").url.endswith(
        ".googleapis.com/google.cloud.speech.v2.Speech/StreamingRecognize"
    )


def test_google_is_told_model_language_and_format() -> None:
    config = inner(first(Google(Options(language="de"), model="latest_long")), 6, 1)
    assert (text_in(config, 9), text_in(config, 10)) == ("latest_long", "de-DE")
    assert inner(config, 8) == {1: [1], 2: [16_000], 3: [1]}
    assert inner(first(Google(Options())), 6, 2) == {2: [1]}
    assert text_in(inner(first(Google(Options(language="multi"))), 6, 1), 10) == "auto"


def test_a_model_that_can_be_forced_waits_long_for_silence() -> None:
    forced = inner(first(Riva(Options(), forced=True)), 1, 1)
    assert inner(forced, 25) == {3: [4500]}
    free = inner(first(Riva(Options(), forced=False)), 1, 1)
    assert messages_in(free, 25) == []
    assert text_in(free, 3) == "en-US"


def test_a_force_goes_beside_silence() -> None:
    (forced,) = Riva(Options(), forced=True).force(ForceContext(1000.0))
    assert isinstance(forced, bytes)
    found = fields(forced)
    assert found[2] == [SILENCE]
    assert len(SILENCE) == 80 * 32
    (entry,) = messages_in(found, 3)
    assert (text_in(entry, 1), text_in(entry, 2)) == ("force_eou", "true")
    assert list(Riva(Options(), forced=False).force(ForceContext(1000.0))) == []


def test_only_the_cloud_wants_a_key_and_a_function() -> None:
    own = Riva(Options(), forced=True)
    assert own.facts.key_variable is None
    assert dict(own.open("").headers) == {}
    cloud = Riva(Options(url="grpcs://grpc.nvcf.nvidia.com/f-1"), forced=True, cloud=True)
    assert cloud.facts.key_variable == "NVIDIA_API_KEY"
    assert cloud.facts.rule.flow is Flow.FORCED
    assert cloud.facts.rule.final_rule is FinalRule.NEXT
    assert dict(cloud.open("k").headers) == {"function-id": "f-1", "authorization": "Bearer k"}


@pytest.mark.parametrize(
    ("stream", "codec"),
    [(GoogleStream, CODECS[0]), (partial(RivaStream, forces=True), CODECS[1])],
)
def test_the_fakes_want_a_configuration_first(
    stream: Callable[[], Talker], codec: Recognizer
) -> None:
    audio, heard = codec.audio(Frame(0, PIECE, 100.0)), stream()
    assert isinstance(stream().heard(audio), Wrong)
    for hello in codec.hello():
        assert heard.heard(hello) == Alive()
    assert heard.heard(audio) == Audio(PIECE)
    for forced in codec.force(ForceContext(100.0)):
        assert heard.heard(forced) == Force()
    assert heard.heard(next(iter(codec.finish()))) == Finish()


def test_the_fake_of_googles_refuses_a_piece_that_is_too_long() -> None:
    codec, stream = Google(Options()), GoogleStream()
    for hello in codec.hello():
        stream.heard(hello)
    assert isinstance(stream.heard(codec.audio(Frame(0, b"\0" * 25_602, 800.0))), Wrong)


def test_a_function_of_the_cloud_wants_a_key_of_the_fake_as_well() -> None:
    method = "/nvidia.riva.asr.RivaSpeechRecognition/StreamingRecognize"
    request = HttpRequest("POST", method, {"function-id": "f-1"})
    answer = FakeRiva().talk(request, secure=False)
    assert isinstance(answer, HttpResponse)
    assert answer.status == 401
