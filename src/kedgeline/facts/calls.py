"""What was done, call by call, in words: what, on what, and what came of it.

A call is told and never shown in a tool's syntax, which a model would imitate."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec.structs import replace

from kedgeline.facts.edits import Replacement, change_of, differing, replacements_of
from kedgeline.facts.extractor import Setting, first_given
from kedgeline.facts.paths import Paths
from kedgeline.model import ActionTaken, Called, ToolCall, ToolResult, Turn
from kedgeline.shell import Outcome
from kedgeline.shell.calls import shell_line
from kedgeline.shell.evidence import shown_part
from kedgeline.text.prose import cut, one_line, visible

COMMAND_MOST = 600
"""Characters of a command line."""
CAME_MOST = 4_000
"""Characters of a result: its head and its tail, where what failed stands."""
LOOKED_AT = 2 * CAME_MOST
"""Characters of a result that are looked at, from either end."""
CHANGED_LINES = 24
"""Lines of an edit that are told."""
LINE_MOST = 200
ARGUMENT_MOST = 120
"""Characters of one argument: a long one must not hide those behind it."""
FIRST_PLACE = 10_000
"""Calls come behind all that their turn says."""

Kind = Literal["run", "edit", "read", "search", "ask", "other"]
KINDS: dict[str, Kind] = {
    "run": "run",
    "edit": "edit",
    "write": "edit",
    "delete": "edit",
    "move": "edit",
    "read": "read",
    "search": "search",
    "web_search": "search",
    "web_fetch": "read",
    "ask": "ask",
}
_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
_MOVED_IN = re.compile(r"^ +(?=\d{1,6}→)", re.MULTILINE)
_NUMBERED = re.compile(r"^ *(\d{1,6})(?:\t|: ?)", re.MULTILINE)
"""The number of a line, as clients print a file."""
UNTOLD = ("todo",)
"""Verbs whose calls stand elsewhere: tasks have a section of their own."""
TITLES = ("description", "title", "prompt", "message", "task", "instructions")
PATTERNS = ("pattern", "query", "regex", "search_term", "url", "keyword")


class CallExtractor:
    def __init__(self, setting: Setting) -> None:
        self._paths = Paths(setting.root, setting.checkouts)
        prefix = setting.root.rstrip("/") + "/"
        self._prefix = prefix if len(prefix) > len("/x/") else ""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[Called]:
        if turn.agent:
            return
        place = FIRST_PLACE
        for outcome in outcomes:
            if outcome.call.verb not in UNTOLD:
                yield from self._told(turn.index, outcome, place)
                place += 1

    def _told(self, turn: int, outcome: Outcome, place: int) -> Iterator[Called]:
        call, result = outcome.call, outcome.result
        state = _state(result)
        kind = KINDS.get(call.verb, "other")
        wrong = state in ("failed", "refused", "interrupted")
        told = Called(turn=turn, kind=kind, what=self._what(call), state=state, place=place)
        if wrong:
            yield replace(told, path=self._path(call), came=self._why(result))
        elif kind == "edit":
            around = result.around if result is not None else ""
            yield from (self._edit(told, call, path, around) for path in call.paths() or ("",))
        else:
            lines = _lines(call.parameters) if kind == "read" else ""
            came = self._came(kind, result, part=bool(lines))
            yield replace(told, path=self._path(call), about=lines, came=came)

    def _path(self, call: ToolCall) -> str:
        """Of a command the line itself names the files."""
        return "" if shell_line(call) else self._paths.name(next(iter(call.paths()), ""))

    def _what(self, call: ToolCall) -> str:
        given = call.parameters
        if line := shell_line(call):
            return f"ran `{cut(self._near(one_line(line[: 4 * COMMAND_MOST])), COMMAND_MOST)}`"
        if call.verb in _PAST:
            return _PAST[call.verb]
        if call.verb in ("search", "web_search", "web_fetch"):
            words = "fetched" if call.verb == "web_fetch" else "searched"
            sought = cut(one_line(first_given(given, PATTERNS)[:400]), 120)
            return f"{words} `{sought}`" if sought else words
        if call.verb == "delegate":
            return f"gave a sub-agent: {_line(first_given(given, TITLES)[:800])}"
        if call.verb == "ask":
            return f"asked the user: {cut(_arguments(given), COMMAND_MOST)}"
        return f"called {call.tool} ({cut(_arguments(given), LINE_MOST)})"

    def _edit(self, told: Called, call: ToolCall, path: str, around: str) -> Called:
        pieces = replacements_of(call, path)
        change = change_of(path, pieces, created=call.verb == "write", around=around)
        came = self._near(_changed(pieces))
        lines = _lines(call.parameters)
        about = f"{lines}: {change.what}" if lines and change.what else lines or change.what
        return replace(told, path=self._paths.name(path), about=about, came=came)

    def _came(self, kind: Kind, result: ToolResult | None, *, part: bool) -> str:
        """Of a file that was read only what was chosen: a part, or one of some lines."""
        if result is None:
            return ""
        shown = _seen(result.output)
        if kind != "read":
            return _ends(self._near(shown), CAME_MOST)
        shown = _MOVED_IN.sub("", shown[:LOOKED_AT])
        shown = shown if shown[:8].partition("→")[1] else _NUMBERED.sub(r"\1→", shown)
        return cut(self._near(shown), CAME_MOST)

    def _why(self, result: ToolResult | None) -> str:
        """What went wrong, or the user's reason."""
        if result is None or result.refused:
            return result.reason if result else ""
        text = result.error if result.error and len(result.error) > 20 else result.output
        return _ends(self._near(_seen(text or result.error or "")), CAME_MOST)

    def _near(self, text: str) -> str:
        """Paths below the session's root from there."""
        return text.replace(self._prefix, "") if self._prefix else text


