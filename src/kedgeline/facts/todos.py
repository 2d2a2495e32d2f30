"""Todos: from the tools that keep them, from approved plans, and as they are stated in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from kedgeline.facts.extractor import EXIT_PLAN, KEY, Setting, plain_name, text_key
from kedgeline.facts.requests import said_in
from kedgeline.facts.statements import ends_of, pieces_of, without_folded
from kedgeline.model import Speaker, TodoSet, Turn
from kedgeline.shell import Outcome
from kedgeline.shell.calls import Status, Todo, TodoCall, todos_of
from kedgeline.text.prose import cut, one_line

# Which todos a text completes: only those it says so of, in so many words.

ANSWER_WITHIN = 8_000
"""Characters of a text that are read: a closing answer is shorter."""

_CLAUSE = re.compile(
    r"[.;!?\n|](?:\s|$)|,\s|\s[—–]\s|\s(?:and|but|while|although|though|however|so|then)\s|\n",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"[^.!?\n]{0,400}\?")
"""What is asked is not said."""
_EVIDENCE = ("done", "complete", "finished", "[x]")
"""One of these stands in whatever says that something is done."""
_ALONE = re.compile(
    r"(?:[\s*_`\"'“”:()\[\]–—✓✔✅+#\d.-]|\b(?:the|our|task|item|step|is|are|was|were|been|has|have"
    r"|now|all|already|fully|successfully|finally|today|too|as well|with|on|x|done|completed?"
    r"|finished)\b)*"
)
"""All that may stand beside an item that is done: "the test of …" is another thing."""
_NOT = re.compile(
    r"\b(?:not|never|no|nothing|none|without|yet|almost|nearly|mostly|partial(?:ly)?|half|until"
    r"|unless|once|if|when|before|after|should|must|need(?:s|ed)?|will|would|could|can|may|might"
    r"|to be|want|try(?:ing)?|waiting|pending|blocked|remain(?:s|ing)?|hardly|barely|isn|aren|wasn"
    r"|weren|hasn|haven|can't|won't|\d{1,2}\s?%)\b|n't\b|\d{1,2}\s?%",
    re.IGNORECASE,
)
"""Anywhere in the clause: then it is not said that it is done."""


def says_done(item: str, text: str) -> bool:
    """Whether a text says of an item that it is done."""
    wanted = text_key(item)
    if not wanted or len(wanted) >= KEY:
        return False
    plain = _told(text[:ANSWER_WITHIN])
    return wanted in plain and any(_of(wanted, clause) for clause in _CLAUSE.split(plain))


@lru_cache(maxsize=1)
def _told(text: str) -> str:
    """Without questions and case; nothing where nothing is said to be done. Kept for the next item
    that is looked for in the same text."""
    folded = text.casefold()
    if not any(word in folded for word in _EVIDENCE):
        return ""
    return _QUESTION.sub("", text.replace("’", "'")).casefold()


def _of(wanted: str, clause: str) -> bool:
    """Whether a clause says it of what is wanted, and of nothing more."""
    before, found, behind = " ".join(clause.split()).partition(wanted)
    beside = f"{before} {behind}"
    done = any(word in beside for word in _EVIDENCE) and not _NOT.search(clause)
    return bool(found) and done and _ALONE.fullmatch(beside) is not None


# Plans and check lists as they are written in Markdown.

LOOKED_AT = 60_000
"""Characters of a plan that are read; a plan of a thousand lines is shorter."""
MOST_STEPS = 60
"""Steps of a plan, or items of a check list, that are taken: a longer one is a catalogue."""
BOLD_LEVEL = 7
"""Below all headings: a line in bold that stands for one."""
LEAST = 2
"""Numbers that make a row; a single one is an aside."""

DOCUMENTS = frozenset({"", "md", "mdx", "markdown", "txt", "org", "rst"})
APPROVED = "## Approved Plan"
"""Above the plan in the result of the tool that had it approved: as the user left it."""

_FENCE = re.compile(r"\s{0,12}(?:```|~~~)")
_HEADING = re.compile(r"^\s{0,3}(#{1,6})\s+(.{1,400}?)\s*#{0,6}\s*$")
_BOLD = re.compile(r"^\*\*(.{1,300}?)\*\*:?\s*$")
_NAMED = re.compile(
    r"(?:step|task|phase|stage|milestone|part|batch|commit)\s+\d{1,3}[a-z]?\b", re.IGNORECASE
)
_STEP_NUMBER = re.compile(r"(?:\d{1,2}|[A-H])(?:[.):]|\s+[—–-])\s+(?=\S)")
_LIST_ITEM = re.compile(r"^ ?\d{1,2}[.)]\s+(\S.{0,2000})$")
_CHECK = re.compile(r"^[ \t]{0,8}(?:[-*+]|\d{1,2}[.)])[ \t]+\[([ xX])\][ \t]+(\S.{0,2000})$")
_ASIDE = re.compile(
    r"\b(?:context|background|problem|goal|overview|summary|current|why|cause|risk|alternative|note"
    r"|question|decision|verif|validat|criteria|limit|example|requirement|research|error|behav)",
    re.IGNORECASE,
)
"""A numbered list below such a heading is about the work, not a step of it."""
_PLAN_FILE = re.compile(
    r"(?:^|[^a-z])(?:to-?dos?|plans?|planning|tasks?|check-?list|roadmap)(?:[^a-z]|$)"
)
_TITLE = re.compile(r"^(?:plan|implementation plan|fix)\s*[:—–-]\s*", re.IGNORECASE)


class Checkbox(NamedTuple):
    text: str
    done: bool


def is_plan_file(path: str) -> bool:
    """Whether a file is by its name a plan or a list of things to do, or lies among plans."""
    *folders, name = path.replace("\\", "/").casefold().split("/")
    stem, _, suffix = name.rpartition(".") if "." in name[1:] else (name, "", "")
    if suffix not in DOCUMENTS:
        return False
    return _PLAN_FILE.search(stem) is not None or any(
        folder in ("plans", "todos", "todo") for folder in folders[-2:]
    )


def approved_plan(outcome: Outcome) -> str | None:
    """The plan a call had approved, empty where it does not repeat it; None where none was."""
    if plain_name(outcome.call) not in EXIT_PLAN or not outcome.success:
        return None
    output = "" if outcome.result is None else outcome.result.output[:LOOKED_AT]
    _, found, behind = output.partition(APPROVED)
    if found:
        return behind.partition("\n")[2]
    given = outcome.call.parameters.get("plan")
    return given if isinstance(given, str) else ""


def plan_title(plan: str) -> str:
    """Its first heading, without the word plan."""
    for line in plan[:LOOKED_AT].splitlines():
        if found := _HEADING.match(line):
            return _TITLE.sub("", one_line(found[2]))
    return ""


def steps_in(plan: str) -> tuple[str, ...]:
    """The steps a plan numbers: headings such as `Task 3: …`, else numbered headings, else its
    first numbered list. Of nested ones the outermost."""
    named: list[tuple[int, str]] = []
    numbered: list[tuple[int, str]] = []
    rows: list[list[str]] = [[]]
    aside = 0
    """The level of a heading of what is no step."""
    for line in _prose(plan):
        if heading := _heading(line):
            level, text = heading
            rows.append([])
            if _NAMED.match(text):
                named.append(heading)
            elif aside and level > aside:
                continue
            elif number := _STEP_NUMBER.match(text):
                numbered.append((level, text[number.end() :]))
            aside = level if _ASIDE.search(text) and rows[1:] and level > 1 else 0
        elif not aside and (item := _LIST_ITEM.match(line)):
            rows[-1].append(item[1].rstrip(" :"))
    found = _outermost(named, 1) or _outermost(numbered, LEAST)
    found = found or next((row for row in rows if len(row) >= LEAST), [])
    return tuple(text.strip() for text in found[:MOST_STEPS])


def checkboxes_in(text: str) -> tuple[Checkbox, ...]:
    """The items of Markdown check lists."""
    found = (_CHECK.match(line) for line in _prose(text))
    boxes = (Checkbox(one[2].strip(), one[1] != " ") for one in found if one)
    return tuple(box for box, _ in zip(boxes, range(MOST_STEPS), strict=False))


def _prose(text: str) -> Iterator[str]:
    """Lines outside of fenced code."""
    fenced = False
    for line in text[:LOOKED_AT].splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            yield line


def _heading(line: str) -> tuple[int, str] | None:
    if found := _HEADING.match(line):
        return len(found[1]), found[2].strip("*: ")
    bold = _BOLD.match(line)
    if bold and (_NAMED.match(bold[1]) or _STEP_NUMBER.match(bold[1])):
        return BOLD_LEVEL, bold[1].strip("*: ")
    return None


def _outermost(headings: list[tuple[int, str]], least: int) -> list[str]:
    """Those of the highest level that has so many."""
    levels = [level for level, _ in headings]
    fit = [level for level in sorted(set(levels)) if levels.count(level) >= least]
    return [text for level, text in headings if fit and level == fit[0]]


# Items of a list as they last stood, and the facts their changes make.

REMEMBERED = 200
"""Items remembered of a list; the oldest goes. Lists longer than a screen are not kept."""
SHOWN = 200
"""Characters of an item's text."""

