"""Todos: from the tools that keep them, from approved plans, from check lists in files, and as they
are stated in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from kedgeline.facts.extractor import Setting
from kedgeline.facts.files.edits import Piece, pieces_of
from kedgeline.facts.said.requests import said_in
from kedgeline.facts.session import key_of
from kedgeline.facts.tasks.plans import (
    LOOKED_AT,
    Checkbox,
    approved_plan,
    checkboxes_in,
    is_plan_file,
    reports,
    says_done,
    steps_in,
)
from kedgeline.model import Speaker, TodoSet, Turn
from kedgeline.outcomes import Outcome
from kedgeline.outcomes.calls import Status, Todo, TodoCall, todos_of
from kedgeline.text.prose import cut, one_line

# Items of a list as they last stood, and the facts their changes make.

REMEMBERED = 200
"""Items remembered of a list; the oldest goes. Lists longer than a screen are not kept."""
SHOWN = 200
"""Characters of an item's text."""

Source = Literal["todos", "plan", "checklist", "stated"]


class Item(NamedTuple):
    key: str
    text: str
    status: Status
    place: int = 0
    source: Source = "todos"


class Ledger:
    """A list of items; what changes in it is given as facts."""

    def __init__(self, by: Speaker = "tool") -> None:
        self._by: Speaker = by
        self._items: dict[str, Item] = {}

    def __len__(self) -> int:
        return len(self._items)

    def get(self, key: str) -> Item | None:
        return self._items.get(key)

    def open(self) -> tuple[Item, ...]:
        items = self._items.values()
        return tuple(one for one in items if one.status in ("pending", "in_progress"))

    def put(self, turn: int, item: Item, *, by: Speaker | None = None) -> Iterator[TodoSet]:
        """Take an item as it now stands. One without words says nothing yet, but is known."""
        text = cut(one_line(item.text), SHOWN)
        item = item._replace(text=text)
        before = self._items.get(item.key)
        self._items[item.key] = item
        if len(self._items) > REMEMBERED:
            del self._items[next(iter(self._items))]
        same = before is not None and (before.text, before.status) == (item.text, item.status)
        if text and not same:
            yield TodoSet(
                turn=turn,
                by=by or self._by,
                key=item.key,
                text=text,
                status=item.status,
                place=item.place,
                source=item.source,
            )

    def replace(
        self, turn: int, items: Iterable[Item], *, by: Speaker | None = None
    ) -> Iterator[TodoSet]:
        """Take a whole list: what is no longer in it is dropped, unless it was done."""
        listed = {item.key: item for item in items}
        for known in self.open():
            if known.key not in listed:
                yield from self.put(turn, known._replace(status="dropped"), by=by)
        self._items = {key: one for key, one in self._items.items() if key in listed}
        for item in listed.values():
            yield from self.put(turn, item, by=by)


def keyed(texts: Iterable[str], within: str = "") -> Iterator[tuple[str, str]]:
    """Texts with their keys; a text that stands twice is told apart by its number."""
    seen: dict[str, int] = {}
    for text in texts:
        key = key_of(text)
        seen[key] = seen.get(key, 0) + 1
        number = f" ({seen[key]})" if seen[key] > 1 else ""
        yield f"{within}{key}{number}", text


# Markdown check lists in the plan-like files an agent writes.

FILES = 8
"""Files whose lists are remembered; the one written longest ago goes."""


class CheckLists:
    """Lists by file: a file written anew takes the place of its list, an edit changes items."""

    def __init__(self, root: str) -> None:
        self._root = f"{root.rstrip('/')}/" if root else ""
        self._files: dict[str, Ledger] = {}

    def take(self, turn: int, outcome: Outcome) -> Iterator[TodoSet]:
        if outcome.call.verb not in ("write", "edit", "run") or not outcome.success:
            return
        for path in filter(is_plan_file, outcome.call.paths()):
            for piece in pieces_of(outcome.call, path):
                yield from self._edited(turn, path, piece)

    def _edited(self, turn: int, path: str, piece: Piece) -> Iterator[TodoSet]:
        old, new = checkboxes_in(piece.old), checkboxes_in(piece.new)
        path = path.removeprefix(self._root)[-200:]
        if not old and not new and path not in self._files:
            return
        ledger = self._ledger(path)
        items = {item.key: item for item in box_items(new, f"{path}: ")}
        if piece.whole:
            yield from ledger.replace(turn, items.values())
            return
        for item in box_items(old, f"{path}: "):
            if item.key not in items and item.status != "completed":
                yield from ledger.put(turn, item._replace(status="dropped"))
        for item in items.values():
            known = ledger.get(item.key)
            place = known.place if known else len(ledger)
            yield from ledger.put(turn, item._replace(place=place))

    def _ledger(self, path: str) -> Ledger:
        self._files[path] = self._files.pop(path) if path in self._files else Ledger(by="agent")
        if len(self._files) > FILES:
            del self._files[next(iter(self._files))]
        return self._files[path]


