"""What a codec promises in a whole measurement: looked at with its fake."""

from dataclasses import replace

from daemon.conformance.promise import Promise, Skipped, Subject, hold
from daemon.conformance.stage import (
    ANSWER_S,
    FIRST_SPEECH,
    SPEECH,
    TEXT,
    Performance,
    early,
    forever_silent,
    performed,
    usual,
)
from daemon.fakes.script import (
    Faults,
    Line,
    Pieces,
    Script,
)
from measure.events import FrameSent, StreamClosed, StreamDone, StreamReady
from measure.records import Endpoint, Flow, Verdict
from providers.codec import Ending, Facts

EXACT_NS = 1_000_000
QUIET_PERIODS = 2.5


def facts_of(subject: Subject) -> Facts:
    """What is known of it."""
    return subject.codec().facts


def _forced(subject: Subject) -> Facts:
    """Its facts. Raises Skipped where nothing can be forced."""
    facts = facts_of(subject)
    if facts.rule.flow is not Flow.FORCED:
        raise Skipped("it cannot be forced")
    return facts


def shown(performance: Performance) -> str:
    """What a performance came to, in a few words."""
    reading = performance.reading
    fault = f", {reading.fault}" if reading.fault else ""
    return f"{reading.verdict}, {reading.transcript!r}{fault}"[:200]


def _answer(subject: Subject) -> str:
    """The final that answers is taken, at its moment, with the text of all finals."""
    done = performed(subject)
    forced = facts_of(subject).rule.flow is Flow.FORCED
    wanted = Verdict.FORCED_FINAL if forced else Verdict.NATURAL_FINAL
    if not forced and not facts_of(subject).natural_finals:
        partials = (Verdict.LAST_PARTIAL, Verdict.LATE_PARTIAL)
        hold(done.reading.verdict in partials, f"it reads {shown(done)}")
        return done.reading.verdict.value
    hold(done.reading.verdict is wanted, f"it reads {shown(done)}")
    hold(done.reading.transcript.split() == TEXT.split(), f"it reads {shown(done)}")
    took_ns = done.reading.time_to_final_ns
    assert took_ns is not None
    if forced:
        least_ns, silence_ms = ANSWER_S * 1e9 - EXACT_NS, _silence_ms(done)
        most_ns = (ANSWER_S + silence_ms / 1000) * 1e9 + 20 * EXACT_NS
        hold(least_ns <= took_ns <= most_ns, f"{took_ns / 1e6:.0f} ms to the final")
    return f"{wanted.value} after {took_ns / 1e6:.0f} ms"


def _silence_ms(done: Performance) -> float:
    """How much had to be sent between zero and the force itself."""
    for record in done.records:
        if record.get("event") == "force_after_silence":
            fields = record["fields"]
            assert isinstance(fields, dict)
            return float(fields["silence_ms"])
    return 0.0


def _partials(subject: Subject) -> str:
    done = performed(subject)
    seen = done.measurement.circumstances.partials
    if not seen:
        raise Skipped("its fake shows no partial before the final")
    return f"{seen} partials"


def _greeting(subject: Subject) -> str:
    """No audio before the provider is ready for it."""
    events = performed(subject).events
    ready = next((nth for nth, one in enumerate(events) if isinstance(one, StreamReady)), None)
    first = next((nth for nth, one in enumerate(events) if isinstance(one, FrameSent)), None)
    hold(ready is not None, "it never became ready for audio")
    hold(first is not None and ready is not None and ready < first, "audio went before ready")
    return "greets" if facts_of(subject).greets else "ready at once"


def _sound(subject: Subject) -> str:
    """What the fake heard is the clip, sample by sample; a piece is as long as allowed."""
    done = performed(subject)
    audio, clip = facts_of(subject).audio, done.clip
    heard = bytes(done.visit.audio)
    sent = b"".join(piece.pcm for piece in done.pieces)
    zero_bytes = round(SPEECH.end_known_ms * clip.rate_hz / 1000) * 2
    hold(len(heard) >= zero_bytes, f"the fake heard {len(heard)} bytes, at least {zero_bytes} went")
    hold(_alike(heard, sent), "the fake heard other samples than went")
    hold(_alike(sent[:zero_bytes], clip.pcm), "other samples than those of the clip went")
    lengths = {len(piece.pcm) * 500 / clip.rate_hz for piece in done.pieces}
    hold(min(lengths) >= audio.min_chunk_ms, f"a piece of {min(lengths):g} ms")
    hold(max(lengths) <= (audio.max_chunk_ms or max(lengths)), f"a piece of {max(lengths):g} ms")
    return f"{len(done.pieces)} pieces of {min(lengths):g} to {max(lengths):g} ms"


def _alike(heard: bytes, sent: bytes) -> bool:
    """The same up to where the shorter one ends, one unit of each sample aside (float and back)."""
    if heard == sent[: len(heard)] or sent == heard[: len(sent)]:
        return True
    shorter = min(len(heard), len(sent)) // 2 * 2
    ours, theirs = memoryview(heard)[:shorter].cast("h"), memoryview(sent)[:shorter].cast("h")
    return all(abs(one - other) <= 1 for one, other in zip(ours, theirs, strict=True))


def _empty_answer(subject: Subject) -> str:
    """A force that is answered without text is never a final with text."""
    _forced(subject)
    script = Script(answers=((Line("", after_s=ANSWER_S, final=True),),))
    done = performed(subject, script)
    allowed = (Verdict.ACK_ONLY, Verdict.NO_FINAL)
    hold(done.reading.verdict in allowed, f"it reads {shown(done)}")
    hold(done.reading.time_to_final_ns is None, "it has a time to a final without text")
    return done.reading.verdict.value


