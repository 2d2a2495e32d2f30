"""Which files were changed, and how, as the edit tools and their results say it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from kedge.bench.replay.names import Finder
from kedge.model import ToolCall, ToolResult, Transcript, Turn
from kedge.model.catalogue import patch_in

Action = Literal["created", "modified", "deleted", "renamed"]

REPORTED: dict[str, Action] = {"create": "created", "update": "modified", "delete": "deleted"}
_HEADER = re.compile(r"^\*\*\* (Add File|Update File|Delete File|Move to): (.+?)\s*$", re.MULTILINE)
_PATCHED: dict[str, Action] = {
    "Add File": "created",
    "Update File": "modified",
    "Delete File": "deleted",
    "Move to": "renamed",
}


class Files(NamedTuple):
    changed: dict[str, Action]
    """What became of each file in the end; one that was created and deleted again is not there."""
    only_read: frozenset[str]


def files_of(turns: Iterable[Turn], finder: Finder, agents: Sequence[Transcript] = ()) -> Files:
    """By file tools alone, those of sub-agents included: what commands changed is not in it."""
    changed: dict[str, Action] = {}
    seen: set[str] = set()
    for turn in _with_agents(turns, agents):
        for call in turn.tool_calls:
            result = turn.result_of(call)
            if result is None or not result.success:
                continue
            for written, action in _changes(call, result, seen, finder):
                fold(changed, finder.path(written), action)
            seen.update(map(finder.path, call.paths()))
    return Files(changed, frozenset(seen - changed.keys()))


def _with_agents(turns: Iterable[Turn], agents: Sequence[Transcript]) -> Iterator[Turn]:
    """Each turn, and behind it the turns of the sub-agents it started."""
    for turn in turns:
        yield turn
        started = {call.id for call in turn.tool_calls}
        inner = [agent for agent in agents if agent.delegated_by in started]
        for agent in inner:
            rest = [one for one in agents if one is not agent]
            yield from _with_agents(agent.turns, rest)


def fold(changed: dict[str, Action], path: str, action: Action) -> None:
    """One more change of a file, on top of those before it."""
    earlier = changed.get(path)
    if earlier == "created" and action == "deleted":
        del changed[path]
    elif not (earlier in ("created", "renamed") and action == "modified"):
        changed[path] = action


def _changes(
    call: ToolCall, result: ToolResult, seen: set[str], finder: Finder
) -> Iterator[tuple[str, Action]]:
    if call.verb == "edit" and (patch := patch_in(call.parameters)):
        for kind, written in _HEADER.findall(patch):
            yield written, _PATCHED[kind]
        return
    if call.verb == "move":
        yield from ((path, "renamed") for path in call.paths()[-1:])
        return
    if call.verb not in ("write", "edit", "delete"):
        return
    for path in call.paths():
        if result.change:
            yield path, REPORTED[result.change]
        elif call.verb == "delete":
            yield path, "deleted"
        else:
            known = call.verb == "edit" or finder.path(path) in seen
            yield path, "modified" if known else "created"
