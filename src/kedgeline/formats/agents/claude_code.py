"""Claude Code: session files (JSON Lines) and web exports."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from glob import escape
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from kedgeline.formats import pieces
from kedgeline.formats.log import Line, Log, remember
from kedgeline.formats.pieces import said_by_user
from kedgeline.formats.records import (
    Lines,
    Record,
    document,
    documented,
    json_records,
    mapping,
    maybe_tokens,
    maybe_whole,
    numbered_items,
    recovered,
    string,
)
from kedgeline.formats.registry import FileHead
from kedgeline.formats.session import LinesFormat, SessionReader
from kedgeline.formats.turns import Piece, asks
from kedgeline.model import (
    Note,
    NoteKind,
    Text,
    ToolCall,
    ToolResult,
    Turn,
    Usage,
)

# The fields of records that are used. More than half of a session file repeats tool output or
# reports progress: typed decoding passes over it without building it.

NAME = "claude-code"
TURN_TYPES = ("user", "assistant")
OTHER_TYPES = (
    *("system", "summary", "progress", "attachment", "file-history-snapshot", "queue-operation"),
    *("last-prompt", "custom-title", "ai-title", "agent-name", "agent-color", "tag", "mode"),
    *("permission-mode", "pr-link", "worktree-state", "content-replacement"),
    *("attribution-snapshot", "file-history-delta", "task-summary", "bridge-session", "result"),
    *("stream_event", "rate_limit_event"),
)
MARKS = ("uuid", "leafUuid", "sessionId", "session_id", "messageId")
"""A record of Claude Code carries one of these; a JSON object that merely has a type does not."""


class ApiMessage(msgspec.Struct, gc=False):
    id: str | None = None
    model: str | None = None
    content: Any = None
    usage: Any = None


class _Entry(msgspec.Struct, gc=False):
    """One record of a session file."""

    type: str = ""
    subtype: str | None = None
    uuid: str | None = None
    parentUuid: str | None = None
    sessionId: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    gitBranch: str | None = None
    slug: str | None = None
    version: str | None = None
    permissionMode: str | None = None
    mode: str | None = None
    isSidechain: bool | None = None
    isMeta: bool | None = None
    isCompactSummary: bool | None = None
    isApiErrorMessage: bool | None = None
    origin: dict[str, Any] | None = None
    promptSource: str | None = None
    agentId: str | None = None
    message: ApiMessage | None = None
    toolUseResult: msgspec.Raw = msgspec.Raw()
    toolDenialKind: str | None = None
    data: msgspec.Raw = msgspec.Raw()
    parentToolUseID: str | None = None
    parent_tool_use_id: str | None = None
    """In the output of the SDK: the call that started the sub-agent whose message this is."""
    planContent: Any = None
    operation: str | None = None
    reason: str | None = None
    content: Any = None
    summary: str | None = None
    customTitle: str | None = None
    aiTitle: str | None = None
    prUrl: str | None = None
    compactMetadata: dict[str, Any] | None = None
    microcompactMetadata: dict[str, Any] | None = None
    attachment: dict[str, Any] | None = None


class _Progress(msgspec.Struct, gc=False):
    """The `data` of a progress record; only a sub-agent's has a message."""

    agentId: str | None = None
    message: _Entry | None = None


class Extra(msgspec.Struct, gc=False):
    """The few fields of `toolUseResult` that say more than the result itself."""

    type: Any = None
    exitCode: Any = None
    interrupted: Any = None
    agentId: Any = None
    originalFile: msgspec.Raw = msgspec.Raw()
    oldString: Any = None
    filePath: Any = None


Decoded = TypeVar("Decoded", _Entry, _Progress)
_decode_entry = msgspec.json.Decoder(_Entry).decode
_decode_progress = msgspec.json.Decoder(_Progress).decode
_decode_extra = msgspec.json.Decoder(Extra).decode
_PATH = re.compile(r"at `\$(.*)`")
_STEP = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")
WRONG_FIELDS = 32
"""A record with more fields of a wrong type than this is given up."""


def decode_entry(data: bytes) -> _Entry:
    """An entry; the fields that are passed over are looked at for broken bytes only."""
    if not data.isascii():
        data.decode()
    return _decode_entry(data)


def entry_from(record: Record, line: Line, log: Log) -> _Entry:
    """An entry out of a plain object, fields of a wrong type left out and reported."""
    return _fitted(record, decode_entry, line, log) or _Entry()


