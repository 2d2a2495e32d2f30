"""A turn: the smallest unit that can be cut without breaking tool pairing."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

from kedgeline.model.catalogue import Verb, paths_in, verb_of

# The base of every value: frozen, keyword-only, cheap for the garbage collector.

Wire = dict[str, Any]
"""Fields a provider wrote that have no place in our values; kept only to write them back."""


class Value(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=False):
    """Values form no cycles, so the collector need not track them."""


# How a provider had laid out a turn: messages, and their parts in order.

Role = Literal["system", "user", "assistant", "tool"]

SUMMARY_TAG = "kedgeline-summary"
"""Stands around a summary that kedgeline puts into a conversation."""

PINNED_TAG = "kedgeline-pinned"
"""Stands around what the user pinned."""

NoteKind = Literal[
    "command",  # a slash command the user ran
    "command_output",
    "shell",  # a shell command the user ran by hand inside the session
    "shell_output",
    "instructions",  # a rules file the agent was given as such (CLAUDE.md, AGENTS.md …)
    "environment",  # working folder, date, platform: context that nobody typed
    "injected",  # any other text the client put under the user's role
    "hook",
    "notification",  # a background task or sub-agent reporting back
    "interruption",
    "withdrawn",  # words the user queued and took back before the agent heard them
    "edited",  # a file changed outside the session, as the client saw it
    "failure",  # an error text the client wrote in the assistant's place
    "summary",  # what stands for turns that were folded, by kedgeline or by another system
    "plan",  # a plan the agent wrote and the user approved, given back as the task
    "demonstration",  # an example conversation that is not part of the task
]


WRAPPERS: dict[str, NoteKind] = {
    "command-name": "command",
    "command-message": "command",
    "command-args": "command",
    "command-contents": "command",
    "local-command-stdout": "command_output",
    "local-command-stderr": "command_output",
    "local-command-caveat": "injected",
    "bash-input": "shell",
    "bash-stdout": "shell_output",
    "bash-stderr": "shell_output",
    "user_shell_command": "shell",
    "task-notification": "notification",
    "agent-notification": "notification",
    "agent-message": "notification",
    "teammate-message": "notification",
    "cross-session-message": "notification",
    "coordinator-relay": "notification",
    "slack-ping": "notification",
    "slack-tag-message": "notification",
    "remote-review": "notification",
    "remote-review-progress": "notification",
    "mcp-resource-update": "notification",
    "mcp-polling-update": "notification",
    "channel": "notification",
    "subagent_notification": "notification",
    "user-prompt-submit-hook": "hook",
    "hook_context": "hook",
    "turn_aborted": "interruption",
    "ide_opened_file": "environment",
    "ide_selection": "environment",
    "environment_context": "environment",
    "environment_details": "environment",
    "session_context": "environment",
    "user_instructions": "instructions",
    "INSTRUCTIONS": "instructions",
    SUMMARY_TAG: "summary",
    "system-reminder": "injected",
    "system_reminder": "injected",
    "state_snapshot": "summary",
    "fetched-web-content": "injected",
    "untrusted-widget-state": "injected",
    "artifact-type-instructions": "injected",
    "artifact-file-content": "injected",
    "artifact-origin-notes": "injected",
    "artifact-stored-declaration": "injected",
    "cowritten-artifact-html": "injected",
    "skill": "injected",
    "user_action": "injected",
}
"""Tags that clients put around what they write under the user's role, and what kind of note it
is."""


class Text(Value, frozen=True, tag="text"):
    text: str
    queued: bool = False
    """Typed by the user while the agent worked, and heard in the middle of its run."""
    wire: Wire | None = None


class Thinking(Value, frozen=True, tag="thinking"):
    text: str = ""
    signature: str = ""
    """The provider's seal; a thinking block is sent back with it or not at all."""
    wire: Wire | None = None


class Media(Value, frozen=True, tag="media"):
    kind: Literal["image", "document", "audio", "video", "file"] = "image"
    mime: str = ""
    data: str = ""
    """Base64, when the bytes stand in the transcript."""
    url: str = ""
    wire: Wire | None = None

    @property
    def address(self) -> str:
        """A URL, which holds the bytes where they stand in the transcript."""
        return f"data:{self.mime};base64,{self.data}" if self.data else self.url