def box_items(boxes: Sequence[Checkbox], within: str) -> Iterator[Item]:
    """The items of a check list, by keys that begin with what it stands in."""
    keys = keyed((box.text for box in boxes), within)
    for place, ((key, text), box) in enumerate(zip(keys, boxes, strict=True)):
        yield Item(key, text, "completed" if box.done else "pending", place, "checklist")


# Plans as they are stated in words: what stands behind "Next steps:", "TODO:" or "Blocker:".

TYPED = 1_500
"""Characters of a user's message in which they state a plan; a longer one is pasted."""
MOST = 12
"""Items of a stated plan: a longer list is a catalogue."""
LONGEST = 400
"""Characters of an item."""
HOLDS = 4
"""Times the user speaks behind which a list that nobody said again holds no longer."""

STEPS = (
    r"(?:(?:suggested|recommended|immediate|my|our|the) )?next steps?"
    r"|(?:what(?:'s| is) )?(?:remaining|left)(?: (?:work|tasks?|items?|steps?|to do))?"
    r"|to-?dos?|still (?:to do|open|missing)|what(?:'s| is) next"
)
BLOCKERS = r"(?:current |open )?blockers?|blocked(?: by| on)?"
_NOTHING = re.compile(
    r"\W{0,3}(?:none|nothing|n/?a|no (?:blockers?|more|further))\b", re.IGNORECASE
)
_FOLDED = re.compile(r"<details>.*?(?:</details>|\Z)", re.DOTALL)
"""What an export folds away: calls and their results."""
_WITHIN = re.compile(rf"(?<=[.!?;])[ \t]+(?=(?:{STEPS}|{BLOCKERS}):\s)", re.IGNORECASE)
"""Before a label that begins a sentence within a line."""
_FENCE = re.compile(r"\s{0,12}(?:```|~~~)")
_ITEM = re.compile(r"\s{0,6}(?:[-*•+]|\d{1,2}[.)])\s+(?:\[[ xX]\]\s+)?(?P<text>\S.*)$")
_TICKED = re.compile(r"\s{0,6}(?:[-*•+]|\d{1,2}[.)])\s+(?:\[[xX]\]|[✓✔✅])")
_NUMBERED = re.compile(r"(?:^|[\s;,])\(?\d{1,2}[.)]\s+")
_MARKS = re.compile(r"\*\*|__|^[✓✔✅]\s*")


def _label(names: str) -> re.Pattern[str]:
    """A heading, a line in bold, or words before a colon: nothing else on the line may lead in."""
    return re.compile(
        rf"\s{{0,3}}(?:(?P<heading>#{{1,6}}\s+)?(?P<bold>\*\*|__)?)(?:[-*+] )?(?:{names})"
        r"(?:\s\([^)\n]{0,40}\))?\s?(?P<colon>:)?(?:\*\*|__)?(?(colon)|(?P<late>:)?)\s*(?P<rest>.*)$",
        re.IGNORECASE,
    )


_STEPS, _BLOCKERS = _label(STEPS), _label(BLOCKERS)


