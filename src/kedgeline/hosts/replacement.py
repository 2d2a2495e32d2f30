"""The host's own compaction, replaced: `kedgeline host-compact HOST` takes the conversation that a
host would have summarised and gives back what the agent goes on with. No model is asked.

One contract for all hosts, JSON in and out. Asked: `messages` in the host's shape, and of
`session`, `agent`, `transcript`, `trigger`, `instructions`, `previousSummary` (which they begin
behind), `tokens` (what the host says that its context has) and `room`, whatever the host knows.
Answered: `messages` to go on with, or a `summary` of all of them. No answer means that the host
must compact by itself; the reason stands in the log and in `kedgeline status`."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from importlib import import_module
from itertools import takewhile
from typing import Any, NamedTuple, NoReturn

import msgspec
from msgspec.structs import replace

from kedgeline.errors import KedgelineError, UnknownName, UserError
from kedgeline.hosts import places
from kedgeline.hosts.opening import opened_store
from kedgeline.hosts.shared import (
    TEXTS,
    FromTranscript,
    Host,
    Message,
    Shape,
    blocks_of,
    is_lead,
    text_of,
    texts_of,
)
from kedgeline.model import ToolCall
from kedgeline.pipeline.view import CLOSING, OPENING
from kedgeline.planning import POLICY, Policy
from kedgeline.session.journal import Journal
from kedgeline.session.session import Session
from kedgeline.store.protocol import Store
from kedgeline.text.prose import cut, names_in, neutral, one_line

FOLDED, ENOUGH = 0.85, 20_000
"""Of a small room what the text for all that is folded gets, and tokens from which on it answers
nearly every question: up to there it is worth more than further turns as they were."""
SHARE = 0.4
"""Of the context, what it comes to. Hosts end a turn that fills up again at once; below half there
are many steps until the next compaction."""


class HostRequest(
    msgspec.Struct, frozen=True, kw_only=True, rename={"previous": "previousSummary"}
):
    """What a host hands over."""

    messages: list[Message]
    session: str = ""
    agent: str = ""
    """The sub-agent whose conversation it is; empty for the main one."""
    transcript: str = ""
    """The host's own file of the session, where it is not where it usually is."""
    trigger: str = ""
    instructions: str | None = ""
    """The user's words behind `/compact`."""
    previous: str | None = ""
    tokens: int | None = 0
    room: int | None = 0
    """Tokens that the new context may have; 0 for a share of what it has."""


class HostAnswer(NamedTuple):
    """What a host is told, and what is noted of it."""

    reply: dict[str, Any]
    tokens_before: int
    tokens_after: int


def replacement(
    host: str, asked: HostRequest, store: Store, shape: Shape | None = None, **keeping: Any
) -> HostAnswer:
    """Keep the conversation in the store, compact it there, and give it back as the host writes it,
    or in another shape. `keeping` is how the session keeps things. What cannot be compacted raises.
    """
    shape = shape or shape_of(host)
    name = places.named("-".join(filter(None, (host, asked.session or "unnamed", asked.agent))))
    messages = shape.taken(asked.messages)
    session = Session(name, store, **keeping)
    if asked.previous and next(session.turns(), None) is None:
        messages = [{"role": "user", "content": asked.previous}, *messages]
    if new := _behind(session, shape, messages):
        recorded = _recorded(shape, asked, len(new))
        if recorded is None:
            session.append(new, format=shape.provider)
        else:
            _keep(session, recorded, shape.provider)
        for call, text in shape.apart(new):
            session.keep_output(ToolCall(id=call, tool="", parameters={}), text)
    context = session.context_tokens()
    full = max(asked.tokens or 0, context.total)
    policy = _policy(context.total - context.overhead, asked.room or 0, shape.room)
    session = Session(name, store, policy=policy, **keeping)
    beside = full - context.total + context.hidden
    done = session.compact(window=full, overhead=beside, provider=shape.provider)
    if done.tokens_after >= done.tokens_before:
        raise UserError(f"{NOTHING_GAINED}: {done.plan.reason}")
    written = [*session.view(shape.provider).messages]
    if shape.drops_thinking:
        written = _thinking(written, session, done.plan.cut)
    if asked.instructions and asked.instructions.strip():
        written = _obeying(asked.instructions.strip(), written, session)
    written = [_runnable(one) if is_lead(one) else one for one in written]
    return HostAnswer(shape.given(written, asked.messages), done.tokens_before, done.tokens_after)


