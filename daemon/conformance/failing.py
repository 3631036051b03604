"""What a codec promises where things go wrong: looked at with its fake."""

from collections.abc import Iterable

from daemon.conformance.promise import Promise, Skipped, Subject, hold
from daemon.conformance.stage import performed
from daemon.conformance.staged import facts_of, shown
from daemon.fakes.script import (
    BINARY,
    EMPTY,
    GARBAGE,
    Faults,
    HangUp,
    Interjection,
    Moment,
    Refusal,
)
from measure.faults import FaultKind, Whose
from measure.records import Flow, Verdict
from providers.codec import Transport

HARNESS = (Verdict.HARNESS_ERROR, Verdict.HARNESS_LATE, Verdict.HARNESS_STALLED)
GONE = (Verdict.CONNECTION_LOST, Verdict.PROVIDER_ERROR, Verdict.NETWORK_ERROR)


def _wrong_key(subject: Subject) -> str:
    if facts_of(subject).key_variable is None:
        raise Skipped("it needs no key")
    done = performed(subject, good_key="another")
    fault = done.reading.fault
    hold(fault is not None and fault.kind is FaultKind.AUTH, f"it reads {shown(done)}")
    hold(fault is not None and fault.whose is Whose.PROVIDER, "it is called another's fault")
    hold(not done.shows_the_key, "the key is in what is left of it")
    return str(fault)


REFUSALS = {
    401: FaultKind.AUTH,
    402: FaultKind.QUOTA,
    403: FaultKind.AUTH,
    429: FaultKind.RATE,
    503: FaultKind.SERVER,
}


def _refusals(subject: Subject) -> str:
    if facts_of(subject).transport is Transport.TCP:
        raise Skipped("no HTTP is spoken there")
    for status, kind in REFUSALS.items():
        done = performed(subject, faults=Faults(refusal=Refusal(status, retry_after_s=17)))
        fault = done.reading.fault
        hold(fault is not None and fault.kind is kind, f"HTTP {status}: it reads {shown(done)}")
        hold(fault is not None and fault.retry_after_s == 17, f"HTTP {status}: no Retry-After")
    return ", ".join(f"{status} {kind}" for status, kind in REFUSALS.items())


def _canary(subject: Subject) -> str:
    """A provider that repeats the key in whatever it says does not get it into our records."""
    if facts_of(subject).key_variable is None:
        raise Skipped("it needs no key")
    key = subject.canary
    paths = [
        Faults(),
        *(Faults(interjections=(Interjection(said, Moment.AUDIO, 200.0),)) for said in _with(key)),
        *(
            Faults(hang_up=HangUp(moment, audio_ms=200.0, code=1008, reason=f"bad key {key}"))
            for moment in (Moment.OPEN, Moment.AUDIO, Moment.FORCE)
        ),
        Faults(refusal=Refusal(401)),
        Faults(hang_up=HangUp(Moment.CONNECTED, reset=True)),
        Faults(listening=False),
    ]
    for faults in paths:
        done = performed(subject, faults=faults)
        hold(not done.shows_the_key, f"the key is in what is left of {faults.hang_up or faults}")
    bodies = [f"no such key: {key}", f"{'x' * 185} {key}", f'{{"message": "no such key: {key}"}}']
    for body in bodies:
        done = performed(subject, refused_with=body)
        hold(not done.shows_the_key, "the key is in what is left of an HTTP refusal")
    return f"{len(paths) + len(bodies)} ways to fail"


def _with(key: str) -> Iterable[str | bytes]:
    """Messages that repeat the key: errors of all shapes, nonsense, bytes."""
    error = f'{{"code": "{key}", "message": "{key}"}}'
    yield f'{{"type": "error", "message": "{key}", "error": {error}}}'
    yield f'{{"type": "Error", "description": "{"x" * 190} {key}", "error_message": "{key}"}}'
    yield f'{{"{key}": "{key}"}}'
    yield key
    yield b"\0" + key.encode()


def _rubbish(subject: Subject) -> str:
    seen = []
    for said in (GARBAGE, EMPTY, BINARY, "[]", "null", '{"type": "an unheard-of thing"}'):
        faults = Faults(interjections=(Interjection(said, Moment.AUDIO, 200.0),))
        done = performed(subject, faults=faults)
        hold(done.reading.verdict not in HARNESS, f"{said[:20]!r}: it reads {shown(done)}")
        fault = done.reading.fault
        hold(fault is None or fault.whose is not Whose.HOST, f"it reads {shown(done)}")
        seen.append(done.reading.verdict.value)
    return ", ".join(dict.fromkeys(seen))


def _hang_ups(subject: Subject) -> str:
    forced = facts_of(subject).rule.flow is Flow.FORCED
    moments = (Moment.CONNECTED, Moment.OPEN, Moment.AUDIO, *([Moment.FORCE] if forced else []))
    for moment in moments:
        for how in (HangUp(moment, 200.0, reset=True), HangUp(moment, 200.0, code=1011)):
            done = performed(subject, faults=Faults(hang_up=how))
            hold(done.reading.verdict in GONE, f"{moment}: it reads {shown(done)}")
    return f"{2 * len(moments)} of them"


FAILING = (
    Promise("wrong key", "a wrong key is called so", _wrong_key),
    Promise("refusals", "an HTTP refusal is called by the right name", _refusals),
    Promise("canary", "its key is in nothing that is left, however it fails", _canary),
    Promise("rubbish", "a message that makes no sense never looks like our fault", _rubbish),
    Promise("hang-ups", "a connection that breaks off is told as such", _hang_ups),
)
