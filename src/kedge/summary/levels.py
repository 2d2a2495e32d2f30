"""The named levels: a line for a catalogue, five lines for a quick reload, the whole hand-off.

Each is made from what the next larger one shows, so that what stands in 128 stands in 512, and so
on up."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence

from kedge.foreign import foreign, neutral
from kedge.model.summary import SectionName, Summary
from kedge.sentences import cut
from kedge.summary.fitting import NOTHING_WANTED, Count, Wanted, fit, ordered
from kedge.summary.items import Item, cited
from kedge.summary.markdown import said
from kedge.summary.sections import Standing, items_of

LEVELS = (128, 512, 2_048)
"""Tokens of the named levels (seed 003)."""
LABELS: dict[str, tuple[SectionName, ...]] = {
    "OBJECTIVE": ("Session Intent",),
    "APPROACH": ("Files Modified", "Commands"),
    "OUTCOME": ("Current State",),
    "PENDING": ("Next Steps", "Blockers / Open Questions", "Error Context"),
    "DECISIONS": ("Standing Instructions", "Decisions Made"),
}
"""The lines of the middle level, and the sections each is made from."""
NOTHING = "none"
TOLD = 240
"""Characters of one entry in the middle level: a pasted log would take all of it."""
OBJECTIVE_SHOWN = 160
"""Characters of the objective in the smallest level, where it begins."""
LEAST_OBJECTIVE = 40

_FENCE = re.compile("`{2,}")
_QUOTE = re.compile(r'^[\w ]+: "(.*)"$', re.DOTALL)


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
    return fit(items_of(summary, standing), room, count, wanted, besides=besides).text


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
    return fit(items_of(summary), LEVELS[2], count, wanted).items


def _reload(items: Sequence[Item], room: int, count: Count) -> tuple[str, Sequence[Item]]:
    """The five lines, and the items they were made from."""
    wanted = {name for names in LABELS.values() for name in names}
    usable = [
        item._replace(detail="", text=cut(item.text, TOLD))
        for item in items
        if item.section in wanted
    ]
    order = [usable[step.position] for step in ordered(usable, count) if not step.detail]
    size = _largest(len(order), room, lambda n: count(_labelled(order[:n], usable)))
    chosen = order[:size]
    text = _labelled(chosen, usable)
    if count(text) > room:  # not even the first item fits whole
        text = _squeezed(chosen, usable, room, count)
    return text, chosen


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
    """The smallest level: the list of files gives way first, then the objective."""
    files = [item.text for item in items if item.section == "Files Modified"]
    outcome = _outcome(items)
    for shown in range(len(files), -1, -1):
        text = _sentence(items, OBJECTIVE_SHOWN, outcome, files, shown)
        if count(text) <= room:
            return text
    for length in range(OBJECTIVE_SHOWN, LEAST_OBJECTIVE, -10):
        text = _sentence(items, length, outcome[:1], files, 0)
        if count(text) <= room:
            return text
    return cut(_sentence(items, LEAST_OBJECTIVE, [], files, 0), room)


def _sentence(
    items: Sequence[Item], length: int, outcome: Iterable[str], files: Sequence[str], shown: int
) -> str:
    turns = [turn for item in items for turn in item.turns]
    span = f" [t{min(turns)}-{max(turns)}]" if turns else ""
    parts = "; ".join((_objective(items, length), *outcome))
    return f"{parts}{span}.{_files(files, shown)}"


def _objective(items: Sequence[Item], length: int) -> str:
    """What was asked first in the scope that is under way, without code and full paths."""
    asked = [neutral(item.text) for item in items if item.section == "Session Intent"]
    chosen = next((text for text in asked if text.startswith("Asked: ")), asked[0] if asked else "")
    quoted = _QUOTE.match(chosen)
    return cut(_plain(quoted[1] if quoted else chosen), length).rstrip(".") or "No request"


def _outcome(items: Sequence[Item]) -> list[str]:
    """The state in a few words, the tests first."""
    state = [_plain(item.text) for item in items if item.section == "Current State"]
    return [cut(text, 60).rstrip(".") for text in state[:3]]


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


def _largest(most: int, room: int, size: Callable[[int], int]) -> int:
    """The largest number whose size fits; 0 where none does."""
    return max(0, bisect_right(range(most + 1), room, key=size) - 1)


def problems(level: int, text: str, count: Count) -> Iterator[str]:
    """What is wrong with a level (seed 003): its length, code, full paths, missing parts."""
    if count(text) > level:
        yield f"more than {level} tokens"
    if "```" in text:
        yield "a code block"
    if level == LEVELS[0]:
        if "`" in text:
            yield "code"
        if re.search(r"(?:^|\s)/?[\w.-]+/[\w.-]+/", text):
            yield "a full path"
        if "\n" in text:
            yield "more than one line"
    elif level == LEVELS[1]:
        found = [line.partition(":")[0] for line in text.split("\n")]
        if found != list(LABELS):
            yield "not the five lines"
