"""Where a conversation may be cut: small rules, each of which names turns that stay together.

A cut `c` separates `turns[c - 1]` from `turns[c]`. What the rules allow is intersected. Words that
nobody has answered yet are a turn too: give them as the last one where there are any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from kedge.model import CallRef, Note, Opaque, Part, Text, Thinking, Turn

REACH = 32
"""Turns that a late result or a scattered message holds together at the most, and cuts in a row
that bonds forbid. Readers wait 16 turns for a result; twice as many are generous, and bonds without
a limit would leave a long session no place to cut. Beyond it the writer closes both ends."""


class Together(NamedTuple):
    """Turns from `first` to `last` that no cut may part: `first + 1` to `last` are forbidden."""

    first: int
    last: int
    why: str


Rule = Callable[[Sequence[Turn]], Iterable[Together]]
"""One pass over the turns."""


def results_with_calls(turns: Sequence[Turn]) -> Iterator[Together]:
    """A result that stands in a later turn than its call loses it: no call waits for it any more,
    and the call looks as if nothing had come of it."""
    calls: dict[str, int] = {}
    for position, turn in enumerate(turns):
        calls.update((call.id, position) for call in turn.tool_calls)
        for result in turn.tool_results:
            first = calls.get(result.call_id, position)
            if 0 < position - first <= REACH:
                yield Together(first, position, "a result comes later than the turn of its call")


def parallel_calls(turns: Sequence[Turn]) -> Iterator[Together]:
    """Half of one answer would be folded: the rest calls without the words, the thinking and the
    signature that the provider wrote before the first call."""
    why = "an answer with several calls goes over these turns"
    known: dict[str, int] = {}
    for position, turn in enumerate(turns):
        if _is_continuation(turn):
            first = known.get(turn.message_id, position)
            if 0 < position - first <= REACH:
                yield Together(first, position, why)
            elif position and _went_on(turns[position - 1], turn):
                yield Together(position - 1, position, why)
        if turn.message_id:
            known[turn.message_id] = position


def thinking_with_calls(turns: Sequence[Turn]) -> Iterator[Together]:
    """A call that was thought about in the turn before is refused without that thinking, and so is
    thinking that nothing follows."""
    for position, (turn, following) in enumerate(pairwise(turns)):
        if _is_continuation(following) and _thinks_ahead(turn):
            yield Together(position, position + 1, "thinking and what follows from it")


def server_tools(turns: Sequence[Turn]) -> Iterator[Together]:
    """The provider refuses the result of a tool it ran itself when the use of the tool is gone."""
    used: dict[str, int] = {}
    for position, turn in enumerate(turns):
        for block in _blocks(turn):
            for name in _answered_by(block):
                first = used.get(name, position)
                if first < position:
                    yield Together(first, position, "a tool of the provider and its result")
            used.update((name, position) for name in _named_by(block))


def media_with_results(turns: Sequence[Turn]) -> Iterator[Together]:
    """An image that shows what a tool gave back would look like one that the user sent."""
    for position, (turn, following) in enumerate(pairwise(turns)):
        if turn.tool_results and following.media and not following.user_message.strip():
            yield Together(position, position + 1, "an image or file that a tool gave back")


def unanswered_words(turns: Sequence[Turn]) -> Iterator[Together]:
    """The user's words become one message with those that follow; a cut would fall into it and fold
    a request that nobody has answered."""
    for position, (turn, _) in enumerate(pairwise(turns)):
        if (turn.user_message.strip() or turn.media) and not _is_answered(turn):
            yield Together(position, position + 1, "words that are answered in the next turn")


EVERYWHERE: tuple[Rule, ...] = (
    server_tools,
    results_with_calls,
    parallel_calls,
    thinking_with_calls,
    unanswered_words,
    media_with_results,
)
"""All rules, for a provider of which nothing is known. They come strongest first, by what is lost
where one gives way: the half of a tool, a result, the words before a call, thinking, the place of
words, the look of an image."""

RULES: dict[str, tuple[Rule, ...]] = {
    "anthropic": EVERYWHERE,
    "gemini": EVERYWHERE,
    # Its tools run at the client, and what the model thought is a field of the message that calls.
    # Two messages of the user in a row are legal, and each stays whole.
    "openai-chat": (results_with_calls, parallel_calls, media_with_results),
    # Two messages of the user in a row are legal, and each stays whole.
    "openai-responses": (
        server_tools,
        results_with_calls,
        parallel_calls,
        thinking_with_calls,
        media_with_results,
    ),
}
"""Which rules hold for which provider, strongest first, and why the others do not."""


def rules_for(provider: str) -> tuple[Rule, ...]:
    """The rules of a provider; all of them for one that is not known."""
    return RULES.get(provider, EVERYWHERE)


def forbidden(turns: Sequence[Turn], rules: Iterable[Rule]) -> dict[int, str]:
    """The cuts that a rule forbids, each with a reason; rules come strongest first.

    Bonds that follow each other could hold a whole session together. Of more than `REACH` cuts in
    a row the weakest bonds give way, and the writer closes what they leave open."""
    bonds = [list(rule(turns)) for rule in rules]
    cuts = _held(turns, (bond for found in bonds for bond in found))
    if len(cuts) <= REACH:
        return cuts
    released = set(_weakest(cuts, _strength(bonds, len(turns))))
    return {cut: why for cut, why in cuts.items() if cut not in released}


def _held(turns: Sequence[Turn], bonds: Iterable[Together]) -> dict[int, str]:
    """The cuts that a bond goes over, in order; of several bonds the furthest gives the reason."""
    furthest: dict[int, Together] = {}
    for bond in bonds:
        known = furthest.get(bond.first)
        if known is None or bond.last > known.last:
            furthest[bond.first] = bond
    cuts: dict[int, str] = {}
    held: Together | None = None
    for position in range(len(turns)):
        if held is not None and position <= held.last:
            cuts[position] = held.why
        begun = furthest.get(position)
        if begun is not None and (held is None or begun.last > held.last):
            held = begun
    return cuts


def _strength(bonds: Iterable[Iterable[Together]], end: int) -> list[int]:
    """How strongly each cut is held, as a rank: first by the strongest rule, and by how many of its
    bonds, then by the next."""
    held = list(zip(*(_crossing(found, end) for found in bonds), strict=True))
    ranks = {one: rank for rank, one in enumerate(sorted(set(held)))}
    return [ranks[one] for one in held]


def _crossing(bonds: Iterable[Together], end: int) -> list[int]:
    """How many bonds go over each cut."""
    steps = [0] * (end + 1)
    for bond in bonds:
        steps[min(bond.first + 1, end)] += 1
        steps[min(bond.last + 1, end)] -= 1
    return list(accumulate(steps))


def _weakest(cuts: Iterable[int], strength: Sequence[int]) -> Iterator[int]:
    """Of any `REACH + 1` forbidden cuts in a row, those that the weakest bonds hold."""
    row: list[int] = []
    for cut in cuts:
        row = [*row[-REACH:], cut] if row and row[-1] == cut - 1 else [cut]
        if len(row) > REACH:
            least = min(strength[one] for one in row)
            yield from (one for one in row if strength[one] == least)


def allowed_cuts(turns: Sequence[Turn], rules: Iterable[Rule]) -> list[int]:
    """The cuts that no rule forbids; before the first turn and behind the last always."""
    refused = forbidden(turns, rules)
    return [cut for cut in range(len(turns) + 1) if cut not in refused]


def _is_continuation(turn: Turn) -> bool:
    """Whether the assistant goes on with nothing before it: no words, notes or files."""
    if turn.messages:
        return turn.messages[0].role == "assistant"
    return not (turn.user_message or turn.notes or turn.media)


def _went_on(turn: Turn, following: Turn) -> bool:
    """Whether the assistant went on before its calls had results: no provider asks the model again
    as long as calls are open, so that both are one answer."""
    return bool(turn.tool_calls) and turn.source.last > following.source.first


def _thinks_ahead(turn: Turn) -> bool:
    """Whether there is thinking in the turn that leads to no call of it."""
    if not turn.messages:
        return bool(turn.thinking) and not turn.tool_calls
    ahead = False
    for part in _answer(turn):
        if isinstance(part, Thinking):
            ahead = True
        elif isinstance(part, CallRef):
            ahead = False
    return ahead


def _is_answered(turn: Turn) -> bool:
    """Whether the assistant said or did anything. A note in its place, such as an error of the
    connection, is none of its words."""
    if not turn.messages:
        return bool(turn.assistant_response.strip() or turn.tool_calls or turn.thinking)
    return any(
        bool(part.text.strip()) if isinstance(part, Text) else not isinstance(part, Note)
        for part in _answer(turn)
    )


def _answer(turn: Turn) -> Iterator[Part]:
    for message in turn.messages:
        if message.role == "assistant":
            yield from message.parts


class _Block(NamedTuple):
    kind: str
    fields: dict[str, Any]


CODE = {"executableCode", "executable_code"}
CODE_RESULT = {"codeExecutionResult", "code_execution_result"}
"""Gemini's code and what it printed: they have no id, and the one follows the other."""


def _blocks(turn: Turn) -> Iterator[_Block]:
    """Blocks that a provider wrote about tools of its own, as far as they are handed through."""
    for message in turn.messages:
        for part in message.parts:
            if not isinstance(part, Opaque) or not isinstance(part.wire, dict):
                continue
            if isinstance(block := part.wire.get("block"), dict):
                yield _Block(part.kind, block)


def _named_by(block: _Block) -> Iterator[str]:
    """Under what a later block may speak of this one."""
    if block.kind in CODE:
        yield "code"
    for key in ("id", "call_id"):
        if isinstance(name := block.fields.get(key), str):
            yield name


def _answered_by(block: _Block) -> Iterator[str]:
    """Of what earlier blocks this one speaks."""
    if block.kind in CODE_RESULT:
        yield "code"
    keys = ["tool_use_id", "approval_request_id"]
    if block.kind.endswith("_output"):
        keys.append("call_id")
    for key in keys:
        if isinstance(name := block.fields.get(key), str):
            yield name