Source = Literal["todos", "plan", "checklist", "stated"]


class _Item(NamedTuple):
    key: str
    text: str
    status: Status
    place: int = 0
    source: Source = "todos"


class _Ledger:
    """A list of items; what changes in it is given as facts."""

    def __init__(self, by: Speaker = "tool") -> None:
        self._by: Speaker = by
        self._items: dict[str, _Item] = {}

    def __len__(self) -> int:
        return len(self._items)

    def get(self, key: str) -> _Item | None:
        return self._items.get(key)

    def open(self) -> tuple[_Item, ...]:
        items = self._items.values()
        return tuple(one for one in items if one.status in ("pending", "in_progress"))

    def put(self, turn: int, item: _Item, *, by: Speaker | None = None) -> Iterator[TodoSet]:
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
        self, turn: int, items: Iterable[_Item], *, by: Speaker | None = None
    ) -> Iterator[TodoSet]:
        """Take a whole list: what is no longer in it is dropped, unless it was done."""
        listed = {item.key: item for item in items}
        for known in self.open():
            if known.key not in listed:
                yield from self.put(turn, known._replace(status="dropped"), by=by)
        self._items = {key: one for key, one in self._items.items() if key in listed}
        for item in listed.values():
            yield from self.put(turn, item, by=by)

    def told(self, turn: int, words: str, *, begun: bool = False) -> Iterator[TodoSet]:
        """What is open, or `begun`, and the agent says is done: a list is often left as it was."""
        for item in self.open() if words else ():
            if (not begun or item.status == "in_progress") and says_done(item.text, words):
                yield from self.put(turn, item._replace(status="completed"), by="agent")


