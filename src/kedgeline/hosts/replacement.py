"""The host's own compaction, replaced: `kedgeline host-compact HOST` takes the conversation that a
host would have summarised and gives back what the agent goes on with. No model is asked.

One contract for all hosts, JSON in and out. Asked: `messages` in the host's shape, and of
`session`, `agent`, `transcript`, `trigger`, `instructions`, `previousSummary` (which they begin
behind), `tokens` (what the host says that its context has), `window` and `room`, whatever the host
knows.
Answered: `messages` to go on with, or a `summary` of all of them. No answer means that the host
must compact by itself; the reason stands in the log and in `kedgeline status`."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import msgspec
from msgspec.structs import replace

from kedgeline.errors import KedgelineError, UnknownName, UserError
from kedgeline.hosts import places, prepared
from kedgeline.hosts.prepared import Mark, Preparation
from kedgeline.hosts.shared import (
    TEXTS,
    FromTranscript,
    Host,
    Message,
    Shape,
    blocks_of,
    is_lead,
    texts_of,
)
from kedgeline.hosts.store import opened_store
from kedgeline.model import ToolCall, Transcript
from kedgeline.pipeline.view import CLOSING, OPENING
from kedgeline.planning import POLICY, Policy
from kedgeline.session.alignment import sendable
from kedgeline.session.journal import Journal
from kedgeline.session.session import Session
from kedgeline.store.protocol import Store
from kedgeline.text.prose import cut, names_in, neutral, one_line
from kedgeline.tokens import Estimate

if TYPE_CHECKING:
    from kedgeline.session.compacting import CompactOptions

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
    window: int | None = 0
    """Tokens that its model takes, where the host knows."""
    room: int | None = 0
    """Tokens that the new context may have; 0 for a share of what it has."""


class HostAnswer(NamedTuple):
    """What a host is told, and what is noted of it."""

    reply: dict[str, Any]
    tokens_before: int
    tokens_after: int


def replacement(
    host: str,
    asked: HostRequest,
    store: Store,
    shape: Shape | None = None,
    known: Preparation | None = None,
    **keeping: Any,
) -> HostAnswer:
    """Keep the conversation in the store, compact it there, and give it back as the host writes it,
    or in another shape. `known` is what was made ready of it, `keeping` how the session keeps
    things. What cannot be compacted raises."""
    shape = shape or shape_of(host)
    session = Session(session_of(host, asked), store, **keeping)
    mark = _standing(session, asked.messages, known)
    # A vocabulary takes longer to load than all else, and little is new where much is ready.
    counter = Estimate() if mark and known and known.ready else session.keeping.counter
    counting = Session(session.name, store, **{**keeping, "counter": counter})
    _bring_up(counting, shape, asked, mark)
    tokens = session.context_tokens().total
    made = None
    if mark and known and not asked.room and tokens - known.tokens <= MOST_NEW * tokens:
        made = _taken_up(session, shape, mark, known)
    made = made or _compacted(session, shape, asked, keeping)
    written = made.messages
    if shape.drops_thinking and made.thoughts:
        written = _led(written, "\n".join((OPENING, THOUGHT, *made.thoughts, CLOSING)))
    if asked.instructions and asked.instructions.strip():
        written = _obeying(asked.instructions.strip(), written, session)
    written = [_runnable(one) if is_lead(one) else one for one in written]
    full = max(asked.tokens or 0, tokens)
    return HostAnswer(shape.given(written, asked.messages), full, full - made.freed)


class _Made(NamedTuple):
    messages: list[Message]
    thoughts: Sequence[str]
    """What was thought in the turns that stay."""
    freed: int


def _compacted(
    session: Session, shape: Shape, asked: HostRequest, keeping: dict[str, Any]
) -> _Made:
    fitting, options = _fitting(session, asked, shape, keeping)
    done = fitting.compact(**options)
    freed = done.tokens_before - done.tokens_after
    if freed <= 0:
        raise UserError(f"{NOTHING_GAINED}: {done.plan.reason}")
    return _made(session.context(), shape, done.plan.cut, freed)


def _made(context: Transcript, shape: Shape, start: int, freed: int) -> _Made:
    messages = [*sendable(context, shape.provider).messages]
    thoughts = [
        neutral(f"[t{turn.index}] {cut(one_line(turn.thinking), MOST_THOUGHT)}")
        for turn in context.turns
        if turn.index >= start and turn.thinking.strip()
    ]
    return _Made(messages, thoughts, freed)


def _taken_up(session: Session, shape: Shape, mark: Mark, known: Preparation) -> _Made | None:
    """With the compaction that was prepared, if it still stands; what came since stays as it
    was."""
    record = known.ready.record if known.ready else None
    if known.ready is None or record is None or mark.turns < record.turns:
        return None
    if not session.take_up(known.ready):
        return None
    # A writer joins messages: what is new is written behind the last turn that was there.
    journal, start = Journal(session.store, session.name), record.turns
    last, *turns = journal.turns(start - 1)
    since = Transcript(format=shape.provider, turns=(last, *turns), pending=journal.pending())
    new = _made(since, shape, start, 0)
    alone = sendable(Transcript(format=shape.provider, turns=(last,)), shape.provider).messages
    pairs = zip(alone, new.messages, strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    before = msgspec.json.decode(known.view, type=list[Message])
    messages = [*before[: len(before) + same - len(alone)], *new.messages[same:]]
    freed = record.compaction.tokens_before - record.compaction.tokens_after
    return _Made(messages, [*known.thoughts, *new.thoughts], freed)


def session_of(host: str, asked: HostRequest) -> str:
    return places.named("-".join(filter(None, (host, asked.session or "unnamed", asked.agent))))


def _fitting(
    session: Session, asked: HostRequest, shape: Shape, keeping: dict[str, Any]
) -> tuple[Session, CompactOptions]:
    """The session with the policy that its context asks for, and how it is compacted."""
    context = session.context_tokens()
    full = max(asked.tokens or 0, context.total)
    policy = _policy(context.total - context.overhead, asked.room or 0, shape.room)
    fitting = Session(session.name, session.store, policy=policy, **keeping)
    beside = full - context.total + context.hidden
    return fitting, {"window": full, "overhead": beside, "provider": shape.provider}


def _standing(session: Session, rows: Sequence[Message], known: Preparation | None) -> Mark | None:
    """How much of the host's messages is there. What the worker put there and the user has gone
    back from is taken back."""
    journal = Journal(session.store, session.name)
    mark = known.mark_of(rows, journal) if known else None
    stands = mark.turns if mark else known.base if known and not known.answered else None
    if stands is not None and (journal.count() > stands or journal.waiting()):
        session.rewind(stands)
    return mark


def _bring_up(
    session: Session, shape: Shape, asked: HostRequest, mark: Mark | None, *, whole: bool = False
) -> bool:
    """Put behind the session what it has not yet; whether that was done. `whole` is done only with
    what the host's own file says."""
    rows = prepared.rows_after(asked.messages, mark) if mark else asked.messages
    new = shape.taken(rows)
    if mark is None:
        if asked.previous and next(session.turns(), None) is None:
            new = [{"role": "user", "content": asked.previous}, *new]
        new = _behind(session, shape, new)
    if not new:
        return True
    recorded = _recorded(shape, asked, rows, len(new))
    if recorded is not None:
        _keep(session, recorded, shape.provider)
    elif whole:
        return False
    else:
        session.append(new, format=shape.provider)
    for call, text in shape.apart(new):
        session.keep_output(ToolCall(id=call, tool="", parameters={}), text)
    return True


