"""What a summary says against the session: whether the turns that its lines cite hold their words,
and whether facts about changed files are what the edit tools themselves reported."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from posixpath import normpath
from typing import Any, Literal, NamedTuple, get_args

from msgspec.structs import replace

from kedgeline.facts import facts_of
from kedgeline.model import FileChanged, Text, ToolCall, ToolResult, Transcript, Turn, Value
from kedgeline.model.summary import SectionName
from kedgeline.summary.state import Item

_MARKS = re.compile(r"\s?\[t\d+(?:-\d+)?(?:, t\d+(?:-\d+)?)*\]")
_WORD = re.compile(r"[^\W\d_][\w./@+-]{3,}\w|\d[\d,.]*\d")
"""Paths, names, numbers, and words long enough to tell where a sentence comes from."""


class SectionShare(Value, frozen=True):
    """The lines of one section, and how much of what they say their turns hold. Labels of ours, as
    in "Edited since the last test run", stand in no turn: no section comes to 1."""

    section: SectionName
    lines: int = 0
    """That cite a turn."""
    words: int = 0
    held: int = 0
    """Words that stand in a turn that the line cites, or in the sub-agent that it started."""
    by_agents: int = 0
    """Those among them that only the sub-agent has."""
    unchecked: int = 0
    """Lines without a citation."""


class Citations:
    """The turns of one session, asked for what they hold."""

    def __init__(self, transcript: Transcript) -> None:
        pending = (transcript.pending,) if transcript.pending else ()
        self._turns = {turn.index: turn for turn in (*transcript.turns, *pending)}
        self._texts = {index: _text_of(turn) for index, turn in self._turns.items()}
        self._agents: dict[str, list[Turn]] = {}
        for agent in transcript.agents:
            self._agents.setdefault(agent.delegated_by, []).extend(agent.turns)

    def shares(self, items: Iterable[Item]) -> Iterator[SectionShare]:
        """One share per line."""
        for item in items:
            if not item.turns:
                yield SectionShare(section=item.section, unchecked=1)
                continue
            said = set(_WORD.findall(_MARKS.sub("", f"{item.text} {item.detail}").casefold()))
            own = [turn for turn in item.turns if turn in self._texts]
            cited = "\n".join(self._texts[turn] for turn in own)
            left = [word for word in said if word not in cited]
            inside = "\n".join(
                _text_of(turn) for one in own for turn in self._started(self._turns[one], set())
            )
            by_agents = sum(word in inside for word in left)
            yield SectionShare(
                section=item.section,
                lines=1,
                words=len(said),
                held=len(said) - len(left) + by_agents,
                by_agents=by_agents,
            )

    def _started(self, turn: Turn, seen: set[str]) -> Iterator[Turn]:
        """The turns of the sub-agents a turn started, and of theirs."""
        for call in turn.tool_calls:
            if call.id in self._agents and call.id not in seen:
                seen.add(call.id)
                for inner in self._agents[call.id]:
                    yield inner
                    yield from self._started(inner, seen)


def added(shares: Iterable[SectionShare]) -> dict[SectionName, SectionShare]:
    """One share per section."""
    found: dict[SectionName, SectionShare] = {}
    for share in shares:
        known = found.get(share.section, SectionShare(section=share.section))
        found[share.section] = SectionShare(
            section=share.section,
            lines=known.lines + share.lines,
            words=known.words + share.words,
            held=known.held + share.held,
            by_agents=known.by_agents + share.by_agents,
            unchecked=known.unchecked + share.unchecked,
        )
    return found


def _text_of(turn: Turn) -> str:
    """Words, calls with all that was given to them, results with the lines of a file that enclose
    an edit, notes."""
    texts = [turn.user_message, turn.assistant_response, turn.thinking]
    texts += [note.text for note in turn.notes]
    for call in turn.tool_calls:
        texts += [call.tool, *_strings(call.parameters)]
    for result in turn.tool_results:
        texts += [result.output, result.error or "", result.reason, result.around]
    parts = (part for message in turn.messages for part in message.parts)
    texts += [part.text for part in parts if isinstance(part, Text)]
    return "\n".join(texts).casefold()


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping | list | tuple):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _strings(inner)
    elif value is not None:
        yield str(value)


# Facts about changed files against what the edit tools themselves reported.

Action = Literal["created", "modified", "deleted", "renamed"]
Source = Literal["tool", "agent", "shell", "outside"]
ACTIONS: tuple[Action, ...] = get_args(Action)
SOURCES: tuple[Source, ...] = get_args(Source)
EDITS = ("write", "edit", "delete", "move")
"""Verbs of tools that change files."""
PATHS = ("file_path", "filePath", "path", "notebook_path", "target_file", "filename")
CHANGES: Mapping[str, Action] = {"create": "created", "update": "modified", "delete": "deleted"}
HEADERS: Mapping[str, Action] = {
    "Add": "created",
    "Update": "modified",
    "Delete": "deleted",
    "Move": "renamed",
}
ELSEWHERE = -1
"""Turn of what a sub-agent did that no call of the session is known to have started."""

_HEADER = re.compile(r"^\*\*\* (Add|Update|Delete|Move)(?: File| to): (.+)$", re.MULTILINE)
_CREATED = re.compile(r"File created successfully at|Successfully created and wrote to new file")
_UPDATED = re.compile(
    r"The file .{1,400}? has been updated|Successfully (?:overwrote file|replaced text in)"
)
"""How clients that keep no flag word it at the beginning of a result."""


class Change(NamedTuple):
    source: Source
    turn: int
    path: str
    """As the call writes it."""
    action: Action | None
    """None where the tool does not report what it did."""


class FileShare(Value, frozen=True):
    """Facts of one kind, and how many of them are right."""

    format: str
    source: Source
    action: Action
    reported: int = 0
    """Changes that tools report."""
    facts: int = 0
    """Facts that can be held against a report; of other sources, all."""
    right: int = 0
    unjudged: int = 0
    """Facts about calls that worked and report nothing."""


def file_shares(transcript: Transcript) -> Iterator[FileShare]:
    """All shares of one session."""
    facts = [fact for fact in facts_of(transcript) if isinstance(fact, FileChanged)]
    yield from _shares(transcript.format, reported_in(transcript), facts, Names(transcript))


def summed(shares: Iterable[FileShare]) -> tuple[FileShare, ...]:
    """One share per format, source and action."""
    found: dict[tuple[str, Source, Action], FileShare] = {}
    for share in shares:
        key = (share.format, share.source, share.action)
        found[key] = _both(found[key], share) if key in found else share
    return tuple(found[key] for key in sorted(found))


def reported_in(
    transcript: Transcript, *, turn: int | None = None, seen: set[str] | None = None
) -> Iterator[Change]:
    """What the edit tools of a session and of its sub-agents report. A sub-agent's changes stand at
    the turn that started it."""
    inside = turn is not None
    agents = {one.delegated_by: one for one in transcript.agents if one.delegated_by}
    started = seen if seen is not None else set()
    for own in transcript.turns:
        for call in own.tool_calls:
            at = own.index if turn is None else turn
            for path, action in reported_by(call, own.result_of(call)):
                yield Change("agent" if inside else "tool", at, path, action)
            if call.id in agents and call.id not in started:
                started.add(call.id)
                part = replace(agents[call.id], agents=transcript.agents)
                yield from reported_in(part, turn=at, seen=started)
    if inside:
        return
    for agent in transcript.agents:
        if agent.delegated_by not in started:
            yield from reported_in(replace(agent, agents=()), turn=ELSEWHERE, seen=started)


def reported_by(call: ToolCall, result: ToolResult | None) -> Iterator[tuple[str, Action | None]]:
    """The files one call of an edit tool changed, with what the tool says it did."""
    if call.verb not in EDITS or result is None or not result.success:
        return
    patches = [text for text in _words_in(call) if "*** Begin Patch" in text]
    if patches:
        headers = _HEADER.findall(patches[0])
        for place, (kind, path) in enumerate(headers):
            moved = place + 1 < len(headers) and headers[place + 1][0] == "Move"
            if not moved:
                yield path.strip(), HEADERS[kind]
        return
    path = next((call.parameters[key] for key in PATHS if key in call.parameters), None)
    if isinstance(path, str) and path:
        yield path, _reported(result)


class Names:
    """The names a file of one session may have in its facts: as written, or from a root."""

    def __init__(self, transcript: Transcript) -> None:
        changes = transcript.session.changes
        roots = [change.value for change in changes if change.name == "root"]
        self._roots = tuple(dict.fromkeys(normpath(root) for root in roots if root))

    def of(self, written: str) -> set[str]:
        path = normpath(written.strip().replace("\\", "/"))
        below = (root for root in self._roots if path.startswith(f"{root}/"))
        return {path, *(path[len(root) + 1 :] for root in below)}


def _shares(
    format: str,
    changes: Iterable[Change],
    facts: Iterable[FileChanged],
    names: Names,
) -> Iterator[FileShare]:
    """Each report takes one fact of its turn, path and action; calls that report nothing take one
    each out of the count."""
    left = Counter((fact.source, fact.turn, fact.path, fact.action) for fact in facts)
    tally: Counter[tuple[Source, Action, str]] = Counter()
    for change in sorted(changes, key=lambda one: one.action is None):
        keys = [
            (change.source, change.turn, name, action)
            for name in names.of(change.path)
            for action in ((change.action,) if change.action else ACTIONS)
        ]
        found = next((key for key in keys if left[key]), None)
        if change.action:
            tally[change.source, change.action, "reported"] += 1
        if found:
            left[found] -= 1
            tally[found[0], found[3], "right" if change.action else "unjudged"] += 1
            tally[found[0], found[3], "facts"] += change.action is not None
    for (source, _, _, action), count in left.items():
        tally[source, action, "facts"] += count
    for source in SOURCES:
        for action in ACTIONS:
            counts = {
                name: tally[source, action, name]
                for name in ("reported", "facts", "right", "unjudged")
            }
            if any(counts.values()):
                yield FileShare(format=format, source=source, action=action, **counts)


def _both(one: FileShare, other: FileShare) -> FileShare:
    return replace(
        one,
        reported=one.reported + other.reported,
        facts=one.facts + other.facts,
        right=one.right + other.right,
        unjudged=one.unjudged + other.unjudged,
    )


def _reported(result: ToolResult) -> Action | None:
    if result.change:
        return CHANGES[result.change]
    if _CREATED.match(result.output):
        return "created"
    return "modified" if _UPDATED.match(result.output) else None


def _words_in(call: ToolCall) -> Iterator[str]:
    for value in call.parameters.values():
        parts = value if isinstance(value, list | tuple) else (value,)
        yield from (part for part in parts if isinstance(part, str))
