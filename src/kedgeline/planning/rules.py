"""Where a conversation may be cut: small rules, each of which names turns that stay together.

A cut `c` separates `turns[c - 1]` from `turns[c]`. What the rules allow is intersected. Words that
nobody has answered yet are a turn too: give them as the last one where there are any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from msgspec.structs import replace

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
from kedgeline.text.shortening import shortened
from kedgeline.tokens import media_tokens

# What of the folded turns is said again verbatim: standing rules, surroundings, the request.

ASKING: tuple[NoteKind, ...] = ("command", "plan")
"""Notes that ask for something in the user's place: a slash command, a plan they approved."""
REQUEST_SHARE = 0.5
"""Of the target, what one request may have that is said again: a pasted document is shortened, or
no compaction would make room as long as it is worked on."""
SUMMARY_SHARE = 0.2
"""Of the target, what the summary of another system may have that is said again: it is older than
all that is folded, and must not take the room of that."""
HEADING = 200
"""Characters of a heading at the most: a rules file may be a single line."""
_ORDER: tuple[Repeated, ...] = ("instructions", "environment", "summary", "request")


def request_from(
    turns: Sequence[Turn], asked: int | None = None, pending: Turn | None = None
) -> int:
    """Position of the first turn of the exchange in which the user last asked for something, the
    turn of which has the index `asked`; the newest exchange where that is not known, and behind all
    turns where it is what waits for an answer."""
    if not turns:
        return 0
    opens = pending is not None and pending.exchange != turns[-1].exchange
    if opens and (asked is None or asked > turns[-1].index):
        return len(turns)
    position = len(turns) - 1 if asked is None else min(asked - turns[0].index, len(turns) - 1)
    while position > 0:
        opens = turns[position - 1].exchange != turns[position].exchange
        if opens and (asked is None or _says(turns[position])):  # else an image, without a word
            break
        position -= 1
    return max(0, position)


class _Said(NamedTuple):
    """What is said again where the cut lies behind its turn, and not behind the turn in which a
    newer one takes its place."""

    position: int
    until: int
    what: Repeated
    heading: str
    tokens: int
    most: int


class Repeats:
    """What must be said again when the turns before a position are folded.

    Found in one pass: how large it is for one cut takes no walk over the turns."""

    def __init__(
        self,
        turns: Sequence[Turn],
        count: Callable[[str], int],
        *,
        asked: int | None = None,
        pending: Turn | None = None,
        target: int = 0,
    ) -> None:
        """`asked` is the index of the turn in which the user last asked for something; `pending`
        are words that wait for an answer. Without a `target` nothing is shortened."""
        self._turns, self._count = turns, count
        self._most = {
            "request": int(target * REQUEST_SHARE),
            "summary": int(target * SUMMARY_SHARE),
        }
        self._said = self._found(request_from(turns, asked, pending))
        growth = [0] * (len(turns) + 2)
        for one in self._said:
            growth[one.position + 1] += one.tokens
            growth[one.until + 1] -= one.tokens
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
                most=one.most,
            )
            for one in sorted(self._said, key=lambda one: _ORDER.index(one.what))
            if one.position < cut <= one.until
        )

    def _found(self, request: int) -> list[_Said]:
        turns, end = self._turns, len(self._turns)
        found: list[_Said] = []
        newest: dict[tuple[Repeated, str], int] = {}
        for position, turn in enumerate(turns):
            heard: list[tuple[Repeated, str]] = [
                ("instructions", heading)
                for note in turn.notes
                if note.kind == "instructions" and (heading := _heading(note))
            ]
            if any(note.kind == "environment" for note in turn.notes):
                heard.append(("environment", ""))
            if not position and parts_of(turn, "summary"):
                heard.append(("summary", ""))
            for what, heading in dict.fromkeys(heard):
                if (older := newest.get((what, heading))) is not None:
                    found[older] = found[older]._replace(until=position)
                newest[what, heading] = len(found)
                found.append(self._one(position, what, heading))
            # an image without a word behind results comes from a tool
            shown = turn.media and not (position and turns[position - 1].tool_results)
            if position >= request and (shown or _says(turn)):
                found.append(self._one(position, "request"))
        return [one if one.until else one._replace(until=end) for one in found]

    def _one(self, position: int, what: Repeated, heading: str = "") -> _Said:
        turn = self._turns[position]
        parts, most = parts_of(turn, what, heading), 0
        kind, room = Text if what == "request" else Note, self._most.get(what, 0)
        texts = [part.text for part in parts if isinstance(part, kind)]
        said = sum(map(self._count, texts))  # an image beside the words shortens none of them
        if said > room > 0:
            most = max(map(len, texts)) * room // said
            parts = parts_of(turn, what, most=most)
        tokens = self._tokens(parts)
        return _Said(position, 0, what, heading, tokens, most)

    def _tokens(self, parts: tuple[Part, ...]) -> int:
        tokens = sum(self._count(part.text) for part in parts if isinstance(part, (Text, Note)))
        return tokens + sum(media_tokens(part) for part in parts if isinstance(part, Media))


