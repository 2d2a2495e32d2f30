"""Whether a rendered summary says what it must: probes are made from the facts and asked of the
text."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from kedgeline.facts import facts_of
from kedgeline.model import (
    AnyFact,
    Entry,
    Probe,
    SectionName,
    Summary,
    Transcript,
    Verdict,
)
from kedgeline.pipeline.view import earlier_summary, numbered
from kedgeline.probes import RATIONS, Shown, again, answer, answers, probes_of, quality, strays
from kedgeline.redact import REDACTOR, Redactor
from kedgeline.summary import (
    LEVELS,
    NOTHING_WANTED,
    Standing,
    Wanted,
    as_entry,
    entries_of,
    handoff,
    is_worded,
    items_of,
    merged,
    parse,
    render,
    story_of,
    summary_128,
    summary_512,
)
from kedgeline.summary.markdown import unshown
from kedgeline.summary.sections import SECTIONS
from kedgeline.summary.state import Item
from kedgeline.summary.story import VOICES, Story, line_position, remembered
from kedgeline.text.prose import letters, one_line, plain

_VOICE = re.compile(
    rf"^(?:(?:{'|'.join((*dict.fromkeys(VOICES.values()), 'User', 'Asked'))}): "
    r"|(?:edited|wrote|read|deleted|moved|ran) )"
)
_STATES = re.compile(r"FAILED|\((?:no result yet|refused|interrupted|replaced in t\d{1,9})\)")
_PARTS = re.compile(r" … |…| · |: | in |`")


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
    if summary.carried:  # what is known newly may have taken the place of an earlier text
        known = {(item.section, item.text) for item in items_of(summary)}
        made = tuple(p for p in made if p.matter != "earlier text" or (p.section, p.key) in known)
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
    items, left_out = parse(text)
    entries = tuple(map(as_entry, items))
    found = answers(probes, Shown(entries, beside=beside, text=text))
    unknown = unheld(summary, entries, standing) if entries else ()
    every = items_of(summary, standing) if entries else ()
    torn = (*_before_sections(text), *_uncounted(every, items, left_out)) if entries else ()
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


def unheld(summary: Summary, entries: Sequence[Entry], standing: Standing) -> tuple[Entry, ...]:
    """Entries that no fact holds."""
    listed = [entry for entry in entries if entry.section != "Story"]
    return (*strays(listed, known_entries(summary, standing)), *untold(summary, entries))


@remembered
def known_entries(summary: Summary, standing: Standing) -> tuple[Entry, ...]:
    """All that could stand in a rendering, at every length."""
    every = (
        item.raised(rung) for item in items_of(summary, standing) for rung in range(item.rungs)
    )
    return entries_of(render(every))


def untold(summary: Summary, entries: Iterable[Entry]) -> Iterator[Entry]:
    """Entries of the Story with a part that was neither said nor done in the turn they cite."""
    told = told_by_turn(summary)
    for entry in entries:
        if entry.section == "Story":
            known = " ".join(told[turn] for turn in entry.turns if turn in told)
            if any(part not in known for part in map(_bare, _PARTS.split(_own(entry.text)))):
                yield entry


@remembered
def told_by_turn(summary: Summary) -> dict[int, str]:
    """All that was said and done in each turn, letters alone."""
    told: defaultdict[int, list[str]] = defaultdict(list)
    for asked in summary.requests:
        told[asked.turn].append(asked.text)
    for said in sorted(summary.statements, key=lambda one: one.place):
        told[said.turn] += (said.head, said.text)
    for call in summary.calls:
        told[call.turn] += (call.what, call.path, call.about, call.came)
    for earlier in summary.carried:
        for turn in earlier.turns if earlier.section == "Story" else ():
            told[turn].append(earlier.text)
    return {turn: _bare(" ".join(parts)) for turn, parts in told.items()}


def _own(text: str) -> str:
    """A line of the Story without what we put around what was said and done."""
    return _STATES.sub("", _VOICE.sub("", text))


def _bare(text: str) -> str:
    text = one_line(text) if "\x1b" in text else text  # a colour has letters
    return letters(_STATES.sub("", text))


def _uncounted(every: Sequence[Item], items: Sequence[Item], left_out: int) -> Iterator[str]:
    """A text that does not add up: a rendering says how many entries it leaves out, so that one
    that was lost on the way, or came in, is missed."""
    shown = sum(item.section != "Story" and not is_worded(item.text) for item in items)
    known = sum(item.section != "Story" and not is_worded(item.text) for item in every)
    if shown + left_out != known:
        yield f"{shown:,} entries and {left_out:,} left out, where {known:,} are known"


def _before_sections(text: str) -> Iterator[str]:
    """Lines that stand in no section: nothing is known of them."""
    for line in text.split("\n"):
        if line.startswith("## "):
            return
        if line.strip():
            yield f"before the first section: {line}"


def is_well_formed(text: str) -> bool:
    """Whether all sections are there, once and in their order, or their absence is said."""
    lines = text.split("\n")
    headings = [
        line for line in lines if line.removeprefix("## ") in SECTIONS and line[:3] == "## "
    ]
    absent = sum(unshown(line) or 0 for line in lines)
    known = [f"## {name}" for name in SECTIONS if not absent or f"## {name}" in headings]
    return headings == known and len(headings) + absent == len(SECTIONS)


def wanted(items: Sequence[Item], probes: Iterable[Probe], story: Story | None = None) -> Wanted:
    """The items that answer probes, each with its detail where the answer is in it, and the lines
    of the Story that do."""
    known = _Known(items)
    found: dict[tuple[int, bool], int] = {}
    for probe in sorted(probes, key=_urgency):
        one = known.answering(probe) or _line_answering(probe, story)
        if one is not None:
            found.setdefault(one, _urgency(probe))
    return found


class _Known:
    """Items by what they are about, each looked at closely only where it could be the answer."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = items
        self._named: defaultdict[tuple[SectionName, str], list[int]] = defaultdict(list)
        self._lines: defaultdict[SectionName | None, list[tuple[int, str]]] = defaultdict(list)
        for place, item in enumerate(items):
            self._named[item.section, item.text].append(place)
            line = (place, plain(f"{item.text} {item.detail}"))
            self._lines[item.section].append(line)
            self._lines[None].append(line)

    def answering(self, probe: Probe) -> tuple[int, bool] | None:
        """The first item that answers a probe: one of that name, or else any of its section; to
        what was said in a turn, any that cites it."""
        first = plain(probe.expected[0])
        section = probe.section if probe.section != "Story" else None
        places = self._named.get((probe.section, probe.expected[0])) or (
            place
            for place, line in self._lines[section]
            if first in line and (section or probe.turn in self._items[place].turns)
        )
        for place in places:
            item = self._items[place]
            for detail in (False, True) if item.detail else (False,):
                entry = as_entry(item if detail else item._replace(detail=""))
                if answer(probe, Shown((entry,))).passed:
                    return place, detail
        return None