def progress_from(raw: msgspec.Raw, line: Line, log: Log) -> _Progress:
    try:
        return _decode_progress(raw)
    except (ValueError, RecursionError):
        record = next(recovered(bytes(raw), line, log, is_record), None)
    return _fitted(record, _decode_progress, line, log) or _Progress()


def _fitted(
    record: Record | None, decode: Callable[[bytes], Decoded], line: Line, log: Log
) -> Decoded | None:
    for _ in range(WRONG_FIELDS):
        try:
            return decode(msgspec.json.encode(record))
        except RecursionError:
            log.broken("too_deep", line, "nested deeper than can be read")
            break
        except ValueError as error:
            log.broken("shape", line, str(error))
            found = _PATH.search(str(error))
            if found is None or not _drop(record, found[1]):
                break
    return None


def _drop(value: Any, path: str) -> bool:
    """Remove what stands at a path such as `.message.content`, if anything does."""
    steps = [name or number for name, number in _STEP.findall(path)]
    for step in steps[:-1]:
        value = mapping(value).get(step)
    return bool(steps) and mapping(value).pop(steps[-1], value) is not value


def is_record(record: Record) -> bool:
    known = record.get("type") in (*TURN_TYPES, *OTHER_TYPES)
    message = mapping(record.get("message"))
    googles = "parts" in message and "content" not in message  # of descendants of Gemini CLI
    return known and any(mark in record for mark in MARKS) and not googles


def stands_alone(record: Record) -> bool:
    """Whether this is a record of the file, and not a sub-agent's message inside one."""
    return is_record(record) and (record.get("type") not in TURN_TYPES or "sessionId" in record)


# What became of a call, as the client words it.

REFUSALS = (
    "The user doesn't want to proceed with this tool use.",
    "The user doesn't want to take this action right now.",
    "Permission to use ",
    "Permission for this tool use was denied.",
    "Claude requested permissions to ",
)
"""How the client words a call that was not allowed to run."""
INTERRUPTED = "[Request interrupted by user"
_SAID = ("the user said:\n", "The user provided the following reason for the rejection:")
_NOT_SAID = "The user wants to clarify these questions."
"""The client's own words where the user's would stand."""
OWN_TOOLS = (
    *("Agent", "AskUserQuestion", "Bash", "Edit", "EnterPlanMode", "ExitPlanMode", "Glob"),
    *("Grep", "LS", "MultiEdit", "NotebookEdit", "Read", "Task", "TaskCreate", "TaskUpdate"),
    *("TodoWrite", "Write", "exit_plan_mode"),
)
"""Tools of the client's own whose errors it words itself. All others could put an instruction
into the user's mouth by imitating a refusal: a server's, and those that bring text from the web."""
REJECTED, FAILED = "User rejected tool use", "Error: "
"""What the client's record says beside the result of a call that was refused, in some versions
without the user's words, in others as of any call that failed."""
STOPPED = ("interrupted", "cancelled")
"""Denials that nobody decided: the user stopped the agent, or a sibling call ended it."""
BY_USER = "user"
"""How the client's word for a denial begins where the user decided it, and no rule or check."""
_USES_EXTRA = {"write", "edit", "run", "delegate"}
"""Verbs whose `toolUseResult` says something the result does not; for the others it is not decoded.
"""
AGENT_WITHIN = 1_000
"""Characters at the end of a result in which the sub-agent is named."""
_AGENT = re.compile(r"^agentId: ([\w-]{4,80})\b", re.MULTILINE)


def words_of_client(output: str, call: ToolCall | None, beside: object) -> str:
    """The output where the client wrote it; `beside` is what its record holds beside the result. A
    server's tool that fails stands there in the same way."""
    own = call is not None and call.tool in OWN_TOOLS and beside == f"{FAILED}{output}"
    return output if own or beside == REJECTED else ""


def reason_in(output: str) -> str:
    """The user's own words in the text of a refusal."""
    for marker in _SAID:
        _, found, said = output.partition(marker)
        if found and not said.lstrip().startswith(_NOT_SAID):
            return said.strip()
    return ""


