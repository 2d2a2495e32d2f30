"""What is lost of sessions that are written in a format of training sets, and read again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from bench.corpus import Watch
from bench.tables import Table
from kedgeline.errors import KedgelineError
from kedgeline.model import Transcript, Turn, Value
from kedgeline.pipeline.read import read, read_all, write

SHAPES = ("atif", "openai-chat", "anthropic")
HEADER = ("written as", "sessions", "equal", "turns", "lost or changed", "turns it is lost of")
WORDS = ("the user's words", "the agent's words", "calls", "outputs of calls")
"""What a training set is for; the rest stands beside it."""
UNANSWERED = "calls without an output, which get one that says so"


class Found(Value, frozen=True):
    shape: str
    sessions: int
    equal: int
    """Sessions of which nothing is lost or changed."""
    turns: int
    lost: dict[str, int]
    """Turns, or for what belongs to a session sessions, by what is lost of them."""


class RoundTrips(Value, frozen=True):
    version: str
    found: tuple[Found, ...]


def measure(folder: Path, *, watch: Watch) -> RoundTrips:
    sessions = [one for one in _sessions(folder, watch) if one.turns]
    found = []
    for shape in SHAPES:
        lost: Counter[str] = Counter()
        equal = 0
        for number, one in enumerate(sessions):
            watch(f"{shape}: {number + 1} of {len(sessions)}")
            losses = losses_of(one, shape)
            equal += not losses
            lost.update(losses)
        turns = sum(len(one.turns) for one in sessions)
        found.append(
            Found(shape=shape, sessions=len(sessions), equal=equal, turns=turns, lost=dict(lost))
        )
    return RoundTrips(version=version("kedgeline"), found=tuple(found))


def _sessions(folder: Path, watch: Watch) -> Iterator[Transcript]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            watch(f"reading {path.name}")
            try:
                yield from read_all(path, counter=None)
            except KedgelineError:  # a page beside the sessions
                continue


def losses_of(transcript: Transcript, shape: str) -> Counter[str]:
    written = write(transcript, to=shape)
    document: Any = {"messages": written.messages}
    if written.system:
        document["system"] = written.system
    whole = written.messages[0] if shape == "atif" else document
    lost: Counter[str] = Counter()
    if not written.messages:
        return Counter({"the session: it holds nothing but system messages": 1})
    back = read(msgspec.json.encode(whole), counter=None)
    lost.update(_between(transcript, back))
    if "signature" in " ".join(written.left_out):
        lost["signatures of thinking"] += 1
    return lost


def _between(before: Transcript, after: Transcript) -> Iterator[str]:
    agents = [(one.agent, one.delegated_by) for one in before.agents]
    if agents != [(one.agent, one.delegated_by) for one in after.agents]:
        yield "conversations of sub-agents (sessions)"
    if before.session != after.session:
        yield "facts of the session, such as its folder (sessions)"
    if before.compactions != after.compactions:
        yield "compactions of the host (sessions)"
    if _pending(before) != _pending(after):
        yield "words that nobody answered (sessions)"
    if len(before.turns) != len(after.turns):
        yield "where turns end (sessions)"
        return
    for one, other in zip(before.turns, after.turns, strict=True):
        for (name, value), (_, read_again) in zip(_said(one), _said(other), strict=True):
            if value != read_again:
                yield UNANSWERED if name == WORDS[3] and not value else name
    for one_agent, other_agent in zip(before.agents, after.agents, strict=False):
        yield from _between(one_agent, other_agent)


def _pending(transcript: Transcript) -> str:
    return transcript.pending.user_message if transcript.pending else ""


def _said(turn: Turn) -> Sequence[tuple[str, object]]:
    results = turn.tool_results
    values = (
        turn.user_message,
        turn.assistant_response.strip(),
        [(call.tool, call.parameters) for call in turn.tool_calls],
        [result.output for result in results],
    )
    return (
        *zip(WORDS, values, strict=True),
        ("blank lines around the agent's words", turn.assistant_response),
        ("ids of calls", [call.id for call in turn.tool_calls]),
        ("how calls ended", [(r.success, r.exit_code, r.refused, r.reason) for r in results]),
        ("what tools say of files", [(r.change, r.interrupted) for r in results]),
        ("images and files", (turn.media, [r.media for r in results])),
        ("thinking", turn.thinking),
        ("what clients add (notes)", [(note.kind, note.text) for note in turn.notes]),
        ("times", turn.timestamp),
        ("models", turn.model),
        ("token counts", turn.usage),
    )


def tables(found: RoundTrips) -> list[Table]:
    return [Table("roundtrips", HEADER, _rows(found))]


def origin(found: RoundTrips) -> str:
    return f"kedgeline {found.version}, every session below the folder."


def _rows(found: RoundTrips) -> Iterator[tuple[str, ...]]:
    for one in found.found:
        head = (one.shape, f"{one.sessions:,}", f"{one.equal:,}", f"{one.turns:,}")
        for what, count in sorted(one.lost.items(), key=lambda item: -item[1]) or [("nothing", 0)]:
            yield (*head, what, f"{count:,}" if count else "–")
            head = ("", "", "", "")
