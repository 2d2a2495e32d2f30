"""Whether a rendered summary says what it must: probes are made from the facts and asked of the
text."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from kedge.matching import plain
from kedge.model import AnyFact, Entry, Probe, SectionName, Summary, Verdict
from kedge.probes import RATIONS, Shown, again, answer, answers, probes_of, quality, strays
from kedge.summary import (
    Standing,
    Wanted,
    as_entry,
    entries_of,
    is_worded,
    items_of,
    parse,
    render,
)
from kedge.summary.items import SECTIONS, Item


def asked(
    summary: Summary,
    room: int,
    *,
    standing: Standing = "here",
    earlier: Sequence[Probe] = (),
    since: Iterable[AnyFact] = (),
) -> tuple[Probe, ...]:
    """What a text of so many tokens is asked. `earlier` are probes of compactions before this one,
    which are asked again; `since` are the facts that came after them."""
    made = probes_of(summary, room, current=standing != "later")
    return (*made, *again(earlier, made, since))


def verify(
    summary: Summary,
    text: str,
    probes: Iterable[Probe],
    *,
    standing: Standing = "here",
    beside: Iterable[str] = (),
) -> Verdict:
    """Ask a text what the facts behind it tell. `beside` are words that stand verbatim beside it,
    `standing` says where the current request does."""
    entries = entries_of(text)
    found = answers(probes, Shown(entries, beside=beside, text=text))
    unknown = tuple(strays(entries, known_entries(summary, standing))) if entries else ()
    torn = (*_before_sections(text), *_uncounted(summary, text, standing)) if entries else ()
    return Verdict(
        answers=found,
        strays=(*(f"{entry.section}: {entry.text}" for entry in unknown), *torn),
        quality=quality(
            found,
            entries_checked=len(entries),
            strays=len(unknown),
            well_formed=is_well_formed(text) and not torn,
        ),
    )


def known_entries(summary: Summary, standing: Standing) -> tuple[Entry, ...]:
    """All that could stand in a rendering, with and without details."""
    items = items_of(summary, standing)
    bare = [item._replace(detail="") for item in items]
    return (*entries_of(render(items)), *entries_of(render(bare)))


def _uncounted(summary: Summary, text: str, standing: Standing) -> Iterator[str]:
    """Sections that do not add up: a rendering says how many entries it leaves out, so one that was
    lost on the way, or came in, is missed."""
    items, left_out = parse(text)
    shown = Counter(item.section for item in items if not is_worded(item.text))
    known = Counter(i.section for i in items_of(summary, standing) if not is_worded(i.text))
    for name in SECTIONS:
        if shown[name] + left_out.get(name, 0) != known[name]:
            yield (
                f"{name}: {shown[name]:,} entries and {left_out.get(name, 0):,} left out, where "
                f"{known[name]:,} are known"
            )


def _before_sections(text: str) -> Iterator[str]:
    """Lines that stand in no section: nothing is known of them."""
    for line in text.split("\n"):
        if line.startswith("## "):
            return
        if line.strip():
            yield f"before the first section: {line}"


def is_well_formed(text: str) -> bool:
    """Whether all sections are there, once and in their order."""
    lines = text.split("\n")
    headings = [
        line for line in lines if line.removeprefix("## ") in SECTIONS and line[:3] == "## "
    ]
    return headings == [f"## {name}" for name in SECTIONS]


def wanted(items: Sequence[Item], probes: Iterable[Probe]) -> Wanted:
    """The items that answer probes, each with its detail where the answer is in it."""
    known = _Known(items)
    found: dict[tuple[int, bool], int] = {}
    for probe in sorted(_single(probes), key=_urgency):
        one = known.answering(probe)
        if one is not None:
            found.setdefault(one, _urgency(probe))
    return found


class _Known:
    """Items by what they are about, each looked at closely only where it could be the answer."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = items
        self._named: defaultdict[tuple[SectionName, str], list[int]] = defaultdict(list)
        self._lines: defaultdict[SectionName, list[tuple[int, str]]] = defaultdict(list)
        for place, item in enumerate(items):
            self._named[item.section, item.text].append(place)
            self._lines[item.section].append((place, plain(f"{item.text} {item.detail}")))

    def answering(self, probe: Probe) -> tuple[int, bool] | None:
        """The first item that answers a probe: one of that name, or else any of its section."""
        first = plain(probe.expected[0])
        places = self._named.get((probe.section, probe.expected[0])) or (
            place for place, line in self._lines[probe.section] if first in line
        )
        for place in places:
            item = self._items[place]
            for detail in (False, True) if item.detail else (False,):
                entry = as_entry(item if detail else item._replace(detail=""))
                if answer(probe, Shown((entry,))).passed:
                    return place, detail
        return None


def _urgency(probe: Probe) -> int:
    """What is critical, what every hand-off must say, what is asked for by rank."""
    return 0 if probe.critical else 1 if must_be_said(probe) else 2


def must_be_said(probe: Probe) -> bool:
    """Whether it is asked of every hand-off, however short."""
    return probe.critical or probe.matter not in RATIONS


def _single(probes: Iterable[Probe]) -> Iterator[Probe]:
    """Names that are asked for together, each alone: each is an item of its own."""
    for probe in probes:
        alone = [(one,) for one in probe.expected] if probe.matter == "name" else [probe.expected]
        yield from (replace(probe, expected=expected) for expected in alone)