def listed_behind(label: re.Pattern[str], text: str) -> list[Checkbox] | None:
    """What a text lists behind a label; None where it has no such label."""
    found: list[Checkbox] | None = None
    open_, fenced = False, False
    prose = _FOLDED.sub("", text[:LOOKED_AT]).replace("’", "'")
    for line in _WITHIN.sub("\n", prose).split("\n"):
        if fence := _FENCE.match(line):
            if fenced and line[fence.end() :].strip():
                return None  # a block within a block: nobody can tell where the agent speaks
            fenced, open_ = not fenced, False
        elif fenced or not line.strip():
            continue
        elif rest := _behind(label, line):
            found = found or []
            items = [] if rest is True else _inline(rest)
            found += (Checkbox(one, False) for one in items)
            open_ = rest is True
        elif open_ and (item := _ITEM.match(line)):
            ticked = _TICKED.match(line) is not None
            found = [*(found or []), Checkbox(_plain(item["text"]), ticked)]
        elif not line[0].isspace():
            open_ = False
    if found is None:
        return None
    return [one for one in found if one.text and not _NOTHING.match(one.text)][:MOST]


def _behind(label: re.Pattern[str], line: str) -> str | bool:
    """What stands behind a label on its line; True where a list may follow it."""
    found = label.match(line)
    if found is None:
        return False
    if rest := found["rest"].strip():
        return rest if found["colon"] or found["late"] else False
    return bool(found["colon"] or found["late"] or found["heading"] or found["bold"])


def _inline(rest: str) -> list[str]:
    parts = _NUMBERED.split(rest) if _NUMBERED.match(rest) else [rest]
    return [_plain(part) for part in parts if part.strip()]


def _plain(text: str) -> str:
    return _MARKS.sub("", one_line(text[:LONGEST])).strip(" ;,")


def texts_of(turn: Turn) -> Iterator[tuple[Speaker, str]]:
    """What the user typed, and what the agent said, in a turn that is not a sub-agent's."""
    if turn.agent:
        return
    for said in said_in(turn):
        if said.own and said.to_agent and len(said.text) <= TYPED:
            yield "user", said.text
    if turn.assistant_response:
        yield "agent", turn.assistant_response


def blockers_in(text: str) -> list[str] | None:
    """What a text says is in the way; an empty list where it says that nothing is."""
    found = listed_behind(_BLOCKERS, text) if "lock" in text else None
    return None if found is None else [one.text for one in found if not one.done]


class StatedSteps:
    """The newest list of steps takes the place of the one before it, and ends where the user has
    gone on to other things. The agent's own words complete a step."""

    def __init__(self) -> None:
        self._list = Ledger()
        self._spoken = 0
        """How often the user has spoken since it was stated."""

    def take(self, turn: Turn) -> Iterator[TodoSet]:
        for by, text in texts_of(turn):
            self._spoken += by == "user"
            steps = _steps_in(text)
            if steps is not None:
                self._spoken = 0
                yield from self._list.replace(turn.index, _items(steps), by=by)
            elif by == "agent":
                yield from self._ticked(turn.index, text)
        if self._spoken > HOLDS and len(self._list):
            yield from self._list.replace(turn.index, ())

    def _ticked(self, turn: int, words: str) -> Iterator[TodoSet]:
        for step in self._list.open():
            if says_done(step.text, words) or reports(step.text, words):
                done = step._replace(status="completed")
                yield from self._list.put(turn, done, by="agent")


def _steps_in(text: str) -> list[Checkbox] | None:
    """Behind a label, else the boxes of a check list of which some are not ticked."""
    found = listed_behind(_STEPS, text)
    if found is not None or "[ ]" not in text or "```" in text or "<details>" in text:
        return found  # an export shows files, and their boxes, among what the agent says
    return list(checkboxes_in(text)[:MOST]) or None


def _items(steps: list[Checkbox]) -> Iterator[Item]:
    keys = keyed((step.text for step in steps), "said: ")
    for place, ((key, text), step) in enumerate(zip(keys, steps, strict=True)):
        yield Item(key, text, "completed" if step.done else "pending", place, "stated")


# The steps of the plan that was approved last.

OPENING = 700
"""Characters in which a closing answer says that all is done."""
GIVEN_IN = 200
"""Characters in which a user's words say that a plan follows."""
LEFT_IN = 8_000
"""Characters of it in which it says what is left."""

