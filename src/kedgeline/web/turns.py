"""A turn as JSON for its page: what was said, what was called, and what came of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from difflib import unified_diff
from typing import Any

from kedgeline.facts.edits import replacements_of
from kedgeline.model import Media, ToolCall, ToolResult, Turn

Page = dict[str, Any]
"""Plain JSON."""
TITLE = 110
"""Characters of a turn's line in a list."""
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What is shown as a picture: SVG may hold scripts, and is named only."""
DIFF_LINES = 2_000
"""Lines of one edit that are compared; a longer text is shown as it was written."""
CHANGING = frozenset({"edit", "write"})

_COLOURS = re.compile(r"\x1b\[[0-9;:]*m")
_CONTROLS = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"},
    **dict.fromkeys((0x7F, *range(0x80, 0xA0)), 0xFFFD),
    **dict.fromkeys((0x200E, 0x200F, 0x061C), 0xFFFD),
    **dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD),
}
"""Control characters as pictures; those that turn the direction of writing could show other words
than are there."""
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_ODD = re.compile(r"[^\n\t -~\xa0-\u061b\u061d-\u200d\u2010-\u2029\u202f-\u2065\u206a-\U0010ffff]")


def without_markup(text: str) -> str:
    """Text of a session as it may be shown: no terminal colours, no control characters at work."""
    if not _ODD.search(text):
        return text
    return _COLOURS.sub("", text.replace("\r\n", "\n")).translate(_CONTROLS)


def turn_shown(value: Any, clean: Callable[[str], str] = without_markup) -> Any:
    """JSON with all its texts made plain, names of fields included; or clean in another way."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): turn_shown(one, clean) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [turn_shown(one, clean) for one in value]
    return value


def call_line(text: str, most: int = TITLE) -> str:
    line = without_markup(" ".join(text[: 4 * most].split()))
    return line if len(line) <= most else f"{line[: most - 1]}…"


def session_title(turn: Turn, root: str = "") -> str:
    """What a turn is about, in a line: the user's words, the agent's, or its first call, paths
    below the root as they are there."""
    said = turn.user_message or turn.assistant_response
    if said.strip():
        return call_line(said)
    for call in turn.tool_calls:
        about = _about_of(call)[: 4 * TITLE]
        return call_line(f"{call.tool} {about.replace(f'{root}/', '') if root else about}")
    notes = (f"{note.kind.replace('_', ' ')}: {note.text}" for note in turn.notes)
    return call_line(next(notes, turn.thinking))


def _about_of(call: ToolCall) -> str:
    for name in ("command", "cmd", "pattern", "query", "url", "description", "prompt"):
        value = call.parameters.get(name)
        if isinstance(value, (list, tuple)):
            value = " ".join(map(str, value))
        if isinstance(value, str) and value:
            return value
    return ", ".join(call.paths())


def turn_page(turn: Turn, agents: Mapping[str, str] | None = None) -> Page:
    """The turn whole. `agents` are sub-agents by the call that started them."""
    page: Page = {
        "turn": turn.index,
        "agent": turn.agent,
        "exchange": turn.exchange,
        "at": turn.timestamp.isoformat() if turn.timestamp else None,
        "model": turn.model,
        "user": turn.user_message,
        "said": turn.assistant_response,
        "thinking": turn.thinking,
        "notes": [{"kind": note.kind.replace("_", " "), "text": note.text} for note in turn.notes],
        "calls": [_call(turn, call, agents or {}) for call in turn.tool_calls],
    }
    pictures = [_media(one) for one in turn.media]
    return {**turn_shown(page), "media": pictures}


def _call(turn: Turn, call: ToolCall, agents: Mapping[str, str]) -> Page:
    result = turn.result_of(call)
    diffs = list(diffs_of(call)) if call.verb in CHANGING else []
    about = _about_of(call)
    held = {about, *call.paths()}
    rest = {} if diffs else {k: v for k, v in call.parameters.items() if str(v) not in held}
    return {
        "tool": call.tool,
        "verb": call.verb,
        "about": about,
        "diffs": diffs,
        "parameters": rest,
        "state": _state_of(result),
        "exit": result.exit_code if result else None,
        "output": result.output if result else "",
        "error": (result.error or "") if result else "",
        "reason": result.reason if result else "",
        "media": [_media(one) for one in result.media] if result else [],
        "agent": agents.get(call.id, ""),
    }


def _state_of(result: ToolResult | None) -> str:
    if result is None:
        return "waiting"
    if result.refused:
        return "refused"
    if result.interrupted:
        return "interrupted"
    return "done" if result.success else "failed"


def diffs_of(call: ToolCall) -> Iterator[Page]:
    """What a call changed, a file at a time, as lines with `+`, `-` or a blank before them."""
    for path in dict.fromkeys(call.paths()):
        lines: list[str] = []
        for piece in replacements_of(call, path):
            old, new = piece.old.splitlines(), piece.new.splitlines()
            lines += ["@"] if lines else []
            if len(old) + len(new) > DIFF_LINES or not old:
                lines += [*(f"-{line}" for line in old), *(f"+{line}" for line in new)]
            else:
                found = list(unified_diff(old, new, lineterm="", n=3))[2:]
                lines += ["@" if line.startswith("@@") else line for line in found][1:]
        if lines:
            yield {"path": path, "lines": lines}


def _media(media: Media) -> Page:
    """A picture with its bytes; all else by name."""
    if media.kind == "image" and media.mime in PICTURES and _BASE64.fullmatch(media.data):
        return {"kind": "image", "mime": media.mime, "data": media.data}
    return {"kind": media.kind, "mime": call_line(media.mime), "about": call_line(media.url)}