def _recorded(
    shape: Shape, asked: HostRequest, rows: Sequence[Message], new: int
) -> FromTranscript | None:
    """What the own file of a host says of it; where that fails, the messages are there."""
    path = asked.transcript or ("" if asked.agent else shape.file(asked.session))
    try:
        return shape.recorded(path, rows, new) if path else None
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
    """What a message is known by: calls and results by their ids, as hosts add fields of their own
    and writers put words beside them; all else by what it says."""
    ids = _ids(message)
    calls = [one.get("id") for one in message.get("tool_calls") or ()]
    rest = [message.get(key) for key in ("role", "type", "tool_call_id", "call_id")]
    texts = [] if any((*ids, *calls, *rest[2:])) else texts_of(message)
    return (*rest, ids, calls, texts)


def _ids(message: Message) -> list[Any]:
    """Of what is no text."""
    blocks = (one for one in blocks_of(message) if one.get("type") not in TEXTS)
    return [one.get("id") or one.get("tool_use_id") for one in blocks]


def _behind(session: Session, shape: Shape, messages: list[Message]) -> list[Message]:
    """What comes behind the context that the host was given last. It is compared as the host writes
    it, where several texts may have become one; outputs in it are shorter than those in the store,
    so that they would not be known by their content. Words that its own file alone has are read
    over."""
    view = session.view(shape.provider).messages
    own = shape.taken(shape.given([*view], ()).get("messages", ()))
    said = [one for one in messages if not is_lead(one)]
    same = 0
    for one in own:
        if same < len(said) and _told(said[same]) == _told(one):
            same += 1
        elif not is_lead(one) and (one.get("role") != "user" or _ids(one)):
            break
    return said[same:] if same else messages


