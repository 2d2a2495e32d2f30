"""Where a conversation may be cut: small rules, each of which names turns that stay together.

A cut `c` separates `turns[c - 1]` from `turns[c]`. What the rules allow is intersected. Words that
nobody has answered yet are a turn too: give them as the last one where there are any.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from kedgeline.model import (
    SUMMARY_TAG,
    CallRef,
    Media,
    Note,
    NoteKind,
    Opaque,
    Part,
    Repeat,
    Repeated,
    Text,
    Thinking,
    Turn,
)
from kedgeline.tokens import media_tokens

# Where the request begins that is under way: not all that the user says asks for something new.

ASKING: tuple[NoteKind, ...] = ("command", "plan")
"""Notes that ask for something in the user's place: a slash command, a plan they approved."""
AGREEING = frozenset(
    " ".join(
        (
            # English
            "continue proceed resume go on ahead carry keep going next more now then please",
            "yes y yep yeah yup ok okay k sure right correct agreed exactly fine good great",
            "perfect nice cool lgtm thanks thank you do it that try again retry",
            # German, French, Spanish
            "weiter ja gut bitte danke oui merci continuez si sí sigue continúa gracias",
            # Chinese, Japanese, Russian
            "继续 好 好的 是 谢谢 はい 続けて да продолжай дальше спасибо",
        )
    ).split()
)
"""Words of which an agreement consists, and nothing that is asked for."""
LONGEST_AGREEMENT = 60
"""Characters. Who writes more asks for something, whatever the words are."""

_WORD = re.compile(r"\w+")


def request_from(turns: Sequence[Turn], pending: Turn | None = None) -> int:
    """Position of the first turn of the exchange in which the user last asked for something; behind
    all turns where that is what waits for an answer.

    An exchange that "go on" opens belongs to the request before it, and so does one that an image
    without a word opens: it is a screenshot behind a result, or shows what was spoken of. `pending`
    are words that wait; queued ones are a part of the exchange that is under way."""
    end = len(turns)
    if pending is not None and _opens(turns, pending) and _asks(pending):
        return end
    while end:
        first = end - 1
        while first and turns[first - 1].exchange == turns[end - 1].exchange:
            first -= 1
        if _asks(turns[first]):
            return first
        end = first
    return 0


def asked_at(turns: Sequence[Turn], first: int) -> Iterator[int]:
    """Positions from `first` on where the user said or showed something; an image without a word
    behind results comes from a tool."""
    for position in range(first, len(turns)):
        turn = turns[position]
        shown = position > 0 and bool(turns[position - 1].tool_results)
        if _says(turn) or (turn.media and not shown):
            yield position


def agrees(words: str) -> bool:
    """Whether words only let the agent go on: they agree, thank, or choose by a number."""
    if len(words) > LONGEST_AGREEMENT:
        return False
    return all(word in AGREEING or word.isdecimal() for word in _WORD.findall(words.lower()))


def _opens(turns: Sequence[Turn], pending: Turn) -> bool:
    return not turns or pending.exchange != turns[-1].exchange


def _asks(opening: Turn) -> bool:
    """Whether a turn that opens an exchange asks for something."""
    if any(note.kind in ASKING for note in opening.notes):
        return True
    if not opening.user_message.strip():
        return not opening.media
    return bool(opening.media) or not agrees(opening.user_message)


def _says(turn: Turn) -> bool:
    return bool(turn.user_message.strip()) or any(note.kind in ASKING for note in turn.notes)


# What of the folded turns is said again verbatim: standing rules, surroundings, the request.

HEADING = 200
"""Characters of a heading at the most: a rules file may be a single line."""


_ORDER: tuple[Repeated, ...] = ("instructions", "environment", "summary", "request")


class _Said(NamedTuple):
    """What is said again where the cut lies behind its turn, and not behind the turn in which a
    newer one takes its place."""

    position: int
    what: Repeated
    heading: str
    tokens: int


