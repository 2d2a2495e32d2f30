"""The session that another one was forked from. Claude Code writes a fork's file from the last
compaction on: what was said before it stands in the parent's alone."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kedge.errors import UserError
from kedge.integrations.hooks import places
from kedge.integrations.hooks.judging import Judged, made_in, to_judge
from kedge.integrations.hooks.status import read_status
from kedge.keeping_up import UpToDate, origin_of, turn_at
from kedge.model import EarlierCompaction
from kedge.session import Session

MOST_HEAD = 1_000_000
"""Bytes at the beginning of a file: what stands between a compaction and the next words is less."""
SAID = ("user", "assistant")
"""Records of what somebody said."""


class Head(NamedTuple):
    """How a file of Claude Code begins."""

    boundary: str = ""
    """Id of the compaction that it begins with."""
    is_empty: bool = False
    """Nothing was said in it yet, as far as it is written."""
    summary: str = ""
    """What that compaction put in the place of turns."""
    handed: tuple[str, ...] = ()
    """What hooks added right behind it."""


class Parent(NamedTuple):
    session: Session
    compaction: EarlierCompaction
    """The one that the fork begins with, as the parent has it."""


def is_ready(session: Session, path: Path) -> bool:
    """Whether a session that is new can be followed. A fork begins as its parent was when it was
    compacted, so that all that was known then is known in it; where nothing is said in the file
    yet, it is not known whether it is one."""
    head = _head(path)
    if head.is_empty:
        return False
    if head.boundary and (parent := _parent(session, path, head)) is not None:
        _carry_over(session, parent)
    return True


def note_judged(session: Session, done: UpToDate, status: dict[str, Any]) -> None:
    """The compaction that a fork begins with was looked at in its parent, and what was put back
    then stands in the fork as well; not so where it still lies ready."""
    origin = origin_of(session)
    if "judged" in status or origin is None or len(made_in(done)) != 1:
        return
    folder = os.path.join(places.home(), origin.session)
    if not read_status(folder).get("judged") or places.kept(folder, places.LACKING):
        return
    compacted, _ = to_judge(done, "", Judged())
    if compacted is not None and compacted.turn <= origin.turns:
        status["judged"] = [compacted.place]


def _carry_over(session: Session, parent: Parent) -> None:
    """Words that waited when the compaction began are answered behind it: that turn goes along."""
    turn, began = parent.compaction.turn, parent.compaction.source.start
    first = turn_at(parent.session, turn)
    waited = first is not None and bool(first.user_message) and 0 <= first.source.start < began
    through = turn if waited else turn - 1
    if through < 0:
        return
    try:
        parent.session.fork(session.name, through=through)
    except UserError as error:
        places.log(f"{session.name} does not go on from {parent.session.name}: {error}")


def _parent(session: Session, path: Path, head: Head) -> Parent | None:
    """Among the sessions that hooks follow whose files stand beside this one."""
    for name, transcript in _beside(session.name, path):
        other = session.beside(name)
        for compaction in reversed(other.about().compactions):
            if compaction.kind == "summary" and _is_same(compaction, transcript, head, name):
                return Parent(other, compaction)
    return None


def _beside(own: str, path: Path) -> Iterator[tuple[str, Path]]:
    """Sessions with their files, those looked at last first."""
    home, found = places.home(), []
    for name in os.listdir(home):
        status = read_status(os.path.join(home, name)) if name != own else {}
        told, at = status.get("transcript"), status.get("at")
        if isinstance(told, str) and Path(told).parent == path.parent and Path(told) != path:
            found.append((at if isinstance(at, int | float) else 0.0, name, Path(told)))
    for _, name, transcript in sorted(found, reverse=True):
        yield name, transcript


def _is_same(compaction: EarlierCompaction, transcript: Path, head: Head, name: str) -> bool:
    """Whether a compaction is the one that a file begins with: by its id, or, where the parent's
    file is gone, by its text and by what was put back then, which is known to be ours."""
    try:
        with transcript.open("rb") as file:
            file.seek(max(0, compaction.source.start))
            return _boundary(_record(file.readline(MOST_HEAD))) == head.boundary
    except OSError:
        ours = places.kept(os.path.join(places.home(), name), places.PUT_BACK)
        is_told = any(text.strip() and text.strip() in ours for text in head.handed)
        return bool(head.summary) and compaction.summary == head.summary and is_told


def _head(path: Path) -> Head:
    """Nothing, where it does not begin with a compaction or another program wrote it."""
    boundary, summary, handed, count = "", "", list[str](), 0
    for record in _first_records(path):
        count += 1
        if not boundary:
            boundary = _boundary(record)
            if record.get("type") in SAID or not {"type", "sessionId"} <= record.keys():
                return Head()
        elif record.get("isCompactSummary"):
            summary = _words(record)
        elif record.get("type") == "assistant":
            break
        handed += _handed(record)
    return Head(boundary, bool(count) and not boundary, summary, tuple(handed))


def _first_records(path: Path) -> Iterator[dict[str, Any]]:
    """Of the lines that are whole: the last one may be just being written."""
    with path.open("rb") as file:
        for line in file.read(MOST_HEAD).splitlines(keepends=True):
            if line.endswith(b"\n"):
                yield _record(line)


def _record(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _boundary(record: dict[str, Any]) -> str:
    uuid = record.get("uuid") if record.get("subtype") == "compact_boundary" else ""
    return uuid if isinstance(uuid, str) else ""


def _words(record: dict[str, Any]) -> str:
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else ""
    return content if isinstance(content, str) else ""


def _handed(record: dict[str, Any]) -> Iterator[str]:
    added = record.get("attachment")
    if isinstance(added, dict) and added.get("type") == "hook_additional_context":
        content = added.get("content")
        yield from (one for one in content or () if isinstance(one, str))
