"""Claude Code session files into turns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from glob import escape
from typing import Any, NamedTuple

import msgspec

from kedgeline.formats.agents.claude_code.records import (
    OTHER_TYPES,
    TURN_TYPES,
    ApiMessage,
    Block,
    Counts,
    Entry,
    Queue,
    agent_of,
    attached,
    by_a_person,
    decode_entry,
    entry_from,
    heard,
    is_record,
    is_there,
    progress_from,
    result_of,
    said,
    stands_alone,
)
from kedgeline.formats.content import text_of, time_of
from kedgeline.formats.intake import (
    Head,
    Lines,
    Position,
    document,
    documented,
    json_records,
    maybe_tokens,
)
from kedgeline.formats.log import Line, Log, remember
from kedgeline.formats.turns import Assembler, Piece, SessionReader
from kedgeline.model import (
    EarlierCompaction,
    Media,
    Note,
    Text,
    ToolCall,
    ToolResult,
    Turn,
    Usage,
)

# Which records stand: rewinds and cleared contexts, from the chain of parents.


class Place(NamedTuple):
    """Where the conversation stood behind a record."""

    next_turn: int
    """Index the next turn would have had."""
    exchange: int
    compactions: int
    """How many there had been."""
    branch: int = 0
    """Which of the branches that rewinds have made."""


class Chain:
    """Follows `parentUuid` from record to record.

    Records that hang on one root are one chain; a client that clears the context begins a new one.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, Place]] = {}
        self._chains = 0
        self.current = 0
        """Number of the chain the conversation is on."""

    def add(self, uuid: str | None, parent: str | None, place: Place) -> None:
        """Remember a record; without a parent it begins a chain."""
        if uuid is not None:
            chain = self.chain_of(parent)
            self._chains = max(self._chains, chain)
            remember(self._known, uuid, (chain, place))

    def chain_of(self, parent: str | None) -> int:
        """The chain a record with this parent is on; the current one if the parent is not known."""
        if parent is None:
            return self._chains + 1
        known = self._known.get(parent)
        return known[0] if known else self.current

    def seen(self, uuid: str | None) -> bool:
        return uuid is not None and uuid in self._known

    def behind(self, parent: str | None) -> Place | None:
        """Where a record with this parent continues from; None when it is not in the file."""
        known = self._known.get(parent or "")
        return known[1] if known else None


# Branches the user left by rewinding, kept so that going back to one finds its turns again.

TURNS_KEPT = 256
"""Turns of a branch that can be taken up again. A rewind stays within one context window, which
rarely holds more; keeping all would let memory grow with the file."""
BRANCHES_KEPT = 8
"""Branches that can be gone back to: nobody returns further."""


class Branches:
    def __init__(self) -> None:
        self.current = 0
        """Number of the branch the conversation is on."""
        self._count = 0
        self._recent: list[Turn] = []
        self._left: dict[str, list[Turn]] = {}
        """The turns of a branch from where it was left on."""

    def gave(self, turn: Turn) -> None:
        """A turn of the current branch was given out."""
        self._recent.append(turn)
        if len(self._recent) > 2 * TURNS_KEPT:
            del self._recent[:-TURNS_KEPT]

    def switch(self, place: Place, unfinished: Iterable[Turn]) -> list[Turn]:
        """Leave the current branch for a place; the turns of an earlier branch that stand again.

        `unfinished` are turns of the current branch that were not given out yet.
        """
        self._recent.extend(unfinished)
        target = self._left.get(str(place.branch), [])
        returns = bool(target) and place.next_turn > target[0].index
        again = [turn for turn in target if turn.index < place.next_turn] if returns else []
        fork = again[0].index if again else place.next_turn
        leaving = [turn for turn in self._recent if turn.index >= fork]
        remember(self._left, str(self.current), leaving[-TURNS_KEPT:], most=BRANCHES_KEPT)
        self._recent = [turn for turn in self._recent if turn.index < fork] + again
        self._count += 1
        self.current = place.branch if returns else self._count
        return again


# One conversation of a session, the main one or a sub-agent's: its messages into turns.

