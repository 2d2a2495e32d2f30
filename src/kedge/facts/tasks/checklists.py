"""Markdown check lists in the plan-like files an agent writes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kedge.facts.tasks.ledger import Item, Ledger, keyed
from kedge.facts.tasks.plans import LOOKED_AT, Checkbox, checkboxes_in, is_plan_file
from kedge.model import TodoSet, ToolCall
from kedge.model.catalogue import patch_in
from kedge.outcomes import Outcome

FILES = 8
"""Files whose lists are remembered; the one written longest ago goes."""
CONTENTS = ("content", "file_text", "contents", "text")
OLD = ("old_string", "oldString", "old_str", "oldText")
NEW = ("new_string", "newString", "new_str", "newText")

_HEADER = re.compile(r"^\*\*\* (Add|Update) File: (.{1,400}?)\s*$", re.MULTILINE)


class _Edit(NamedTuple):
    path: str
    old: str
    new: str
    whole: bool = False
    """Whether the new text is all there is in the file."""


class CheckLists:
    """Lists by file: a file written anew takes the place of its list, an edit changes items."""

    def __init__(self, root: str) -> None:
        self._root = f"{root.rstrip('/')}/" if root else ""
        self._files: dict[str, Ledger] = {}

    def take(self, turn: int, outcome: Outcome) -> Iterator[TodoSet]:
        if outcome.call.verb not in ("write", "edit", "run") or not outcome.success:
            return
        for edit in _edits(outcome.call):
            if is_plan_file(edit.path):
                yield from self._edited(turn, edit)

    def _edited(self, turn: int, edit: _Edit) -> Iterator[TodoSet]:
        old, new = checkboxes_in(edit.old), checkboxes_in(edit.new)
        path = edit.path.removeprefix(self._root)[-200:]
        if not old and not new and path not in self._files:
            return
        ledger = self._ledger(path)
        items = {item.key: item for item in box_items(new, f"{path}: ")}
        if edit.whole:
            yield from ledger.replace(turn, items.values())
            return
        for item in box_items(old, f"{path}: "):
            if item.key not in items and item.status != "completed":
                yield from ledger.put(turn, item._replace(status="dropped"))
        for item in items.values():
            known = ledger.get(item.key)
            place = known.place if known else len(ledger)
            yield from ledger.put(turn, item._replace(place=place))

    def _ledger(self, path: str) -> Ledger:
        self._files[path] = self._files.pop(path) if path in self._files else Ledger(by="agent")
        if len(self._files) > FILES:
            del self._files[next(iter(self._files))]
        return self._files[path]


def box_items(boxes: Sequence[Checkbox], within: str) -> Iterator[Item]:
    """The items of a check list, by keys that begin with what it stands in."""
    keys = keyed((box.text for box in boxes), within)
    for place, ((key, text), box) in enumerate(zip(keys, boxes, strict=True)):
        yield Item(key, text, "completed" if box.done else "pending", place, "checklist")


def _edits(call: ToolCall) -> Iterator[_Edit]:
    """What a call puts into files."""
    given = call.parameters
    if patch := patch_in(given):
        yield from _patched(patch[:LOOKED_AT])
        return
    path = next(iter(call.paths()), "")
    if not path or call.verb == "run":
        return
    if call.verb == "write":
        yield _Edit(path, "", _first(given, CONTENTS), whole=True)
        return
    listed = given.get("edits")
    for edit in listed if isinstance(listed, list) else [given]:
        if isinstance(edit, Mapping):
            yield _Edit(path, _first(edit, OLD), _first(edit, NEW))


def _patched(patch: str) -> Iterator[_Edit]:
    headers = list(_HEADER.finditer(patch))
    ends = [*(header.start() for header in headers[1:]), len(patch)]
    for header, end in zip(headers, ends, strict=False):
        lines = patch[header.end() : end].splitlines()
        old, new = ("\n".join(line[1:] for line in lines if line[:1] == sign) for sign in "-+")
        yield _Edit(header[2], old, new, whole=header[1] == "Add")


def _first(given: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    return next((given[key] for key in keys if isinstance(given.get(key), str)), "")
