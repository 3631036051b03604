"""Services that can be forced, each measured as a whole against its fake, in virtual time."""

from pathlib import Path

import pytest

from daemon.conformance.promise import Subject, subject_of
from daemon.conformance.stage import SPEECH, TEXT, performed
from daemon.conformance.talker import Reply, Talker, TalkingFake
from daemon.fakes import FAKES
from daemon.fakes.dialect import Audio, Finish, Force, Wrong
from daemon.fakes.script import Faults, Line, Script, spoken
from measure.records import Remark, Verdict
from providers import CATALOG
from providers.codec import Codec, ForceContext, HttpRequest, HttpResponse, Message, Options

SERVICES = (
    "deepgram/flux-general-en",
    "assemblyai/universal-streaming-english",
    "speechmatics/enhanced",
    "soniox/stt-rt-v5",
    "elevenlabs/scribe-v2-realtime",
    "smallest/pulse",
)
FIRST, REST = "the blue kettle", "is on the shelf"
MS = 1_000_000


def subject(name: str) -> Subject:
    return subject_of(name, CATALOG[name], Path("no conversations"))


def talker_of(name: str) -> Talker:
    """A stream of the fake, opened as the codec opens it."""
    codec = codec_of(name)
    opened = codec.open("a key")
    headers = {header.lower(): value for header, value in opened.headers.items()}
    target = "/" + opened.url.split("/", 3)[3]
    answer = fake_of(name).talk(HttpRequest("GET", target, headers), secure=False)
    assert isinstance(answer, Talker)
    for message in codec.hello():
        answer.heard(message)
    return answer


def codec_of(name: str) -> Codec:
    return CATALOG[name].make(Options(url="ws://fake.test"))


def fake_of(name: str) -> TalkingFake:
    kind = subject(name).fake
    assert kind is not None
    fake = kind(Script())
    assert isinstance(fake, TalkingFake)
    return fake


@pytest.mark.parametrize("name", SERVICES)
@pytest.mark.parametrize("delay_ms", [40, 370, 1900])
def test_the_forced_final_is_timed_by_the_scripted_delay(name: str, delay_ms: int) -> None:
    start_ms, end_ms = SPEECH.start_ms, SPEECH.end_ms
    after_s = delay_ms / 1000
    done = performed(
        subject(name), Script.for_force(TEXT, start_ms=start_ms, end_ms=end_ms, after_s=after_s)
    )
    assert done.reading.verdict is Verdict.FORCED_FINAL
    assert done.reading.transcript == TEXT
    assert done.reading.time_to_final_ns == pytest.approx(delay_ms * MS, abs=MS)
    confirmed_ns, zero_ns = done.reading.confirmed_ns, done.reading.zero_ns
    assert confirmed_ns is not None
    assert zero_ns is not None
    assert confirmed_ns - zero_ns == pytest.approx(delay_ms * MS, abs=MS)


@pytest.mark.parametrize("name", SERVICES)
def test_a_piece_that_was_final_before_is_not_the_answer_and_is_part_of_the_text(name: str) -> None:
    lines = (
        *spoken(FIRST, SPEECH.start_ms, 400.0),
        Line(FIRST, audio_ms=420.0, final=True),
        *spoken(REST, 440.0, SPEECH.end_ms),
    )
    answer = Line(REST, after_s=0.2, final=True)
    done = performed(subject(name), Script(lines, ((answer,),)))
    assert done.reading.verdict is Verdict.FORCED_FINAL
    assert done.reading.transcript == TEXT
    assert done.reading.time_to_final_ns == pytest.approx(200 * MS, abs=MS)


@pytest.mark.parametrize("name", SERVICES)
def test_new_words_after_the_force_are_the_first_partial(name: str) -> None:
    lines = spoken(FIRST, SPEECH.start_ms, SPEECH.end_ms)
    answer = (Line(f"{FIRST} is on", after_s=0.1), Line(TEXT, after_s=0.3, final=True))
    done = performed(subject(name), Script(lines, (answer,)))
    assert done.reading.time_to_first_partial_ns == pytest.approx(100 * MS, abs=MS)
    assert done.reading.time_to_final_ns == pytest.approx(300 * MS, abs=MS)


@pytest.mark.parametrize("name", SERVICES)
def test_a_final_whose_answer_never_comes_is_told_as_such(name: str) -> None:
    done = performed(subject(name), faults=Faults(no_final=True))
    assert done.reading.verdict is Verdict.NO_FINAL
    assert done.reading.time_to_final_ns is None


