"""What a host wrote in the place of turns, looked at once: which compaction it is of, what it says
and what it lacks."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from kedge.integrations.hooks.exam import Reading
from kedge.integrations.hooks.kept_messages import (
    kept_messages,
    messages_behind,
    replacing_messages,
)
from kedge.integrations.hooks.overtaken import still_holding
from kedge.integrations.hooks.printed import BY_HAND, is_shown
from kedge.keeping_up import UpToDate, summary_before, turn_at
from kedge.matching import plain
from kedge.model import EarlierCompaction, Probe, Summary, Turn
from kedge.session import Session

PRESERVED = b'"preservedSegment"'
"""In the record of a compaction that leaves the last messages as they are."""
MOST_LINE = 100_000
"""Bytes of a record that are looked at for its time: that of a compaction has no long texts."""
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
    """Which compactions were looked at. Of their texts a fingerprint alone is kept: they may have
    anything in them."""

    places: tuple[str, ...] = ()
    ahead: str = ""
    """Fingerprint of a text that the host told of and the transcript has not yet."""


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
        or fingerprint(told) == ahead
        or any(_holds(one.summary, fingerprint(told)) for one in made)
    ):
        return None, Judged(known, ahead)
    return Compacted(read_text(told), done.turns, ""), Judged(known, fingerprint(told))


def known_before(session: Session, done: UpToDate, compacted: Compacted) -> Summary:
    """The facts that the compaction had to keep and that still hold: what came behind it stands
    there by itself. Words that waited for an answer when it began are among them."""
    waiting, turn = done.beside.pending, compacted.turn
    if compacted.record is None or turn >= done.turns:
        if waiting is None or _is_before(waiting, compacted):
            return done.summary
        return summary_before(session, turn)
    first = turn_at(session, turn)
    if first is None or not first.user_message or not _is_before(first, compacted):
        return still_holding(summary_before(session, turn), done.summary, turn)
    said = Turn(index=first.index, exchange=first.exchange, user_message=first.user_message)
    return still_holding(summary_before(session, turn, said), done.summary, turn + 1)


def _is_before(turn: Turn, compacted: Compacted) -> bool:
    """Whether a turn begins in the transcript before a compaction does."""
    record = compacted.record
    if record is None:
        return True
    if record.source.start < 0:  # a document, of which the messages are counted
        return turn.source.first < record.source.first
    return 0 <= turn.source.start < record.source.start


def kept_beside(session: Session, path: Path, compacted: Compacted) -> list[str]:
    """What a compaction left as it was: of Claude Code the last exchange, where it says so; of
    Gemini CLI the messages that it lists behind its summary; of Codex those that it lists as what
    is left; of OpenCode the last messages, from the one that it names on."""
    record = compacted.record
    if record is not None and record.by == "opencode":
        return [session.keeping.clean(text) for text in kept_messages(path, record.source.first)]
    if record is None or record.source.start < 0:
        return []
    with path.open("rb") as file:
        file.seek(record.source.start)
        written = file.read(max(0, record.source.end - record.source.start))
    if record.by == "gemini-cli":
        return [session.keeping.clean(text) for text in messages_behind(written, record.summary)]
    if record.by == "codex":
        return [session.keeping.clean(text) for text in replacing_messages(written)]
    if PRESERVED not in written:
        return []
    texts: list[str] = []
    last = turn = turn_at(session, compacted.turn - 1)
    while turn is not None and last is not None and turn.exchange == last.exchange:
        texts += [turn.user_message, turn.assistant_response]
        turn = turn_at(session, turn.index - 1)
    return [session.keeping.clean(text) for text in reversed(texts) if text]


def made_at(path: Path, record: EarlierCompaction | None) -> float:
    """When a compaction was made, as its record says; now where it does not."""
    try:
        with path.open("rb") as file:
            file.seek(record.source.start if record else -1)
            found = json.loads(file.readline(MOST_LINE))
        return datetime.fromisoformat(found["timestamp"]).timestamp()
    except (OSError, ValueError, TypeError, KeyError):
        return time.time()


def is_steering_there(path: Path, record: EarlierCompaction | None, printed: str) -> bool | None:
    """Whether the agent reads what was printed for this compaction; None while the transcript does
    not tell."""
    if record is None:
        return None
    return record.trigger == BY_HAND and is_shown(path, record.source.end, printed)


def scored(texts: Sequence[str], probes: Sequence[Probe]) -> Scored:
    """What these texts together answer: what is put back takes nothing from what the host wrote."""
    failed = Reading(texts).lacks(probes)
    score = 1 - len(failed) / len(probes) if probes else None
    critical = sum(probe.critical for probe in failed)
    return Scored(score, critical, tuple(probe.question for probe in failed))


def read_text(text: str) -> str:
    """What of a host's text the agent reads: its summariser thinks aloud before it."""
    return _ANALYSIS.sub("", text).strip()


def fingerprint(text: str) -> str:
    """What tells a text, without any of its words: its length, and a hash of it."""
    core = _core(text)
    return f"{len(core)}:{_hash(core)}"


def _holds(text: str, print_of: str) -> bool:
    """Whether a text has the one of this fingerprint in it: hosts tell of a summary with tags, and
    write it down with words of their own around it."""
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
