"""Tool outputs of kept turns, replaced by something shorter; the call above one stays as it is.

An output is *masked* where it is stale: one line says what it was. It is *shortened* where it is
giant: head, tail and error lines stay. Both are the rendition `outputs shortened` of their turn."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from kedgeline.model import Masked, ToolCall, ToolResult, Turn, Verb
from kedgeline.text.prose import cut, one_line
from kedgeline.text.shortening import Count, shortened
from kedgeline.tokens import media_tokens

RECENT = 3
"""The newest turns in which nothing is masked: outputs are masked from three turns of age on."""
LEAST_SAVING = 64
"""Tokens a mask has to save. It has about 55 itself, and each one changes a cached prefix."""
LEAST_ROOM = 256
"""Tokens below which no output is shortened: head, tail and a few error lines need so many."""
STANDS_FOR = 0.5
"""A newer output stands for an older one of the same call from this share of its length on. Clients
answer a second read of an unchanged file with one line that points back to the first."""
SLICE = 1_000_000
"""Characters counted at once, so that the memory for counting does not grow with the output."""


class _Output(NamedTuple):
    turn: int
    call: ToolCall | None
    result: ToolResult

    @property
    def text(self) -> str:
        """What a model is shown of it."""
        return self.result.output or self.result.error or ""

    def size(self, count: Count) -> int:
        """Tokens of its text; a long one is counted in slices."""
        text = self.text
        return sum(count(text[start : start + SLICE]) for start in range(0, len(text), SLICE))

    @property
    def is_the_users(self) -> bool:
        """Whether it holds words of the user's: why they refused, or what they answered."""
        asked = self.call is not None and self.call.verb == "ask"
        return asked or self.result.refused or bool(self.result.reason)

    def replaced(self, text: str, before: int, after: int, reason: str, **how: Any) -> Masked:
        return Masked(
            turn=self.turn,
            call_id=self.result.call_id,
            text=text,
            tokens_before=before,
            tokens_after=after,
            reason=reason,
            **how,
        )


def _outputs(turn: Turn) -> Iterator[_Output]:
    """Those that their call's id tells apart; damaged sessions have ids that occur twice."""
    ids = Counter(result.call_id for result in turn.tool_results)
    calls = {call.id: call for call in turn.tool_calls}
    for result in turn.tool_results:
        if ids[result.call_id] == 1:
            yield _Output(turn.index, calls.get(result.call_id), result)


# Stale outputs, masked.


def maskable(
    turns: Sequence[Turn], *, count: Count, task_from: int, name: str = ""
) -> Iterator[Masked]:
    """The outputs of turns that may be masked, newest first: none is looked at before it is asked
    for.

    `task_from` is the index of the first turn of the current task: from there on outputs stay,
    unless the same call was made again. Errors stay, and so does what the user answered."""
    fresh = turns[-1].index - RECENT + 1 if turns else 0
    newest: dict[str, _Output] = {}
    asked: dict[str, int] = {}
    for one in reversed([one for turn in turns for one in _outputs(turn)]):
        call, result = one.call, one.result
        # An exit code counts even where the client reports success.
        if call is None or not result.success or result.exit_code:
            continue
        same = _same(call)
        newer = newest.get(same)
        stood_for = newer and newer.turn != one.turn and _stands_for(newer, one)
        again = newer.turn if newer and stood_for else None
        if again is None:
            newest[same] = one
        # Who reads a file again may be pointed back to what was read before.
        last = asked.setdefault(same, one.turn) if call.verb == "read" else one.turn
        stale = again is not None or last < min(task_from, fresh)
        if one.turn < fresh and stale and not _stays(call, result):
            before = one.size(count) + sum(map(media_tokens, result.media))
            if before < LEAST_SAVING:
                continue
            text = notice(call, result, turn=one.turn, tokens=before, again=again, name=name)
            after = count(text)
            if before - after >= LEAST_SAVING:
                yield one.replaced(text, before, after, _reason(again), how="masked")


def _stands_for(newer: _Output, older: _Output) -> bool:
    return len(newer.text) >= STANDS_FOR * len(older.text)


def _reason(again: int | None) -> str:
    if again is not None:
        return f"the same call was made again in t{again}"
    return f"older than the {RECENT} newest turns and not of the current task"


def _same(call: ToolCall) -> str:
    """Equal for calls of one tool with the same parameters."""
    try:
        # Not msgspec: half a surrogate pair in a parameter would stop it.
        return json.dumps([call.tool, call.parameters], sort_keys=True)
    except RecursionError:
        return call.id  # nested too deep to be compared


def _stays(call: ToolCall, result: ToolResult) -> bool:
    """Whether an output stays at any age."""
    # The Responses API takes a picture as the output of its computer, and nothing else.
    picture = call.tool == "computer" and "action" not in call.parameters
    return picture or result.refused or result.interrupted or call.verb in ("todo", "ask")


# The line in the place of a masked output: what it was, and how to get it back.