def _recorded(shape: Shape, asked: HostRequest, new: int) -> FromTranscript | None:
    """What the own file of a host says of it; where that fails, the messages are there."""
    path = asked.transcript or ("" if asked.agent else shape.file(asked.session))
    try:
        return shape.recorded(path, asked.messages, new) if path else None
    except (OSError, ValueError, KedgelineError) as error:
        places.log(f"{path} does not say more: {type(error).__name__}: {error}")
        return None


def _keep(session: Session, recorded: FromTranscript, provider: str) -> None:
    if next(session.turns(), None) is None:  # where it works, and the like
        session.append(replace(recorded.read, turns=()))
    if recorded.before:
        session.append(recorded.before, format=provider)
    session.append(recorded.read.turns)
    if recorded.behind:
        session.append(recorded.behind, format=provider)


def _runnable(lead: Message) -> Message:
    content = lead["content"]
    if isinstance(content, str):
        return {**lead, "content": places.runnable(content)}
    told = [
        {**one, "text": places.runnable(one["text"])} if "text" in one else one for one in content
    ]
    return {**lead, "content": told}


REPLACED = {
    "claude-code": "claude_code:HOST",
    "cline": "extensions:CLINE",
    "codex": "codex:HOST",
    "hermes": "extensions:HERMES",
    "openclaw": "extensions:OPENCLAW",
    "opencode": "extensions:OPENCODE",
    "pi": "extensions:PI",
}
"""Hosts whose compaction can be replaced, and where each stands: one alone is loaded."""


def shape_of(host: str) -> Shape:
    if host not in REPLACED:
        raise UnknownName("host", host, known=(*REPLACED,))
    module, _, name = REPLACED[host].partition(":")
    named: Host = getattr(import_module(f"kedgeline.hosts.{module}"), name)
    assert named.shape is not None
    return named.shape


def _told(message: Message) -> tuple[Any, ...]:
    """What a message is known by: hosts add fields of their own."""
    blocks = [one for one in blocks_of(message) if one.get("type") not in TEXTS]
    ids = [one.get("id") or one.get("tool_use_id") for one in blocks]
    outputs = [text_of(one.get("content")) for one in blocks if "tool_use_id" in one]
    calls = [one.get("id") for one in message.get("tool_calls") or ()]
    rest = [message.get(key) for key in ("role", "type", "tool_call_id", "call_id", "output")]
    return (*rest, ids, outputs, calls, texts_of(message))


def _behind(session: Session, shape: Shape, messages: list[Message]) -> list[Message]:
    """What comes behind the context that the host was given last. It is compared as the host writes
    it, where several texts may have become one; outputs in it are shorter than those in the store,
    so that they would not be known by their content."""
    view = session.view(shape.provider).messages
    own = shape.taken(shape.given([*view], ()).get("messages", ()))
    said = [one for one in messages if not is_lead(one)]
    shown = [_told(one) for one in own if not is_lead(one)]
    pairs = zip(said, shown, strict=False)
    same = sum(1 for _ in takewhile(lambda pair: _told(pair[0]) == pair[1], pairs))
    return said[same:] if same else messages


WORDS = "What the user asked of this compaction, word for word:"
FOUND = "What was found for it in the originals:"
NAMES, PASSAGES, PASSAGE = 8, 3, 600
"""Names out of the user's words that are looked up, passages for each, and characters of one."""


THOUGHT = "What the agent thought in the turns that follow, which are given without it:"
MOST_THOUGHT = 2_000
"""Characters of what was thought in one turn."""


def _thinking(written: list[Message], session: Session, cut_at: int) -> list[Message]:
    """With the thinking of the turns that stay: findings often stand nowhere else."""
    stay = Journal(session.store, session.name).turns(cut_at)
    turns = (turn for turn in stay if turn.thinking.strip())
    lines = [f"[t{turn.index}] {cut(one_line(turn.thinking), MOST_THOUGHT)}" for turn in turns]
    told = "\n".join((OPENING, THOUGHT, *map(neutral, lines), CLOSING))
    return _led(written, told) if lines else written


