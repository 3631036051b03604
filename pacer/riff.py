"""WAV headers as they are in the wild, put right before anything decodes them.

Recorders write the header before they know the length, pipes never come back to fill it in, and
copies stop in the middle. A decoder that trusts such a header gives no samples, or hours of them.
Here the length comes from the file, and each thing that had to be put right is said.

    RIFF ....  WAVE | fmt  16 ... | data 0xFFFFFFFF ......  <- the file ends here: so long is it
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from struct import Struct, error, pack, unpack_from

PCM, FLOAT, ALAW, MULAW, EXTENSIBLE = 0x0001, 0x0003, 0x0006, 0x0007, 0xFFFE
PLAIN = frozenset({PCM, FLOAT, ALAW, MULAW})
"""The codecs in which each sample stands for itself in a fixed number of bytes."""
MP3 = 0x0055
PACKED = frozenset({0x0002, 0x0011, 0x0014, 0x0031, 0x0038, 0x0040, 0x0045, 0x0064, 0x0065, MP3})
"""The other codecs that libsndfile decodes: ADPCM of several kinds, GSM, MP3."""
MP3_FMT_BYTES = 30
PLACEHOLDER = 0x7FFF_0000
"""A data size from here on says that the length was not known when the header was written."""
MAX_CHUNKS = 10_000
"""More than a real file has; a hostile one could hold a chunk every eight bytes."""
KNOWN = frozenset(
    b"fmt |data|LIST|fact|bext|cue |id3 |ID3 |JUNK|junk|PAD |smpl|inst|PEAK|iXML|axml|cart".split(
        b"|"
    )
)
"""Names by which a chunk is recognised where its place is in doubt."""


class RiffError(ValueError):
    """The file says it is a WAV file, and no audio can be got out of it. One line: why."""


@dataclass(frozen=True, slots=True)
class Mended:
    """A file whose sizes are true, and what had to be put right for that, one sentence each."""

    content: bytes
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """One named piece of a RIFF file; ``size`` is what its header claims."""

    name: bytes
    start: int
    """Where its contents begin, in the file."""
    size: int
    padded: bool = True
    """Odd contents are followed by a byte of padding, as they must be."""

    @property
    def end(self) -> int:
        """Where the next chunk begins."""
        return self.start + self.size + (self.size % 2 if self.padded else 0)


@dataclass(frozen=True, slots=True)
class Layout:
    """What the fmt chunk says of the samples."""

    body: bytes
    """The chunk as it is."""
    codec: int
    channels: int
    rate_hz: int
    block_align: int
    bits: int

    @property
    def frame_bytes(self) -> int | None:
        """How many bytes one sample of all channels takes; None where the codec packs them."""
        return -(-self.bits // 8) * self.channels if self.codec in PLAIN else None


def is_riff(content: bytes) -> bool:
    """It begins like a RIFF file, perhaps behind an ID3 tag."""
    return content[_tag_bytes(content) :][:4] in (b"RIFF", b"RIFX")


def mended(content: bytes) -> Mended:
    """A WAV file whose header fits its contents. Raises RiffError where there is no audio in it.

    It holds the two chunks that matter; what else there was could only mislead the decoder.
    """
    tag = _tag_bytes(content)
    remarks = [f"Left out before the RIFF header: an ID3 tag of {_bytes(tag)}."] if tag else []
    content = content[tag:]
    order = ">" if content[:4] == b"RIFX" else "<"
    if content[8:12] != b"WAVE":
        raise RiffError("a RIFF file, but not a WAVE")
    chunks = list(_chunks(content, order))
    if not all(chunk.padded for chunk in chunks):
        remarks.append("A chunk of odd size lacks its byte of padding.")
    samples = _data(chunks)
    layout, said = _layout(content, chunks, order)
    remarks += said
    if samples.start < _named(chunks, b"fmt ").start:
        remarks.append("The fmt chunk stands behind the audio.")
    length, said = _length(content, samples, layout, order)
    remarks += said
    remarks += _rest(content, chunks, samples, sized=bool(said), order=order)
    if layout.codec not in PLAIN and not remarks:
        return Mended(content)
    audio = content[samples.start : samples.start + length]
    return Mended(_written(audio, layout, order), tuple(remarks))


def _tag_bytes(content: bytes) -> int:
    """How long the ID3 tag in front of a RIFF header is; 0 where there is none."""
    if content[:3] != b"ID3" or len(content) < 10:
        return 0
    size = 0
    for byte in content[6:10]:
        size = size << 7 | byte & 0x7F
    end = 10 + size
    return end if content[end : end + 4] in (b"RIFF", b"RIFX") else 0


def _chunks(content: bytes, order: str, at: int = 12) -> Iterator[Chunk]:
    """The chunks from ``at`` on; the last of them may claim more than is there."""
    for _ in range(MAX_CHUNKS):
        name = content[at : at + 4]
        if len(content) - at < 8 or not all(0x20 <= byte < 0x7F for byte in name):
            return
        chunk = Chunk(name, at + 8, unpack_from(order + "I", content, at + 4)[0])
        bare = chunk.start + chunk.size
        if chunk.size % 2 and content[bare : bare + 4] in KNOWN:
            chunk = replace(chunk, padded=content[bare + 1 : bare + 5] in KNOWN)
        yield chunk
        at = chunk.end


def _data(chunks: list[Chunk]) -> Chunk:
    """The chunk with the samples: the first that is not empty, or the first of all."""
    found = [chunk for chunk in chunks if chunk.name == b"data"]
    if not found:
        raise RiffError("a WAV header without a data chunk: there is no audio behind it")
    return next((chunk for chunk in found if chunk.size), found[0])


def _named(chunks: list[Chunk], name: bytes) -> Chunk:
    found = next((chunk for chunk in chunks if chunk.name == name), None)
    if found is None:
        raise RiffError("a WAV header without a fmt chunk: nothing says what its samples are")
    return found


def _layout(content: bytes, chunks: list[Chunk], order: str) -> tuple[Layout, list[str]]:
    chunk = _named(chunks, b"fmt ")
    body = content[chunk.start :][: chunk.size]
    try:
        codec, channels, rate_hz, _, align, bits = Struct(order + "HHIIHH").unpack_from(body)
        if codec == EXTENSIBLE:
            (codec,) = unpack_from(order + "H", body, 24)
    except error as cut:
        raise RiffError(f"its fmt chunk is too short: {_bytes(len(body))}") from cut
    layout = Layout(body, codec, channels, rate_hz, align, bits)
    _refuse_nonsense(layout)
    return _aligned(layout, order)


def _refuse_nonsense(layout: Layout) -> None:
    if not layout.channels:
        raise RiffError("its header says 0 channels")
    if not layout.rate_hz:
        raise RiffError("its header says 0 Hz")
    if layout.codec in PLAIN and not layout.bits:
        raise RiffError("its header says 0 bits a sample")
    if layout.codec not in PLAIN | PACKED:
        raise RiffError(f"its codec 0x{layout.codec:04X} cannot be decoded; convert it to PCM")
    if layout.codec == MP3 and len(layout.body) < MP3_FMT_BYTES:
        raise RiffError("its header says MP3, but describes plain samples; one of the two is wrong")


def _aligned(layout: Layout, order: str) -> tuple[Layout, list[str]]:
    """The same with a block align that fits the samples."""
    right = layout.frame_bytes
    if right is None or right == layout.block_align:
        return layout, []
    if layout.bits == 24 and layout.block_align == 4 * layout.channels:
        return layout, []  # 24 bits in 32: the decoder knows what old programs meant by it
    said = f"The block align in the header is {layout.block_align} instead of {right} bytes."
    rate = pack(order + "IH", layout.rate_hz * right & 0xFFFF_FFFF, right & 0xFFFF)
    body = layout.body[:8] + rate + layout.body[14:]
    return replace(layout, body=body, block_align=right), [said]


def _length(content: bytes, data: Chunk, layout: Layout, order: str) -> tuple[int, list[str]]:
    """How many bytes of samples there are, and what of the header is not true of them."""
    there, size, remarks = len(content) - data.start, data.size, list[str]()
    if not size and there and not _ends_in_chunks(content, data.start, order):
        remarks.append(f"The header says 0 bytes of audio; all {_bytes(there)} behind it are read.")
        size = there
    elif size > there and size >= PLACEHOLDER:
        remarks.append(
            f"The header was written before the length was known (0x{size:X} bytes); "
            f"all {_bytes(there)} behind it are read."
        )
    elif size > there:
        remarks.append(
            f"It is cut short: the header promises {_bytes(size)} of audio, {_bytes(there)} "
            "are there."
        )
    size = min(size, there)
    over = size % layout.block_align if layout.codec in PLAIN and layout.block_align else 0
    if over:
        remarks.append(f"It ends in the middle of a sample; left out: {_bytes(over)}.")
    if size == over:
        raise RiffError("a WAV file that holds no samples")
    return size - over, remarks


def _ends_in_chunks(content: bytes, at: int, order: str) -> bool:
    """From ``at`` to its end the file is made of chunks, so no samples can stand there."""
    end = at
    for chunk in _chunks(content, order, at):
        end = chunk.end
    return end > at and end in (len(content), len(content) + 1)


def _rest(
    content: bytes, chunks: list[Chunk], data: Chunk, *, sized: bool, order: str
) -> list[str]:
    """What is wrong besides the audio: bytes that belong to nothing, and the size of the whole."""
    if sized:
        return []  # the size of the whole is wrong as well then, and has been said in effect
    whole = [chunk for chunk in chunks if chunk.start + chunk.size <= len(content)]
    over = len(content) - max(chunk.end for chunk in whole)
    if over > 0:
        return [f"Left out behind the last chunk: {_bytes(over)} that belong to nothing."]
    (claimed,) = unpack_from(order + "I", content, 4)
    if abs(claimed + 8 - len(content)) > 1:
        return [f"The header says {_bytes(claimed + 8)} for a file of {len(content):,}."]
    return []


def _written(samples: bytes, layout: Layout, order: str) -> bytes:
    """A new file around the same samples, in order."""
    pieces = [b"WAVE"]
    for name, body in ((b"fmt ", layout.body), (b"data", samples)):
        pieces += [name, pack(order + "I", len(body)), body, bytes(len(body) % 2)]
    magic = b"RIFX" if order == ">" else b"RIFF"
    return b"".join([magic, pack(order + "I", sum(map(len, pieces))), *pieces])


def _bytes(count: int) -> str:
    return f"{count:,} byte" + ("" if count == 1 else "s")