def _result_of(block: Record, call: ToolCall | None, entry: _Entry) -> ToolResult:
    output, media = pieces.text_and_media(block.get("content"))
    failed, denial = block.get("is_error") is True, entry.toolDenialKind
    beside = _string(entry.toolUseResult) if failed else None
    words = words_of_client(output, call, beside) if failed else ""
    stopped = denial in STOPPED
    by_user = denial.startswith(BY_USER) if denial else words.startswith(REFUSALS)
    refused = failed and not stopped and (denial is not None or by_user)
    extra = _extra(entry) if call is not None and call.verb in _USES_EXTRA else Extra()
    code = pieces.exit_code_in(output) if failed else None
    return pieces.result(
        block.get("tool_use_id"),
        output,
        failed=failed,
        exit_code=maybe_whole(extra.exitCode) if code is None else code,
        refused=refused,
        reason=reason_in(output) if by_user else "",
        interrupted=stopped or extra.interrupted is True or words.startswith(INTERRUPTED),
        change=_change(call, extra),
        around=_around(extra),
        media=media,
    )


def _string(raw: msgspec.Raw) -> str | None:
    try:
        return msgspec.json.decode(raw, type=str)
    except ValueError:
        return None


def _extra(entry: _Entry) -> Extra:
    try:
        return _decode_extra(entry.toolUseResult)
    except (ValueError, RecursionError):
        return Extra()  # missing, a plain string or a list: the result says all of it


def _change(call: ToolCall | None, extra: Extra) -> pieces.Change:
    if call is None or call.verb not in ("write", "edit"):
        return ""
    if extra.type in ("create", "update"):
        return "create" if extra.type == "create" else "update"
    before = bytes(extra.originalFile)
    was_empty = before in (b"null", b'""') and not extra.oldString
    return "create" if was_empty else "update" if before else ""


def _around(extra: Extra) -> str:
    old = extra.oldString
    text = _string(extra.originalFile) if isinstance(old, str) and old.strip() else None
    if text is None or not isinstance(old, str) or (place := text.find(old)) < 0:
        return ""
    place += len(old) - len(old.lstrip())
    return pieces.enclosing(text, place, str(extra.filePath))


# What clients attach to the conversation: rules files, edits outside, reminders.

NOTES: dict[str, NoteKind] = {
    "nested_memory": "instructions",
    "instructions": "instructions",
    "edited_text_file": "edited",
    "hook_additional_context": "hook",
    "hook_system_message": "hook",
}
"""Attachments whose text matters later."""
PASSED_OVER = (
    *("agent_listing_delta", "auto_mode", "command_permissions", "compact_file_reference"),
    *("date", "date_change", "deferred_tools_delta", "deferred_tools_record", "diagnostics"),
    *("environment", "file", "hook_cancelled", "hook_non_blocking_error", "hook_success"),
    *("invoked_skills", "mcp_instructions_delta", "model", "plan_mode", "prompt_snapshot"),
    *("read_truncation_notice", "remote_session_change", "session_context"),
    *("silent_turn_reminder", "skill_listing", "structured_output", "task_reminder"),
    *("todo_reminder", "total_tokens_reminder"),
)
"""Reminders and listings that the client repeats as it needs them."""

# Words the user queues while the agent works.

_COMMAND = re.compile(r"/[a-z][\w:-]*(?:\s|$)")
"""A command of the client, which does not come as a prompt."""
HEARD = (None, "absorbed_mid_turn")
"""Reasons for a removal that mean the agent was told."""


class Queue:
    """Words may leave it by an operation, by an attachment that repeats them, or as a prompt."""

    def __init__(self) -> None:
        self._waiting: list[str] = []
        self._announced: list[str] = []
        """Dequeued, and expected as a prompt of their own."""
        self._told: dict[str, list[str]] = {"removed": [], "attached": []}
        """Told to the agent in one way; the other may repeat them."""

    def operate(self, entry: _Entry) -> list[Piece]:
        """One queue operation; what the agent hears or the user takes back through it."""
        text = pieces.plain_words(entry.content)
        if entry.operation == "enqueue" and text:
            self._waiting.append(text)
        elif entry.operation == "dequeue" and self._waiting:
            self._announced.append(self._waiting.pop(0))
        elif entry.operation == "popAll":
            taken, self._waiting = self._waiting, []
            return [Note(kind="withdrawn", text=words) for words in taken]
        elif entry.operation == "remove" and self._waiting:
            known = self._waiting.index(text) if text in self._waiting else 0
            removed = self._waiting.pop(known)
            if entry.reason in HEARD:
                return self._once(removed, "removed", "attached")
            told = self._once(removed, "", "attached")
            return [Note(kind="withdrawn", text=removed)] if told else []
        return []

    def arrived(self, text: str) -> None:
        """A prompt came: what it holds is no longer expected. Several may come as one."""
        lines = f"\n{text.strip()}\n"
        self._announced = [t for t in self._announced if f"\n{t.strip()}\n" not in lines]

    def attached(self, text: str) -> list[Piece]:
        return self._once(text, "attached", "removed")

    def missed(self) -> list[Piece]:
        """What was announced and has not come although the agent continues."""
        words, self._announced = self._announced, []
        unheard = (text for text in words if text not in self._told["attached"])
        return [
            piece
            for text in unheard
            for piece in (
                [Note(kind="command", text=text)] if _COMMAND.match(text) else queued(text)
            )
        ]

    def left(self) -> list[Piece]:
        """What was announced and never came, and what still waits: the user's words too."""
        waiting, self._waiting = self._waiting, []
        unheard = [text for text in waiting if text not in self._told["attached"]]
        return [*self.missed(), *(piece for text in unheard for piece in queued(text))]

    def _once(self, text: str, here: str, elsewhere: str) -> list[Piece]:
        if text in self._told[elsewhere]:
            self._told[elsewhere].remove(text)
            return []
        if here:
            self._told[here].append(text)
        return queued(text)


