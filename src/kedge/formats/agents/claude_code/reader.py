"""Claude Code session files into turns."""

from __future__ import annotations

from collections.abc import Iterator
from glob import escape
from itertools import chain

from kedge.formats.agents.claude_code.attachments import attached
from kedge.formats.agents.claude_code.branches import Branches
from kedge.formats.agents.claude_code.chain import Chain, Place
from kedge.formats.agents.claude_code.compactions import Compactions
from kedge.formats.agents.claude_code.content import said
from kedge.formats.agents.claude_code.conversation import Conversation
from kedge.formats.agents.claude_code.queue import Queue
from kedge.formats.agents.claude_code.records import (
    OTHER_TYPES,
    ApiMessage,
    Entry,
    decode_entry,
    entry_from,
    is_record,
    is_there,
    progress_from,
    stands_alone,
)
from kedge.formats.agents.claude_code.subagents import Subagents
from kedge.formats.content.blocks import text_of, time_of
from kedge.formats.intake.documents import document, first_lines, is_document
from kedge.formats.intake.head import Head
from kedge.formats.intake.lines import Line, Lines, Position, json_records
from kedge.formats.intake.log import Log
from kedge.formats.turns.draft import Piece
from kedge.model import Media, Note, Text, Turn

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
        taken, rest = first_lines(lines)
        lines = chain(taken, rest)
        begins = b"".join(taken[:1]).lstrip(b"\xef\xbb\xbf \t\r\n\0")
        if (begins.startswith(b'{"loglines"') or begins.strip() == b"{") and is_document(taken):
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
    session = SessionReader(log)
    for number, record in enumerate(records if isinstance(records, list) else ()):
        if isinstance(record, dict):
            session.take(Line(number), entry_from(record, Line(number), log))
            yield from session.ready()
    yield from session.finish()


class GrowingSession:
    """A session file as it is written."""

    def __init__(self, log: Log) -> None:
        self._log, self._at = log, Position()
        self._session = SessionReader(log)

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


class SessionReader:
    """Takes the records of one session in their order."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._conversation = Conversation(log)
        self._main = self._conversation.turns
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
                self._log.broken("duplicate", line, f"record {entry.uuid!r} occurs twice")
                return
            self._take_message(line, entry)
        elif not entry.isSidechain or entry.type == "progress":
            self._take_other(line, entry)
        # A boundary has no parent, and goes on where the conversation was.
        goes_on = "" if entry.subtype == "compact_boundary" else None
        turns, log = self._main, self._log
        place = Place(turns.next_turn, turns.exchange, len(log.compactions), self._branches.current)
        self._chain.add(entry.uuid, entry.parentUuid or goes_on, place)

    @property
    def has_ready(self) -> bool:
        """Whether it is worth asking; for most records it is not."""
        return self._main.waits or self._subagents.waits or bool(self._again)

    def ready(self) -> Iterator[Turn]:
        again, self._again = self._again, []
        yield from again
        for turn in self._main.ready():
            self._branches.gave(turn)
            yield turn
        yield from self._subagents.ready()

    def finish(self) -> Iterator[Turn]:
        if left := self._queue.left():
            self._main.user(self._line, left)
        self._compactions.finish()
        yield from self._again
        yield from self._main.finish()
        yield from self._subagents.finish()

    def _take_message(self, line: Line, entry: Entry) -> None:
        if entry.message is None or entry.message.content is None:
            self._log.broken("shape", line, f"a {entry.type} record without a message")
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
            self._main.user(line, (note,), time=time_of(entry.timestamp))
            return
        if missed := self._queue.missed():
            self._main.user(line, missed)
        self._conversation.answered(line, entry, message)

    def _user(self, line: Line, entry: Entry, message: ApiMessage) -> None:
        if self._compactions.is_summary(entry):
            self._compactions.summary(line, entry, next_turn=self._main.next_turn)
            return
        self._facts(entry)
        pieces = self._conversation.told(line, entry, message)
        if not pieces:
            return
        self._queue.arrived(text_of([p.text for p in pieces if isinstance(p, (Text, Note))]))
        if any(_asks(piece) for piece in pieces):
            self._follow_chain(entry)
        self._main.user(line, pieces, time=time_of(entry.timestamp))

    def _follow_chain(self, entry: Entry) -> None:
        """A prompt behind an earlier record than the last one rewinds to it; a prompt on a new
        chain begins with a cleared context, and what was before still happened."""
        if entry.uuid is None:
            return
        now = self._main.next_turn
        chain = self._chain.chain_of(entry.parentUuid)
        place = self._chain.behind(entry.parentUuid)
        if chain > self._chain.current:
            if now:
                self._log.fact("start", entry.timestamp, turn=now)
        elif place and (place.next_turn < now or place.branch != self._branches.current):
            # What was not given out yet happened too, before the user went back.
            unfinished = self._main.flush()
            self._again = [*unfinished, *self._branches.switch(place, unfinished)]
            self._main.rewind(place.next_turn, place.exchange)
            del self._log.compactions[place.compactions :]
        self._chain.current = chain

    def _take_other(self, line: Line, entry: Entry) -> None:
        if entry.type == "progress":
            self._progress(line, entry)
        elif entry.type == "queue-operation":
            if heard_now := self._queue.operate(entry):
                self._main.user(line, heard_now, time=time_of(entry.timestamp))
        elif entry.type == "attachment":
            self._attachment(line, entry)
        elif entry.type == "system":
            self._compactions.system(line, entry, next_turn=self._main.next_turn)
        elif entry.type in OTHER_TYPES:
            self._facts(entry)
        else:
            self._log.ignored[entry.type or "(no type)"] += 1

    def _progress(self, line: Line, entry: Entry) -> None:
        if not is_there(entry.data):
            return
        progress = progress_from(entry.data, line, self._log)
        if progress.message is not None and progress.agentId:
            self._subagents.take_progress(
                line, progress.agentId, progress.message, entry.parentToolUseID
            )

    def _attachment(self, line: Line, entry: Entry) -> None:
        pieces = attached(entry.attachment or {}, self._queue, self._log)
        if pieces:
            self._main.user(line, pieces, time=time_of(entry.timestamp))

    def _facts(self, entry: Entry) -> None:
        facts = (entry.cwd, entry.gitBranch, entry.permissionMode, entry.slug, entry.version)
        if facts == self._last_facts and entry.type in ("user", "assistant"):
            return  # nearly every record repeats those of the one before
        self._last_facts = facts
        log, turn = self._log, self._main.next_turn
        log.fact("id", entry.sessionId, turn=turn)
        log.fact("root", entry.cwd, turn=turn)
        log.fact("branch", entry.gitBranch, turn=turn)
        log.fact("mode", entry.permissionMode or entry.mode, turn=turn)
        log.fact("client", entry.version and f"claude-code {entry.version}", turn=turn)
        log.fact("plan_file", entry.slug and f"{entry.slug}.md", turn=turn)
        log.fact("title", entry.customTitle or entry.aiTitle or entry.summary, turn=turn)
        log.fact("pull_request", entry.prUrl, turn=turn)


def _asks(piece: Piece) -> bool:
    """Whether a piece is a request of the user's, which stands where they were in the chain."""
    if isinstance(piece, Note):
        return piece.kind in ("command", "plan")
    return isinstance(piece, (Text, Media))
