"""The delegation packet of an orchestrator: what an agent shall do, and what it may spend."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from kedgeline.bank.rows import blocks
from kedgeline.errors import FileRefused
from kedgeline.files import folder_below
from kedgeline.model import Usage, Value
from kedgeline.text.prose import foreign, unmarked, visible, without_tags


class ContextBudget(Value, frozen=True):
    total_tokens: Annotated[int, msgspec.Meta(ge=1)] | None = None
    priority_files: tuple[str, ...] = ()


class Packet(Value, frozen=True):
    """What we look at; a packet may say more, and all of it is shown to the agent."""

    packet_id: str
    objective: str
    context_budget: ContextBudget = ContextBudget()
    said: dict[str, Any] = msgspec.field(default_factory=dict)
    """All of it, as it was given."""


def read_packet(data: bytes, name: str = "packet") -> Packet:
    """Raises FileRefused with what is wrong."""
    try:
        packet = msgspec.json.decode(data, type=Packet)
        said = msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise FileRefused(name, f"it is not a delegation packet: {error}") from error
    return msgspec.structs.replace(packet, said=said)


def packet_text(packet: Packet) -> str:
    """Everything it says, what matters most first."""
    first = ("objective", "success_criteria", "allowed_write_paths", "forbidden_paths")
    names = dict.fromkeys((*first, *packet.said))
    told = (
        _told(name, packet.said[name])
        for name in names
        if name != "packet_id" and packet.said.get(name) not in (None, "", [], {})
    )
    return "\n\n".join(told)


def _told(name: str, value: Any) -> str:
    label = " ".join(name.replace("_", " ").split()).capitalize()
    if isinstance(value, list):
        return "\n".join((f"{label}:", *(f"- {_line(one)}" for one in value)))
    return f"{label}: {_line(value)}"


def _line(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return " ".join(text.split())


# Text of others under a heading of ours: it cannot pass for another one, nor hide it.

LEAST_FENCE = 3
"""Characters of a fence in Markdown."""

_LIKE_OURS = re.compile(
    r"^(?P<lead>[ \t>*+\-0-9.)]*)"
    r"(?=#(?:\s|\Z)|=+\s*$"  # a heading of the first level, by its mark or the line below it
    r"|<(?:[!?]|/?[A-Za-z][A-Za-z0-9-]*(?:[\s/>]|\Z)))",  # HTML, which hides what follows
    re.MULTILINE,
)
"""How a line begins that could pass for our heading, or hide it."""
_TICKS = re.compile(r"`{3,}")


def block(name: str, text: str, level: str, *, code: bool = False) -> str:
    """A text under its heading, blank line behind it. It begins with a heading's mark on a line of
    its own, where no vocabulary joins what stands on both sides: blocks have as many tokens
    together as they have one by one."""
    shortened = "" if level == "full" else f" (in {level} tokens)"
    plain = without_tags(visible(text)).strip("\n")
    body = _fenced(plain) if code else _prose(plain)
    return f"# {foreign(name)}{shortened}\n\n{body}\n\n"


def _prose(text: str) -> str:
    """With a backslash before each line that could pass for ours, code apart; what is open is
    closed."""
    text = unmarked(text)
    while True:  # what hid code may be gone then
        code = [one for one in blocks(text) if one.kind == "code"]
        edges = [0, *(place for one in code for place in (one.start, one.end)), len(text)]
        parts = [text[start:end] for start, end in pairwise(edges)]
        parts[::2] = [_LIKE_OURS.sub(r"\g<lead>\\", part) for part in parts[::2]]
        if "".join(parts) == text:
            return text + "".join(f"\n{one.unclosed}" for one in code if one.unclosed)
        text = "".join(parts)


def _fenced(text: str) -> str:
    """Code in a fence that is longer than any in it."""
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=LEAST_FENCE - 1)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text}\n{fence}"


# The claim of a task: who works on it, and what that has consumed so far (R41).

NAMES = ("packet_id", "agent_id")
"""Fields that make a JSON object a claim."""


class Consumed(NamedTuple):
    """What a claim says of a task. `token_input` is what was new to the model: with what came from
    its cache, every budget of a task would be used up within minutes."""

    token_input: int
    token_output: int

    @property
    def tokens_consumed(self) -> int:
        return self.token_input + self.token_output


def update_claim(path: str | Path, usage: Usage) -> Consumed:
    """Set the three numbers in a claim file; its other fields stay, in their order. `usage` is
    all that was used for the task: the same again changes nothing, and less is refused."""
    target, consumed = Path(path), Consumed(usage.input + usage.cache_write, usage.output)
    if target.name in ("", ".."):
        raise FileRefused(str(target), "this is a folder; name the claim in it")
    with folder_below(target.parent) as folder:
        assert folder is not None  # it is the root itself
        folder.update(target.name, lambda before: _changed(before, consumed, str(path)), mode=None)
    return consumed


def _changed(before: bytes | None, consumed: Consumed, path: str) -> bytes:
    if before is None:
        raise FileRefused(
            path, "there is no such file; the agent that takes the task creates the claim"
        )
    try:
        claim = json.loads(before)
    except (ValueError, RecursionError):
        raise FileRefused(path, "it is not JSON; a claim is a JSON object") from None
    if not isinstance(claim, dict) or not all(isinstance(claim.get(name), str) for name in NAMES):
        raise FileRefused(path, f"it is not the claim of a task: one has {' and '.join(NAMES)}")
    for name in ("tokens_consumed", "token_input", "token_output"):
        value, now = claim.get(name) or 0, getattr(consumed, name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise FileRefused(path, f"its {name} is not a whole number; correct or remove it")
        if now < value:
            raise FileRefused(
                path,
                f"it has {value:,} as {name}, and the given sessions add up to {now:,}; give all "
                f"sessions of the task, or remove the field to count again",
            )
        claim[name] = now
    made = json.dumps(claim, indent=2, ensure_ascii=b"\\u" in before)
    return f"{made}\n".encode()
