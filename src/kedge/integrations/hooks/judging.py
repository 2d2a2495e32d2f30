"""What a host wrote in the place of turns, looked at once: which compaction it is of, what it says
and what it lacks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from kedge.integrations.hooks.blocks import Count
from kedge.keeping_up import UpToDate, summary_before, turn_at
from kedge.matching import plain
from kedge.model import EarlierCompaction, Probe, Summary
from kedge.session import Session
from kedge.verifying import asked, verify

PRESERVED = b'"preservedSegment"'
"""In the record of a compaction that leaves the last messages as they are."""
WORD = re.compile(r"(?:^|(?<= ))\S")
_ANALYSIS = re.compile(r"<analysis>.*?(?:</analysis>|$)", re.DOTALL)


class Compacted(NamedTuple):
    """A compaction of a host."""

    text: str
    """What the agent reads in the place of the turns."""
    turn: int
    """The first behind it."""
    place: str
    """What tells it from others; empty while the transcript has it not."""
    record: EarlierCompaction | None = None


class Judged(NamedTuple):
    """Which compactions were looked at. Of their texts a print alone is kept: they may have
    anything in them."""

    places: tuple[str, ...] = ()
    ahead: str = ""
    """Print of a text that the host told of and the transcript has not yet."""


class Scored(NamedTuple):
    """What the probes find in what the agent reads."""

    score: float | None
    critical: int
    failed: tuple[str, ...]
    """Questions that it does not answer."""


def made_in(done: UpToDate) -> list[EarlierCompaction]:
    """The compactions of the host that the transcript has, with what took the place of turns."""
    every = done.beside.compactions
    return [one for one in every if one.kind == "summary" and one.by != "kedge" and one.summary]


def to_judge(done: UpToDate, told: str, judged: Judged) -> tuple[Compacted | None, Judged]:
    """The newest compaction, if it was not looked at before, and what is known afterwards. What the
    host tells serves until the transcript has it; the same text told again is no other."""
    made = made_in(done)
    known = tuple(map(_place, made))
    ahead, new = judged.ahead, [one for one in made if _place(one) not in judged.places]
    if ahead and any(_holds(one.summary, ahead) for one in new):
        new = [one for one in new[-1:] if not _holds(one.summary, ahead)]
        ahead = ""
    if new:
        latest = new[-1]
        found = Compacted(read_text(latest.summary), latest.turn, _place(latest), latest)
        return found, Judged(known)
    if (
        not told
        or printed(told) == ahead
        or any(_holds(one.summary, printed(told)) for one in made)
    ):
        return None, Judged(known, ahead)
    return Compacted(read_text(told), done.turns, ""), Judged(known, printed(told))


def known_before(session: Session, done: UpToDate, compacted: Compacted) -> Summary:
    """The facts that the compaction had to keep: what came behind it stands there by itself."""
    if compacted.turn >= done.turns and done.beside.pending is None:
        return done.summary
    return summary_before(session, compacted.turn)


def kept_beside(session: Session, path: Path, compacted: Compacted) -> list[str]:
    """The last exchange before a compaction that left it as it was."""
    record = compacted.record
    if record is None or record.source.start < 0:
        return []
    with path.open("rb") as file:
        file.seek(record.source.start)
        if PRESERVED not in file.read(max(0, record.source.end - record.source.start)):
            return []
    texts: list[str] = []
    last = turn = turn_at(session, compacted.turn - 1)
    while turn is not None and last is not None and turn.exchange == last.exchange:
        texts += [turn.user_message, turn.assistant_response]
        turn = turn_at(session, turn.index - 1)
    return [session.keeping.clean(text) for text in reversed(texts) if text]


def probes_for(summary: Summary, text: str, count: Count) -> tuple[Probe, ...]:
    """What a summary of this length is asked, with and without what is put back."""
    return asked(summary, count(text))


def scored(
    summary: Summary, text: str, probes: Sequence[Probe], beside: Sequence[str] = ()
) -> Scored:
    verdict = verify(summary, text, probes, beside=beside)
    failed = tuple(answer.probe.question for answer in verdict.failed)
    return Scored(verdict.score, len(verdict.critical_failures), failed)


def read_text(text: str) -> str:
    """What of a host's text the agent reads: its summariser thinks aloud before it."""
    return _ANALYSIS.sub("", text).strip()


def printed(text: str) -> str:
    """What tells a text, without any of its words: its length, and a hash of it."""
    core = _core(text)
    return f"{len(core)}:{_hash(core)}"


def _holds(text: str, print_of: str) -> bool:
    """Whether a text has the one of this print in it: hosts tell of a summary with tags, and write
    it down with words of their own around it."""
    size, _, wanted = print_of.partition(":")
    core, length = _core(text), int(size)
    starts = (match.start() for match in WORD.finditer(core))
    return any(_hash(core[at : at + length]) == wanted for at in starts if at + length <= len(core))


def _core(text: str) -> str:
    inside = text.partition("<summary>")[2].partition("</summary>")[0]
    return plain(inside or read_text(text)).strip()


def _hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


def _place(one: EarlierCompaction) -> str:
    return f"{one.session}:{one.turn}:{one.source.first}"
