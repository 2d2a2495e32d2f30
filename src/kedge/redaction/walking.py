"""All texts of a turn or a transcript, wherever they stand."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar, cast

import msgspec
from msgspec.structs import replace

from kedge.model import CallRef, Media, ResultRef, Thinking, Transcript, Turn, Usage

DEPTH = 150
"""Levels of parameters that are walked through. No tool takes more, and Python's stack bears it."""
TOO_DEEP = "[withheld: nested too deep to be searched for secrets]"
SHORT = 8
"""Characters below which no text can be a secret; most strings of a turn are shorter."""

_WORDLESS = (int, float, datetime, Media, CallRef, ResultRef, Usage)
"""Nothing to read in these; media are bytes in disguise."""
Any_ = TypeVar("Any_")


class Walk:
    """One turn or transcript. What has nothing to clean is given back as it is, not copied."""

    def __init__(self, clean: Callable[[str], str]) -> None:
        self._clean = clean
        self._texts: dict[str, str] = {}
        """What became of a text: a turn says the same in its fields and in its layout."""

    def turn(self, turn: Turn) -> Turn:
        self._texts = {}
        self._name_calls(turn)
        return self._fields(turn, DEPTH)

    def transcript(self, transcript: Transcript) -> Transcript:
        return cast(Transcript, self._any(transcript, DEPTH))

    def _name_calls(self, turn: Turn) -> None:
        """Calls and results are matched by their ids, so two must not become one."""
        ids = (*(c.id for c in turn.tool_calls), *(r.call_id for r in turn.tool_results))
        taken = set(ids)
        for one in dict.fromkeys(ids):
            cleaned = self._text(one)
            if cleaned != one:
                self._texts[one] = _free(cleaned, taken)
                taken.add(self._texts[one])

    def _any(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if value is None or isinstance(value, _WORDLESS):
            return value
        if not depth:
            return TOO_DEEP
        if isinstance(value, Turn):
            return self.turn(value)
        if isinstance(value, Thinking):
            cleaned = self._fields(value, depth)
            return cleaned if cleaned.text == value.text else replace(cleaned, signature="")
        if isinstance(value, msgspec.Struct):
            return self._fields(value, depth)
        if isinstance(value, dict):
            return self._mapping(value, depth - 1)
        if isinstance(value, (tuple, list)):
            return self._items(value, depth - 1)
        return value

    def _text(self, text: str) -> str:
        if len(text) < SHORT:
            return text
        cleaned = self._texts.get(text)
        if cleaned is None:
            cleaned = self._texts[text] = self._clean(text)
        return text if cleaned == text else cleaned

    def _fields(self, value: Any_, depth: int) -> Any_:
        changed = {}
        for name in value.__struct_fields__:  # type: ignore[attr-defined]
            old = getattr(value, name)
            new = old if name == "signature" else self._any(old, depth)
            if new is not old:
                changed[name] = new
        return replace(value, **changed) if changed else value  # type: ignore[type-var]

    def _items(self, values: Any, depth: int) -> Any:
        cleaned = [self._any(value, depth) for value in values]
        if all(new is old for new, old in zip(cleaned, values, strict=True)):
            return values
        return type(values)(cleaned)

    def _mapping(self, values: dict[Any, Any], depth: int) -> dict[Any, Any]:
        cleaned: dict[Any, Any] = {}
        taken = {*values}
        same = True
        for key, value in values.items():
            name, new = self._any(key, depth), self._any(value, depth)
            same = same and name is key and new is value
            name = key if name is key else _free(name, taken)
            taken.add(name)
            cleaned[name] = new
        return values if same else cleaned


def _free(name: str, taken: set[Any]) -> str:
    """A name that nothing else has."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} {number}"
    return free