_GIVEN = re.compile(
    r"\s{0,9}(?:please )?(?:implement|execute|carry out|follow) (?:the|this) "
    r"(?:following |approved )?plan\b[^\n]{0,40}:?\s*\n",
    re.IGNORECASE,
)
_LABEL = re.compile(r"(step|task|phase|stage|milestone|part|batch)\s+\d{1,3}[a-z]?", re.IGNORECASE)
_DONE = r"(?:complete|completed|done|implemented|finished|in place|re-implemented)\b"
_ALL_DONE = re.compile(
    r"(?:^|[\n.!:*#] {0,3})(?:\*\*)?(?:"
    r"all done\b"
    r"|all (?:of )?(?:the |these )?(?:\d{1,3} )?(?:planned )?"
    r"(?P<of>changes|tasks|steps|phases|parts|items|work|pieces)(?: in the plan| of the plan)?"
    rf"(?: are| is| have been| has been| were)?(?: now)? (?:all )?{_DONE}"
    r"|(?:the )?(?:implementation|work)(?: is| has been)?(?: now)? (?:complete|completed|done)\b"
    r"|(?:the )?plan (?:is|has been)(?: now)? (?:fully )?(?:implemented|carried out|executed)\b"
    r"|(?:i've |i have )?(?:fully )?implemented the (?:whole |full |entire |complete )?plan\b"
    r"|(?:here's|here is) (?:a |the )?(?:\w{1,12} )?summary of (?:(?:all )?(?:the )?changes"
    r"|what was (?:implemented|done|added|changed|built))\b"
    r")",
    re.IGNORECASE,
)
_LEFT = re.compile(
    r"\b(?:not (?:yet |been )?(?:done|implemented|completed?|finished|started)\b"
    r"|remaining (?:step|task|phase|work|item)|still (?:need|to do|missing|pending)|left to do"
    r"|to be done|(?:next|following) (?:phase|task)s?\b|(?:i|was|were|steps?|tasks?) skipped\b"
    r"|you(?:'ll| will)? (?:still |also |then )?(?:need|have) to|next steps|manual steps?|by hand"
    r"|(?:required|remaining) set-?up|before (?:this|it) works|deferred"
    r"|did(?:n't| not) (?:get to|implement|finish))",
    re.IGNORECASE,
)
"""Then not all is done, or that is not said."""


class PlanSteps:
    """A newly approved plan takes the place of the one before. The agent's own words complete a
    step: one by its label, or all when the closing answer says that all is done: of the exchange
    that carries the plan out, or in so many words ("all tasks are complete")."""

    def __init__(self) -> None:
        self._steps = Ledger(by="agent")
        self._written: tuple[Item, ...] = ()
        """Steps of the plan file that was written last: what is approved where the call that asks
        does not repeat it."""
        self._file = ""
        self._exchange = -1
        """The one in which the plan was given or approved: what is all done later is another
        matter."""

    def given(self, turn: Turn) -> Iterator[TodoSet]:
        """Plans that the client, or the user, gives the agent as its task."""
        plans = [note.text for note in turn.notes if note.kind == "plan"]
        if _GIVEN.match(turn.user_message[:GIVEN_IN]):
            plans.append(turn.user_message)
        for plan in plans:
            self._exchange = turn.exchange
            yield from self._steps.replace(turn.index, _plan_steps_items(plan))

    def take(self, turn: Turn, outcome: Outcome) -> Iterator[TodoSet]:
        plan = approved_plan(outcome)
        if plan is not None:
            self._exchange = turn.exchange
            yield from self._steps.replace(
                turn.index, _plan_steps_items(plan) if plan else self._written
            )
        elif outcome.call.verb in ("write", "edit") and outcome.success:
            self._remember(outcome)

    def told(self, turn: Turn) -> Iterator[TodoSet]:
        """What the agent says is done."""
        words = turn.assistant_response
        if not words or not len(self._steps):
            return
        done = "" if turn.tool_calls else _all_done(words)
        here = turn.exchange == self._exchange
        for step in self._steps.open():
            label = _LABEL.match(step.text)
            named = label is not None and done == f"{label[1].casefold()}s"
            if (done and here) or named or says_done(label[0] if label else step.text, words):
                yield from self._steps.put(turn.index, step._replace(status="completed"))

    def _remember(self, outcome: Outcome) -> None:
        path = next((path for path in outcome.call.paths() if is_plan_file(path)), "")
        content = outcome.call.parameters.get("content")
        if path and outcome.call.verb == "write" and isinstance(content, str):
            self._written, self._file = tuple(_plan_steps_items(content)), path[:400]
        elif path and path[:400] == self._file:
            self._written = ()