BY_CLIENT = ("system", "loop_wakeup", "schedule_wakeup")
"""Where a prompt comes from that the client gives by itself. Others are typed, queued, accepted as
they were suggested, or come through the SDK, which speaks in the user's place."""


class Conversation:
    def __init__(self, log: Log, turns: Assembler) -> None:
        self.turns, self._log = turns, log
        self._calls: dict[str, ToolCall] = {}
        """Calls that wait for their result."""

    def answered(self, line: Line, entry: Entry, message: ApiMessage) -> None:
        """An assistant message, or one block of it."""
        pieces = said(message.content)
        calls = [piece for piece in pieces if isinstance(piece, ToolCall)]
        for call in calls:
            self._calls[call.id] = call
            prompt = call.parameters.get("prompt")
            if call.verb == "delegate" and isinstance(prompt, str):
                self._log.links.asked(call.id, prompt, entry.timestamp or "")
        self.turns.assistant(
            line,
            pieces,
            message_id=message.id or "",
            time=time_of(entry.timestamp),
            model=message.model or "",
            usage=_usage(message.usage),
        )

    def told(self, line: Line, entry: Entry, message: ApiMessage) -> list[Piece]:
        """A user message: results go to their calls, and what else it holds is returned."""

        def result(block: Block) -> ToolResult:
            call = self._calls.pop(block.tool_use_id or "", None)
            raw, denial = entry.toolUseResult, entry.toolDenialKind
            found = result_of(block, call, raw=raw, denial=denial)
            delegated = call is not None and call.verb == "delegate"
            if call is not None and delegated and (agent := agent_of(raw, found)):
                self._log.links.told(agent, call.id)
            return found

        by_client = bool(entry.isMeta) or entry.promptSource in BY_CLIENT
        meta = by_client or not by_a_person(entry.origin)
        pieces, results = heard(message.content, meta=meta, result=result)
        if results:
            self.turns.results(line, results, role="user")
        if isinstance(entry.planContent, str):
            # The client asks, in the user's place, to carry out a plan that the agent wrote.
            return [Note(kind="plan", text=p.text) if isinstance(p, Text) else p for p in pieces]
        return pieces


def _usage(counts: Counts | None) -> Usage | None:
    if counts is None or all(number is None for number in msgspec.structs.astuple(counts)):
        return None
    return Usage(
        input=counts.input_tokens or 0,
        output=counts.output_tokens or 0,
        cache_read=counts.cache_read_input_tokens or 0,
        cache_write=counts.cache_creation_input_tokens or 0,
    )


# Compactions that Claude Code itself made: a boundary, then its summary as a user record.

SUMMARY_OPENING = "This session is being continued from a previous conversation"
"""How a summary begins, also in versions that do not mark it."""


class Compactions:
    def __init__(self, log: Log) -> None:
        self._log = log
        self._boundary: EarlierCompaction | None = None
        """A boundary whose summary has not come yet."""

    def system(self, line: Line, entry: Entry, *, next_turn: int) -> None:
        if entry.subtype == "compact_boundary":
            self.finish()
            data = entry.compactMetadata or {}
            self._boundary = _compaction(line, next_turn, data, tokens_after=data.get("postTokens"))
        elif entry.subtype == "microcompact_boundary":
            data = entry.microcompactMetadata or {}
            before, saved = data.get("preTokens"), data.get("tokensSaved")
            after = before - saved if isinstance(before, int) and isinstance(saved, int) else None
            cleared = _compaction(line, next_turn, data, tokens_after=after)
            self._log.compactions.append(msgspec.structs.replace(cleared, kind="outputs_cleared"))

    def is_summary(self, entry: Entry) -> bool:
        if entry.isCompactSummary:
            return True
        content = entry.message.content if entry.message else None
        return isinstance(content, str) and content.startswith(SUMMARY_OPENING)

    def summary(self, line: Line, entry: Entry, *, next_turn: int) -> None:
        boundary = self._boundary or _compaction(line, next_turn, {}, tokens_after=None)
        self._boundary = None
        source = msgspec.structs.replace(boundary.source, last=line.number, end=line.end)
        self._log.compactions.append(
            msgspec.structs.replace(boundary, summary=_text(entry, "\n\n"), source=source)
        )

    def finish(self) -> None:
        """A boundary whose summary never came still happened."""
        if self._boundary is not None:
            self._log.compactions.append(self._boundary)
            self._boundary = None