def test_flux_says_that_no_turn_was_open() -> None:
    script = Script(answers=((Line("", after_s=0.1, final=True),),))
    done = performed(subject("deepgram/flux-general-en"), script)
    assert done.reading.verdict is Verdict.NO_FINAL
    assert Remark.FORCE_REJECTED in done.reading.remarks


def test_speechmatics_acknowledges_a_force_without_words() -> None:
    script = Script(answers=((Line("", after_s=0.1, final=True),),))
    done = performed(subject("speechmatics/enhanced"), script)
    assert done.reading.verdict is Verdict.ACK_ONLY
    assert done.reading.confirmed_ns is not None


def test_a_turn_that_flux_ends_itself_is_a_natural_final_at_its_moment() -> None:
    lines = spoken(TEXT, SPEECH.start_ms, SPEECH.end_ms)
    ended = Line(TEXT, audio_ms=SPEECH.end_known_ms, after_s=0.6, final=True)
    done = performed(subject("deepgram/flux-general-en-turns"), Script((*lines, ended)))
    assert done.reading.verdict is Verdict.NATURAL_FINAL
    assert done.reading.transcript == TEXT
    assert done.reading.time_to_final_ns == pytest.approx(600 * MS, abs=20 * MS)


def test_a_turn_that_flux_never_ends_is_read_by_its_partials() -> None:
    lines = spoken(FIRST, SPEECH.start_ms, SPEECH.end_ms)
    late = Line(TEXT, audio_ms=SPEECH.end_known_ms, after_s=2.5)
    done = performed(subject("deepgram/flux-general-en-turns"), Script((*lines, late)))
    assert done.reading.verdict is Verdict.LATE_PARTIAL
    assert done.reading.transcript == TEXT
    assert done.reading.time_to_final_ns == pytest.approx(2500 * MS, abs=20 * MS)


def wrong_of(talker: Talker, *messages: Message) -> object:
    """What the last of these messages is to the fake."""
    return [talker.heard(message) for message in messages][-1]


@pytest.mark.parametrize(
    ("name", "message", "code"),
    [
        ("assemblyai/universal-streaming-english", bytes(1598), 3007),
        ("assemblyai/universal-streaming-english", bytes(32_002), 3007),
        ("assemblyai/universal-streaming-english", '{"type":"Finalize"}', 3006),
        ("deepgram/flux-general-en", '{"type":"Finalize"}', 1008),
        ("deepgram/flux-general-en", b"\0", 1008),
        ("speechmatics/enhanced", '{"message":"EndOfStream","last_seq_no":3}', 1003),
        ("speechmatics/enhanced", '{"message":"StartRecognition"}', 1003),
        ("elevenlabs/scribe-v2-realtime", b"\0\0", 1003),
        ("elevenlabs/scribe-v2-realtime", '{"message_type":"commit"}', 1003),
        ("smallest/pulse", '{"type":"end"}', 1003),
    ],
)
def test_a_fake_hangs_up_where_its_provider_would(name: str, message: Message, code: int) -> None:
    answer = wrong_of(talker_of(name), message)
    assert isinstance(answer, Wrong)
    assert answer.code == code


@pytest.mark.parametrize("name", SERVICES)
def test_a_fake_understands_its_codec(name: str) -> None:
    codec, talker = codec_of(name), talker_of(name)
    (force,) = codec.force(ForceContext(4000.0, 100.0, 1, 40))
    heard = [talker.heard(message) for message in (*codec.keepalive(), *codec.finish())]
    assert not any(isinstance(order, Wrong) for order in heard)
    assert Finish() in heard or not list(codec.finish())
    short = isinstance(talker.heard(force), Reply)  # Scribe wants 0.3 s of audio first
    assert short == (name == "elevenlabs/scribe-v2-realtime")


def test_soniox_refuses_a_force_so_soon_after_the_last() -> None:
    talker = talker_of("soniox/stt-rt-v5")
    pcm, force = bytes(3200), '{"type":"finalize"}'
    assert talker.heard(pcm) == Audio(pcm)
    assert talker.heard(force) == Force()
    again = wrong_of(talker, pcm, force)
    assert isinstance(again, Reply)
    assert "429" in str(again.messages[0])


@pytest.mark.parametrize("setting", ["language=en", "eot_threshold=1.1", "eot_timeout_ms=x"])
def test_flux_refuses_settings_that_are_none_of_its_own(setting: str) -> None:
    target = f"/v2/listen?model=flux-general-en&encoding=linear16&sample_rate=16000&{setting}"
    request = HttpRequest("GET", target, {"authorization": "Token k"})
    answer = FAKES["deepgram-flux"](Script()).asked(request, secure=False)
    assert isinstance(answer, HttpResponse)
    assert answer.status == 400
