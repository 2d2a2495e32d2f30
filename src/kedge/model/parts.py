"""How a provider had laid out a turn: messages, and their parts in order.

A turn's plain fields say *what* happened; its messages say in which order and shape the
provider had it, so that it can be written back as it was.
"""

from __future__ import annotations

from typing import Any, Literal

from kedge.model.value import Value, Wire

Role = Literal["system", "user", "assistant", "tool"]

SUMMARY_TAG = "kedge-summary"
"""Stands around a summary that kedge puts into a conversation."""

PINNED_TAG = "kedge-pinned"
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
    "summary",  # what stands for turns that were folded, by kedge or by another system
    "plan",  # a plan the agent wrote and the user approved, given back as the task
    "demonstration",  # an example conversation that is not part of the task
]


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


class Note(Value, frozen=True, tag="note"):
    """Text that stood in the conversation and that neither the user nor the model said."""

    kind: NoteKind
    text: str
    wire: Wire | None = None


class Opaque(Value, frozen=True, tag="opaque"):
    """A block kedge does not know; written back unchanged."""

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