class Note(Value, frozen=True, tag="note"):
    """Text that stood in the conversation and that neither the user nor the model said."""

    kind: NoteKind
    text: str
    wire: Wire | None = None


class Opaque(Value, frozen=True, tag="opaque"):
    """A block kedgeline does not know; written back unchanged."""

    kind: str
    wire: Any = None


class CallRef(Value, frozen=True, tag="call"):
    position: int
    """Index into the turn's tool_calls."""


class ResultRef(Value, frozen=True, tag="result"):
    position: int
    """Index into the turn's tool_results."""


Part = Text | Thinking | Media | Note | Opaque | CallRef | ResultRef


class Message(Value, frozen=True):
    role: Role
    parts: tuple[Part, ...] = ()
    wire: Wire | None = None
    """What the provider wrote around the parts: ids, names, the shape of the content."""


class Source(Value, frozen=True):
    """Where a turn stands in its file."""

    first: int = 0
    """First physical line (or item, in a JSON document or a list), counted from 0."""
    last: int = 0
    start: int = -1
    """Byte offset at which the first line begins; -1 where the format has no lines."""
    end: int = -1
    """Byte offset just behind the last line."""
    file: str = ""
    """Name of a file beside the session's own, where a client keeps sub-agents apart."""


MOST_TOKENS = 10**12
"""Of one message: no context is a millionth of it, so a larger number is no count."""


class Usage(Value, frozen=True):
    """Tokens as the provider reported them for one assistant message."""

    input: int = 0
    """Without what came from or went to the cache."""
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def context(self) -> int:
        """Everything the model was sent."""
        return self.input + self.cache_read + self.cache_write

    @property
    def total(self) -> int:
        """Sent and written."""
        return self.context + self.output

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input=self.input + other.input,
            output=self.output + other.output,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
        )


class ToolCall(Value, frozen=True):
    id: str
    tool: str
    """The tool's name as the agent calls it."""
    parameters: dict[str, Any] = msgspec.field(default_factory=dict)
    verb: Verb = "other"
    """What the tool does, in words common to all agents; looked up unless given."""
    wire: Wire | None = None

    def __post_init__(self) -> None:
        if self.verb == "other":
            msgspec.structs.force_setattr(self, "verb", verb_of(self.tool, self.parameters))

    def paths(self) -> tuple[str, ...]:
        """Full paths the call names, as written."""
        return paths_in(self.tool, self.parameters)

    def filename(self) -> str | None:
        """Base name of the first path, or None when the call names none."""
        for path in self.paths():
            return path.replace("\\", "/").rstrip("/").rpartition("/")[2]
        return None


class ToolResult(Value, frozen=True):
    call_id: str
    success: bool = True
    """From error flags, states and exit codes; never from the wording of the output."""
    output: str = ""
    error: str | None = None
    """What went wrong, when the call failed."""
    exit_code: int | None = None
    refused: bool = False
    """The user (or a rule of theirs) did not let the call run: it had no effect and did not fail.
    """
    reason: str = ""
    """The user's own words when refusing."""
    interrupted: bool = False
    change: Literal["", "create", "update", "delete"] = ""
    """What the tool itself reports to have done to the file."""
    around: str = ""
    """Of an edit, where the client tells: the lines of the file that enclose the place, such as the
    head of a function below that of its class."""
    media: tuple[Media, ...] = ()
    wire: Wire | None = None

    @property
    def failed(self) -> bool:
        return not (self.success or self.refused or self.interrupted)