def parts_of(turn: Turn, what: Repeated, heading: str = "", *, most: int = 0) -> tuple[Part, ...]:
    """The parts of a turn that are said again, in their order; with a heading, the notes only that
    begin with it. A text of the user's has so many characters at the `most`."""
    found = (_short(part, most) for part in _heard(turn) if _is(part, what))
    if not heading:
        return tuple(found)
    return tuple(part for part in found if isinstance(part, Note) and _heading(part) == heading)


def _short(part: Part, most: int) -> Part:
    is_whole = isinstance(part, Text) or (isinstance(part, Note) and part.kind == "summary")
    if not isinstance(part, (Text, Note)) or not is_whole or not len(part.text) > most > 0:
        return part
    return replace(part, text=shortened(part.text, room=most, count=len), wire=None)


def _says(turn: Turn) -> bool:
    return bool(turn.user_message.strip()) or any(note.kind in ASKING for note in turn.notes)


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


# Which turns stay together.

REACH = 32
"""Turns that are held together at the most, and cuts in a row that are forbidden. Readers wait 16
turns for a result; twice as many are generous, and without a limit a long session would have no
place to cut. Beyond it the writer closes both ends."""


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
            if first < position:
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


CODE = {"executableCode", "executable_code"}
CODE_RESULT = {"codeExecutionResult", "code_execution_result"}
"""Gemini's code and what it printed: they have no id, and the one follows the other."""


def server_tools(turns: Sequence[Turn]) -> Iterator[Together]:
    """The provider refuses the result of a tool it ran itself when the use of the tool is gone."""
    used: dict[object, int] = {}
    for position, turn in enumerate(turns):
        parts = (part for message in turn.messages for part in message.parts)
        for part in parts:
            if not isinstance(part, Opaque) or not isinstance(part.wire, dict):
                continue
            if not isinstance(block := part.wire.get("block"), dict):
                continue
            output = part.kind.endswith("_output")
            keys = ("tool_use_id", "approval_request_id", *(("call_id",) if output else ()))
            answers = [block.get(key) for key in keys] + ["code"] * (part.kind in CODE_RESULT)
            for name in answers:
                if isinstance(name, str) and used.get(name, position) < position:
                    yield Together(used[name], position, "a tool of the provider and its result")
            names = [block.get("id"), block.get("call_id")] + ["code"] * (part.kind in CODE)
            used.update((name, position) for name in names if isinstance(name, str))


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

    Bonds that follow each other could hold a whole session together. Where a rule would forbid more
    than `REACH` cuts in a row it does not hold there, and the writer closes what that leaves open.
    """
    cuts: dict[int, str] = {}
    for rule in rules:
        more: dict[int, str] = {}
        for bond in rule(turns):
            if bond.last - bond.first <= REACH:
                more |= dict.fromkeys(range(bond.first + 1, bond.last + 1), bond.why)
        row: list[int] = []
        for cut in (*sorted({*cuts, *more}), -1):
            if row and cut != row[-1] + 1:
                if len(row) <= REACH:
                    cuts |= {one: more[one] for one in row if one not in cuts}
                row = []
            row.append(cut)
    return dict(sorted(cuts.items()))


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