WORDS = "What the user asked of this compaction, word for word:"
FOUND = "What was found for it in the originals:"
NAMES, PASSAGES, PASSAGE = 8, 3, 600
"""Names out of the user's words that are looked up, passages for each, and characters of one."""


THOUGHT = "What the agent thought in the turns that follow, which are given without it:"
MOST_THOUGHT = 2_000
"""Characters of what was thought in one turn."""


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
    if asked.window:
        places.keep(folder, places.WINDOW, str(asked.window).encode())
    try:
        with opened_store() as (store, keeping), prepared.locked(folder, ANSWER_WAITS):
            name = session_of(host, asked)
            known = None if asked.agent else prepared.load(folder, name)
            answer = replacement(host, asked, store, shape, known, **keeping)
            if not asked.agent:
                begun = prepared.new_preparation(name, asked.messages, 0).with_mark(
                    asked.messages, Journal(store, name)
                )
                prepared.save(folder, replace(begun, answered=True))
    except Exception as error:
        why = str(error) if isinstance(error, KedgelineError) else type(error).__name__
        _note(folder, asked, f"left {' '.join(why.split())[:MOST_WHY]}")
        places.log(f"{host}: the compaction is left to the host: {type(error).__name__}: {error}")
        raise
    spent = round((time.monotonic() - began) * 1_000)
    _note(folder, asked, f"replaced {answer.tokens_before} {answer.tokens_after} {spent}")
    return answer


def make_ready(host: str, session: str, transcript: str, folder: str) -> None:
    """What the host would ask for now, as far as it can be known before."""
    shape = shape_of(host)
    rows = shape.rows(transcript) if shape.rows else []
    if not rows:
        return
    asked = HostRequest(messages=rows, session=session, transcript=transcript)
    with opened_store() as (store, keeping):
        kept = Session(session_of(host, asked), store, **keeping)
        with prepared.locked(folder, WORKER_WAITS):
            known = _followed(kept, shape, asked, prepared.load(folder, kept.name))
            if known is None:
                return
            prepared.save(folder, known)
        tokens = kept.context_tokens().total
        if tokens < LEAST or tokens - known.tokens < EACH * tokens:
            return
        fitting, options = _fitting(kept, asked, shape, keeping)
        ready = fitting.prepare(**options)
        if ready.record is None:
            return
        made = _made(fitting.context(ready), shape, ready.record.compaction.plan.cut, 0)
        view, thoughts = msgspec.json.encode(made.messages), tuple(made.thoughts)
        with prepared.locked(folder, WORKER_WAITS):
            if prepared.load(folder, kept.name) == known:
                made_ready = {"tokens": tokens, "ready": ready, "view": view, "thoughts": thoughts}
                prepared.save(folder, replace(known, **made_ready))


def _followed(
    session: Session, shape: Shape, asked: HostRequest, known: Preparation | None
) -> Preparation | None:
    """With the messages in the session; None where there is nothing to be done."""
    rows, journal = asked.messages, Journal(session.store, session.name)
    if known is None or not known.starts_like(rows):
        known = prepared.new_preparation(session.name, rows, journal.count())
    if known.answered:
        return None
    mark = _standing(session, rows, known)
    if not _bring_up(session, shape, asked, mark, whole=True):
        return None
    with_them = known.with_mark(rows, journal)
    return known if mark == with_them.marks[-1] else with_them


ANSWER_WAITS, WORKER_WAITS = 15.0, 3.0
"""Seconds that answer and worker wait for each other: what the worker does meanwhile, the answer
need not."""
LEAST, EACH = 20_000, 0.03
"""Tokens from which on a compaction is prepared, and the share of them that comes before it is
prepared again: an answer about less takes no longer than one that is ready."""
MOST_NEW = 0.1
"""Share of the context that may have come since it was prepared: all of it stays."""
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