def _several_finals(subject: Subject) -> str:
    """All finals of one answer are joined as the provider wants it."""
    _forced(subject)
    done = performed(subject, faults=Faults(split_final=2, split_gap_s=0.05))
    hold(done.reading.verdict is Verdict.FORCED_FINAL, f"it reads {shown(done)}")
    same = "".join(done.reading.transcript.split()) == "".join(TEXT.split())
    hold(same, f"it reads {shown(done)}")
    return f"{done.measurement.circumstances.finals} finals"


def _already_final(subject: Subject) -> str:
    """All was final before zero: that is said, and is no fast answer."""
    facts = facts_of(subject)
    if not facts.natural_finals:
        raise Skipped("nothing of it is final before a force")
    done = performed(subject, early(facts.rule.flow))
    hold(done.reading.verdict is Verdict.ALREADY_FINAL, f"it reads {shown(done)}")
    hold((done.reading.time_to_final_ns or 0) < 0, "its time is not before zero")
    return f"{(done.reading.time_to_final_ns or 0) / 1e6:.0f} ms"


def _turns(subject: Subject) -> str:
    """Where every end of speech is an endpoint, each gets the answer to its own force."""
    facts = _forced(subject)
    if not facts.silence_after_force:
        raise Skipped("it wants no audio after a force, so a stream has one turn")
    if facts.forcing.min_gap_s or facts.forcing.silence_before_ms:
        raise Skipped("its forces need more time than there is between two turns here")
    first, second = (Line(text, after_s=0.05, final=True) for text in ("good", "day"))
    done = performed(
        subject,
        Script(answers=((first,), (second,))),
        facts=lambda facts: replace(facts, rule=replace(facts.rule, endpoint=Endpoint.EVERY)),
        earlier=(FIRST_SPEECH,),
    )
    read = [one.reading for one in done.measurements]
    hold(len(read) == 2, f"{len(read)} turns were measured")
    hold([one.verdict for one in read] == [Verdict.FORCED_FINAL] * 2, f"it reads {shown(done)}")
    texts = [one.transcript.strip() for one in read]
    hold(texts == ["good", "day"], f"the turns read {texts}")
    return "2 turns"


def _no_answer(subject: Subject) -> str:
    """Where no final comes there is no time, and it ends."""
    done = performed(subject, faults=Faults(no_final=True))
    allowed = (Verdict.NO_FINAL, Verdict.ACK_ONLY, Verdict.LAST_PARTIAL, Verdict.LATE_PARTIAL)
    hold(done.reading.verdict in allowed, f"it reads {shown(done)}")
    return done.reading.verdict.value


def _farewell(subject: Subject) -> str:
    """The stream is closed as the provider wants it; an open one costs money."""
    ending = facts_of(subject).ending
    done = performed(subject)
    hold(done.reading.fault is None, f"it reads {shown(done)}")
    closes = [payload for _, payload in done.visit.closes]
    if ending is Ending.HANG_UP:
        hold(closes, "no Close was said")
        return "Close"
    said = any(isinstance(event, StreamDone) for event in done.events)
    over = any(isinstance(event, StreamClosed) for event in done.events)
    hold(said or ending is not Ending.SAID, "the provider never said that it has said all")
    hold(said or over, "neither did the provider finish nor close")
    return "said all" if said else "closed"


def _pieces(subject: Subject) -> str:
    """A message may come in any number of frames and packets."""
    whole = performed(subject)
    cut = performed(subject, faults=Faults(pieces=Pieces(frames=3, segments=2, gap_s=0.001)))
    same = (whole.reading.verdict, whole.reading.transcript)
    hold((cut.reading.verdict, cut.reading.transcript) == same, f"in pieces it reads {shown(cut)}")
    return "3 frames, 2 packets"


def _keepalive(subject: Subject) -> str:
    """What it says while nothing is sent is a sign of life to its provider."""
    facts = facts_of(subject)
    if facts.keepalive_s is None:
        raise Skipped("it has no sign of life")
    _forced(subject)
    wait_s = min(QUIET_PERIODS * facts.keepalive_s, facts.rule.patience_ns / 1e9 - 1)
    script = usual(facts.rule.flow)
    answer = tuple(replace(line, after_s=wait_s) for line in script.answers[0])
    done = performed(subject, replace(script, answers=(answer,)), facts=forever_silent)
    hold(done.reading.verdict is Verdict.FORCED_FINAL, f"it reads {shown(done)}")
    return f"{wait_s:g} s without audio"


STAGED = (
    Promise("answer", "the final that answers is taken, at its moment", _answer),
    Promise("partials", "what is shown before is understood", _partials),
    Promise("greeting", "no audio goes before the provider is ready", _greeting),
    Promise("sound", "the provider hears the clip, in pieces that it allows", _sound),
    Promise("empty answer", "an answer without text is never a final with text", _empty_answer),
    Promise("several finals", "the finals of one answer are joined", _several_finals),
    Promise("already final", "what was final before is told apart", _already_final),
    Promise("turns", "each end of speech gets the answer to its own force", _turns),
    Promise("no answer", "where no final comes there is no time, and it ends", _no_answer),
    Promise("farewell", "the stream is closed as the provider wants it", _farewell),
    Promise("in pieces", "messages may come in pieces", _pieces),
    Promise("keepalive", "its sign of life is one to the provider", _keepalive),
)