def _compaction(
    line: Line, turn: int, data: dict[str, Any], *, tokens_after: Any
) -> EarlierCompaction:
    before = data.get("preTokens")
    return EarlierCompaction(
        turn=turn,
        by="claude-code",
        trigger=str(data.get("trigger") or ""),
        tokens_before=maybe_tokens(before),
        tokens_after=maybe_tokens(tokens_after),
        source=line.source,
    )


def _text(entry: Entry, between: str) -> str:
    content = entry.message.content if entry.message else None
    if isinstance(content, str):
        return content
    return between.join(block.text for block in content or () if block.text)


# Sub-agents: conversations of their own, linked to the call that started them.

SPEAKING = 64
"""Sub-agents whose conversations are kept open: more never run at once, and keeping all would let
memory grow with their number."""


class Subagents:
    def __init__(self, log: Log) -> None:
        self._log = log
        self._conversations: dict[str, Conversation] = {}
        self._last: Conversation | None = None
        self._aside: list[Turn] = []
        """Last turns of sub-agents put aside, to be given out."""
        self._left_at: dict[str, tuple[int, int]] = {}
        """Turn and exchange at which a sub-agent put aside goes on, should it speak again."""
        self._seen: dict[str, None] = {}
        self._chains: dict[str, str] = {}
        """Record id to the agent whose sidechain it is on."""
        self._nameless = 0

    def take_progress(self, line: Line, agent: str, entry: Entry, call_id: str | None) -> None:
        """A sub-agent's message inside a progress record; clients repeat some of them."""
        if entry.uuid is None or entry.uuid not in self._seen:
            remember(self._seen, entry.uuid or "", None)
            if call_id:
                self._log.links.told(agent, call_id)
            self._take(line, agent, entry)

    def take_sidechain(self, line: Line, entry: Entry) -> None:
        """A record of a sidechain in the session's own file."""
        agent = entry.agentId or self._chains.get(entry.parentUuid or "")
        if not agent:
            self._nameless += 1
            agent = f"sidechain-{self._nameless}"
        if entry.uuid:
            remember(self._chains, entry.uuid, agent)
        self._take(line, agent, entry)

    @property
    def waits(self) -> bool:
        return bool(self._aside) or (self._last is not None and self._last.turns.waits)

    def ready(self) -> Iterator[Turn]:
        """Turns of sub-agents put aside, and complete ones of the sub-agent that spoke last: no
        other can have got any."""
        aside, self._aside = self._aside, []
        yield from aside
        if self._last is not None:
            yield from self._last.turns.ready()

    def finish(self) -> Iterator[Turn]:
        for conversation in self._conversations.values():
            yield from conversation.turns.finish()

    def _take(self, line: Line, agent: str, entry: Entry) -> None:
        message = entry.message
        if message is None or entry.type not in TURN_TYPES:
            self._log.ignored[f"sub-agent/{entry.type or '(no type)'}"] += 1
            return
        self._last = conversation = self._conversation(agent, entry)
        if entry.type == "assistant":
            conversation.answered(line, entry, message)
        elif pieces := conversation.told(line, entry, message):
            conversation.turns.user(line, pieces, time=time_of(entry.timestamp))

    def _conversation(self, agent: str, entry: Entry) -> Conversation:
        """The sub-agent's conversation, as the one that spoke last; the most silent goes aside. It
        begins with the words that it was started with."""
        conversation = self._conversations.pop(agent, None)
        if conversation is None:
            if agent not in self._left_at:
                self._log.links.begun(agent, _text(entry, "\n"), entry.timestamp or "")
            index, exchange = self._left_at.get(agent, (0, -1))
            turns = Assembler(self._log, agent=agent, index=index, exchange=exchange)
            conversation = Conversation(self._log, turns)
        self._conversations[agent] = conversation
        if len(self._conversations) > SPEAKING:
            silent = next(iter(self._conversations))
            turns = self._conversations.pop(silent).turns
            self._aside.extend(turns.finish())
            remember(self._left_at, silent, (turns.next_turn, turns.exchange))
        return conversation


