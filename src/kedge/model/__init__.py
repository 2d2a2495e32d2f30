"""Frozen values; no I/O and no behaviour beyond looking at themselves."""

from kedge.model.catalogue import VERBS, Verb
from kedge.model.parts import (
    CallRef,
    Media,
    Message,
    Note,
    NoteKind,
    Opaque,
    Part,
    ResultRef,
    Role,
    Text,
    Thinking,
)
from kedge.model.transcript import (
    Change,
    Damage,
    DamageKind,
    EarlierCompaction,
    SessionFacts,
    Transcript,
)
from kedge.model.turn import Source, ToolCall, ToolResult, Turn, Usage
from kedge.model.value import Value, Wire

__all__ = [
    "VERBS",
    "CallRef",
    "Change",
    "Damage",
    "DamageKind",
    "EarlierCompaction",
    "Media",
    "Message",
    "Note",
    "NoteKind",
    "Opaque",
    "Part",
    "ResultRef",
    "Role",
    "SessionFacts",
    "Source",
    "Text",
    "Thinking",
    "ToolCall",
    "ToolResult",
    "Transcript",
    "Turn",
    "Usage",
    "Value",
    "Verb",
    "Wire",
]
