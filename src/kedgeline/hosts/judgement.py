"""What a host wrote in the place of turns, looked at once: which compaction it is of, what it says
and what it lacks."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from msgspec.structs import replace

from kedgeline.errors import UserError
from kedgeline.hosts import places
from kedgeline.hosts.advice import AgentReading
from kedgeline.model import (
    EarlierCompaction,
    Probe,
    Summary,
    Turn,
)
from kedgeline.model.fact import Fact
from kedgeline.pipeline.read import plain_file
from kedgeline.session.keeping_up import UpToDate, origin_of, summary_before, turn_at
from kedgeline.session.session import Session
from kedgeline.text.prose import plain

# What hosts leave as it was when they compact.


def _kept_messages(path: Path, asked: int) -> Iterator[str]:
    """OpenCode: all that its last messages say, with paths as facts have them. `asked` is the place
    of the message that the compaction was asked for with."""
    with plain_file(path) as file:
        export = json.load(file)
    messages = export["messages"]
    marks = [part.get("tail_start_id") for part in messages[asked]["parts"]]
    names = [message["info"]["id"] for message in messages[:asked]]
    first = next((names.index(mark) for mark in marks if mark in names), asked)
    root = f"{export['info']['directory'].rstrip('/')}/"
    for part in (part for message in messages[first:asked] for part in message["parts"]):
        if part["type"] == "tool":  # a call in one line tells what was done with a file
            state = part["state"]
            call = " ".join((part["tool"], *words_in(state.get("input"))))
            said = [call, *words_in(state.get("output"))]
        else:
            said = [part["text"]] if part["type"] == "text" else []
        yield from (text.replace(root, "") for text in said)


def _listed(written: bytes, by: str, summary: str) -> Iterator[str]:
    """Codex and Gemini CLI: all that is said in the messages that took the place of all others; of
    Gemini CLI those behind its summary."""
    record = json.loads(written)
    if by == "codex":
        items = record["payload"]["replacement_history"]
        yield from words_in([[item.get(field) for field in SAYING] for item in items])
        return
    messages = record["$set"]["messages"]
    said = [list(words_in(message.get("content"))) for message in messages]
    first = next((n for n, found in enumerate(said, 1) if summary in found), len(said))
    yield from (text for found in said[first:] for text in found)


SAYING = ("content", "arguments", "input", "output")
"""Fields of an item that hold what was said, called for or printed."""


def words_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from words_in(one)


# What was known before a compaction and still holds, where turns follow it: it may have been made
# long before the session is first looked at.

AnyOf = TypeVar("AnyOf", bound=Fact)


def still_holding(before: Summary, now: Summary, since: int) -> Summary:
    """Without what turns from `since` on overtook: these are there to be read."""
    asked_anew = _has_later((one for one in now.requests if one.scope != "step"), since)
    repository = [one for one in now.repository if one.turn >= since]
    kinds, gone = {one.what for one in repository}, {one.replaces for one in repository}
    every = (change for changes in now.files.values() for change in changes)
    renamed = {change.renamed_from for change in every if change.turn >= since}
    files = _untouched(before.files, now.files, since)
    agents = {one.agent or one.task for one in now.agents if one.turn >= since}
    ended = now.replaced_rules()
    # What the agent said behind the last words of the user is not its last word any more.
    last = before.requests[-1].turn if before.requests and not asked_anew else -1
    return replace(
        before,
        requests=() if asked_anew else before.requests,
        answers=tuple(one for one in before.answers if one.turn < last),
        instructions=tuple(one for one in before.instructions if one.text not in ended),
        files={path: changes for path, changes in files.items() if path not in renamed},
        decisions=_untouched(before.decisions, now.decisions, since),
        commands=_untouched(before.commands, now.commands, since),
        repository=tuple(
            one for one in before.repository if one.what not in kinds and one.name not in gone
        ),
        errors=_untouched(before.errors, now.errors, since),
        todos=_untouched(before.todos, now.todos, since),
        questions=_untouched(before.questions, now.questions, since),
        agents=tuple(one for one in before.agents if (one.agent or one.task) not in agents),
    )


def _untouched(
    before: Mapping[str, tuple[AnyOf, ...]], now: Mapping[str, tuple[AnyOf, ...]], since: int
) -> dict[str, tuple[AnyOf, ...]]:
    """The matters that nothing came to since."""
    touched = {key for key, facts in now.items() if _has_later(facts, since)}
    return {key: facts for key, facts in before.items() if key not in touched}


def _has_later(facts: Iterable[Fact], since: int) -> bool:
    return any(fact.turn >= since for fact in facts)


PRESERVED = b'"preservedSegment"'
"""In the record of a compaction that leaves the last messages as they are."""
MOST_LINE = 100_000
"""Bytes of a record that are looked at for its time: that of a compaction has no long texts."""
PUT_BACK = "From kedgeline"
"""How a block of ours begins."""
MOST_BEHIND = 1_000_000
"""Bytes behind such a record in which a block of ours is looked for."""
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


class SeenCompactions(NamedTuple):
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
    return [one for one in every if one.kind == "summary" and one.by != "kedgeline" and one.summary]


def to_judge(
    done: UpToDate, told: str, judged: SeenCompactions
) -> tuple[Compacted | None, SeenCompactions]:
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
        return found, SeenCompactions(known)
    if (
        not told
        or fingerprint(told) == ahead
        or any(_holds(one.summary, fingerprint(told)) for one in made)
    ):
        return None, SeenCompactions(known, ahead)
    return Compacted(read_text(told), done.turns, ""), SeenCompactions(known, fingerprint(told))


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
    record, texts = compacted.record, list[str]()
    if record is None:
        return []
    # What hosts write may have any shape.
    with suppress(OSError, UserError, ValueError, TypeError, KeyError, IndexError, AttributeError):
        if record.by == "opencode":
            texts = list(_kept_messages(path, record.source.first))
        elif record.source.start >= 0:
            with plain_file(path) as file:
                file.seek(record.source.start)
                written = file.read(max(0, record.source.end - record.source.start))
                behind = file.read(MOST_BEHIND) if record.by == "gemini-cli" else b""
            if record.by in ("gemini-cli", "codex"):
                texts = list(_listed(written, record.by, record.summary))
                # The output that a compression came with is written behind it, our block in it.
                lines = [line for line in behind.splitlines(keepends=True) if line.endswith(b"\n")]
                said = (text for line in lines for text in words_in(json.loads(line)))
                texts += [text for text in said if PUT_BACK in text]
            elif PRESERVED in written:
                texts = _last_exchange(session, compacted.turn)
    return [session.keeping.clean(text) for text in texts if text]


def _last_exchange(session: Session, end: int) -> list[str]:
    texts: list[str] = []
    last = turn = turn_at(session, end - 1)
    while turn is not None and last is not None and turn.exchange == last.exchange:
        texts = [turn.user_message, turn.assistant_response, *texts]
        turn = turn_at(session, turn.index - 1)
    return texts


def made_at(path: Path, record: EarlierCompaction | None) -> float:
    """When a compaction was made, as its record says; now where it does not."""
    try:
        with plain_file(path) as file:
            file.seek(record.source.start if record else -1)
            found = json.loads(file.readline(MOST_LINE))
        return datetime.fromisoformat(found["timestamp"]).timestamp()
    except (OSError, UserError, ValueError, TypeError, KeyError):
        return time.time()


def texts_scored(texts: Sequence[str], probes: Sequence[Probe]) -> Scored:
    """What these texts together answer: what is put back takes nothing from what the host wrote."""
    failed = AgentReading(texts).lacks(probes)
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


def judged_in(status: dict[str, Any]) -> SeenCompactions:
    found, ahead = status.get("judged"), status.get("ahead")
    known = tuple(one for one in found if isinstance(one, str)) if isinstance(found, list) else ()
    is_print = isinstance(ahead, str) and ahead.partition(":")[0].isdecimal()
    return SeenCompactions(known, str(ahead) if is_print else "")


# The session that another one was forked from. Claude Code writes a fork's file from the last
# compaction on: what was said before it stands in the parent's alone.

MOST_HEAD = 1_000_000
"""Bytes at the beginning of a file: what stands between a compaction and the next words is less."""
SAID = ("user", "assistant")
"""Records of what somebody said."""


def is_ready(session: Session, path: Path) -> bool:
    """Whether a session that is new can be followed. A fork begins as its parent was when it was
    compacted, so that all that was known then is known in it; where nothing is said in the file
    yet, it is not known whether it is one."""
    boundary = _boundary_at_head(path)
    if boundary is None:
        return False
    if boundary and (found := _parent(session, path, boundary)) is not None:
        _carry_over(session, *found)
    return True


def note_judged(session: Session, done: UpToDate, status: dict[str, Any]) -> None:
    """The compaction that a fork begins with was looked at in its parent, and what was put back
    then stands in the fork as well; not so where it still lies ready."""
    origin = origin_of(session)
    if "judged" in status or origin is None or len(made_in(done)) != 1:
        return
    folder = os.path.join(places.home(), origin.session)
    if not places.read_status(folder).get("judged") or places.kept(folder, places.LACKING):
        return
    compacted, _ = to_judge(done, "", SeenCompactions())
    if compacted is not None and compacted.turn <= origin.turns:
        status["judged"] = [compacted.place]


def _carry_over(session: Session, parent: Session, compaction: EarlierCompaction) -> None:
    """Words that waited when the compaction began are answered behind it: that turn goes along."""
    turn, began = compaction.turn, compaction.source.start
    first = turn_at(parent, turn)
    waited = first is not None and bool(first.user_message) and 0 <= first.source.start < began
    through = turn if waited else turn - 1
    if through < 0:
        return
    try:
        parent.fork(session.name, through=through)
    except UserError as error:
        places.log(f"{session.name} does not go on from {parent.name}: {error}")


def _parent(
    session: Session, path: Path, boundary: str
) -> tuple[Session, EarlierCompaction] | None:
    """The session with this compaction among those that hooks follow whose files stand beside this
    one, those looked at last first."""
    known = []
    for name in os.listdir(places.home()):
        folder = os.path.join(places.home(), name)
        status = places.read_status(folder) if name != session.name else {}
        told, at = status.get("transcript"), status.get("at")
        if isinstance(told, str) and Path(told).parent == path.parent and Path(told) != path:
            known.append((at if isinstance(at, int | float) else 0.0, name, Path(told)))
    for _, name, transcript in sorted(known, reverse=True):
        other = session.beside(name)
        for made in reversed(other.about().compactions):
            with suppress(OSError, UserError), plain_file(transcript) as file:
                file.seek(max(0, made.source.start))
                if made.kind == "summary" and _boundary(file.readline(MOST_HEAD)) == boundary:
                    return other, made
    return None


def _boundary_at_head(path: Path) -> str | None:
    """The id of the compaction that a file of Claude Code begins with; empty where it begins with
    something else, None while nothing is said in it, as far as it is written."""
    with plain_file(path) as file:
        lines = [line for line in (file.read(MOST_HEAD) or b"").splitlines(keepends=True)]
    begun = False
    for line in lines:
        if not line.endswith(b"\n"):
            break  # it is just being written
        begun = True
        if boundary := _boundary(line):
            return boundary
        record = _record(line)
        if record.get("type") in SAID or not {"type", "sessionId"} <= record.keys():
            return ""
    return None if begun else ""


def _record(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _boundary(line: bytes) -> str:
    record = _record(line)
    uuid = record.get("uuid") if record.get("subtype") == "compact_boundary" else ""
    return uuid if isinstance(uuid, str) else ""
