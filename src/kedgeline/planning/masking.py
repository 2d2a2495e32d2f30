"""Which tool outputs of kept turns may be replaced by something shorter, and by what.

An output is *masked* where it is old: one line says what it was. It is *shortened* where it is
giant: head, tail and error lines stay. The call above it always stays as it is.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from kedgeline.model import Masked, Media, ToolCall, ToolResult, Turn, Verb
from kedgeline.text.shortening import Count, shortened
from kedgeline.tokens import media_tokens

# The one line that stands where a tool output was: what it was, and how to get it back.

SHOW = "kedgeline show {name} t{turn}"
"""The command that prints a turn as it was."""
FILE = "FILE"
"""Stands for the session's own file, where it has no name."""
NAME_LENGTH = 64
"""Providers take no longer names of tools."""
SUBJECT_LENGTH = 100
"""Characters of a path or command in the line. The call itself stands above it in full."""
LOOKED_AT = 4 * SUBJECT_LENGTH
"""Characters of a parameter looked at, as some hold whole files."""

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
    name: str = FILE,
) -> str:
    """The line for the output of a call in this turn; `again` is the turn of the same call with the
    newer output, if there is one; `name` is the session's."""
    tool = one_line(call.tool, NAME_LENGTH)
    show = SHOW.format(name=name, turn=turn)
    if again is not None:
        back = f"Same call again in t{again}; this one: {show}"
    elif call.verb in HARMLESS:
        back = f"To see it: call {tool} again, or {show}"
    else:
        back = f"To see it: {show}"
    what = f"{tool} {subject(call)}".strip()
    return f"[output of {what} left out: {_size(result, tokens)}; t{turn}. {back}]"


def subject(call: ToolCall) -> str:
    """What a call is about: its command, pattern or address, its path, or its first text."""
    given = (call.parameters.get(name) for name in _SUBJECTS.get(call.verb, ()))
    if text := next((text for value in given if (text := _text(value))), ""):
        first, _, more = text.strip()[:LOOKED_AT].partition("\n")
        return one_line(f"{first.rstrip()} …" if more.strip() else first, SUBJECT_LENGTH)
    if paths := call.paths():
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        return one_line(paths[0], SUBJECT_LENGTH, from_end=True) + more
    first = next((value for value in call.parameters.values() if _text(value)), "")
    return one_line(_text(first), SUBJECT_LENGTH)


def one_line(text: str, length: int, *, from_end: bool = False) -> str:
    """A text of others made fit for a line of ours: without breaks, control characters and
    brackets that would close ours. A path is cut from its front, as its end tells most."""
    part = text[-LOOKED_AT:] if from_end else text[:LOOKED_AT]
    line = "".join(c if c.isprintable() else "\ufffd" for c in " ".join(part.split()))
    if len(line) > length:
        line = f"…{line[1 - length :]}" if from_end else f"{line[: length - 1]}…"
    return line if _is_balanced(line) else line.replace("[", "(").replace("]", ")")


def _is_balanced(text: str) -> bool:
    depth = 0
    for character in text:
        depth += (character == "[") - (character == "]")
        if depth < 0:
            return False
    return depth == 0


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value):
        return " ".join(value)
    return ""


def _size(result: ToolResult, tokens: int) -> str:
    text = result.output or result.error or ""
    lines = text.count("\n") + (not text.endswith("\n")) if text else 0
    amounts = [_number(lines, "line")] if lines else []
    amounts += _kinds(result.media)
    return f"{' and '.join(amounts) or 'nothing'}, {_number(tokens, 'token')}"


def _kinds(media: Iterable[Media]) -> list[str]:
    return [_number(many, kind) for kind, many in Counter(one.kind for one in media).items()]


def _number(many: int, what: str) -> str:
    return f"{many:,} {what}{'' if many == 1 else 's'}"


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


def maskable(
    turns: Sequence[Turn],
    *,
    count: Count,
    task_from: int,
    name: str = FILE,
) -> Iterator[Masked]:
    """The outputs of turns that may be masked, newest first: none is looked at before it is asked
    for.

    `task_from` is the index of the first turn of the current task: from there on outputs stay,
    unless the same call was made again. Errors stay, and so does what the user answered."""
    fresh = turns[-1].index - RECENT + 1 if turns else 0
    answers = [one for turn in turns for one in _answers(turn)]
    repeats = _repeats(answers)
    for one, (again, asked_for) in zip(reversed(answers), reversed(repeats), strict=True):
        if one.turn >= fresh or _stays(one):
            continue
        if again is None and asked_for >= min(task_from, fresh):
            continue
        masked = _masked(one, again, count, name)
        if masked.tokens_before - masked.tokens_after >= LEAST_SAVING:
            yield masked


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
        (count_slices(text, count), turn, result)
        for turn in turns
        for result in _results(turn)
        if (turn.index, result.call_id) not in taken
        and not _is_the_users(turn, result)
        and (text := text_of(result))
    ]
    sized.sort(key=lambda one: -one[0])
    room = max(least, _level([tokens for tokens, _, _ in sized], excess))
    for tokens, turn, result in sized:
        if tokens > room and (one := _shortened(turn, result, room, count, tokens)) is not None:
            yield one