SHOW = "kedgeline show {name} t{turn}"
"""The command that prints a turn as it was."""
FILE = "FILE"
"""Stands for the session's own file, where it has no name."""
NAME_LENGTH, SUBJECT_LENGTH = 64, 100
"""Characters of a tool's name, and of a path or command. The call stands above in full."""
HARMLESS: tuple[Verb, ...] = ("read", "search", "web_search", "web_fetch")
"""Calls that may be made again to see their output. To run a command twice could do harm."""
_SUBJECTS: dict[Verb, tuple[str, ...]] = {
    "run": ("command", "cmd", "commands", "code", "script", "input"),
    "search": ("pattern", "query", "regex", "glob"),
    "web_search": ("query",),
    "web_fetch": ("url",),
}
"""Where calls that are not about a path say what they are about."""


def notice(
    call: ToolCall,
    result: ToolResult,
    *,
    turn: int,
    tokens: int,
    again: int | None = None,
    name: str = "",
) -> str:
    """`again` is the turn of the same call with the newer output, if there is one; `name` is the
    session's."""
    tool = _shown(call.tool, NAME_LENGTH)
    show = SHOW.format(name=name or FILE, turn=turn)
    back = (
        f"To see it: call {tool} again, or {show}"
        if call.verb in HARMLESS
        else f"To see it: {show}"
    )
    if again is not None:
        back = f"Same call again in t{again}; this one: {show}"
    text = result.output or result.error or ""
    lines = text.count("\n") + (not text.endswith("\n")) if text else 0
    parts = [("line", lines), *Counter(one.kind for one in result.media).items()]
    size = " and ".join(f"{many:,} {what}{'s' * (many != 1)}" for what, many in parts if many)
    what = f"{tool} {call_subject(call)}".strip()
    return f"[output of {what} left out: {size or 'nothing'}, {tokens:,} tokens; t{turn}. {back}]"


def call_subject(call: ToolCall) -> str:
    """What a call is about: its command, pattern or address, its path, or its first text."""
    given = (_text(call.parameters.get(name)) for name in _SUBJECTS.get(call.verb, ()))
    text = next(filter(None, given), "")
    if not text and (paths := call.paths()):
        path = paths[0] if len(paths[0]) <= SUBJECT_LENGTH else f"…{paths[0][1 - SUBJECT_LENGTH :]}"
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        return _shown(path, SUBJECT_LENGTH) + more
    text = text or next(filter(None, map(_text, call.parameters.values())), "")
    first, _, more = text.strip().partition("\n")
    return _shown(f"{first.rstrip()} …" if more.strip() else first, SUBJECT_LENGTH)


def _shown(text: str, most: int) -> str:
    """A text of others for a line of ours: without breaks, and brackets that would close ours."""
    return cut(one_line(text).replace("[", "(").replace("]", ")"), most)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value):
        return " ".join(value)
    return ""


# Giant outputs, shortened.


def giants(
    turns: Sequence[Turn],
    *,
    count: Count,
    excess: int,
    least: int = LEAST_ROOM,
    taken: Collection[tuple[int, str]] = (),
) -> Iterator[Masked]:
    """The largest outputs of kept turns, shortened so that `excess` tokens are freed in all.

    Largest first; recent ones and errors too. They are cut to one common length, so that none is
    cut more than needed, and to no less than `least` tokens. `taken` are the outputs, by turn and
    call, that are replaced already."""
    sized = [
        (one.size(count), one)
        for turn in turns
        for one in _outputs(turn)
        if (one.turn, one.result.call_id) not in taken and one.text and not one.is_the_users
    ]
    sized.sort(key=lambda pair: -pair[0])
    room = max(least, _level([tokens for tokens, _ in sized], excess))
    for before, one in sized:
        if before > room:
            text = shortened(one.text, room=room, count=count)
            if (after := count(text)) < before:
                reason = f"one output of {before:,} tokens"
                yield one.replaced(text, before, after, reason, how="shortened")


def _level(sizes: Sequence[int], excess: int) -> int:
    """The length to which the largest have to be cut to free so much; 0 where that is too much.

    `sizes` come largest first."""
    total = 0
    for number, size in enumerate(sizes, start=1):
        total += size
        level = (total - excess) // number
        following = sizes[number] if number < len(sizes) else 0
        if level >= following:
            return level
    return 0


# The turn with its outputs replaced.


def applied(turn: Turn, masked: Sequence[Masked]) -> Turn:
    """The turn with these outputs replaced; of two for one output the later counts.

    The wire of a result stays: its writer takes the shape of the item from it, and the text from
    the values."""
    known = {one.result.call_id for one in _outputs(turn)}
    chosen = {one.call_id: one for one in masked if one.turn == turn.index and one.call_id in known}
    if not chosen:
        return turn
    results = tuple(
        _replaced(result, chosen[result.call_id]) if result.call_id in chosen else result
        for result in turn.tool_results
    )
    saved = sum(one.tokens_before - one.tokens_after for one in chosen.values())
    return replace(turn, tool_results=results, tokens=max(0, turn.tokens - saved))


def _replaced(result: ToolResult, masked: Masked) -> ToolResult:
    media = () if masked.how == "masked" else result.media
    if not result.output and result.error:
        return replace(result, error=masked.text, media=media)
    error = result.error
    if error is not None and len(error) > len(masked.text):
        error = masked.text  # most readers give the whole output as the error
    return replace(result, output=masked.text, error=error, media=media)