class Repeats:
    """What must be said again when the turns before a position are folded.

    Found in one pass: how large it is for one cut takes no walk over the turns."""

    def __init__(
        self, turns: Sequence[Turn], count: Callable[[str], int], *, pending: Turn | None = None
    ) -> None:
        """`pending` are words that wait for an answer: where they ask for something new, the
        request before them is history."""
        self._turns = turns
        self._said: list[_Said] = []
        self._replaced: dict[_Said, int] = {}
        growth = [0] * (len(turns) + 1)
        newest: dict[tuple[Repeated, str], _Said] = {}
        for position, what, heading in self._found(pending):
            tokens = _tokens(parts_of(turns[position], what, heading), count)
            said = _Said(position, what, heading, tokens)
            self._said.append(said)
            growth[position + 1] += tokens
            older = newest.get((what, heading))
            if older is not None and what != "request":
                self._replaced[older] = position
                growth[position + 1] -= older.tokens
            newest[what, heading] = said
        self._sums = list(accumulate(growth))

    def tokens(self, cut: int) -> int:
        """Of all that is said again."""
        return self._sums[cut] if cut < len(self._turns) else 0

    def before(self, cut: int) -> tuple[Repeat, ...]:
        if cut >= len(self._turns):
            return ()
        return tuple(
            Repeat(
                turn=self._turns[one.position].index,
                what=one.what,
                tokens=one.tokens,
                heading=one.heading,
            )
            for one in sorted(self._said, key=lambda one: _ORDER.index(one.what))
            if one.position < cut <= self._replaced.get(one, cut)
        )

    def _found(self, pending: Turn | None) -> Iterator[tuple[int, Repeated, str]]:
        turns = self._turns
        for position, turn in enumerate(turns):
            notes = (_heading(note) for note in turn.notes if note.kind == "instructions")
            for heading in dict.fromkeys(notes):
                if heading:
                    yield position, "instructions", heading
            if any(note.kind == "environment" for note in turn.notes):
                yield position, "environment", ""
        if turns and parts_of(turns[0], "summary"):
            yield 0, "summary", ""
        for position in asked_at(turns, request_from(turns, pending)):
            yield position, "request", ""


def parts_of(turn: Turn, what: Repeated, heading: str = "") -> tuple[Part, ...]:
    """The parts of a turn that are said again, in their order; with a heading, the notes only that
    begin with it."""
    found = (part for part in _heard(turn) if _is(part, what))
    if not heading:
        return tuple(found)
    return tuple(part for part in found if isinstance(part, Note) and _heading(part) == heading)


def _heading(note: Note) -> str:
    """The first line that says something: it names the file."""
    return note.text.lstrip()[:HEADING].partition("\n")[0].rstrip()


def _heard(turn: Turn) -> Iterator[Part]:
    """The user's side of a turn; for one without a layout, its fields in the order of writing."""
    if turn.messages:
        for message in turn.messages:
            if message.role == "user":
                yield from message.parts
        return
    yield from turn.notes
    if turn.user_message:
        yield Text(text=turn.user_message)
    yield from turn.media


def _is(part: Part, what: Repeated) -> bool:
    if what == "request":
        return isinstance(part, (Text, Media)) or (isinstance(part, Note) and part.kind in ASKING)
    if what == "summary" and isinstance(part, Note) and part.text.startswith(f"<{SUMMARY_TAG}>"):
        return False  # our own is merged
    return isinstance(part, Note) and part.kind == what


def _tokens(parts: Sequence[Part], count: Callable[[str], int]) -> int:
    texts = sum(count(part.text) for part in parts if isinstance(part, (Text, Note)))
    return texts + sum(media_tokens(part) for part in parts if isinstance(part, Media))


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
    begun = following.source.first
    return bool(turn.tool_calls) and turn.source.first < begun < turn.source.last


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
