"""A transcript, and what its file says beside the turns."""

from __future__ import annotations

from typing import Literal

import msgspec

from kedge.model.parts import Message
from kedge.model.turn import Source, Turn, Usage
from kedge.model.value import Value, Wire

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
    """Record types kedge does not know, with how often they occurred."""
    wire: Wire | None = None
    """What a provider's request held beside its messages."""