def _line_answering(probe: Probe, story: Story | None) -> tuple[int, bool] | None:
    if story is None or probe.section != "Story":
        return None
    first = bisect_left(story.lines, probe.turn, key=lambda line: line.turn)
    for number in range(first, len(story.lines)):
        line = story.lines[number]
        if line.turn != probe.turn:
            return None
        entry = Entry(section="Story", text=line.rungs[0], turns=(line.turn,))
        if answer(probe, Shown((entry,))).passed:
            return line_position(number), False
    return None


def _urgency(probe: Probe) -> int:
    """What is critical, what every hand-off must say, what is asked for by rank."""
    return 0 if probe.critical else 1 if must_be_said(probe) else 2


def must_be_said(probe: Probe) -> bool:
    """Whether it is asked of every hand-off, however short."""
    return probe.critical or probe.matter not in RATIONS


# A whole session as one summary, for a hand-off.

Count = Callable[[str], int]
"""Tokens of a text."""


class HandedOn(NamedTuple):
    text: str
    verdict: Verdict
    wanted: Wanted = NOTHING_WANTED
    """What had to come before all else for the text to be accepted."""


def summarize(transcript: Transcript, *, redactor: Redactor | None = REDACTOR) -> Summary:
    """All facts of a session, words that wait for an answer included, and what a summary of ours
    tells that leads it. Render it at any length with `hand_on`. Secrets that the `redactor` finds
    are in none of it."""
    transcript = numbered(transcript)
    transcript = transcript if redactor is None else redactor.transcript(transcript)
    turns = (*transcript.turns, *([transcript.pending] if transcript.pending else ()))
    last = turns[-1].index if turns else -1
    return merged(earlier_summary(transcript), facts_of(transcript), through=last)


def hand_on(summary: Summary, room: int, count: Count) -> HandedOn:
    """The hand-off in so many tokens, and what the probes find in it. Where it may not stand, what
    every hand-off must say comes before all else; then all that is asked for."""
    probes = asked(summary, room)
    text = handoff(summary, room, count)
    best = HandedOn(text, verify(summary, text, probes))
    for first in ([*filter(must_be_said, probes)], probes):
        if not best.verdict.accepted:
            needed = wanted(items_of(summary), first, story_of(summary))
            text = handoff(summary, room, count, wanted=needed)
            found = HandedOn(text, verify(summary, text, probes), needed)
            best = max(best, found, key=_rank)
    return best


def _rank(one: HandedOn) -> tuple[int, float]:
    return -len(one.verdict.critical_failures), one.verdict.score or 0.0


def level(summary: Summary, tokens: int, count: Count) -> str:
    """A named level. What stands in a smaller one stands in the larger ones."""
    largest = hand_on(summary, LEVELS[2], count)
    if tokens == LEVELS[0]:
        return summary_128(summary, count, wanted=largest.wanted)
    if tokens == LEVELS[1]:
        return summary_512(summary, count, wanted=largest.wanted)
    return largest.text