def queued(text: str) -> list[Piece]:
    return [
        replace(piece, queued=True) if isinstance(piece, Text) else piece
        for piece in said_by_user(text)
    ]


# Sessions.

BY_CLIENT = ("system", "loop_wakeup", "schedule_wakeup")
"""Where a prompt comes from that the client gives by itself. Others are typed, queued, accepted as
they were suggested, or come through the SDK, which speaks in the user's place."""
CLIENT_MODEL = "<synthetic>"
"""Model name of messages that the client wrote in the assistant's place."""
COUNTS = (
    *("input_tokens", "output_tokens"),
    *("cache_read_input_tokens", "cache_creation_input_tokens"),
)
SUMMARY_OPENING = "This session is being continued from a previous conversation"
"""How the summary behind a compaction begins, also in versions that do not mark it."""


class _Session(SessionReader):
    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self._chain = self._last_chain = 0
        """Records that hang on one root are one chain, which marks their places; a client that
        clears the context begins a new one."""
        self._sidechains: dict[str, str] = {}
        """Record id to the agent whose sidechain it is on."""
        self._repeated: dict[str, None] = {}
        """Ids of records inside progress records; clients repeat some of them."""
        self._nameless = 0
        self._begun: set[str] = set()
        """Sub-agents that have spoken."""
        self._queue = Queue()
        self._last_facts: tuple[str | None, ...] = ()
        self._counts: Any = None
        self._usage: Usage | None = None
        """What the last answer took, as the client wrote it and as a value."""
        self._line = Line(0)

    def take(self, line: Line, entry: _Entry) -> None:
        self._line = line
        if entry.type in TURN_TYPES:
            if entry.uuid is not None and self.seen(entry.uuid):
                self.log.broken("duplicate", line, f"record {entry.uuid!r} occurs twice")
                return
            self._message(line, entry)
        elif not entry.isSidechain or entry.type == "progress":
            self._other(line, entry)
        if entry.uuid is not None:
            # A boundary has no parent, and continues where the conversation was.
            boundary = entry.subtype == "compact_boundary"
            chain = self._chain_of(entry.parentUuid or ("" if boundary else None))
            self._last_chain = max(self._last_chain, chain)
            self.remember(entry.uuid, chain)

    def close(self) -> None:
        if left := self._queue.left():
            self.user(self._line, left)
        self.settle()

    def _chain_of(self, parent: str | None) -> int:
        """The chain a record with this parent is on; the current one if the parent is unknown."""
        if parent is None:
            return self._last_chain + 1
        place = self.place(parent)
        return self._chain if place is None else place.mark

    def _message(self, line: Line, entry: _Entry) -> None:
        if entry.message is None or entry.message.content is None:
            self.log.broken("shape", line, f"a {entry.type} record without a message")
        elif entry.isSidechain:
            agent = entry.agentId or self._sidechains.get(entry.parentUuid or "")
            if not agent:
                self._nameless += 1
                agent = f"sidechain-{self._nameless}"
            remember(self._sidechains, entry.uuid or "", agent)
            self._delegated(line, agent, entry)
        elif agent := entry.parent_tool_use_id:
            self._delegated(line, agent, entry, call=agent)
        elif entry.type == "assistant":
            self._assistant(line, entry, entry.message)
        else:
            self._user(line, entry, entry.message)

    def _delegated(self, line: Line, agent: str, entry: _Entry, call: str | None = None) -> None:
        """A sub-agent's message. Its conversation begins with the words it was started with."""
        if call:
            self.log.links.told(agent, call)
        if entry.message is None or entry.type not in TURN_TYPES:
            self.unknown("sub-agent", entry.type)
            return
        if agent not in self._begun:
            self._begun.add(agent)
            self.log.links.begun(agent, _text(entry, "\n"), entry.timestamp or "")
        if entry.type == "assistant":
            self._answered(line, entry, entry.message, agent)
        else:
            heard = self._heard(line, entry, entry.message, agent)
            self.user(line, heard, agent=agent, time=entry.timestamp)

    def _assistant(self, line: Line, entry: _Entry, message: ApiMessage) -> None:
        self._facts(entry)
        if message.model == CLIENT_MODEL or entry.isApiErrorMessage:
            words = [p.text for p in pieces.said_by_agent(message.content) if isinstance(p, Text)]
            self.user(line, [Note(kind="failure", text="\n".join(words))], time=entry.timestamp)
            return
        if missed := self._queue.missed():
            self.user(line, missed)
        self._answered(line, entry, message)

    def _answered(self, line: Line, entry: _Entry, message: ApiMessage, agent: str = "") -> None:
        """An assistant message, or one block of it."""
        self.check(line, entry.type, message.content)
        said = pieces.said_by_agent(message.content)
        for call in said:
            if isinstance(call, ToolCall) and call.verb == "delegate":
                prompt = string(call.parameters.get("prompt"))
                self.log.links.asked(call.id, prompt, entry.timestamp or "")
        if message.usage != self._counts:  # the records of one message repeat it
            self._counts, self._usage = message.usage, pieces.usage_in(message.usage, *COUNTS)
        about: Record = {"model": message.model, "message_id": message.id, "time": entry.timestamp}
        self.answer(line, said, agent=agent, usage=self._usage, **about)

    def _user(self, line: Line, entry: _Entry, message: ApiMessage) -> None:
        if entry.isCompactSummary or string(message.content).startswith(SUMMARY_OPENING):
            made = self.summarized(line, by=NAME, summary=_text(entry, "\n\n"))
            if not made.turn:  # nothing else in this file tells what came before
                self.user(line, [Note(kind="summary", text=made.summary)], time=entry.timestamp)
            return
        self._facts(entry)
        heard = self._heard(line, entry, message)
        if not heard:
            return
        self._queue.arrived("\n".join(p.text for p in heard if isinstance(p, (Text, Note))))
        if any(map(asks, heard)):
            self._follow_chain(entry)
        self.user(line, heard, time=entry.timestamp)

    def _heard(
        self, line: Line, entry: _Entry, message: ApiMessage, agent: str = ""
    ) -> list[Piece]:
        """A user message: results go to their calls, and what else it holds is returned."""
        self.check(line, entry.type, message.content)
        blocks = message.content if isinstance(message.content, list) else [message.content]
        others: list[Any] = []
        results: list[ToolResult] = []
        for block in blocks:
            if isinstance(block, dict) and block.get("type") == "tool_result":
                results.append(self._result(block, entry, agent))
            else:
                others.append(block)
        if results:
            self.thread(agent).results(line, results, role="user")
        heard = pieces.heard(others)
        if isinstance(entry.planContent, str):
            # The client asks, in the user's place, to carry out a plan that the agent wrote.
            return [Note(kind="plan", text=p.text) if isinstance(p, Text) else p for p in heard]
        by_client = entry.isMeta or entry.promptSource in BY_CLIENT or not _by_person(entry.origin)
        return list(pieces.as_notes(heard)) if by_client else heard

    def _result(self, block: Record, entry: _Entry, agent: str) -> ToolResult:
        call = self.thread(agent).call(string(block.get("tool_use_id")))
        result = _result_of(block, call, entry)
        if call is not None and call.verb == "delegate":
            # In the file of a sub-agent that called another one, the client says it only in words,
            # behind all that the other one said.
            named = _AGENT.findall(result.output[-AGENT_WITHIN:]) if result.success else ()
            if started := string(_extra(entry).agentId) or (named[-1] if named else ""):
                self.log.links.told(started, call.id)
        return result

    def _follow_chain(self, entry: _Entry) -> None:
        """A prompt behind an earlier record than the last one rewinds to it; a prompt on a new
        chain begins with a cleared context, and what was before still happened."""
        if entry.uuid is None:
            return
        now, chain = self.main.next_turn, self._chain_of(entry.parentUuid)
        place = self.place(entry.parentUuid or "")
        if chain > self._chain:
            if now:
                self.facts(start=entry.timestamp)
        elif place and (place.turn < now or place.branch is not self.branch):
            self.go_back(entry.parentUuid)
        self._chain = chain

    def _other(self, line: Line, entry: _Entry) -> None:
        if entry.type == "progress":
            if bytes(entry.data):
                self._progress(line, entry)
        elif entry.type == "queue-operation":
            self.user(line, self._queue.operate(entry), time=entry.timestamp)
        elif entry.type == "attachment":
            self.user(line, self._attached(entry.attachment or {}), time=entry.timestamp)
        elif entry.type == "system":
            self._system(line, entry)
        elif entry.type in OTHER_TYPES:
            self._facts(entry)
        else:
            self.unknown(entry.type)

    def _progress(self, line: Line, entry: _Entry) -> None:
        progress = progress_from(entry.data, line, self.log)
        inner, agent = progress.message, progress.agentId
        if inner is not None and agent and (inner.uuid is None or inner.uuid not in self._repeated):
            remember(self._repeated, inner.uuid or "", None)
            self._delegated(line, agent, inner, call=entry.parentToolUseID)

    def _attached(self, attachment: Record) -> list[Piece]:
        """What an attachment adds to the conversation."""
        kind = str(attachment.get("type"))
        if kind == "queued_command":
            text = pieces.plain_words(attachment.get("prompt"))
            typed = attachment.get("commandMode") in (None, "prompt")
            if typed and not attachment.get("isMeta") and _by_person(attachment.get("origin")):
                return self._queue.attached(text)
            return [Note(kind="notification", text=text)]
        if kind in NOTES:
            body = attachment.get("content", attachment.get("snippet"))
            where = string(attachment.get("path", attachment.get("filename")))
            words = "\n".join(filter(None, [where, pieces.plain_words(body)]))
            return [Note(kind=NOTES[kind], text=words)]
        if kind not in PASSED_OVER:
            self.unknown("attachment", kind)
        return []

    def _system(self, line: Line, entry: _Entry) -> None:
        if entry.subtype == "compact_boundary":
            data = entry.compactMetadata or {}
            after = maybe_tokens(data.get("postTokens"))
            self.boundary(line, by=NAME, tokens_after=after, **_told(data))
        elif entry.subtype == "microcompact_boundary":
            data = entry.microcompactMetadata or {}
            before, saved = maybe_whole(data.get("preTokens")), maybe_whole(data.get("tokensSaved"))
            left = None if before is None or saved is None else maybe_tokens(before - saved)
            told = _told(data) | {"kind": "outputs_cleared", "tokens_after": left}
            self.main.compacted(line, by=NAME, **told)

    def _facts(self, entry: _Entry) -> None:
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