def applied(turn: Turn, masked: Sequence[Masked]) -> Turn:
    """The turn with these outputs replaced; of two for one output the later counts.

    The wire of a result stays: its writer takes the shape of the item from it, and the text from
    the values."""
    chosen = {one.call_id: one for one in masked if one.turn == turn.index}
    found = [one for result in _results(turn) if (one := chosen.get(result.call_id)) is not None]
    if not found:
        return turn
    replaced = {one.call_id for one in found}
    results = tuple(
        _replaced(result, chosen[result.call_id]) if result.call_id in replaced else result
        for result in turn.tool_results
    )
    saved = sum(one.tokens_before - one.tokens_after for one in found)
    return replace(turn, tool_results=results, tokens=max(0, turn.tokens - saved))


def text_of(result: ToolResult) -> str:
    """What a model is shown of a result."""
    return result.output or result.error or ""


def count_slices(text: str, count: Count) -> int:
    """Tokens of a text of any length; a long one is counted in slices."""
    return sum(count(text[start : start + SLICE]) for start in range(0, len(text), SLICE))


class _Answer(NamedTuple):
    turn: int
    call: ToolCall
    result: ToolResult
    same: str

    def stands_for(self, older: _Answer) -> bool:
        if self.turn == older.turn:
            return False
        return len(text_of(self.result)) >= STANDS_FOR * len(text_of(older.result))


def _answers(turn: Turn) -> Iterator[_Answer]:
    """Calls that succeeded, with what came of them."""
    calls = {call.id: call for call in turn.tool_calls}
    for result in _results(turn):
        call = calls.get(result.call_id)
        # An exit code counts even where the client reports success.
        if call is not None and result.success and not result.exit_code:
            yield _Answer(turn.index, call, result, _same(call))


def _same(call: ToolCall) -> str:
    """Equal for calls of one tool with the same parameters."""
    try:
        # Not msgspec: half a surrogate pair in a parameter would stop it.
        return json.dumps([call.tool, call.parameters], sort_keys=True)
    except RecursionError:
        return call.id  # nested too deep to be compared


def _repeats(answers: Sequence[_Answer]) -> list[tuple[int | None, int]]:
    """For each answer the turn of a newer one that stands for it, and the turn in which it was
    last asked for: who reads a file again may be pointed back to what was read before."""
    newest: dict[str, _Answer] = {}
    asked: dict[str, int] = {}
    found: list[tuple[int | None, int]] = []
    for one in reversed(answers):
        newer = newest.get(one.same)
        again = newer.turn if newer is not None and newer.stands_for(one) else None
        if again is None:
            newest[one.same] = one
        last = asked.setdefault(one.same, one.turn)
        found.append((again, last if one.call.verb == "read" else one.turn))
    return found[::-1]


def _results(turn: Turn) -> Iterator[ToolResult]:
    """Results that their call's id tells apart; damaged sessions have ids that occur twice."""
    ids = Counter(result.call_id for result in turn.tool_results)
    yield from (result for result in turn.tool_results if ids[result.call_id] == 1)


def _stays(answer: _Answer) -> bool:
    """Whether an output stays at any age."""
    call, result = answer.call, answer.result
    # The Responses API takes a picture as the output of its computer, and nothing else.
    picture = call.tool == "computer" and "action" not in call.parameters
    return picture or result.refused or result.interrupted or call.verb in ("todo", "ask")


def _is_the_users(turn: Turn, result: ToolResult) -> bool:
    """Whether an output holds words of the user's: why they refused, or what they answered."""
    asked = any(call.id == result.call_id and call.verb == "ask" for call in turn.tool_calls)
    return asked or result.refused or bool(result.reason)


def _masked(answer: _Answer, again: int | None, count: Count, name: str) -> Masked:
    result = answer.result
    before = count_slices(text_of(result), count) + sum(map(media_tokens, result.media))
    text = notice(answer.call, result, turn=answer.turn, tokens=before, again=again, name=name)
    return Masked(
        turn=answer.turn,
        call_id=result.call_id,
        how="masked",
        text=text,
        tokens_before=before,
        tokens_after=count(text),
        reason=f"older than the {RECENT} newest turns and not of the current task"
        if again is None
        else f"the same call was made again in t{again}",
    )


def _shortened(
    turn: Turn, result: ToolResult, room: int, count: Count, before: int
) -> Masked | None:
    text = shortened(text_of(result), room=room, count=count)
    after = count(text)
    if after >= before:
        return None
    return Masked(
        turn=turn.index,
        call_id=result.call_id,
        how="shortened",
        text=text,
        tokens_before=before,
        tokens_after=after,
        reason=f"one output of {before:,} tokens",
    )


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


def _replaced(result: ToolResult, masked: Masked) -> ToolResult:
    media = () if masked.how == "masked" else result.media
    if not result.output and result.error:
        return replace(result, error=masked.text, media=media)
    error = result.error
    if error is not None and len(error) > len(masked.text):
        error = masked.text  # most readers give the whole output as the error
    return replace(result, output=masked.text, error=error, media=media)