def _obeying(words: str, written: list[Message], session: Session) -> list[Message]:
    """With what the user typed behind the command in the lead, and the passages that have the names
    in it."""
    lines = [OPENING, WORDS, words]
    for name in list(names_in(words))[:NAMES]:
        for found in session.recall(f'"{name}"', limit=PASSAGES):
            text = "\n".join(line.text for line in found.lines)
            lines += [FOUND] * (FOUND not in lines)
            lines.append(f"[{found.mark}] {found.title}: {cut(text, PASSAGE)}")
    return _led(written, "\n".join((*lines, CLOSING)))


def _led(written: list[Message], text: str) -> list[Message]:
    """With more in the lead."""
    at = next((n for n, message in enumerate(written) if is_lead(message)), None)
    if at is None:
        first = next((n for n, one in enumerate(written) if one.get("role") != "system"), 0)
        return [*written[:first], {"role": "user", "content": text}, *written[first:]]
    lead, content = written[at], written[at]["content"]
    is_text = isinstance(content, str)
    kind = "text" if is_text else content[0].get("type", "text")
    both = f"{content}\n\n{text}" if is_text else [*content, {"type": kind, "text": text}]
    return [*written[:at], {**lead, "content": both}, *written[at + 1 :]]


def host_compacted(host: str, asked: HostRequest, shape: Shape | None = None) -> HostAnswer:
    """With the user's settings and store; what became of it is noted where the hooks keep what they
    know of the session."""
    folder = places.folder_of(places.named(asked.session or "unnamed"))
    began = time.monotonic()
    _note(folder, asked, "asked")
    try:
        with opened_store() as (store, keeping):
            answer = replacement(host, asked, store, shape, **keeping)
    except Exception as error:
        why = str(error) if isinstance(error, KedgelineError) else type(error).__name__
        _note(folder, asked, f"left {' '.join(why.split())[:MOST_WHY]}")
        places.log(f"{host}: the compaction is left to the host: {type(error).__name__}: {error}")
        raise
    spent = round((time.monotonic() - began) * 1_000)
    _note(folder, asked, f"replaced {answer.tokens_before} {answer.tokens_after} {spent}")
    return answer


MOST_WHY = 200
NOTHING_GAINED = "nothing to compact"
"""Begins why a conversation is left to its host that is too short: no fault."""


def _note(folder: str, asked: HostRequest, what: str) -> None:
    """Of the main conversation: what is put back beside a context of our own depends on it."""
    if not asked.agent:
        with suppress(OSError):
            places.add_line(folder, places.COMPACTIONS, what)


def main(host: str) -> NoReturn:
    """Read what the host asks and print the answer. Whatever goes wrong is one sentence on stderr,
    and 1: the host compacts by itself then."""
    try:
        asked = msgspec.json.decode(sys.stdin.buffer.read(), type=HostRequest)
        reply = msgspec.json.encode(host_compacted(host, asked).reply)
    except Exception as error:  # noqa: BLE001 (whatever it is, the host goes on by itself)
        sys.stderr.write(f"kedgeline: {type(error).__name__}: {error}\n")
        sys.exit(1)
    sys.stdout.buffer.write(reply)
    sys.exit(0)


def _policy(said: int, asked: int, usual: int) -> Policy:
    """The room is that of what was said alone. None of it is kept for an answer: the host has done
    that already."""
    said = max(1, said)
    share = min(0.9, asked / said) if asked else min(SHARE, (usual or said) / said)
    enough = max(ENOUGH, min(POLICY.summary_tokens, int(POLICY.summary_share * said)))
    return replace(
        POLICY,
        target=share,
        begin=0.95,
        force=1.0,
        output_reserve=0,
        output_share=0.0,
        summary_tokens=min(enough, int(FOLDED * share * said)),
        summary_share=1.0,
        recent_turns=1,  # hosts keep none
    )
