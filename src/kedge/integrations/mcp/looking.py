"""The tools `recall` and `show`: originals found again, and shown whole."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Annotated, Literal

from msgspec.json import encode, format
from pydantic import Field

from kedge.errors import UserError
from kedge.foreign import foreign
from kedge.integrations.mcp.bounding import Page, page, part, short
from kedge.integrations.mcp.kept import Kept
from kedge.integrations.mcp.results import Match, Recalls, Shown, about, quoted, sealed
from kedge.model import ToolCall, ToolResult, Turn
from kedge.recall import Recalled, query_of, recall

MOST_FOUND = 50
"""Matches of one call: more are a listing that nobody reads."""
LINES_AROUND = 2
"""Lines around each match, as on the command line."""
MOST_NAMED = 20
"""Files or commands of one query."""
LAST_LINE = 1_000_000_000
"""No text has more lines."""

SessionName = Annotated[
    str, Field(description="Session to look in; left out, the one under way in this folder.")
]
Words = Annotated[
    str,
    Field(
        description='Words that all stand in one passage; "in quotes" side by side; wor* begins.'
    ),
]
Few = Annotated[list[str], Field(max_length=MOST_NAMED)]
Named = Annotated[Few | None, Field(description="Only calls that name these files.")]
Ran = Annotated[Few | None, Field(description="Only commands with these words.")]
Who = Annotated[
    Literal["", "user", "agent", "tool", "client"], Field(description="Only what one of them said.")
]
Limit = Annotated[int, Field(description="Most matches.", ge=1, le=MOST_FOUND)]
Offset = Annotated[int, Field(description="Matches to leave out: those seen already.", ge=0)]
Mark = Annotated[
    str,
    Field(description="t12: a turn; t12.0: what its first call gave back; explore-1/t3; #57."),
]
Line = Annotated[int, Field(ge=1, le=LAST_LINE)]

_LABEL = re.compile(r"^(?=\[(?:user|agent|call|output|client)\b)", re.MULTILINE)


class Looking:
    def __init__(self, kept: Kept) -> None:
        self._kept = kept

    def recall(
        self,
        words: Words = "",
        files: Named = None,
        commands: Ran = None,
        errors: Annotated[bool, Field(description="Only calls that failed.")] = False,
        who: Who = "",
        limit: Limit = 10,
        offset: Offset = 0,
        everywhere: Annotated[bool, Field(description="In all sessions of the store.")] = False,
        session: SessionName = "",
    ) -> Recalls:
        """Find what was said, run or printed earlier in a session, also where it was compacted
        away: by words, file, command or error."""
        if everywhere and session:
            raise UserError("`everywhere` looks into all sessions; leave out `session`, or it")
        chosen = self._kept.chosen(session)
        query = query_of(
            words,
            files=files or (),
            commands=commands or (),
            sessions=() if everywhere else (chosen.session.name,),
            who=who,
            errors=errors,
            limit=offset + limit + 1,
        )
        found = recall(self._kept.store, query, lines=LINES_AROUND, clean=self._kept.redactor.turn)
        matches, _ = part(map(self._match, found[offset:]), self._kept.count, limit=limit)
        note = _more(len(found), offset, len(matches))
        return sealed(Recalls(**about(chosen), matches=matches, note=note), self._kept)

    def show(
        self,
        mark: Mark,
        first: Annotated[Line, Field(description="First line.")] = 1,
        last: Annotated[Line | None, Field(description="Last line.")] = None,
        column: Annotated[
            int, Field(description="Characters of the first line to leave out.", ge=0)
        ] = 0,
        session: SessionName = "",
    ) -> Shown:
        """Show a turn, or what one of its calls gave back, as it was: all lines, or some."""
        chosen = self._kept.chosen(session)
        found = chosen.session.original(mark)
        mark = mark.strip().removeprefix("[").removesuffix("]")
        if found.call is None and found.result is None:
            turn = self._kept.redactor.turn(found.turn)
            title, text = f"turn t{turn.index}", _told(turn, mark)
        else:
            title = _title(found.call)
            text = self._kept.clean(found.text)
        shown = self._page(text, mark, first, last, column)
        result = Shown(
            **about(chosen),
            mark=mark,
            title=foreign(short(self._kept.clean(title), self._kept.count)),
            first=shown.first,
            last=shown.last,
            lines=shown.lines,
            text=quoted(shown.text),
            note=_goes_on(mark, shown),
        )
        return sealed(result, self._kept)

    def _page(self, text: str, mark: str, first: int, last: int | None, column: int) -> Page:
        lines = text.split("\n")
        if first > len(lines):
            raise UserError(f"{mark[:80]!r} has {len(lines):,} lines; there is no line {first:,}")
        if column and column >= (size := len(lines[first - 1])):
            raise UserError(
                f"line {first:,} of {mark[:80]!r} has {size:,} characters; lower `column`"
            )
        if last is not None and last < first:
            raise UserError(f"line {last:,} is before line {first:,}; swap `first` and `last`")
        return page(text, self._kept.count, first=first, last=last, column=column)

    def _match(self, one: Recalled) -> Match:
        lines = [f"{'…' * bool(line.column)}{line.text}{'…' * line.cut}" for line in one.lines]
        return Match(
            mark=one.mark,
            output=one.output,
            session=one.session,
            who=one.who,
            title=foreign(one.title),
            failed=one.error,
            at=_when(one.at),
            first_line=one.lines[0].number if one.lines else 0,
            text=short(quoted("\n".join(lines)), self._kept.count),
            remark="; ".join(_remarks(one)),
        )


def _more(found: int, offset: int, shown: int) -> str:
    if not found:
        return "nothing found: give fewer or other words, or leave out a filter"
    if not shown:
        return f"there are only {found:,} matches; lower `offset`"
    if found > offset + shown:
        return f"there are more: ask again with offset={offset + shown}"
    return ""


def _goes_on(mark: str, shown: Page) -> str:
    if not shown.next_line:
        return ""
    column = f", column={shown.next_column}" if shown.next_column else ""
    return (
        f"lines {shown.first:,} to {shown.last:,} of {shown.lines:,}: "
        f"show(mark={mark!r}, first={shown.next_line}{column}) goes on"
    )


def _remarks(one: Recalled) -> Iterator[str]:
    if one.relaxed:
        missing = ", ".join(f'"{phrase}"' for phrase in one.relaxed)
        yield f"nothing has all of it; this lacks {missing}"
    if not one.stands:
        yield f"was t{one.turn}, and was taken back later"
    if one.damage:
        yield one.damage


def _when(microseconds: int) -> str:
    try:
        return datetime.fromtimestamp(microseconds / 1_000_000, UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return ""


def _told(turn: Turn, mark: str) -> str:
    """All of a turn, each part behind a line that says whose it is."""
    parts: list[tuple[str, str]] = [("user", turn.user_message)]
    parts += [(f"client: {note.kind}", note.text) for note in turn.notes]
    parts += [("agent, thinking", turn.thinking), ("agent", turn.assistant_response)]
    for place, call in enumerate(turn.tool_calls):
        parts.append((f"call {mark}.{place}: {foreign(call.tool)}", _given(call)))
        parts += _came(f"{mark}.{place}", turn.result_of(call))
    known = {call.id for call in turn.tool_calls}
    for result in turn.tool_results:
        if result.call_id not in known:
            parts += _came(f"{mark}:{foreign(result.call_id)}", result)
    return "\n".join(f"[{label}]\n{_unlabelled(text)}" for label, text in parts if text)


def _given(call: ToolCall) -> str:
    """The parameters of a call; one alone is told as it is."""
    texts: Sequence[object] = tuple(call.parameters.values())
    if len(texts) == 1 and isinstance(texts[0], str):
        return f"{next(iter(call.parameters))}: {texts[0]}"
    return format(encode(call.parameters), indent=2).decode() if texts else "no parameters"


def _came(mark: str, result: ToolResult | None) -> list[tuple[str, str]]:
    if result is None:
        return [(f"output {mark}", "none")]
    state = "refused" if result.refused else "failed" if result.failed else "done"
    texts = dict.fromkeys(text for text in (result.output, result.error) if text)
    told = [(f"output {mark}: {state}", "\n".join(texts) or "nothing")]
    return [*told, ("user, refusing", result.reason)] if result.reason else told


def _unlabelled(text: str) -> str:
    """Words that begin as a label of ours does are moved by a blank: nobody speaks for another."""
    return _LABEL.sub(" ", text)


def _title(call: ToolCall | None) -> str:
    return f"output of {call.tool}" if call is not None else "output"