CLIENT_MODEL = "<synthetic>"
"""Model name of messages that the client wrote in the assistant's place."""


class ClaudeCode:
    name = "claude-code"

    def beside(self, stem: str, log: Log) -> list[str]:
        return [f"{escape(stem)}/subagents/agent-*.jsonl"]

    def sniff(self, head: Head) -> int:
        if isinstance(head.document, dict) and isinstance(head.document.get("loglines"), list):
            return 3
        return 3 if any(is_record(record) for record in head.records) else 0

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        opening, lines = documented(lines)
        if opening.startswith(b'{"loglines"') or opening == b"{":
            yield from _exported(lines, log)
            return
        session = self.growing(log)
        yield from session.take(lines)
        yield from session.finish()

    def grows(self, head: Head) -> bool:
        return any(map(is_record, head.lines))

    def growing(self, log: Log) -> GrowingSession:
        return GrowingSession(log)


FORMAT = ClaudeCode()


def _exported(lines: Lines, log: Log) -> Iterator[Turn]:
    """A session as one document."""
    value = document(lines, log)
    records = value.get("loglines") if isinstance(value, dict) else None
    session = Session(log)
    for number, record in enumerate(records if isinstance(records, list) else ()):
        if isinstance(record, dict):
            session.take(Line(number), entry_from(record, Line(number), log))
            yield from session.ready()
    yield from session.finish()


class GrowingSession:
    """A session file as it is written."""

    def __init__(self, log: Log) -> None:
        self._log, self._at = log, Position()
        self._session = Session(log)

    def take(self, lines: Lines) -> Iterator[Turn]:
        session = self._session
        records = json_records(
            lines,
            self._log,
            decode=decode_entry,
            known=stands_alone,
            shape=entry_from,
            at=self._at,
        )
        for line, entry in records:
            session.take(line, entry)
            if session.has_ready:
                yield from session.ready()

    def finish(self) -> Iterator[Turn]:
        yield from self._session.finish()