def keyed(texts: Iterable[str], within: str = "") -> Iterator[tuple[str, str]]:
    """Texts with their keys; a text that stands twice is told apart by its number."""
    seen: dict[str, int] = {}
    for text in texts:
        key = text_key(text)
        seen[key] = seen.get(key, 0) + 1
        number = f" ({seen[key]})" if seen[key] > 1 else ""
        yield f"{within}{key}{number}", text


def box_items(boxes: Sequence[Checkbox], within: str) -> Iterator[_Item]:
    """The items of a check list, by keys that begin with what it stands in."""
    keys = keyed((box.text for box in boxes), within)
    for place, ((key, text), box) in enumerate(zip(keys, boxes, strict=True)):
        yield _Item(key, text, "completed" if box.done else "pending", place, "checklist")


# Plans as they are stated in words: what stands behind "Next steps:", "TODO:" or "Blocker:".

TYPED = 1_500
"""Characters of a user's message in which they state a plan; a longer one is pasted."""
MOST = 12
"""Items of a stated plan: a longer list is a catalogue."""
HOLDS = 4
"""User messages after which a list that nobody repeated is out of date."""
_NOTHING = re.compile(r"(?:none|nothing|n/?a|no (?:blockers?|more|further))\b", re.IGNORECASE)
_STEPS = re.compile(
    r"(?:(?:(?:suggested|recommended|immediate|my|our|the) )?next steps?"
    r"|(?:what(?:'s| is) )?(?:remaining|left)(?: (?:work|tasks?|items?|steps?|to do))?"
    r"|to-?dos?|still (?:to do|open|missing)|what(?:'s| is) next)(?:\s\([^)]{0,40}\))?\s?(?::|$)",
    re.IGNORECASE,
)
_STEP_WORDS = ("next", "remaining", "left", "todo", "to-do", "still")
_BLOCKERS = re.compile(
    r"(?:(?:current |open )?blockers?|blocked(?: by| on)?)\s?(?::|$)", re.IGNORECASE
)


