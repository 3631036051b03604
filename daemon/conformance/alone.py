"""What a codec promises by itself: looked at without any stream."""

import json
import re

from daemon.conformance.noise import noise
from daemon.conformance.promise import SECRET, Promise, Skipped, Subject, hold
from daemon.conformance.transcript import (
    Player,
    compared,
    conversations,
    errors,
    message_of,
    told,
)
from measure.events import Event
from measure.faults import Fault, Whose
from measure.records import FinalRule, Flow, Frame
from pacer.chunk import STEP_MS
from providers.codec import (
    Codec,
    Ending,
    ForceContext,
    HttpRequest,
    HttpResponse,
    Message,
    Options,
    ProviderError,
)

MESSAGES_OF_NOISE = 400
STREAM_OF_NOISE = 25
"""So many of them on one codec, so that one may prepare the ground for another."""
LAYERS = (400, 980, 100_000)
LONGEST_FAULT = 300
DATE = re.compile(r"20\d\d(-(0[1-9]|1[0-2])(-[0-3]\d)?)?")
CONTEXT = ForceContext(1000.0, 100.0, 1, 50)


def _facts(subject: Subject) -> str:
    facts = subject.codec().facts
    audio, forcing = facts.audio, facts.forcing
    frames = max(1, -(-audio.chunk_ms // STEP_MS))
    hold(4_000 <= audio.rate_hz <= 48_000, f"a rate of {audio.rate_hz} Hz")
    hold(audio.min_chunk_ms <= frames * STEP_MS, "its chunk is below its own minimum")
    most_ms = audio.max_chunk_ms
    hold(most_ms is None or most_ms >= max(STEP_MS, audio.min_chunk_ms), "its maximum is too low")
    numbers = (forcing.min_buffered_ms, forcing.silence_before_ms, forcing.min_gap_s)
    hold(min(numbers) >= 0, "a negative length of time")
    dates = [source.date for source in facts.sources]
    dates += [facts.price.source.date] if facts.price else []
    wrong = [date for date in dates if not DATE.fullmatch(date)]
    hold(not wrong, f"no date: {wrong}")
    if not facts.sources:
        raise Skipped("its facts name no source")
    return f"{len(facts.sources)} sources, {len(facts.awaits)} things await a live key"


def _flow(subject: Subject) -> str:
    codec = subject.codec()
    rule, forces = codec.facts.rule, bool(list(codec.force(CONTEXT)))
    hold((rule.flow is Flow.FORCED) == forces, f"the flow is {rule.flow} and force says {forces}")
    hold((rule.final_rule is FinalRule.NONE) != forces, f"final rule {rule.final_rule}")
    ends = bool(list(subject.codec().finish()))
    hold(ends == (codec.facts.ending is not Ending.HANG_UP), "finish does not fit its ending")
    alive = bool(list(subject.codec().keepalive()))
    hold(alive == (codec.facts.keepalive_s is not None), "keepalive does not fit its facts")
    return f"{rule.flow}, {rule.final_rule}, ends by {codec.facts.ending.value}"


def _key(subject: Subject) -> str:
    """In headers, address or body of a request: there it must be. Anywhere else it must not."""
    canary = subject.canary
    codec = subject.codec()
    request = codec.prepare(canary)
    shown = [repr(codec), repr(request)]
    where = _sent(request) if request else _opened(codec, canary, shown)
    needed = codec.facts.key_variable is not None
    hold(not needed or SECRET in where, "the key is not in what opens the stream")
    said = [*codec.hello(), *codec.keepalive(), *codec.force(CONTEXT), *codec.finish()]
    shown += [repr(said), repr(codec.facts), repr(getattr(codec, "__dict__", ""))]
    hold(not any(SECRET in one for one in shown), "the key can be seen")
    return "it opens the stream and is nowhere else" if needed else "it needs none"


def _sent(request: HttpRequest) -> str:
    return f"{request.url} {dict(request.headers)} {request.body!r}"


def _opened(codec: Codec, canary: str, shown: list[str]) -> str:
    opened = codec.open(canary)
    shown.append(repr(opened))
    return f"{opened.url} {dict(opened.headers)} {opened.subprotocols}"


def _address(subject: Subject) -> str:
    wrong = (
        "ftp://host/x",
        f"{SECRET}",
        "wss://",
        "ws://[",
        f"http:///{SECRET}",
        "ws://h:99999999",
    )
    for url in wrong:
        try:
            subject.codec(Options(url=url))
        except ValueError as error:
            hold(SECRET not in str(error), "the refusal repeats the address")
            hold("\n" not in str(error), "the refusal has more than one line")
        else:
            hold(url == "ws://h:99999999", f"the address {url!r} is taken")
    return f"{len(wrong)} wrong ones"


def _audio(subject: Subject) -> str:
    codec = subject.codec()
    wanted = codec.facts.audio
    lengths_ms = {wanted.chunk_ms, max(STEP_MS, wanted.min_chunk_ms), max(7, wanted.min_chunk_ms)}
    for index, ms in enumerate(sorted(lengths_ms)):
        pcm = b"\x34\x12" * (ms * wanted.rate_hz // 1000)
        message = codec.audio(Frame(index, pcm, float(ms)))
        hold(message, "an empty message for audio")
    return f"pieces of {', '.join(map(str, sorted(lengths_ms)))} ms"


def _paper(subject: Subject) -> str:
    if subject.transcripts is None:
        raise Skipped("there are no conversations on paper beside this installation")
    found = conversations(subject)
    if not found:
        raise Skipped("no conversation of it is on paper")
    for conversation in found:
        player = Player(subject.codec(), conversation)
        player.play()
        ours = [compared(one) for one in told(player.heard)]
        theirs = [compared(one) for one in conversation.expected]
        for got, wanted in zip([*ours, None], [*theirs, None], strict=False):
            hold(got == wanted, f"{conversation.name}: understands {got}, on paper {wanted}")
    return ", ".join(conversation.name for conversation in found)


def _stamps(subject: Subject) -> str:
    messages = _near(subject)
    if not messages:
        raise Skipped("no message of it is on paper")
    codec, count = subject.codec(), 0
    for at_ns, message in enumerate(messages, 7_000_000_001):
        events, _ = _understood(codec, message, at_ns)
        hold(all(event.at_ns == at_ns for event in events), "an event has another stamp")
        count += len(events)
    return f"{count} events"


def _nonsense(subject: Subject) -> str:
    near = _near(subject)
    errors_seen = 0
    codec = subject.codec()
    for number, message in enumerate(noise(near, seed=7, count=MESSAGES_OF_NOISE)):
        if number % STREAM_OF_NOISE == 0:
            codec = subject.codec()
            if number % (2 * STREAM_OF_NOISE):
                list(codec.finish())
        events, fault = _understood(codec, message, number)
        hold(all(event.at_ns == number for event in events), "an event has another stamp")
        errors_seen += fault is not None
    for depth in LAYERS:
        layers = "[" * depth + "]" * depth
        for message in (layers, f'{{"type": "error", "error": {layers}, "message": {layers}}}'):
            _understood(subject.codec(), message, 0)
    return f"{MESSAGES_OF_NOISE} messages, {errors_seen} of them refused"


def _closes(subject: Subject) -> str:
    codec = subject.codec()
    hold(codec.closed(1000, "") is None, "Close 1000 is a fault")
    hold(codec.closed(None, "") is not None, "a connection that breaks off is no fault")
    for code in (None, *range(1000, 1016), *range(3000, 3010), *range(4000, 5000)):
        fault = codec.closed(code, "a reason")
        hold(fault is None or _is_in_order(fault), f"Close {code}: {fault}")
    return "codes 1000 to 4999"


def _failures(subject: Subject) -> str:
    lines = errors(subject)
    if not lines:
        raise Skipped("no failure of it is on paper")
    for line in lines:
        fault = _fault_of(subject, line)
        kind = None if fault is None else fault.kind.value
        hold(kind == line["fault"], f"{json.dumps(line)[:160]}: it is {kind}")
    return f"{len(lines)} failures"


def _fault_of(subject: Subject, line: dict[str, object]) -> Fault | None:
    codec = subject.codec()
    match line:
        case {"they": dict(said)}:
            return _understood(codec, message_of(said), 0)[1]
        case {"close": int() | None as code, **rest}:
            return codec.closed(code, str(rest.get("reason", "")))
        case {"response": {"status": int(status), **rest}}:
            try:
                codec.prepared(HttpResponse(status, {}, json.dumps(rest.get("json")).encode()))
            except ProviderError as error:
                return error.fault
    return None


def _near(subject: Subject) -> list[Message]:
    """Messages of this provider that are in order, and those of its failures."""
    said = [message for one in conversations(subject) for message in one.heard]
    shown = [line["they"] for line in errors(subject) if isinstance(line.get("they"), dict)]
    return said + [message_of(one) for one in shown]


def _understood(codec: Codec, message: Message, at_ns: int) -> tuple[list[Event], Fault | None]:
    """What a codec makes of a message. Breaks where it raises anything but its own error."""
    shown = repr(message if len(message) < 100 else message[:100])
    try:
        events = list(codec.decode(message, at_ns))
        list(codec.replies())
    except ProviderError as error:
        fault = error.fault
        hold(_is_in_order(fault), f"{shown}: {str(fault)[:LONGEST_FAULT]!r}")
        return [], fault
    except Exception as error:  # what this looks for
        hold(False, f"{shown} raises {type(error).__name__}")
        raise
    return events, None


def _is_in_order(fault: Fault) -> bool:
    whose = fault.whose in (Whose.PROVIDER, Whose.NETWORK)
    return whose and "\n" not in str(fault) and len(str(fault)) < LONGEST_FAULT


ALONE = (
    Promise("facts", "its facts are possible, and say where they come from", _facts),
    Promise("flow", "what it can say fits what its facts say of it", _flow),
    Promise("key", "its key opens the stream and is shown nowhere", _key),
    Promise("address", "a wrong address is refused in a line that does not repeat it", _address),
    Promise("audio", "every piece that its chunk rule allows makes a message", _audio),
    Promise("paper", "it speaks and understands its conversations to the letter", _paper),
    Promise("stamps", "every event has the stamp of its message", _stamps),
    Promise("noise", "whatever comes, it raises its own error and no other", _nonsense),
    Promise("closes", "every Close is an ordinary end or somebody's fault", _closes),
    Promise("failures", "each of its failures is called by the right name", _failures),
)