class Session(SessionReader):
    """Takes the records of one session in their order."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self._conversation = Conversation(log, self.main)
        self._subagents = Subagents(log)
        self._chain = Chain()
        self._branches = Branches()
        self._again: list[Turn] = []
        """Turns to give out now: those a rewind found unfinished, and those of an earlier branch
        that stand again."""
        self._queue = Queue()
        self._compactions = Compactions(log)
        self._last_facts: tuple[str | None, ...] = ()
        self._line = Line(0)

    def take(self, line: Line, entry: Entry) -> None:
        self._line = line
        if entry.type in ("user", "assistant"):
            if self._chain.seen(entry.uuid):
                self.log.broken("duplicate", line, f"record {entry.uuid!r} occurs twice")
                return
            self._take_message(line, entry)
        elif not entry.isSidechain or entry.type == "progress":
            self._take_other(line, entry)
        # A boundary has no parent, and goes on where the conversation was.
        goes_on = "" if entry.subtype == "compact_boundary" else None
        turns, compactions = self.main, len(self.log.compactions)
        place = Place(turns.next_turn, turns.exchange, compactions, self._branches.current)
        self._chain.add(entry.uuid, entry.parentUuid or goes_on, place)

    @property
    def has_ready(self) -> bool:
        """Whether it is worth asking; for most records it is not."""
        return self.main.waits or self._subagents.waits or bool(self._again)

    def ready(self) -> Iterator[Turn]:
        again, self._again = self._again, []
        yield from again
        for turn in self.main.ready():
            self._branches.gave(turn)
            yield turn
        yield from self._subagents.ready()

    def finish(self) -> Iterator[Turn]:
        if left := self._queue.left():
            self.main.user(self._line, left)
        self._compactions.finish()
        yield from self._again
        yield from self.main.finish()
        yield from self._subagents.finish()

    def _take_message(self, line: Line, entry: Entry) -> None:
        if entry.message is None or entry.message.content is None:
            self.log.broken("shape", line, f"a {entry.type} record without a message")
        elif entry.isSidechain:
            self._subagents.take_sidechain(line, entry)
        elif delegated := entry.parent_tool_use_id:
            self._subagents.take_progress(line, delegated, entry, delegated)
        elif entry.type == "assistant":
            self._assistant(line, entry, entry.message)
        else:
            self._user(line, entry, entry.message)

    def _assistant(self, line: Line, entry: Entry, message: ApiMessage) -> None:
        self._facts(entry)
        if message.model == CLIENT_MODEL or entry.isApiErrorMessage:
            words = [piece.text for piece in said(message.content) if isinstance(piece, Text)]
            note = Note(kind="failure", text="\n".join(words))
            self.main.user(line, (note,), time=time_of(entry.timestamp))
            return
        if missed := self._queue.missed():
            self.main.user(line, missed)
        self._conversation.answered(line, entry, message)

    def _user(self, line: Line, entry: Entry, message: ApiMessage) -> None:
        if self._compactions.is_summary(entry):
            self._compactions.summary(line, entry, next_turn=self.main.next_turn)
            return
        self._facts(entry)
        pieces = self._conversation.told(line, entry, message)
        if not pieces:
            return
        self._queue.arrived(text_of([p.text for p in pieces if isinstance(p, (Text, Note))]))
        if any(_asks(piece) for piece in pieces):
            self._follow_chain(entry)
        self.main.user(line, pieces, time=time_of(entry.timestamp))

    def _follow_chain(self, entry: Entry) -> None:
        """A prompt behind an earlier record than the last one rewinds to it; a prompt on a new
        chain begins with a cleared context, and what was before still happened."""
        if entry.uuid is None:
            return
        now = self.main.next_turn
        chain = self._chain.chain_of(entry.parentUuid)
        place = self._chain.behind(entry.parentUuid)
        if chain > self._chain.current:
            if now:
                self.facts(start=entry.timestamp)
        elif place and (place.next_turn < now or place.branch != self._branches.current):
            # What was not given out yet happened too, before the user went back.
            unfinished = self.main.flush()
            self._again = [*unfinished, *self._branches.switch(place, unfinished)]
            self.main.rewind(place.next_turn, place.exchange)
            del self.log.compactions[place.compactions :]
        self._chain.current = chain

    def _take_other(self, line: Line, entry: Entry) -> None:
        if entry.type == "progress":
            self._progress(line, entry)
        elif entry.type == "queue-operation":
            if heard_now := self._queue.operate(entry):
                self.main.user(line, heard_now, time=time_of(entry.timestamp))
        elif entry.type == "attachment":
            self._attachment(line, entry)
        elif entry.type == "system":
            self._compactions.system(line, entry, next_turn=self.main.next_turn)
        elif entry.type in OTHER_TYPES:
            self._facts(entry)
        else:
            self.unknown(entry.type)

    def _progress(self, line: Line, entry: Entry) -> None:
        if not is_there(entry.data):
            return
        progress = progress_from(entry.data, line, self.log)
        if progress.message is not None and progress.agentId:
            self._subagents.take_progress(
                line, progress.agentId, progress.message, entry.parentToolUseID
            )

    def _attachment(self, line: Line, entry: Entry) -> None:
        pieces = attached(entry.attachment or {}, self._queue, self.log)
        if pieces:
            self.main.user(line, pieces, time=time_of(entry.timestamp))

    def _facts(self, entry: Entry) -> None:
        known = (entry.cwd, entry.gitBranch, entry.permissionMode, entry.slug, entry.version)
        if known == self._last_facts and entry.type in TURN_TYPES:
            return  # nearly every record repeats those of the one before
        self._last_facts = known
        self.facts(
            id=entry.sessionId,
            root=entry.cwd,
            branch=entry.gitBranch,
            mode=entry.permissionMode or entry.mode,
            client=entry.version and f"claude-code {entry.version}",
            plan_file=entry.slug and f"{entry.slug}.md",
            title=entry.customTitle or entry.aiTitle or entry.summary,
            pull_request=entry.prUrl,
        )


def _asks(piece: Piece) -> bool:
    """Whether a piece is a request of the user's, which stands where they were in the chain."""
    if isinstance(piece, Note):
        return piece.kind in ("command", "plan")
    return isinstance(piece, (Text, Media))
