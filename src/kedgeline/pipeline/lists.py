"""A compaction as it applies to one list of messages: which of them stay, as the objects they are,
and what stands for the others."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from importlib import import_module
from typing import Any

import msgspec

from kedgeline.formats.editing import NewOutput, leading_message, plain_messages, with_outputs
from kedgeline.model import (
    CallRef,
    Compaction,
    Message,
    Part,
    ResultRef,
    Transcript,
    Turn,
    Value,
)

ALTERNATING = frozenset({"bedrock"})
"""Formats in which the user never speaks twice in a row: the summary is put into the words that
follow it."""
PASSING = ("cache_control", "cachePoint")
"""Marks that clients move from message to message."""


class FoldedList(Value, frozen=True):
    """What a list is replaced by, from one compaction to the next. Plain data: whoever keeps the
    list may keep this beside it."""

    record: Compaction
    format: str
    end: int
    """Messages that the list had; what comes behind them stays as it is."""
    head: tuple[int, ...] = ()
    """Places of those before the summary: system prompts."""
    tail: tuple[int, ...] = ()
    """Places of those behind it."""
    lead: dict[str, Any] | None = None
    """The message that stands for the others, in the shape of the list."""
    changed: dict[int, dict[str, Any]] = msgspec.field(default_factory=dict)
    """Messages of which an output is shorter, by their place."""
    mark: str = ""
    """Of the last message that the list had: in another list this says nothing."""

    def holds(self, messages: Sequence[Any]) -> bool:
        """Whether a list begins with the one that this was made of."""
        return len(messages) >= self.end and digest(messages[self.end - 1]) == self.mark


def fold_of(
    messages: Sequence[Any],
    listed: Transcript,
    record: Compaction,
    *,
    leads: Sequence[Turn],
    total: int | None = None,
) -> FoldedList | None:
    """The compaction for a list that was read as `listed`. `leads` are the turns that stand for
    what is folded; `total` is how many turns the session has, of which the list has the last.
    None where the list does not reach back to the cut."""
    shift = (record.turns if total is None else total) - len(listed.turns)
    cut = record.plan.cut - shift
    if cut < 0:
        return None
    owners = _owners(listed)
    head, tail, shared = _places(len(messages), owners, cut)
    words = [part for place in shared for part in _words(listed, cut, place)]
    parts = [part for turn in leads for message in turn.messages for part in message.parts]
    system = _system_beside(listed, owners, {*head, *tail}) if parts else []
    lead = leading_message(listed.format, [*system, *parts, *words]) if parts else None
    changed = _changed(messages, listed, record, shift, frozenset(tail))
    if lead is not None and listed.format in ALTERNATING and tail:
        first = changed.get(tail[0]) or _plain(messages[tail[0]])
        if first.get("role") == lead["role"]:
            changed[tail[0]] = {**first, "content": [*lead["content"], *first["content"]]}
            lead = None
    return FoldedList(
        record=record,
        format=listed.format,
        end=len(messages),
        head=head,
        tail=tail,
        lead=lead,
        changed=changed,
        mark=digest(messages[-1]),
    )


def _owners(listed: Transcript) -> dict[int, set[int]]:
    """For each message the positions of the turns that it speaks in."""
    owners: dict[int, set[int]] = {}
    turns = (*listed.turns, *((listed.pending,) if listed.pending else ()))
    for position, turn in enumerate(turns):
        for message in turn.messages:
            owners.setdefault(item_of(message), set()).add(position)
    owners.pop(-1, None)
    return owners


def item_of(message: Message) -> int:
    """Its place in the list it was read from; -1 where there is none."""
    place: int = message.wire.get("item", -1) if message.wire else -1
    return place


def _places(
    count: int, owners: Mapping[int, set[int]], cut: int
) -> tuple[tuple[int, ...], tuple[int, ...], list[int]]:
    """Messages before the summary, behind it, and those of which only the words stay: they hold
    results of what is folded, and the words of what is kept."""
    begins = min(owners, default=0)
    kept = (place for place, turns in owners.items() if min(turns) >= cut)
    first = min(kept, default=count)
    head = tuple(range(begins))
    if not cut:
        return head, tuple(range(begins, count)), []
    tail = tuple(place for place in range(first, count) if min(owners.get(place, {cut})) >= cut)
    shared = [n for n, turns in sorted(owners.items()) if min(turns) < cut <= max(turns)]
    return head, tail, shared


def _system_beside(
    listed: Transcript, owners: Mapping[int, set[int]], staying: set[int]
) -> list[Part]:
    """The system prompt, where it stands in one message with words of the user that go."""
    return [
        part
        for message in listed.head
        if (place := item_of(message)) in owners and place not in staying
        for part in message.parts
    ]


def _words(listed: Transcript, cut: int, place: int) -> Iterable[Part]:
    """What a message says in the turns that are kept."""
    turns = (*listed.turns[cut:], *((listed.pending,) if listed.pending else ()))
    for turn in turns:
        for message in turn.messages:
            if item_of(message) == place:
                refs = (CallRef, ResultRef)
                yield from (part for part in message.parts if not isinstance(part, refs))


def _changed(
    messages: Sequence[Any],
    listed: Transcript,
    record: Compaction,
    shift: int,
    tail: frozenset[int],
) -> dict[int, dict[str, Any]]:
    masked = {
        (one.turn - record.first - shift, one.call_id): one.text for one in record.plan.masked
    }
    if not masked:
        return {}
    texts: dict[int, list[NewOutput]] = {}
    seen: dict[int, int] = {}
    for position, turn in enumerate(listed.turns):
        for message in turn.messages:
            place = item_of(message)
            for part in message.parts:
                if not isinstance(part, ResultRef):
                    continue
                call_id = turn.tool_results[part.position].call_id
                number = seen[place] = seen.get(place, -1) + 1
                text = masked.get((position, call_id))
                if text is not None and place in tail:
                    texts.setdefault(place, []).append(NewOutput(number, call_id, text))
    return {
        place: with_outputs(listed.format, _plain(messages[place]), outputs)
        for place, outputs in texts.items()
    }


# Messages as the caller has them: objects of a framework, and JSON.


def _plain(message: Any) -> dict[str, Any]:
    return plain_messages([message])[0]


def digest(message: Any) -> str:
    """Equal for equal content, wherever a client has put its marks for the cache."""
    text = json.dumps(without_marks(_plain(message)), sort_keys=True, separators=(",", ":"))
    return blake2b(text.encode(), digest_size=16).hexdigest()


def without_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_marks(v) for k, v in value.items() if k not in PASSING}
    if isinstance(value, list):
        return [without_marks(one) for one in value if not _is_mark(one)]
    return value


def _is_mark(value: Any) -> bool:
    return isinstance(value, dict) and len(value) == 1 and next(iter(value)) in PASSING


def native_of(record: dict[str, Any], like: Any) -> Any:
    """A message of the same kind as another: the record itself where that is JSON."""
    if like is None or isinstance(like, Mapping):
        return record
    package = type(like).__module__.partition(".")[0]
    load = _LOADERS.get(package)
    return record if load is None else load(record, like)


def sample(messages: Sequence[Any]) -> Any:
    """The first message that is an object of a framework; objects of the clients of openai and
    anthropic stand among JSON."""
    known = (one for one in messages if type(one).__module__.partition(".")[0] in _LOADERS)
    return next(known, None)


def _langchain(record: dict[str, Any], like: Any) -> Any:
    module = import_module("langchain_core.messages")
    if getattr(like, "type", "") == "tool" and record.get("type") == "tool":
        return like.model_copy(update={"content": record["data"]["content"]})
    return module.messages_from_dict([record])[0]


def _pydantic_ai(record: dict[str, Any], like: Any) -> Any:
    module = import_module("pydantic_ai.messages")
    return module.ModelMessagesTypeAdapter.validate_python([record])[0]


def _from_dict(record: dict[str, Any], like: Any) -> Any:
    return type(like).from_dict(record)


def _validated(record: dict[str, Any], like: Any) -> Any:
    return type(like).model_validate(record)


_LOADERS: Mapping[str, Callable[[dict[str, Any], Any], Any]] = {
    "agent_framework": _from_dict,
    "google": _validated,
    "haystack": _from_dict,
    "langchain_core": _langchain,
    "llama_index": _validated,
    "pydantic_ai": _pydantic_ai,
}
"""By the package that an object comes from: it is loaded, as there is one of its objects."""
