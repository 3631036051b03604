"""``speechbench corpus check PATH``: looks over a corpus before hours are spent on it.

Reads its manifest, decodes every recording, and says how many there are, how long they last, how
many words their references have, and everything that is wrong, a line each. Sends nothing.

Exit code: 0 if it can be measured, 1 if something is wrong with it, 2 if there is none.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from daemon.corpora import Corpus, opened
from daemon.corpus_clips import loaded
from daemon.loaded import HEARD_RATE_HZ, Loaded
from pacer.clips import CHANNELS
from scoring.corpora import KINDS, shown
from scoring.corpora.checksum import Content, corpus_sha256
from scoring.normalize import NORMALIZERS
from scoring.profiles import misnamed
from scoring.rejoin import Call

HELP = "look over a corpus: its recordings, their references, and what is wrong with them"
TOLD_EVERY_S = 600.0
"""After so much audio a line says how far it is."""
NORMALIZER = NORMALIZERS["speechbench"]


@dataclass(slots=True)
class Found:
    """What is known of a corpus, while it is being read."""

    name: str
    kind: str
    audio_s: float = 0.0
    shortest_s: float | None = None
    longest_s: float = 0.0
    words: int = 0
    silent: int = 0
    """References without words."""
    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    contents: list[Content] = field(default_factory=list)
    calls: dict[str, Call] = field(default_factory=dict)

    @property
    def clips(self) -> int:
        return len(self.contents)

    @property
    def recordings(self) -> int:
        """Parts of one call are one recording."""
        parts = sum(call.parts for call in self.calls.values())
        return self.clips - parts + len(self.calls)

    def add(self, one: Loaded) -> None:
        """Take in one more clip."""
        clip = one.at_rate[HEARD_RATE_HZ]
        self.audio_s += clip.audio_s
        self.shortest_s = min(clip.audio_s, self.shortest_s or clip.audio_s)
        self.longest_s = max(clip.audio_s, self.longest_s)
        self.remarks += [f"{clip.name}: {remark}" for remark in clip.remarks]
        reference = clip.reference if one.call is None else one.call.reference
        self.contents.append((clip.name, clip.sha256, reference))
        if one.call is None or one.call.name not in self.calls:
            words = len(NORMALIZER.tokens(reference or ""))
            self.words += words
            self.silent += not words
        if one.call is not None:
            self.calls[one.call.name] = one.call


def arguments(parser: argparse.ArgumentParser) -> None:
    """What can be chosen."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    parser = actions.add_parser("check", help=HELP, description=HELP)
    parser.add_argument("path", type=Path, metavar="PATH", help="its folder, or its manifest")
    parser.add_argument(
        "--kind", choices=KINDS, help="how it is laid out; default: look what it could be"
    )
    parser.add_argument("--name", help="what it will be called; default: as its folder")
    parser.add_argument(
        "--calls",
        type=Path,
        metavar="FILE",
        help="for parts of calls: the manifest with the texts of the whole calls",
    )
    parser.add_argument(
        "--channels", choices=CHANNELS, default="mix", help="of files with several; default: mix"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")


def run(args: argparse.Namespace) -> int:
    """Look and say. Raises UserError."""
    corpus = opened(args.path, kind=args.kind, calls=args.calls, channels=args.channels)
    found = _read(corpus, args.name or corpus.usual_name)
    if args.json:
        sys.stdout.write(json.dumps(_document(found)) + "\n")
    else:
        lines = _lines(found, given=args.kind is not None)
        sys.stdout.writelines(f"{shown(line)}\n" for line in lines)
    return 1 if found.problems else 0


def _read(corpus: Corpus, name: str) -> Found:
    found = Found(name, corpus.kind, problems=list(corpus.manifest.problems))
    entries = len(corpus.manifest.entries)
    told_s = 0.0
    for one in loaded(corpus, [HEARD_RATE_HZ], found.problems, name=name):
        found.add(one)
        if found.audio_s - told_s >= TOLD_EVERY_S:
            told_s = found.audio_s
            sys.stderr.write(f"speechbench: {found.clips} of {entries} clips decoded\n")
    wrong = misnamed(name, clips=found.recordings, audio_s=found.audio_s)
    if wrong is not None:
        found.problems.append(f"the name {wrong}")
    return found


def _lines(found: Found, *, given: bool) -> Iterator[str]:
    yield f"corpus   {found.name}"
    yield f"kind     {found.kind} ({'given' if given else 'found'})"
    yield f"clips    {found.clips:,}"
    if found.calls:
        yield f"calls    {len(found.calls):,}, of which the clips are parts"
    yield f"hours    {found.audio_s / 3600:.3f} ({found.audio_s:,.1f} s)"
    if found.shortest_s is not None:
        yield f"lengths  {found.shortest_s:.1f} to {found.longest_s:.1f} s"
    yield f"words    {found.words:,} in the references, as {NORMALIZER.signature} counts them"
    if found.silent:
        yield f"silent   {found.silent:,} references without words: they have no word error rate"
    yield f"sha256   {corpus_sha256(found.contents)}"
    yield from (f"remark   {remark}" for remark in found.remarks)
    yield from (f"problem  {problem}" for problem in found.problems)
    problems = len(found.problems)
    yield f"problems {problems:,}" if problems else "problems none"


def _document(found: Found) -> dict[str, Any]:
    return {
        "corpus": found.name,
        "kind": found.kind,
        "clips": found.clips,
        "calls": len(found.calls),
        "audio_s": round(found.audio_s, 3),
        "words": found.words,
        "references_without_words": found.silent,
        "normalizer": NORMALIZER.signature,
        "sha256": corpus_sha256(found.contents),
        "remarks": found.remarks,
        "problems": found.problems,
    }