def _listed_behind(label: re.Pattern[str], text: str) -> list[str] | None:
    """What a text lists behind a label; None where it has no such label."""
    found: list[str] | None = None
    for piece in pieces_of(without_folded(text)):
        said = label.match(piece.text.replace("’", "'"))
        rest = piece.text[said.end() :].strip() if said else ""
        below = piece.listed and label.match(piece.head.replace("’", "'"))
        if not piece.code and (below or any(map(str.isalpha, rest))):
            found = [*(found or []), rest or piece.text]
    if found is None:
        return None
    return [one for one in found if not _NOTHING.match(one)][:MOST]


def spoken_words(turn: Turn) -> Iterator[tuple[Speaker, str]]:
    """What the user typed, and what the agent said, in a turn that is not a sub-agent's."""
    if turn.agent:
        return
    for said in said_in(turn):
        if said.own and said.to_agent and len(said.text) <= TYPED:
            yield "user", said.text
    if turn.assistant_response:
        yield "agent", ends_of(turn.assistant_response)


def blockers_in(text: str) -> list[str] | None:
    """What a text says is in the way; an empty list where it says that nothing is."""
    return _listed_behind(_BLOCKERS, text) if "lock" in text else None


class StatedSteps:
    """The newest list of steps takes the place of the one before it, and ends where the user has
    gone on to other things. The agent's own words complete a step."""

    def __init__(self) -> None:
        self._list = _Ledger()
        self._spoken = 0
        """How often the user has spoken since it was stated."""

    def take(self, turn: Turn) -> Iterator[TodoSet]:
        for by, text in spoken_words(turn):
            self._spoken += by == "user"
            steps = _steps_said(text)
            if steps is not None:
                self._spoken = 0
                yield from self._list.replace(turn.index, steps, by=by)
            elif by == "agent":
                yield from self._list.told(turn.index, text)
        if self._spoken > HOLDS and len(self._list):
            yield from self._list.replace(turn.index, ())


def _steps_said(text: str) -> list[_Item] | None:
    """Behind a label, else the boxes of a check list of which some are not ticked."""
    lower = text.lower()
    labelled = any(word in lower for word in _STEP_WORDS)
    quotes = "```" in text or "<details>" in text  # files, and their boxes
    boxes = checkboxes_in(text)[:MOST] if "[ ]" in text and not quotes else ()
    listed = _listed_behind(_STEPS, text) if labelled else None
    if listed is None and not boxes:
        return None
    done = {box.text: box.done for box in boxes}
    keys = keyed(done if listed is None else listed, "said: ")
    return [
        _Item(key, step, "completed" if done.get(step) else "pending", place, "stated")
        for place, (key, step) in enumerate(keys)
    ]


# The steps of the plan that was approved last.

GIVEN_IN = 200
"""Characters in which a user's words say that a plan follows."""
_GIVEN = re.compile(
    r"\s{0,9}(?:please )?(?:implement|execute|carry out|follow) (?:the|this) "
    r"(?:following |approved )?plan\b[^\n]{0,40}:?\s*\n",
    re.IGNORECASE,
)
_STEP_LABEL = re.compile(
    r"(step|task|phase|stage|milestone|part|batch)\s+\d{1,3}[a-z]?", re.IGNORECASE
)