_PAST = {
    "edit": "edited",
    "write": "wrote",
    "delete": "deleted",
    "move": "moved",
    "read": "read",
}


def _state(result: ToolResult | None) -> Literal["", "failed", "refused", "interrupted", "waiting"]:
    if result is None:
        return "waiting"
    if result.refused:
        return "refused"
    if result.interrupted:
        return "interrupted"
    return "failed" if result.failed else ""


def _changed(pieces: Sequence[Replacement]) -> str:
    """The lines of an edit: what stands there now instead of what."""
    told: list[str] = []
    for piece in pieces:
        lines = differing(piece.old, piece.new)
        old, new = [*map(_line, lines.old)], [*map(_line, lines.new)]
        if len(old) == len(new) <= 3:
            told += (f"`{now}` instead of `{was}`" for was, now in zip(old, new, strict=True))
        else:
            told += (f"+ {now}" for now in new)
            told += (f"- {was}" for was in old[: CHANGED_LINES // 3])
        if len(told) > CHANGED_LINES:
            break
    return "\n".join(told[:CHANGED_LINES])[:CAME_MOST]


def _line(line: str) -> str:
    return cut(one_line(line), LINE_MOST)


def _seen(output: str) -> str:
    """The result without what a client puts around it."""
    if "<system-reminder>" in output:
        output = _REMINDER.sub("", output)
    if len(output) > 2 * LOOKED_AT:
        output = f"{output[:LOOKED_AT]}\n…\n{output[-LOOKED_AT:]}"
    return visible(shown_part(output)).strip()


def _ends(text: str, most: int) -> str:
    """A third from the beginning and the rest from the end."""
    if len(text) <= most:
        return text
    return f"{text[: most // 3].rstrip()} … {text[-2 * most // 3 :].lstrip()}"


def _lines(given: dict[str, Any]) -> str:
    start, length = given.get("offset", given.get("start_line")), given.get("limit")
    end = given.get("end_line")
    if not isinstance(start, int):
        return ""
    if isinstance(length, int):
        end = start + length - 1
    return f":{start}-{end}" if isinstance(end, int) else f":{start}"


_IN_SHORT: dict[str, Any] = {"ensure_ascii": False, "separators": (",", ":")}


def _arguments(given: Mapping[str, Any]) -> str:
    """Arguments as `name: value`, lists and objects in short."""
    parts = []
    for name, value in given.items():
        # Not msgspec: half a surrogate pair would stop it.
        plain = value if isinstance(value, str) else json.dumps(value, **_IN_SHORT)
        parts.append(f"{name}: {cut(one_line(plain[: 4 * ARGUMENT_MOST]), ARGUMENT_MOST)}")
    return "; ".join(parts)


# Calls that changed something outside of files and shells: bookings, messages, tickets.

CHANGING = (
    "add|apply|approve|assign|attach|book|buy|cancel|change|charge|close|comment|complete|confirm",
    "create|credit|delete|deploy|disable|edit|enable|exchange|insert|invite|issue|merge|modify|move",
    "notify|open|order|pay|place|post|publish|purchase|put|refund|register|reject|remove|rename",
    "reply|reschedule|reserve|resolve|return|revoke|save|schedule|send|set|submit|subscribe",
    "terminate|transfer|trigger|unassign|update|upload|upsert|write",
)
"""Verbs with which the name of a tool begins that changes something."""
ABOUT_SHOWN = 200
"""Characters of the arguments: names and ids, not whole documents."""
RESULT_SHOWN = 160
"""Characters of what came back: an id, a status, a total."""

_CHANGING = re.compile(rf"(?:{'|'.join(CHANGING)})(?:[_\W]|[A-Z]|$)")


class ActionExtractor:
    """Gives what such a call did, where it succeeded."""

    def __init__(self, setting: Setting) -> None:
        """Nothing of a session matters here beside the calls."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[ActionTaken]:
        for outcome in outcomes:
            call, result = outcome.call, outcome.result
            name = re.split(r"__|\.|/", call.tool)[-1]
            if call.verb != "other" or result is None or not result.success:
                continue
            if _CHANGING.match(name[:1].lower() + name[1:]):
                yield ActionTaken(
                    turn=turn.index,
                    tool=name,
                    about=cut(_arguments(call.parameters), ABOUT_SHOWN),
                    result=cut(one_line(result.output[: 4 * RESULT_SHOWN]), RESULT_SHOWN),
                )