class Turn(Value, frozen=True):
    """One assistant message with its calls and their results, and the user's words before it."""

    index: int = 0
    """Place in its transcript, counted from 0; printed as t0, t1, …"""
    exchange: int = 0
    """Which of the user's requests it answers, counted from 0."""
    user_message: str = ""
    """What the user said before the assistant message: prompts and queued words, nothing injected.
    """
    assistant_response: str = ""
    thinking: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_results: tuple[ToolResult, ...] = ()
    """Matched to the calls by id and in their order; a call without one was not answered."""
    tokens: int = 0
    timestamp: datetime | None = None
    previous_error: bool = False
    """A call before this turn failed and has not succeeded since (same exchange, or the turn
    before)."""
    agent: str = ""
    """Id of the sub-agent that took this turn; empty for the main conversation."""
    session: int = 0
    """Which session, where one file holds several."""
    source: Source = Source()
    notes: tuple[Note, ...] = ()
    media: tuple[Media, ...] = ()
    """Images and files that came with the user's words."""
    model: str = ""
    message_id: str = ""
    usage: Usage | None = None
    messages: tuple[Message, ...] = ()
    """The layout in the provider's order; empty when the turn was not read from a provider's
    messages."""

    @property
    def is_blank(self) -> bool:
        """Whether nothing is in it: it holds the place of a turn that was not loaded."""
        words = (self.user_message, self.assistant_response, self.thinking)
        held = (self.tool_calls, self.tool_results, self.notes, self.media, self.messages)
        return not any((*words, *held))

    def result_of(self, call: ToolCall) -> ToolResult | None:
        return next((r for r in self.tool_results if r.call_id == call.id), None)

    def user_words(self) -> tuple[str, ...]:
        """All the user said in this turn, reasons for refusing a call included."""
        said = (self.user_message, *(result.reason for result in self.tool_results))
        return tuple(text for text in said if text)


# A transcript, and what its file says beside the turns.

DamageKind = Literal[
    "torn",  # the record ends before it is complete
    "fused",  # two records on one line
    "nul",  # a block of NUL bytes
    "utf8",  # bytes that are not UTF-8
    "surrogate",  # half of a surrogate pair
    "json",  # not JSON at all
    "shape",  # JSON, but not an object, or a field of the wrong type
    "duplicate",  # a record or id that was there before
    "orphan_result",  # a result whose call is nowhere
    "unanswered_call",  # a call whose result is nowhere, although the conversation went on
    "unreadable",  # a file beside the session's own cannot be opened
    "too_deep",  # nested deeper than can be read
]


class Damage(Value, frozen=True):
    kind: DamageKind
    line: int
    """Physical line (or item) counted from 0."""
    offset: int
    """Byte offset of that line; -1 where the format has no lines."""
    detail: str
    file: str = ""
    """Name of a file beside the session's own, if it is there."""


class EarlierCompaction(Value, frozen=True):
    """A compaction that another system made in this session."""

    turn: int
    """Index of the first turn after it."""
    by: str
    kind: Literal["summary", "outputs_cleared", "context_cleared"] = "summary"
    trigger: str = ""
    tokens_before: int | None = None
    tokens_after: int | None = None
    summary: str = ""
    source: Source = Source()
    session: int = 0
    """Which session, where one file holds several."""
    model: str = ""
    usage: Usage | None = None
    """Of the message that is the summary, where the file has it."""


class Change(Value, frozen=True):
    """A session fact taking a new value."""

    turn: int
    """Index of the first turn it holds for."""
    name: Literal[
        "id",
        "root",
        "branch",
        "mode",
        "plan_file",
        "title",
        "client",
        "model",
        "pull_request",
        "start",
    ]
    value: str
    session: int = 0
    """Which session, where one file holds several."""


class SessionFacts(Value, frozen=True):
    """What the client recorded about the session itself, with its changes in order."""

    changes: tuple[Change, ...] = ()

    def latest(self, name: str) -> str:
        """The value that holds at the end; empty when never recorded."""
        return next((c.value for c in reversed(self.changes) if c.name == name), "")


class Transcript(Value, frozen=True):
    format: str
    turns: tuple[Turn, ...] = ()
    pending: Turn | None = None
    """What stands behind the last turn: the user's words no assistant has answered yet."""
    head: tuple[Message, ...] = ()
    """System messages before the first turn."""
    session: SessionFacts = SessionFacts()
    compactions: tuple[EarlierCompaction, ...] = ()
    agents: tuple[Transcript, ...] = ()
    """Sub-agents' transcripts, in the order in which they were delegated to."""
    agent: str = ""
    delegated_by: str = ""
    """Id of the tool call that started this sub-agent; empty for the main conversation."""
    rewound: int = 0
    """Turns the user rewound; they are not among `turns`."""
    damage: tuple[Damage, ...] = ()
    damage_count: int = 0
    """All damage, also what is beyond the entries kept."""
    ignored: dict[str, int] = msgspec.field(default_factory=dict)
    """Record types kedgeline does not know, with how often they occurred."""
    wire: Wire | None = None
    """What a provider's request held beside its messages."""