def _text(entry: _Entry, between: str) -> str:
    content = entry.message.content if entry.message else None
    return between.join(p.text for p in pieces.texts(content) if isinstance(p, Text))


def _told(data: Record) -> Record:
    """What the client tells of a compaction."""
    before = maybe_tokens(data.get("preTokens"))
    return {"trigger": str(data.get("trigger") or ""), "tokens_before": before}


def _by_person(origin: Any) -> bool:
    """Whether a prompt was typed by a person. Older versions do not say; newer ones name what
    another session, a coordinator or a background task has sent in the user's place."""
    return not isinstance(origin, dict) or origin.get("kind") in (None, "human")


class _ClaudeCode(LinesFormat):
    name, reader = NAME, _Session

    def beside(self, stem: str, log: Log) -> list[str]:
        return [f"{escape(stem)}/subagents/agent-*.jsonl"]

    def sniff(self, head: FileHead) -> int:
        exported = isinstance(mapping(head.document).get("loglines"), list)
        return 3 if exported or any(map(is_record, head.records)) else 0

    def grows(self, head: FileHead) -> bool:
        return any(map(is_record, head.lines))

    def records(self, lines: Lines, log: Log) -> Iterator[tuple[Line, Any]]:
        return json_records(lines, log, known=stands_alone, decode=decode_entry, shape=entry_from)

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        opening, lines = documented(lines)
        if not opening.startswith(b'{"loglines"') and opening != b"{":
            return super().read(lines, log)
        items = numbered_items(mapping(document(lines, log)).get("loglines"), log)
        records = ((line, entry_from(record, line, log)) for line, record in items)
        return self.reader(log).turns(records)


FORMAT = _ClaudeCode()