def _plan_steps_items(plan: str) -> Iterator[Item]:
    for place, (key, text) in enumerate(keyed(steps_in(plan), "plan: ")):
        yield Item(key, text, "pending", place, "plan")
    yield from box_items(checkboxes_in(plan), "plan: [] ")


def _all_done(answer: str) -> str:
    """What an answer says all of is done, or nothing: a word such as `tasks`, else `all`."""
    said = _ALL_DONE.search(answer.lstrip()[:OPENING])
    if said is None or _LEFT.search(answer[:LEFT_IN]):
        return ""
    return (said["of"] or "all").casefold()


class TodoExtractor:
    """Replays the lists of an agent; a fact is given only where something changed."""

    def __init__(self, setting: Setting) -> None:
        self._list = Ledger()
        """Of the tools that write whole lists: their ids are counted anew with every list, so an
        item is known by its words."""
        self._ids: dict[str, str] = {}
        """Keys of its items by id, for lists of which only some items are given."""
        self._tasks = Ledger()
        """Of the tools that number each item."""
        self._plan = PlanSteps()
        self._checks = CheckLists(setting.root)
        self._stated = StatedSteps()

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[TodoSet]:
        yield from self._plan.given(turn)
        for outcome in outcomes:
            if call := todos_of(outcome):
                yield from self._kept(turn.index, call)
            yield from self._plan.take(turn, outcome)
            yield from self._checks.take(turn.index, outcome)
        yield from self._plan.told(turn)
        yield from self._told(turn)
        yield from self._stated.take(turn)

    def _told(self, turn: Turn) -> Iterator[TodoSet]:
        """What is in progress and the agent says is done: a list is often left as it was."""
        for kept in (self._list, self._tasks):
            for item in kept.open() if turn.assistant_response else ():
                begun = item.status == "in_progress"
                if begun and says_done(item.text, turn.assistant_response):
                    yield from kept.put(turn.index, item._replace(status="completed"), by="agent")

    def _kept(self, turn: int, call: TodoCall) -> Iterator[TodoSet]:
        if call.kind == "list":
            yield from self._whole(turn, call.items)
        elif call.kind == "merge":
            yield from self._merged(turn, call.items)
        elif call.kind == "listing":
            yield from self._tasks.replace(turn, map(self._numbered, call.items))
        else:
            for item in call.items:
                yield from self._tasks.put(turn, self._numbered(item))

    def _whole(self, turn: int, todos: Sequence[Todo]) -> Iterator[TodoSet]:
        kept = [todo for todo in todos if todo.text][:REMEMBERED]
        keys = [key for key, _ in keyed(todo.text for todo in kept)]
        self._ids = {todo.id: key for todo, key in zip(kept, keys, strict=True) if todo.id}
        items = (
            Item(key, todo.text, todo.status or "pending", place)
            for place, (key, todo) in enumerate(zip(keys, kept, strict=True))
        )
        yield from self._list.replace(turn, items)

    def _merged(self, turn: int, todos: Sequence[Todo]) -> Iterator[TodoSet]:
        for todo in todos[:REMEMBERED]:
            key = self._ids.get(todo.id) or key_of(todo.text)
            known = self._list.get(key)
            if not key or (known is None and not todo.text):
                continue
            if todo.id and len(self._ids) < REMEMBERED:
                self._ids[todo.id] = key
            place = known.place if known else len(self._list)
            status = todo.status or (known.status if known else "pending")
            text = todo.text or (known.text if known else "")
            yield from self._list.put(turn, Item(key, text, status, place))

    def _numbered(self, todo: Todo) -> Item:
        """A numbered item with what is known of it."""
        key = f"#{todo.id[:40]}" if todo.id else key_of(todo.text)
        known = self._tasks.get(key)
        text = todo.text or (known.text if known else "")
        status = todo.status or (known.status if known else "pending")
        number = todo.id.isascii() and todo.id.isdigit() and len(todo.id) < 10
        place = int(todo.id) if number else known.place if known else len(self._tasks)
        return Item(key, text, status, place)
