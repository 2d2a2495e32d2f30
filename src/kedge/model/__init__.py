"""Frozen values; no I/O and no behaviour beyond looking at themselves."""

from kedge.model.anchor import ANCHOR_TYPES, WEIGHTS, Anchor, AnchorType
from kedge.model.budget import NO_LIMIT, Budget
from kedge.model.catalogue import VERBS, Verb
from kedge.model.compaction import Compaction
from kedge.model.flow import (
    MOST_ERRORS,
    MOST_FILES,
    MOST_GOALS,
    BuildStatus,
    ConversationFlow,
    MigrationStrategy,
    PreservationContext,
)
from kedge.model.parts import (
    SUMMARY_TAG,
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
from kedge.model.plan import Masked, Plan, Repeat, Repeated, Span
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
    "ANCHOR_TYPES",
    "MOST_ERRORS",
    "MOST_FILES",
    "MOST_GOALS",
    "NO_LIMIT",
    "SUMMARY_TAG",
    "VERBS",
    "WEIGHTS",
    "Anchor",
    "AnchorType",
    "Budget",
    "BuildStatus",
    "CallRef",
    "Change",
    "Compaction",
    "ConversationFlow",
    "Damage",
    "DamageKind",
    "EarlierCompaction",
    "Masked",
    "Media",
    "Message",
    "MigrationStrategy",
    "Note",
    "NoteKind",
    "Opaque",
    "Part",
    "Plan",
    "PreservationContext",
    "Repeat",
    "Repeated",
    "ResultRef",
    "Role",
    "SessionFacts",
    "Source",
    "Span",
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
