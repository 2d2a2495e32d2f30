"""Fields of records that nobody vouches for: the value, or an empty one where its type is wrong."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kedge.formats.intake.lines import Record
from kedge.model.turn import MOST_TOKENS

LARGEST = 2**63 - 1
"""Integers beyond 64 bits can be neither stored nor written by most readers; no count is one."""


def string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def whole(value: Any) -> int:
    """A count; anything else is 0."""
    return maybe_whole(value) or 0


def maybe_whole(value: Any) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST:
        return value
    return None


def maybe_tokens(value: Any) -> int | None:
    """A number of tokens that one message can have; None for what is negative, too large or no
    whole number."""
    number = maybe_whole(value)
    return number if number is not None and 0 <= number <= MOST_TOKENS else None


def tokens_in(value: Any, *names: str) -> Counter[str]:
    """Those of the named fields that are numbers of tokens, others count 0. Empty where none is:
    then nothing was reported."""
    found = {name: maybe_tokens(mapping(value).get(name)) for name in names}
    return Counter({name: number for name, number in found.items() if number is not None})


def mapping(value: Any) -> Record:
    return value if isinstance(value, dict) else {}


def mappings(value: Any) -> list[Record]:
    """The objects of a list; what is none is passed over."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def misshapen(content: Any, *, texts: bool = False) -> str:
    """What is wrong with a text or a list of blocks (with `texts`, of texts too); empty when
    nothing is."""
    if content is None or isinstance(content, str):
        return ""
    if not isinstance(content, list):
        return f"a {type(content).__name__} in place of a list"
    for block in content:
        if texts and isinstance(block, str):
            continue
        if not isinstance(block, dict):
            return f"a {type(block).__name__} in place of a block"
        for name in ("text", "thinking"):
            if not isinstance(block.get(name), (str, type(None))):
                return f"a {type(block[name]).__name__} in place of a text"
    return ""


def mislisted(blocks: Any) -> str:
    """What is wrong with what should be a list of blocks; empty when nothing is."""
    return "a str in place of a list" if isinstance(blocks, str) else misshapen(blocks)


class Ids:
    """Ids made distinct, where a call and its result are one item and only its place pairs them."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def distinct(self, *wanted: Any) -> str:
        """The first of the values that is an id and was not given before, or one like it."""
        known = [value for value in wanted if isinstance(value, str) and value] or ["call"]
        fresh = next((value for value in known if value not in self._seen), "")
        number = len(self._seen)
        while not fresh:
            number += 1
            numbered = f"{known[-1]}-{number}"
            fresh = "" if numbered in self._seen else numbered
        self._seen.add(fresh)
        return fresh
