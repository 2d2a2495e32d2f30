"""The named levels: a line for a catalogue, five lines for a quick reload, the whole hand-off.

Each is made from what the next larger one shows, so that what stands in 128 stands in 512, and so
on up."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import chain, islice
from math import inf
from threading import Lock
from typing import Any, Literal, NamedTuple, get_args

from kedgeline.model.fact import net
from kedgeline.model.summary import SectionName, Summary
from kedgeline.summary.listing import Standing
from kedgeline.summary.markdown import NOTHING as MARKDOWN_NOTHING
from kedgeline.summary.markdown import body, render, said
from kedgeline.summary.sections import SECTIONS, items_of
from kedgeline.summary.state import ALWAYS, FIRST, OPEN, WORDS, Item, cited
from kedgeline.summary.story import (
    CHARACTERS,
    FRAME,
    Raise,
    Story,
    line_position,
    remembered,
    story_of,
)
from kedgeline.summary.work import GOES_ON
from kedgeline.text.prose import cut, foreign, neutral, one_line

# Spending a token budget: every section gets its share of the room, and what one does not need goes
# to the others.

Count = Callable[[str], int]
"""Tokens of a text."""

DETAIL_WORTH = {"Files Modified": 2.0, "Files Read (Not Modified)": 0.07}
"""What the detail of an item is worth, against the item itself: what changed in a file much, why
one was read little."""
WORK: tuple[SectionName, ...] = ("Files Modified", "Files Read (Not Modified)", "Commands")
TALK: dict[SectionName, float] = {"Current State": 12.0, "Decisions Made": 0.3}
"""Shares where none of these has anything: in a talk the state is what the user has given, quoted,
and much of it was chosen from what the agent offered."""
SAID: tuple[SectionName, ...] = ("Session Intent", "Decisions Made", "Current State")
"""What these say need not be said in the Story again."""
BRIEF = 2_048
"""Tokens up to which empty sections share a line."""
LENGTH = 0.85
"""How much length counts against worth: at 1 only short names would be taken, at 0 long prose."""


class _Step(NamedTuple):
    """One thing more in a rendering: an item, a longer rendition of one, or a line of the Story."""

    position: int
    """Of an item; below 0 that of a line of the Story."""
    rung: int
    told: Raise | None = None


Wanted = Mapping[tuple[int, bool], int]
"""Positions of items and lines that are asked for, and whether with their detail, to how urgently:
0 for what comes before all else that is wanted."""
NOTHING_WANTED: Wanted = {}


STEP_TOKENS = 32
"""Of a step, about: how many are tried first."""
TRIES = 8
"""Sizes tried between those on both sides before one in the middle is."""


class Fitted(NamedTuple):
    items: tuple[Item, ...]
    left_out: dict[SectionName, int]
    """Entries, by section. The Story is a choice by its nature: what it leaves is not counted."""

    brief: bool = False

    @property
    def text(self) -> str:
        return render(self.items, sum(self.left_out.values()), brief=self.brief)


def fit(
    items: Sequence[Item],
    room: int,
    count: Count,
    wanted: Wanted = NOTHING_WANTED,
    *,
    besides: int = 0,
    story: Story | None = None,
) -> Fitted:
    """As much as a room holds; what no budget cuts is there in any case.

    Items that are `wanted` come before all others; or, where there are so many tokens `besides`,
    they are added to what fits without them. What stands in a smaller room stands in a larger one:
    both are beginnings of one order.
    """
    fitting = _Fitting(items, count, story, brief=room <= BRIEF)
    steps: Sequence[_Step] = ordered(items, story)
    least = 0
    if wanted and not besides:
        steps = sorted(steps, key=lambda step: _urgency(items, step, wanted))
    elif wanted:
        least = fitting.largest(steps, room)
        added = [step for step in steps[least:] if _urgency(items, step, wanted) < inf]
        added.sort(key=lambda step: _urgency(items, step, wanted))
        steps, room = [*steps[:least], *added], room + besides
    return fitting.first(steps[: fitting.largest(steps, room, least)])


class _Fitting:
    def __init__(
        self, items: Sequence[Item], count: Count, story: Story | None, *, brief: bool
    ) -> None:
        self._items = items
        self._brief = brief
        self._count = count
        self._story = story

    def largest(self, steps: Sequence[_Step], room: int, least: int = 0) -> int:
        """How many of the steps fit; at least so many, and those that no budget cuts."""
        least = max(least, sum(item.tier == ALWAYS for item in self._items))
        return _largest(len(steps), room, lambda size: self._tokens(steps[:size]), least)

    def _tokens(self, steps: Sequence[_Step]) -> int:
        return self._count(self.first(steps).text)

    def first(self, steps: Sequence[_Step]) -> Fitted:
        raised: dict[int, int] = {}
        told: list[Raise] = []
        for step in steps:
            if step.told is not None:
                told.append(step.told)
            else:
                raised[step.position] = max(step.rung, raised.get(step.position, 0))
        chosen = [self._items[place].raised(raised[place]) for place in sorted(raised)]
        left = (
            item for n, item in enumerate(self._items) if n not in raised and item.tier != WORDS
        )
        gone: Counter[SectionName] = Counter()
        gone.update(item.section for item in left if item.section != "Story")
        if self._story is not None:
            chosen += self._story.items(told)
        return Fitted(tuple(chosen), dict(gone), self._brief)


class _Steps(Sequence[_Step]):
    """Steps in their order, found as far as they are looked at."""

    def __init__(self, steps: Iterator[_Step], size: int) -> None:
        self._rest = steps
        self._size = size
        self._found: list[_Step] = []
        self._lock = Lock()

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, place: Any) -> Any:
        end = place.stop if isinstance(place, slice) else place + 1
        end = self._size if end is None else end
        with self._lock:
            self._found.extend(islice(self._rest, max(0, end - len(self._found))))
        return self._found[place]


@remembered
def ordered(items: Sequence[Item], story: Story | None = None) -> Sequence[_Step]:
    """All steps, the first ones first. It does not depend on a budget."""
    queues: dict[SectionName, list[tuple[_Step, float]]] = {}
    first: list[_Step] = []
    last: list[_Step] = []
    for step, tokens in _by_worth(items):
        item = items[step.position]
        if item.tier == WORDS:
            last.append(step)
        elif _stays(items, step):
            first.append(step)
        else:
            queues.setdefault(item.section, []).append((step, tokens))
    size = len(first) + sum(map(len, queues.values())) + len(last)
    given = any(item.section == "Current State" and item.text[:1] == '"' for item in items)
    talk = given and not any(item.section in WORK for item in items)
    shares = {name: section.share for name, section in SECTIONS.items()} | (TALK if talk else {})
    due = [_due(queue, shares[section]) for section, queue in queues.items()]
    if story is not None:
        beside = tuple(one for one in items if one.section in SAID and one.tier <= FIRST)
        steps, order = story.order(beside)
        size += steps
        told = ((_Step(line_position(one.line), one.rung, one), one.tokens) for one in order)
        due.append(_due(told, shares["Story"]))
    merged = (step for _, step in merge(*due, key=lambda one: one[0]))
    return _Steps(chain(first, merged, last), size)


def _due(queue: Iterable[tuple[_Step, float]], share: float) -> Iterator[tuple[float, _Step]]:
    """Each step with the room that its section has used by then, against its share."""
    room = 0.0
    for step, tokens in queue:
        room += tokens / share
        yield room, step


def _by_worth(items: Sequence[Item]) -> Iterator[tuple[_Step, float]]:
    """The steps of all items with their tokens, about: by tier, then by worth per token."""
    found: list[tuple[int, float, int, int, float]] = []
    for position, item in enumerate(items):
        tokens = item.length(0) / CHARACTERS + FRAME
        density = item.worth / tokens**LENGTH
        found.append((item.tier, -density, position, 0, tokens))
        for rung in range(1, item.rungs):
            more = max(1.0, item.length(rung) - item.length(rung - 1)) / CHARACTERS
            worth = item.worth * (DETAIL_WORTH.get(item.section, 1.0) if item.detail else 1.0)
            density = min(density, worth / more**LENGTH)
            # all tell something of what changed before some tell more
            later = item.tier == ALWAYS or (rung > 1 and bool(item.detail))
            tier = item.tier + later
            found.append((tier, -density, position, rung, more))
    for _, _, position, rung, tokens in sorted(found):
        yield _Step(position, rung), tokens


def _stays(items: Sequence[Item], step: _Step) -> bool:
    """Whether no budget cuts it."""
    return step.position >= 0 and items[step.position].tier == ALWAYS and step.rung == 0


def _urgency(items: Sequence[Item], step: _Step, wanted: Wanted) -> float:
    """Smaller for what comes first; an item whose detail is wanted is wanted itself."""
    if _stays(items, step):
        return -1
    whole = wanted.get((step.position, True), inf)
    return whole if step.rung else min(whole, wanted.get((step.position, False), inf))


LEVELS = (128, 512, 2_048)
"""Tokens of the named levels (seed 003)."""
LABELS: dict[str, tuple[SectionName, ...]] = {
    "OBJECTIVE": ("Session Intent",),
    "APPROACH": ("Files Modified", "Commands"),
    "OUTCOME": ("Current State",),
    "PENDING": ("Next Steps", "Blockers / Open Questions", "Error Context"),
    "DECISIONS": ("Decisions Made", "Standing Instructions"),
}
"""The lines of the middle level, and the sections each is made from."""
NOTHING = "none"
TOLD = 240
"""Characters of one entry in the middle level: a pasted log would take all of it."""
OBJECTIVE_SHOWN, LEAST_OBJECTIVE = 160, 40
"""Characters of the objective in the smallest level, and where there is hardly room for it."""
OUTCOME_SHOWN, STEP_SHOWN, SCOPE_SHOWN = 90, 80, 80
"""Characters of an outcome in it, of what comes next, of how the work began."""
FILES_NAMED = 3
"""Files that are named in it before what comes next or how the work began."""

_FENCE = re.compile("`{2,}")
_QUOTE = re.compile(r'^[\w ,]{1,60}: "(.*?)"?$', re.DOTALL)
_SAID_LAST = re.compile(r"The agent (?:closed with|was at): (.*)", re.DOTALL)
_TESTED = re.compile(r"test: .{1,200}?: (.*)")


def handoff(
    summary: Summary,
    room: int,
    count: Count,
    *,
    standing: Standing = "here",
    wanted: Wanted = NOTHING_WANTED,
    besides: int = 0,
) -> str:
    """All sections in so many tokens; rules and the current request even beyond. Items that are
    `wanted`, by their place in `items_of`, come before others, or with so many tokens `besides`."""
    items = items_of(summary, standing)
    return fit(items, room, count, wanted, besides=besides, story=story_of(summary)).text


def summary_2048(summary: Summary, count: Count, *, wanted: Wanted = NOTHING_WANTED) -> str:
    return handoff(summary, LEVELS[2], count, wanted=wanted)


def summary_512(summary: Summary, count: Count, *, wanted: Wanted = NOTHING_WANTED) -> str:
    """Five labelled lines."""
    return _reload(_shown(summary, count, wanted), LEVELS[1], count)[0]


def summary_128(summary: Summary, count: Count, *, wanted: Wanted = NOTHING_WANTED) -> str:
    """One sentence with the objective and what came of it, and the files by their names."""
    shown = _shown(summary, count, wanted)
    larger = _reload(shown, LEVELS[1], count)[1]
    asked = [item for item in shown if item.section == "Session Intent"]
    return _line([*asked, *(item for item in larger if item not in asked)], LEVELS[0], count)


def _shown(summary: Summary, count: Count, wanted: Wanted) -> Sequence[Item]:
    """What the largest level shows."""
    return fit(items_of(summary), LEVELS[2], count, wanted, story=story_of(summary)).items


def _reload(items: Sequence[Item], room: int, count: Count) -> tuple[str, Sequence[Item]]:
    """The five lines, and the items they were made from."""
    wanted = {name for names in LABELS.values() for name in names}
    usable = [
        item._replace(detail="", text=cut(item.text, TOLD))
        for item in items
        if item.section in wanted and not _is_past(item)
    ]
    order = [usable[step.position] for step in ordered(usable) if not step.rung]
    firsts = [first for names in LABELS.values() if (first := _first(order, names))]
    firsts += [item for item in order if _SAID_LAST.match(item.text)][:1]
    order = [*dict.fromkeys((*firsts, *order))]
    size = _largest(len(order), room, lambda n: count(_labelled(order[:n], usable)))
    chosen = order[:size]
    text = _labelled(chosen, usable)
    if count(text) > room:  # not even the first item fits whole
        text = _squeezed(chosen, usable, room, count)
    return text, chosen


def _is_past(item: Item) -> bool:
    """An error that is resolved is neither pending nor an outcome."""
    return item.section == "Error Context" and item.tier not in (OPEN, FIRST)


def _first(order: Sequence[Item], names: Iterable[SectionName]) -> Item | None:
    """What a line says before all else: no line may be empty where there is something for it."""
    return next((item for name in names for item in order if item.section == name), None)


def _labelled(chosen: Sequence[Item], order: Sequence[Item]) -> str:
    there = set(chosen)
    lines = []
    for label, names in LABELS.items():
        parts = [
            _short(item)
            for name in names
            for item in order
            if item in there and item.section == name
        ]
        lines.append(f"{label}: {'; '.join(parts) or NOTHING}")
    return "\n".join(lines)


def _squeezed(chosen: Sequence[Item], order: Sequence[Item], room: int, count: Count) -> str:
    """With long texts cut, as the limit is hard."""
    longest = max(len(item.text) for item in chosen)

    def text(most: int) -> str:
        short = {item: item._replace(text=cut(item.text, most)) for item in chosen}
        kept = [short.get(item, item) for item in order]
        return _labelled(list(short.values()), kept)

    size = _largest(longest, room, lambda most: count(text(max(1, most))))
    return text(max(1, size))


def _short(item: Item) -> str:
    text = _FENCE.sub("`", " ".join(said(item.section, item.text).split()))
    if item.section == "Files Modified":
        text = f"{item.action} {text}"
    return f"{text} {cited(item.turns)}".strip()


def _line(items: Sequence[Item], room: int, count: Count) -> str:
    """The smallest level: what is asked now, where it stands, what comes next, the files. Names of
    files give way first, then what else is told, the last first."""
    files = [item.text for item in items if item.section == "Files Modified"]
    rest = [*_outcome(items), *_next(items), *_scope(items)]
    for kept in range(len(rest), -1, -1):
        named = min(FILES_NAMED, len(files)) if kept > 1 else 0
        for shown in range(len(files), named - 1, -1):
            text = _sentence(items, OBJECTIVE_SHOWN, rest[:kept], files, shown)
            if count(text) <= room:
                return text
    return cut(_sentence(items, LEAST_OBJECTIVE, [], files, 0), room)


def _sentence(
    items: Sequence[Item], length: int, rest: Iterable[str], files: Sequence[str], shown: int
) -> str:
    turns = [turn for item in items for turn in item.turns]
    span = f" [t{min(turns)}-{max(turns)}]" if turns else ""
    parts = "; ".join((_objective(items, length), *rest))
    return f"{parts}{span}.{_files(files, shown)}"


def _objective(items: Sequence[Item], length: int) -> str:
    """What is asked now, without code and full paths."""
    asked = next((neutral(one.text) for one in items if one.section == "Session Intent"), "")
    return _quoted(asked, length) or "No request"


def _scope(items: Sequence[Item]) -> list[str]:
    """How the work began that the request belongs to."""
    asked = [neutral(item.text) for item in items if item.section == "Session Intent"][1:]
    begun = [t for name in ("Scope: ", "First request: ") for t in asked if t.startswith(name)]
    return [f"it began with: {_quoted(text, SCOPE_SHOWN)}" for text in begun[:1]]


def _next(items: Sequence[Item]) -> list[str]:
    """The first task; that the request has to be answered goes without saying."""
    steps = [item.text for item in items if item.section == "Next Steps"]
    told = [text for text in steps if not text.startswith(GOES_ON)][:1]
    return [f"next: {cut(_plain(text), STEP_SHOWN).rstrip('.')}" for text in told]


def _quoted(text: str, length: int) -> str:
    quoted = _QUOTE.match(text)
    return cut(_plain(quoted[1] if quoted else text), length).rstrip(".")


def _outcome(items: Sequence[Item]) -> list[str]:
    """How the tests ended and what the agent said last; else the state in a few words."""
    state = [item.text for item in items if item.section == "Current State"]
    tested = [found[1] for text in state if (found := _TESTED.match(text))][:1]
    said = [found[1] for text in state if (found := _SAID_LAST.match(text))][:1]
    told = [*tested, *said] or state[:2]
    return [cut(_plain(text), OUTCOME_SHOWN).rstrip(".") for text in told]


def _files(files: Sequence[str], shown: int) -> str:
    if not files:
        return ""
    names = ", ".join(_plain(path.rpartition("/")[2]) for path in files[:shown])
    more = f"+{len(files) - shown} more" if shown < len(files) else ""
    return f" Files: {', '.join(part for part in (names, more) if part)}"


def _plain(text: str) -> str:
    """Prose without code and without the folders of paths."""
    bare = " ".join(foreign(text).replace("`", "").split())
    return re.sub(r"(?<![\w.])/?(?:[\w.@-]{1,80}/){1,20}(?=[\w.@-])", "", bare)


def _largest(most: int, room: int, size: Callable[[int], int], least: int = 0) -> int:
    """The largest number whose size fits; the least where none does. Every size costs a rendering
    and a count, so that it is looked for where it should be, by the sizes known on both sides."""
    low, beyond = (least, 0), (most + 1, 0)
    tried = 0
    while beyond[0] - low[0] > 1:
        tried += 1
        if not low[1]:
            at = low[0] + room // STEP_TOKENS if not beyond[1] else beyond[0] * room // beyond[1]
        elif not beyond[1]:
            at = low[0] * room // low[1] + tried
        elif tried % TRIES:
            share = (room - low[1]) / (beyond[1] - low[1])
            at = low[0] + int((beyond[0] - low[0]) * share)
        else:
            at = (low[0] + beyond[0]) // 2
        at = min(max(at, low[0] + 1), beyond[0] - 1)
        tokens = size(at)
        low, beyond = ((at, tokens), beyond) if tokens <= room else (low, (at, tokens))
    return low[0]


# A summary by phase (seed 002): what research, planning and implementation hand on differs.

SIGNATURES = "Signatures, Types and Data"
MOST_SIGNATURES = 60
"""Signatures that a plan is handed on with, the newest."""
SIGNATURE_SHOWN = 200
_SIGNATURE = re.compile(
    r"^\+? ?\s{0,12}((?:(?:export|default|public|private|protected|static|final|abstract|async|pub"
    r"|declare|data|sealed)(?:\(\w+\))? ){0,4}(?:(?:function|class|interface|type|enum|struct|trait"
    r"|record|def|fn|func|model|message|service|rpc|impl|(?:CREATE|create) (?:TABLE|table))\b"
    r' ?\*?[\w"`(.<]'
    r"|(?:const|let) \w+ = (?:async )?\(|@(?:app|router|api)\.\w+\(|(?:app|router)\.(?:get|post|put"
    r"|patch|delete)\().{0,300})"
)
"""A line that says how something is called or what it is made of, in the usual languages."""

Phase = Literal["research", "planning", "implementation"]
PHASES: tuple[Phase, ...] = get_args(Phase)


class Template(NamedTuple):
    words: int
    """The most it may have: the seed counts phases in words."""
    headings: dict[str, tuple[SectionName, ...]]
    """What it tells under which heading."""


TEMPLATES: dict[Phase, Template] = {
    "research": Template(
        1_000,
        {
            "Problem Statement": ("Session Intent",),
            "Key Findings": ("Decisions Made", "Current State", "Index"),
            "Relevant Files": ("Files Read (Not Modified)", "Files Modified"),
            "Constraints Discovered": (
                "Standing Instructions",
                "Error Context",
                "Blockers / Open Questions",
            ),
        },
    ),
    "planning": Template(
        2_000,
        {
            "Goal": ("Session Intent",),
            "Decisions": ("Decisions Made",),
            SIGNATURES: (),
            "Files": ("Files Modified", "Files Read (Not Modified)"),
            "Constraints": ("Standing Instructions",),
            "Open Questions": ("Blockers / Open Questions", "Error Context"),
            "Steps": ("Next Steps", "Commands"),
            "Current State": ("Current State",),
        },
    ),
    "implementation": Template(2_000, {name: (name,) for name in SECTIONS}),
}
"""What each phase hands on (seed 002), from the same sections."""


def phase_of(summary: Summary) -> Phase:
    """What the session was doing last: changing files, planning to, or finding out."""
    changed = [
        events[-1].turn
        for events in summary.files.values()
        if net(events) and not all(event.scratch for event in events)
    ]
    planned = [noted.turn for noted in summary.session.get("mode", ()) if noted.value == "plan"]
    planned += [todo[-1].turn for todo in summary.todos.values() if todo[-1].source == "plan"]
    if changed and max(changed) >= max(planned, default=-1):
        return "implementation"
    return "planning" if planned else "implementation" if changed else "research"


def phased(summary: Summary, phase: Phase) -> str:
    """The summary as this phase hands it on, in no more words than it may have; rules and the
    current request even beyond."""
    template = TEMPLATES[phase]
    room = template.words - sum(_words(heading) + 1 for heading in template.headings)
    signatures = _signatures(summary) if SIGNATURES in template.headings else []
    room -= sum(map(_words, signatures))
    fitted = fit(items_of(summary), room, _words)

    def parts(names: tuple[SectionName, ...]) -> Iterator[str]:
        for name in names:
            found = [item for item in fitted.items if item.section == name]
            if found:
                yield from body(name, found)

    return "\n\n".join(
        "\n".join(
            [
                f"## {heading}",
                *(
                    (signatures if heading == SIGNATURES else list(parts(names)))
                    or [MARKDOWN_NOTHING]
                ),
            ]
        )
        for heading, names in template.headings.items()
    )


def _signatures(summary: Summary) -> list[str]:
    """Functions, types and routes as files that were written or read declare them, each where it
    was seen last."""
    seen: dict[str, int] = {}
    for call in summary.calls:
        for line in call.came.split("\n") if call.kind in ("edit", "read") else ():
            if found := _SIGNATURE.match(line):
                text = one_line(found[1]).rstrip(" {:")
                seen.pop(text, None)
                seen[text] = call.turn
    return [
        f"- `{cut(foreign(text).replace('`', ''), SIGNATURE_SHOWN)}` [t{turn}]"
        for text, turn in [*seen.items()][-MOST_SIGNATURES:]
    ]


def _words(text: str) -> int:
    return len(text.split())


# The summary as a session file that orchestrators keep beside a task (seed 002).

TITLE = "## Session Summary — {task}"
"""The first line; a person may change anything below it."""


def session_file(summary: Summary, room: int, count: Count, *, task: str) -> str:
    """The same sections under smaller headings, below the name of the task."""
    title = TITLE.format(task=" ".join(task.split()))
    room -= count(title)
    fitted = fit(items_of(summary), room, count, story=story_of(summary))
    return f"{title}\n\n{render(fitted.items, sum(fitted.left_out.values()), heading='###')}\n"
