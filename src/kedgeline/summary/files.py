"""The files of a session: the net effect of all changes to each, and what was only read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from kedgeline.model import FileChanged, FileRead, Stated
from kedgeline.model.fact import net
from kedgeline.model.summary import Summary
from kedgeline.summary.state import OPEN, THEN, Item, cited, salience
from kedgeline.summary.story import remembered
from kedgeline.text.prose import cut, unmarked

CHANGES_SHOWN = 6
"""Changes of one file told apart; the others are one of the turns."""
DETAIL_SHOWN = 480
"""Characters of what changed in one file."""
BRIEF, FULLER = (80, 3), (140, 6)
"""Characters of what changed in a file, where there is little room and where there is some more,
and names in one list of it: with longer rows half of the files told nothing of what changed."""
_PART = re.compile(
    r"(in (?:`[^`]*`|“[^”]*”): )?(adds |removes |renames |changes |imports |rewritten: )?"
    r"(?:\d+ tests: )?(.*)",
    re.DOTALL,
)
_NAMED = re.compile(r"`[^`]*`|“[^”]*”")
_IN_TYPE = re.compile(r"in (`(?!Test)[A-Z]\w*`): ")
"""Where something was added, as far as it is a part of that: a function only stands near."""
_A_NAME = re.compile(r"`[\w.$#/:<>-]+`|“[^”]*”")
"""In the words of a change: no line of code."""
WORKED_ON = 24
"""Turns after which a change counts half as recent."""
SAID_SHOWN = 200
"""Characters of what an answer said of a file."""
SAID_MOST = 2
"""Statements about one file in its row."""
_PATH = re.compile(r"[\w@.-]+(?:/[\w@.-]+)*\.\w{1,8}(?:[:#][\d,-]+)?")
_NAMES_FILE = re.compile(
    r"[`*]{0,3}[\w@./-]+\.\w{1,8}(?:[:#][\d,-]+)?[`*]{0,3}(?: \((?:new|lines?)\b[^)]{0,20}\))?"
    r" ?[|:—–-]+ ",
    re.IGNORECASE,
)
"""How an item of a list begins that says something of a file."""
_WORD = re.compile(r"[^\W\d_]{2,}")
FEWEST_WORDS = 3
_READ_FOR = re.compile(
    r"\b(?:read|checked|examined|opened|looked (?:at|into|through))\b.{1,200}?"
    r" ((?:for|to|because|as|since) \S.{2,300}?)\.?$",
    re.IGNORECASE,
)
_PATH_END = re.compile(r"[:#][\d,-]+$")
WHY_SHOWN = 120
"""Characters of why a file was read."""


def files(summary: Summary) -> Iterator[Item]:
    """One row per file that is different now; created then deleted is nothing. What an answer or a
    report said of the file stands in its row, behind what the edits show."""
    said = _reported(summary, summary.files)
    for path, events in summary.files_different().items():
        turns = tuple(event.turn for event in events)
        detail = _detail(events) or cited(turns)
        words = ((_of_file(one.text), one) for one in reversed(said.get(path, ())))
        quotes = [
            f"“{cut(text, SAID_SHOWN)}” [t{one.turn}]"
            for text, one in words
            if text and one.turn >= turns[0]
        ][:SAID_MOST]
        became = _Net(events)
        forms = [
            f"{text} {cited(turns)}" for sizes in (BRIEF, FULLER) if (text := became.text(*sizes))
        ]
        forms = forms or [_detail(events[-1:]) or detail]
        longer = ["; ".join((*quotes[:n], forms[-1])) for n in range(1, len(quotes) + 1)]
        shortest, *more = dict.fromkeys((*forms, *longer, "; ".join((*quotes, detail))))
        yield Item(
            "Files Modified",
            path,
            turns,
            tier=OPEN,
            worth=salience("file changed", recent=_fresh(turns, summary), again=len(turns) - 1),
            action=net(events),
            detail=shortest,
            more=tuple(more),
        )


def _reported(summary: Summary, of: Iterable[str]) -> dict[str, list[Stated]]:
    """By file the statements of answers and reports that name it, and no other one."""
    ends: dict[str, set[str]] = {}
    for path in of:
        parts = path.split("/")
        for length in range(1, len(parts) + 1):
            ends.setdefault("/".join(parts[-length:]), set()).add(path)
    found: dict[str, list[Stated]] = {}
    for said, named in _naming(summary):
        paths = {frozenset(ends[name]) for name in named if name in ends}
        if len(paths) == 1 and len(one := next(iter(paths))) == 1:
            found.setdefault(next(iter(one)), []).append(said)
    return found


@remembered
def _naming(summary: Summary) -> Sequence[tuple[Stated, frozenset[str]]]:
    """Statements of answers and reports with the files they name, where they name any."""
    found = []
    for said in summary.statements:
        told = said.where in ("answer", "report", "summary") and not said.code
        if told and not said.text.endswith(":"):  # what only introduces says nothing of the file
            named = (_PATH_END.sub("", name).rstrip(".:,") for name in _PATH.findall(said.text))
            if names := frozenset(named):
                found.append((said, names))
    return found


def _of_file(text: str) -> str:
    """What a statement says of a file, its name before it left off; nothing where it only says
    where something stands."""
    words = _NAMES_FILE.sub("", unmarked(text))
    return words if len(_WORD.findall(_PATH.sub("", words))) >= FEWEST_WORDS else ""


def reads(summary: Summary) -> Iterator[Item]:
    """Files that were read and are as they were."""
    changed = {path for path, events in summary.files.items() if net(events)}
    said = _reported(summary, summary.reads)
    for path, sights in summary.reads.items():
        if path in changed:
            continue
        turns = tuple(sight.turn for sight in sights)
        yield Item(
            "Files Read (Not Modified)",
            path,
            turns,
            tier=THEN,
            worth=salience("file read", recent=_recent(turns, summary), again=len(turns) - 1),
            detail=_why(sights, said.get(path, ())),
        )


def changes(events: Sequence[FileChanged]) -> dict[str, list[int]]:
    """What changed, each change once, with its turns, in the order of the last of them."""
    told: dict[str, list[int]] = {}
    for event in events:
        words = unmarked(event.what or event.said)
        if event.source == "outside":
            words = f"by the user, outside the session: {words}" if words else "by the user"
        elif event.source == "agent":
            words = f"by a sub-agent: {words}" if words else "by a sub-agent"
        if event.action == "renamed":
            before = unmarked(event.renamed_from)
            words = f"renamed from {before}" + (f"; {words}" if words else "")
        if words:
            told[words] = [*told.pop(words, []), event.turn]
    return told


def _detail(events: Sequence[FileChanged]) -> str:
    """The newest change, and the largest of those before it; in their order, as many as there is
    room for, with what comments say of them where there is room for that."""
    told = list(changes(events).items())
    sizes: Counter[int] = Counter()
    for event in events:
        sizes[event.turn] += event.added + event.removed

    def rank(place: int) -> tuple[bool, int, int]:
        largest = max(sizes[turn] for turn in told[place][1])
        return place != len(told) - 1, -largest, -place

    chosen: dict[int, str] = {}
    for place in sorted(range(len(told)), key=rank)[:CHANGES_SHOWN]:
        words, turns = told[place]
        for text in (words, words.partition(" (")[0]):
            told_so = f"{text} {cited(turns)}"
            if not chosen or sum(map(len, chosen.values())) + len(told_so) <= DETAIL_SHOWN:
                chosen[place] = told_so
                break
    return cut("; ".join(chosen[n] for n in sorted(chosen)), DETAIL_SHOWN)


class _Net:
    """What came of all changes to one file, by name: what came and went is nothing."""

    def __init__(self, events: Sequence[FileChanged]) -> None:
        self._came: dict[str, tuple[int, int]] = {}
        """Names it has now and had not, with their place in a change, and that of the change."""
        self._told: dict[str, None] = {}
        """What else was done, the newest last."""
        self._touched: dict[str, None] = {}
        """Definitions that were worked on, the newest last."""
        self._new = _is_new(events[0])
        largest = max(events, key=lambda event: (event.added + event.removed, event.turn))
        self._main = events[-1] if "` → `" in events[-1].what else largest
        """The change that tells most where nothing has a name: another value, else the largest."""
        for number, event in enumerate(events):
            if event.source == "outside":
                self._tell("changed by the user, outside the session")
            if event.action == "renamed":
                self._tell(f"renamed from {unmarked(event.renamed_from)}")
            for part in unmarked(event.what).split("; "):
                self._take(part, -number, creates=_is_new(event))

    def _take(self, part: str, number: int, *, creates: bool) -> None:
        found = _PART.match(part)
        within, verb, rest = found.groups("") if found else ("", "", part)
        names = _NAMED.findall(rest.partition(" (")[0])
        named = bool(names) and all(map(_A_NAME.fullmatch, names))
        if verb == "rewritten: ":
            self._came.clear()
        if named and (verb in ("adds ", "rewritten: ") or (creates and not verb)):
            if (owner := _IN_TYPE.match(within)) is not None:
                names[-1] += f" in {owner[1]}"
            self._came |= {name: (place, number) for place, name in enumerate(names)}
        elif named and verb in ("removes ", "changes ") and self._came.keys() >= {*names}:
            for name in names if verb == "removes " else ():
                del self._came[name]
        elif verb and verb != "imports ":
            self._tell(part)
        elif within:
            name = _NAMED.findall(within)[0]
            self._touched[name] = self._touched.pop(name, None)

    def _tell(self, part: str) -> None:
        self._told[part] = self._told.pop(part, None)

    def text(self, most: int, names: int) -> str:
        """What came, then the rest, the newest first, as there is room."""
        shown = sorted(self._came, key=self._came.__getitem__)[:names]
        parts = [_listed([n for n in self._came if n in shown], len(self._came))] if shown else []
        if parts and not self._new:
            parts = [f"adds {parts[0]}"]
        if not parts and not self._told:
            parts = [cut(unmarked(self._main.what), most)]
        for part in reversed(self._told):
            if not parts or sum(map(len, parts)) + len(part) <= most:
                parts.append(part)
        left = [name for name in reversed(self._touched) if name not in "".join(parts)]
        if left and sum(map(len, parts)) + len(left[0]) <= most:
            parts.append(f"in {_listed(left[:names], len(left))}")
        return "; ".join(filter(None, parts))


def _is_new(event: FileChanged) -> bool:
    return event.action == "created" and not event.what.startswith("adds ")


def _listed(names: Sequence[str], of: int) -> str:
    return ", ".join(names) + (f" and {of - len(names)} more" if of > len(names) else "")


def _fresh(turns: Sequence[int], summary: Summary) -> float:
    """What was worked on last comes first, however long the session is."""
    return float(0.5 ** ((summary.through - max(turns)) / WORKED_ON))


def _recent(turns: Sequence[int], summary: Summary) -> float:
    return max(turns) / (summary.through + 2)


def _why(sights: Sequence[FileRead], said: Sequence[Stated]) -> str:
    """The lines, and what it was read for: as said before the call, else after it."""
    lines = dict.fromkeys(sight.lines for sight in sights if sight.lines)
    told = (found[1] for one in said if (found := _READ_FOR.search(unmarked(one.text))))
    why = next((sight.why for sight in reversed(sights) if sight.why), "") or next(told, "")
    parts = (f"lines {', '.join([*lines][-3:])}" if lines else "", cut(why, WHY_SHOWN))
    return "; ".join(part for part in parts if part)
