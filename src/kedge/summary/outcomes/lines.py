"""Folded turns as lines: anchors in detail, the user's words, what else was done in a sentence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from kedge.foreign import foreign, neutral
from kedge.model import Anchor, AnchorType, Turn, Value
from kedge.sentences import cut, first_sentence, one_line

ANCHOR_SHOWN = 500
"""Characters of the response in an anchor's turn: the seed's number."""
DESCRIPTION_SHOWN = 200
"""Characters of what a detector says of an anchor."""
SENTENCE_SHOWN = 150
"""Characters of any other response: the seed's number."""
USER_SHOWN = 600
"""Characters of the user's words: requests whole, of a pasted log its head."""
LOOKED_AT = 4_000
"""Characters of a text looked at, so that blanks folded away leave enough."""
PATHS_SHOWN = 8
"""Changed files named in one line; the rest are counted."""
TOOLS_SHOWN = 5
"""Tools named in one line of steps; the rest are counted."""
TOOL_SHOWN = 40
"""Characters of a tool's name, which an agent may make up."""

SAID_ALREADY = 0.75
"""Share of a description's words from which on a response says as much by itself."""

LineKind = Literal["anchor", "user", "task", "succeeded", "failed", "neutral"]
"""`task` is said to a sub-agent by the agent that delegated to it. `neutral` is a turn without
calls, or with one that neither succeeded nor failed."""

_WORD = re.compile(r"\w+")


class Line(Value, frozen=True):
    kind: LineKind
    text: str
    """On one line, without what the kind and the turns add to it."""
    first: int = -1
    """First turn it speaks of; -1 where an earlier text does not say."""
    last: int = -1
    """Included."""
    anchor: AnchorType | None = None
    """Of a line about an anchor."""


class Effect(Value, frozen=True):
    """What a turn's calls came to."""

    changed: tuple[str, ...] = ()
    """Paths of files that were edited or written."""
    success: bool | None = None
    """True where all calls succeeded, False where one failed, None where there is no telling."""


def safe(text: str) -> str:
    """Text that stays inside its line, and that cannot pass for anything of ours."""
    return foreign(one_line(text))


def verbatim(text: str) -> str:
    """The user's words on one line."""
    return neutral(one_line(text))


def effect_of(turn: Turn) -> Effect:
    """What calls and results alone tell; a command may have changed files as well."""
    done = {result.call_id for result in turn.tool_results if result.success}
    paths = (
        path
        for call in turn.tool_calls
        if call.id in done and call.verb in ("edit", "write")
        for path in call.paths()
    )
    failed = any(result.failed for result in turn.tool_results)
    all_done = bool(turn.tool_calls) and all(call.id in done for call in turn.tool_calls)
    return Effect(
        changed=tuple(dict.fromkeys(paths)), success=False if failed else all_done or None
    )


def outcome_lines(
    turns: Iterable[Turn],
    anchors: Iterable[Anchor],
    *,
    effect: Callable[[Turn], Effect] = effect_of,
) -> tuple[Line, ...]:
    """Lines in the order of the turns. Turns that follow each other and have nothing to say share
    one. An anchor that was only set because there is no other makes no turn weightier."""
    natural = sorted((a for a in anchors if not a.synthetic), key=lambda anchor: anchor.weight)
    anchored = {anchor.turn_index: anchor for anchor in natural}
    lines: list[Line] = []
    silent: list[Turn] = []
    for turn in turns:
        words = _user_lines(turn)
        line = _line(turn, anchored.get(turn.index), effect)
        if silent and (words or line or turn.index != silent[-1].index + 1):
            lines.extend(_steps(silent))
            silent = []
        lines.extend(words)
        if line is None:
            silent.append(turn)
        else:
            lines.append(line)
    return (*lines, *_steps(silent))


def _user_lines(turn: Turn) -> list[Line]:
    kind: LineKind = "task" if turn.agent else "user"
    words = (verbatim(said.lstrip()[:LOOKED_AT]) for said in turn.user_words())
    return [
        Line(kind=kind, text=cut(said, USER_SHOWN), first=turn.index, last=turn.index)
        for said in words
        if said
    ]


def _line(turn: Turn, anchor: Anchor | None, effect: Callable[[Turn], Effect]) -> Line | None:
    """The turn's own line; None where it has nothing to say."""
    if anchor is not None and (text := _anchor_text(turn, anchor)):
        return Line(kind="anchor", text=text, first=turn.index, last=turn.index, anchor=anchor.type)
    came_to = effect(turn)
    said = cut(safe(first_sentence(turn.assistant_response)), SENTENCE_SHOWN)
    files = _named([path for name in came_to.changed if (path := safe(name))])
    changed = f"Modified {files}" if files else ""
    text = ": ".join(part for part in (changed, said) if part)
    kind: LineKind = "succeeded" if came_to.success else "failed"
    if came_to.success is None:
        kind = "neutral"
    return Line(kind=kind, text=text, first=turn.index, last=turn.index) if text else None


def _anchor_text(turn: Turn, anchor: Anchor) -> str:
    """The response, and behind it what makes the turn an anchor where it does not say so itself."""
    response = cut(safe(turn.assistant_response.lstrip()[:LOOKED_AT]), ANCHOR_SHOWN)
    description = cut(safe(anchor.description), DESCRIPTION_SHOWN)
    if _said(description, response):
        return response
    stop = "" if not response or response[-1] in ".!?…。！？:" else "."
    return f"{response}{stop} {description}".strip()


def _said(description: str, response: str) -> bool:
    words, known = (set(_WORD.findall(text.casefold())) for text in (description, response))
    return len(words & known) >= SAID_ALREADY * len(words)


def _named(paths: Sequence[str]) -> str:
    more = len(paths) - PATHS_SHOWN
    return ", ".join(paths[:PATHS_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _steps(turns: Sequence[Turn]) -> list[Line]:
    """One line for silent turns; none where not even a call was made."""
    calls = Counter(cut(safe(c.tool), TOOL_SHOWN) for turn in turns for c in turn.tool_calls)
    if not calls:
        return []
    named = [f"{tool} ×{times}" for tool, times in calls.most_common(TOOLS_SHOWN)]
    others = sum(calls.values()) - sum(times for _, times in calls.most_common(TOOLS_SHOWN))
    failed = sum(result.failed for turn in turns for result in turn.tool_results)
    text = (
        f"{len(turns)} step{'s' if len(turns) > 1 else ''}: "
        + ", ".join((*named, *([f"others ×{others}"] if others else ())))
        + (f" ({failed} failed)" if failed else "")
    )
    return [Line(kind="neutral", text=text, first=turns[0].index, last=turns[-1].index)]
