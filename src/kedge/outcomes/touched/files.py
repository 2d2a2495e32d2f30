"""The files a call changed or read, as far as the call itself names them.

A call that failed, was refused or was never answered touched nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from kedge.model import ToolCall, ToolResult
from kedge.model.catalogue import patch_in
from kedge.outcomes.shell.command import Command, in_folder
from kedge.outcomes.touched.shell import touched_by_shell
from kedge.outcomes.touched.words import Action
from kedge.outcomes.values import Touch

REPORTED: dict[str, Action] = {"create": "created", "update": "modified", "delete": "deleted"}
"""By what the tool itself reports to have done."""
BY_VERB: dict[str, Action] = {
    "write": "created",
    "edit": "modified",
    "delete": "deleted",
    "read": "read",
}
"""Where it reports nothing. A file written whole counts as created: whether it was there before,
only earlier turns can tell."""
SAID: tuple[tuple[re.Pattern[str], Action], ...] = (
    (
        re.compile(r"File created successfully|Successfully created and wrote to new file"),
        "created",
    ),
    (
        re.compile(
            r"The file [^\n]{1,400} has been (?:updated|overwritten)|Successfully overwrote"
        ),
        "modified",
    ),
)
"""How clients word it in the output, where the record keeps nothing beside it."""
_PATCH_HEADER = re.compile(
    r"^\*\*\* (Add File|Update File|Delete File|Move to): (.+?)\s*$", re.MULTILINE
)
_PATCHED: dict[str, Action] = {
    "Add File": "created",
    "Update File": "modified",
    "Delete File": "deleted",
}
_DESTINATIONS = ("destination", "destination_path", "new_path", "to")


def touched_by(
    call: ToolCall, result: ToolResult | None, commands: Sequence[Command] = ()
) -> tuple[Touch, ...]:
    """The files of one call, each once per action; `commands` are those of its shell line."""
    if result is None or not result.success:
        return ()
    if call.verb == "run":
        found: Iterable[Touch] = touched_by_shell(commands, result.output)
    elif call.verb == "edit" and (patch := patch_in(call.parameters)):
        found = _patched(patch, _patch_folder(commands))
    elif call.verb == "move":
        found = _moved(call)
    elif call.verb in BY_VERB:
        action = reported(result) if call.verb != "read" else None
        found = (Touch(path=path, action=action or BY_VERB[call.verb]) for path in call.paths())
    else:
        return ()
    return tuple(dict.fromkeys(found))


def reported(result: ToolResult) -> Action | None:
    """What the tool itself says to have done to its file."""
    said = (action for words, action in SAID if words.match(result.output))
    return REPORTED.get(result.change) or next(said, None)


def _patched(patch: str, folder: str) -> Iterator[Touch]:
    """The files of an `apply_patch` text, by its headers."""
    headers = _PATCH_HEADER.findall(patch)
    for place, (kind, written) in enumerate(headers):
        path = in_folder(folder, written)
        following = headers[place + 1][0] if place + 1 < len(headers) else ""
        if kind == "Move to":
            before = in_folder(folder, headers[place - 1][1]) if place else ""
            yield Touch(path=path, action="renamed", renamed_from=before)
        elif following != "Move to":
            yield Touch(path=path, action=_PATCHED[kind])


def _patch_folder(commands: Sequence[Command]) -> str:
    """Where the shell line that applies a patch has gone before."""
    return next((command.folder for command in commands if command.program in _APPLIES), "")


def _moved(call: ToolCall) -> Iterator[Touch]:
    paths = call.paths()
    given = (call.parameters.get(name) for name in _DESTINATIONS)
    after = next((path for path in given if isinstance(path, str) and path), "")
    if not after and len(paths) > 1:
        after = paths[-1]
    before = next((path for path in paths if path != after), "")
    if before and after:
        yield Touch(path=after, action="renamed", renamed_from=before)


_APPLIES = {"apply_patch", "applypatch"}