class PlanSteps:
    """A newly approved plan takes the place of the one before. The agent's own words complete a
    step, by its label or its text."""

    def __init__(self) -> None:
        self._steps = _Ledger(by="agent")
        self._written: tuple[_Item, ...] = ()
        """Steps of the plan file that was written last: what is approved where the call that asks
        does not repeat it."""
        self._file = ""

    def given(self, turn: Turn) -> Iterator[TodoSet]:
        """Plans that the client, or the user, gives the agent as its task."""
        plans = [note.text for note in turn.notes if note.kind == "plan"]
        if _GIVEN.match(turn.user_message[:GIVEN_IN]):
            plans.append(turn.user_message)
        for plan in plans:
            yield from self._steps.replace(turn.index, _plan_steps_items(plan))

    def take(self, turn: Turn, outcome: Outcome) -> Iterator[TodoSet]:
        plan = approved_plan(outcome)
        if plan is not None:
            yield from self._steps.replace(
                turn.index, _plan_steps_items(plan) if plan else self._written
            )
        elif outcome.call.verb in ("write", "edit") and outcome.success:
            self._remember(outcome)

    def told(self, turn: Turn) -> Iterator[TodoSet]:
        """What the agent says is done."""
        words = turn.assistant_response
        for step in self._steps.open() if words else ():
            label = _STEP_LABEL.match(step.text)
            if says_done(label[0] if label else step.text, words):
                yield from self._steps.put(turn.index, step._replace(status="completed"))

    def _remember(self, outcome: Outcome) -> None:
        path = next((path for path in outcome.call.paths() if is_plan_file(path)), "")
        content = outcome.call.parameters.get("content")
        if path and outcome.call.verb == "write" and isinstance(content, str):
            self._written, self._file = tuple(_plan_steps_items(content)), path[:400]
        elif path and path[:400] == self._file:
            self._written = ()


def _plan_steps_items(plan: str) -> Iterator[_Item]:
    for place, (key, text) in enumerate(keyed(steps_in(plan), "plan: ")):
        yield _Item(key, text, "pending", place, "plan")
    yield from box_items(checkboxes_in(plan), "plan: [] ")


class TodoExtractor:
    """Replays the lists of an agent; a fact is given only where something changed."""

    def __init__(self, setting: Setting) -> None:
        self._list = _Ledger()
        """Of the tools that write whole lists: their ids are counted anew with every list, so an
        item is known by its words."""
        self._ids: dict[str, str] = {}
        """Keys of its items by id, for lists of which only some items are given."""
        self._tasks = _Ledger()
        """Of the tools that number each item."""
        self._plan = PlanSteps()
        self._stated = StatedSteps()

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[TodoSet]:
        yield from self._plan.given(turn)
        for outcome in outcomes:
            if call := todos_of(outcome):
                yield from self._kept(turn.index, call)
            yield from self._plan.take(turn, outcome)
        yield from self._plan.told(turn)
        for kept in (self._list, self._tasks):
            yield from kept.told(turn.index, turn.assistant_response, begun=True)
        yield from self._stated.take(turn)

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
            _Item(key, todo.text, todo.status or "pending", place)
            for place, (key, todo) in enumerate(zip(keys, kept, strict=True))
        )
        yield from self._list.replace(turn, items)

    def _merged(self, turn: int, todos: Sequence[Todo]) -> Iterator[TodoSet]:
        for todo in todos[:REMEMBERED]:
            key = self._ids.get(todo.id) or text_key(todo.text)
            known = self._list.get(key)
            if not key or (known is None and not todo.text):
                continue
            if todo.id and len(self._ids) < REMEMBERED:
                self._ids[todo.id] = key
            place = known.place if known else len(self._list)
            status = todo.status or (known.status if known else "pending")
            text = todo.text or (known.text if known else "")
            yield from self._list.put(turn, _Item(key, text, status, place))

    def _numbered(self, todo: Todo) -> _Item:
        """A numbered item with what is known of it."""
        key = f"#{todo.id[:40]}" if todo.id else text_key(todo.text)
        known = self._tasks.get(key)
        text = todo.text or (known.text if known else "")
        status = todo.status or (known.status if known else "pending")
        number = todo.id.isascii() and todo.id.isdigit() and len(todo.id) < 10
        place = int(todo.id) if number else known.place if known else len(self._tasks)
        return _Item(key, text, status, place)
