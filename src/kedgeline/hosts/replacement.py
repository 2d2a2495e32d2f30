"""The host's own compaction, replaced: `kedgeline host-compact HOST` takes the conversation that a
host would have summarised and gives back what the agent goes on with. No model is asked.

One contract for all hosts, JSON in and out. Asked: `messages` in the host's shape, and of `session`,
`agent`, `trigger`, `instructions`, `previous` (the summary they begin behind), `tokens` (what the
host says that its context has), `room`, whatever the host knows. Answered: `messages` to go on with,
or a `summary` of all of them but the last `kept`, or `skip` with a reason. No answer means that the
host must compact by itself; the reason stands in the log and in `kedgeline status`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple, NoReturn

import msgspec
from msgspec.structs import replace

from kedgeline.errors import KedgelineError, UnknownName, UserError
from kedgeline.hosts.hooks import places
from kedgeline.hosts.hooks.work import own_settings
from kedgeline.planning import POLICY, Policy
from kedgeline.session.session import Session
from kedgeline.redaction import Redactor, secrets_in
from kedgeline.settings import store_place, surroundings
from kedgeline.store.protocol import Store, open_store
from kedgeline.tokens import counter_named

Message = dict[str, Any]

SHARE = 0.4
"""Of the context, what it comes to. Hosts end a turn that fills up again at once; below half there
are many steps until the next compaction."""


class Asked(msgspec.Struct, frozen=True, kw_only=True, rename={"previous": "previousSummary"}):
    """What a host hands over."""

    messages: list[Message]
    session: str = ""
    agent: str = ""
    """The sub-agent whose conversation it is; empty for the main one."""
    trigger: str = ""
    instructions: str | None = ""
    """The user's words behind `/compact`."""
    previous: str | None = ""
    tokens: int | None = 0
    room: int | None = 0
    """Tokens that the new context may have; 0 for a share of what it has."""


class Answer(NamedTuple):
    """What a host is told, and what is noted of it."""

    reply: dict[str, Any]
    tokens_before: int
    tokens_after: int


class Shape(NamedTuple):
    """How a host writes a conversation."""

    provider: str
    """Whose message list it is taken for."""
    taken: Callable[[list[Message]], list[Message]]
    """The host's messages as the provider's."""
    given: Callable[[list[Message], list[Message]], list[Message]]
    """The provider's messages as the host's; the host's own are given for what only these have."""


def replacement(host: str, asked: Asked, store: Store, **keeping: Any) -> Answer:
    """Keep the conversation in the store, compact it there, and give it back as the host writes it.
    `keeping` is how the session keeps things. What cannot be compacted raises."""
    shape = SHAPES.get(host)
    if shape is None:
        raise UnknownName("host", host, known=tuple(SHAPES))
    name = "-".join(filter(None, (host, asked.session or "unnamed", asked.agent)))
    messages = shape.taken(asked.messages)
    session = Session(name, store, **keeping)
    if asked.previous and next(session.turns(), None) is None:
        messages = [{"role": "user", "content": asked.previous}, *messages]
    session.append(messages, format=shape.provider)
    counted = session.context_tokens().total
    full = max(asked.tokens or 0, counted)
    session = Session(name, store, policy=_policy(full, full - counted, asked.room or 0), **keeping)
    done = session.compact(window=full, overhead=full - counted, provider=shape.provider)
    if done.tokens_after >= done.tokens_before:
        raise UserError(done.plan.reason)
    written = session.view(shape.provider).messages
    return Answer(
        {"messages": shape.given([*written], asked.messages)},
        done.tokens_before,
        done.tokens_after,
    )


def main(host: str) -> NoReturn:
    """Read what the host asks and print the answer. Whatever goes wrong is one sentence on stderr and
    in the log, and 1: the host compacts by itself then."""
    try:
        asked = msgspec.json.decode(sys.stdin.buffer.read(), type=Asked)
        settings = own_settings()
        place, owner = store_place(settings), settings.owner
        with closing(open_store(place, owner=owner, durability=settings.durability)) as store:
            answer = replacement(
                host,
                asked,
                store,
                counter=counter_named(settings.vocabulary),
                redactor=Redactor(secrets_in(surroundings(), settings.secrets)),
                keep_secrets=settings.keep_secrets,
            )
    except (KedgelineError, msgspec.MsgspecError, OSError) as error:
        places.log(f"{host}: the compaction is left to the host: {error}")
        print(f"kedgeline: {error}", file=sys.stderr)
        sys.exit(1)
    sys.stdout.buffer.write(msgspec.json.encode(answer.reply))
    sys.exit(0)


def _policy(full: int, overhead: int, room: int) -> Policy:
    """No room is kept for an answer: the host has done that already."""
    usable = max(1, full - overhead)
    share = min(0.9, room / usable) if room else SHARE
    return replace(POLICY, target=share, begin=0.95, force=1.0, output_reserve=0, output_share=0.0)


# Claude Code: rows with a text, calls and results. One answer may come as several rows.


def from_rows(rows: Sequence[Message]) -> list[Message]:
    """Rows as messages of Anthropic's."""
    messages: list[Message] = []
    for row in rows:
        blocks = [
            {
                "type": "tool_result",
                "tool_use_id": one.get("tool_use_id"),
                "content": one.get("text") or "",
                **({"is_error": True} if one.get("isError") else {}),
            }
            for one in row.get("toolResults") or ()
        ]
        if row.get("text"):
            blocks.append({"type": "text", "text": row["text"]})
        blocks += [
            {
                "type": "tool_use",
                "id": one.get("tool_use_id"),
                "name": one.get("tool"),
                "input": one.get("input") or {},
            }
            for one in row.get("toolUses") or ()
        ]
        if not blocks:
            continue
        if messages and messages[-1]["role"] == row["role"] == "assistant":
            messages[-1]["content"] += blocks
        else:
            messages.append({"role": row["role"], "content": blocks})
    return messages


def to_rows(messages: Sequence[Message], rows: Sequence[Message]) -> list[Message]:
    """Messages as rows that outlive a resume of the session. Only a row of the user's words keeps its
    handle, and with it its images: by that of another row the client finds the old history again."""
    handles = {
        row["text"]: row["handle"]
        for row in rows
        if row["role"] == "user" and row.get("handle") and not row.get("toolResults")
    }
    found = []
    for message in messages:
        blocks = message["content"]
        if isinstance(blocks, str):
            blocks = [{"type": "text", "text": blocks}]
        texts = [block["text"] for block in blocks if block["type"] == "text"]
        row: Message = {"role": message["role"], "text": "\n\n".join(texts)}
        row["toolUses"] = [
            {"tool_use_id": block["id"], "tool": block["name"], "input": block["input"]}
            for block in blocks
            if block["type"] == "tool_use"
        ]
        results = [
            {
                "tool_use_id": block["tool_use_id"],
                "text": _text_of(block.get("content")),
                **({"isError": True} if block.get("is_error") else {}),
            }
            for block in blocks
            if block["type"] == "tool_result"
        ]
        if results:
            row["toolResults"] = results
        elif message["role"] == "user" and row["text"] in handles:
            row["handle"] = handles[row["text"]]
        found.append(row)
    return found


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content or ())


SHAPES: Mapping[str, Shape] = {
    "claude-code": Shape("anthropic", from_rows, to_rows),
}
