"""A summary gone wrong: one entry of a rendered text deleted or made wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from string import ascii_lowercase, digits
from typing import NamedTuple, Protocol

from bench.corpus import Mean, Resampling
from kedgeline.facts import facts_of
from kedgeline.model import (
    Compaction,
    Entry,
    Probe,
    SectionName,
    Summary,
    Transcript,
    Value,
    Verdict,
)
from kedgeline.pipeline.draft import Draft, record_of, repaired, summary_of, verdict_of
from kedgeline.pipeline.handoff import verify
from kedgeline.pipeline.job import Job, budget_for, flow_of, plan_of, prepared
from kedgeline.pipeline.view import said_again
from kedgeline.probes import Shown, answer
from kedgeline.summary import Standing, as_entry, entries_of, parse, render
from kedgeline.summary.sections import SECTIONS
from kedgeline.summary.state import Item
from kedgeline.text.prose import holds, plain
from kedgeline.tokens import EXACT

# Words made wrong: near misses of paths, numbers, flags, names and sentences.

FOLDERS = ("src", "lib", "old", "tests", "backup")
SUFFIXES = (".py", ".ts", ".md", ".json", ".txt")
"""Of files that the near miss of a path may be taken for."""
LONGEST_STEP = 9
"""A changed number is so much larger at the most: a near miss."""
LEAST_WORD = 4
"""Letters of a word that says something."""
LEAST_WORDS = 4
"""Of words that can be cut off in the middle."""

_MARKS = re.compile(r"\[t\d[^\]]*\]|\bt\d+\b")
"""Turns are no matter of the entry: where it comes from, not what it says."""
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(rf"(?<![\w./`-])[^\W\d_]{{{LEAST_WORD},}}(?![\w./`-])")
_FLAG = re.compile(r"(?<=\s)-{1,2}[A-Za-z][\w-]*(?:=\S+?)?(?=[\s`]|$)")
_NOT = re.compile(r"\b(?:not|never|no|without)\b ?|n't\b", re.IGNORECASE)
_QUOTED = re.compile(r'"(.*)"', re.DOTALL)


def one_letter(text: str, chance: Random) -> str | None:
    """One letter or digit of a name is another one."""
    places = [place for place, letter in enumerate(text) if letter.isalnum()]
    if not places:
        return None
    place = chance.choice(places)
    others = digits if text[place].isdigit() else ascii_lowercase
    letter = chance.choice([one for one in others if one != text[place].lower()])
    return text[:place] + letter + text[place + 1 :]


def other_letter(path: str, chance: Random) -> str | None:
    """A near miss of a path: one letter of the file's own name."""
    folder, slash, name = path.rpartition("/")
    changed = one_letter(name, chance)
    return None if changed is None else f"{folder}{slash}{changed}"


def other_folder(path: str, chance: Random) -> str | None:
    parts = path.split("/")
    places = [place for place, part in enumerate(parts[:-1]) if part.strip(".~")]
    if not places:
        return f"{chance.choice(FOLDERS)}/{path}"
    place = chance.choice(places)
    parts[place] = chance.choice([one for one in FOLDERS if one != parts[place]])
    return "/".join(parts)


def other_suffix(path: str, chance: Random) -> str | None:
    folder, slash, name = path.rpartition("/")
    stem, point, suffix = name.rpartition(".")
    kept = stem if point and stem else name
    wrong = chance.choice([one for one in SUFFIXES if one != f".{suffix}"])
    return f"{folder}{slash}{kept}{wrong}"


def other_number(text: str, chance: Random) -> str | None:
    """One number is larger by a little."""
    found = _outside_marks(_NUMBER, text)
    if not found:
        return None
    number = chance.choice(found)
    larger = int(number[0]) + chance.randint(1, LONGEST_STEP)
    return _put(text, number, f"{larger:0{len(number[0])}d}")


def other_count(text: str, chance: Random) -> str | None:
    """What a check came to: another count, or the opposite."""
    counts = list(re.finditer(r"\b\d+(?= (?:\w+ ){0,3}(?:passed|failed))", text))
    if counts:
        count = chance.choice(counts)
        return _put(text, count, str(int(count[0]) + chance.randint(1, LONGEST_STEP)))
    for word, opposite in (("`: passes", "`: FAILS"), ("`: FAILS", "`: passes")):
        if word in text:
            return text.replace(word, opposite)
    return None


def other_flag(text: str, chance: Random) -> str | None:
    """One flag of a command is another one."""
    if not (flags := list(_FLAG.finditer(text))):
        return None
    flag = chance.choice(flags)
    wrong = chance.choice([one for one in ascii_lowercase if one != flag[0].lstrip("-")[0]])
    dashes = "-" * (len(flag[0]) - len(flag[0].lstrip("-")))
    return _put(text, flag, dashes + wrong + flag[0].lstrip("-")[1:])


def no_flag(text: str, chance: Random) -> str | None:
    """One flag of a command is gone."""
    if not (flags := list(_FLAG.finditer(text))):
        return None
    flag = chance.choice(flags)
    return text[: flag.start()].rstrip() + text[flag.end() :]


def other_word(text: str, chance: Random) -> str | None:
    """One word stands in the place of another; a text of one word has a letter changed."""
    words = _outside_marks(_WORD, text)
    if not words:
        return None
    word = chance.choice(words)
    others = sorted({one[0] for one in words if one[0].lower() != word[0].lower()})
    if not others:
        changed = one_letter(word[0], chance)
        return None if changed is None else _put(text, word, changed)
    return _put(text, word, chance.choice(others))


def no_not(text: str, chance: Random) -> str | None:
    """What was forbidden is asked for."""
    found = list(_NOT.finditer(text))
    return _put(text, chance.choice(found), "") if found else None


def cut_short(text: str, chance: Random) -> str | None:
    """The second half of quoted words is gone."""
    quoted = _QUOTED.search(text)
    words = quoted[1].split() if quoted else []
    if quoted is None or len(words) < LEAST_WORDS:
        return None
    return _put(text, quoted, f'"{" ".join(words[: len(words) // 2])}"')


def quoted_words(text: str) -> str:
    """What stands between quotes in an entry, without the mark of what was cut."""
    quoted = _QUOTED.search(text)
    return quoted[1].removesuffix("…").strip() if quoted else ""


def _outside_marks(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    marks = [one.span() for one in _MARKS.finditer(text)]
    return [
        found
        for found in pattern.finditer(text)
        if not any(start <= found.start() < end for start, end in marks)
    ]


def _put(text: str, found: re.Match[str], words: str) -> str:
    return text[: found.start()] + words + text[found.end() :]


MODIFIED: SectionName = "Files Modified"
READ: SectionName = "Files Read (Not Modified)"
ACTIONS = ("created", "modified", "deleted", "renamed")
DELETED = "deleted, not counted"
COUNTED = "deleted, counted as left out"
REASONS = (" (", ". Not taken: ", ". Superseded: ")
"""How what stands behind a decision begins."""

Change = Callable[[str, Random], str | None]
Mutate = Callable[[Sequence[Item], int, Random], list[Item] | None]
"""All items with one of them changed; none where there is nothing to change in this way."""


class Mutation(NamedTuple):
    name: str
    mutate: Mutate
    sections: tuple[SectionName, ...] = tuple(SECTIONS)
    counted: bool = False
    """The section says that it leaves out one more: it adds up."""


class Mutated(NamedTuple):
    """A text with one thing wrong."""

    mutation: str
    entry: Entry
    """As it stood there."""
    text: str


def mutated(text: str, chance: Random) -> Mutated | None:
    """One section of those that say something, one entry of it, one sort of mutation: all by
    chance. What cannot be made wrong is deleted. None where the text says nothing."""
    items, left_out = parse(text)
    there = sorted({item.section for item in items}, key=[*SECTIONS].index)
    if not there:
        return None
    section = chance.choice(there)
    place = chance.choice([n for n, item in enumerate(items) if item.section == section])
    wrong = [one for one in MUTATIONS if section in one.sections]
    counted = section != "Story"  # a choice by its nature: nothing says how much it leaves
    torn = CUT if counted else LEFT_OUT
    ways = chance.choice(([torn], [LEFT_OUT], [*chance.sample(wrong, len(wrong)), torn]))
    before = _told(entries_of(text))
    for way in ways:
        made = way.mutate(items, place, chance)
        if made is None:
            continue
        became = render(made, left_out + (way.counted and counted))
        if _told(entries_of(became)) != before:
            return Mutated(way.name, as_entry(items[place]), became)
    return None


def _told(entries: Sequence[Entry]) -> set[tuple[str, ...]]:
    """What a reader learns: blanks are nothing, nor is what is said twice, nor the turn."""
    return {(one.section, plain(one.text), one.action, plain(one.detail)) for one in entries}


def _deleted(items: Sequence[Item], place: int, chance: Random) -> list[Item]:
    return [*items[:place], *items[place + 1 :]]


def _in_text(change: Change) -> Mutate:
    """Somewhere in the words of an entry."""

    def mutate(items: Sequence[Item], place: int, chance: Random) -> list[Item] | None:
        words = change(items[place].text, chance)
        return _with(items, place, None if words is None else items[place]._replace(text=words))

    return mutate


def _in_detail(change: Change) -> Mutate:
    """In the last cell of a row."""

    def mutate(items: Sequence[Item], place: int, chance: Random) -> list[Item] | None:
        words = change(items[place].detail, chance)
        return _with(items, place, None if words is None else items[place]._replace(detail=words))

    return mutate


def _in_path(change: Change) -> Mutate:
    def mutate(items: Sequence[Item], place: int, chance: Random) -> list[Item] | None:
        path, colon, why = items[place].text.partition(": ")
        wrong = change(path, chance)
        text = f"{wrong}{colon}{why}"
        return _with(items, place, None if wrong is None else items[place]._replace(text=text))

    return mutate


def _other_action(items: Sequence[Item], place: int, chance: Random) -> list[Item] | None:
    others = [one for one in ACTIONS if one != items[place].action]
    return _with(items, place, items[place]._replace(action=chance.choice(others)))


def _exchanged(items: Sequence[Item], place: int, chance: Random) -> list[Item] | None:
    """What changed in one file is told of another."""
    one = items[place]
    others = [
        n for n, item in enumerate(items) if item.section == MODIFIED and item.detail != one.detail
    ]
    if not others:
        return None
    other = chance.choice(others)
    made = list(items)
    made[place] = one._replace(detail=items[other].detail)
    made[other] = items[other]._replace(detail=one.detail)
    return made


def _turned(text: str, chance: Random) -> str | None:
    """An open error is told as resolved, a resolved one as open."""
    for word, opposite in (("OPEN: ", "Resolved: "), ("Resolved: ", "OPEN: ")):
        if text.startswith(word):
            return opposite + text.removeprefix(word)
    return None


def _not_begun(text: str, chance: Random) -> str | None:
    begun = " (in progress)"
    return text.removesuffix(begun) if text.endswith(begun) else None


def _no_reason(text: str, chance: Random) -> str | None:
    """A decision without why, or without what was not taken."""
    places = [place for mark in REASONS if (place := text.find(mark)) > 0]
    return text[: min(places)] if places else None


def _with(items: Sequence[Item], place: int, made: Item | None) -> list[Item] | None:
    """With another item in this place; none where there is none, or it is no other."""
    if made is None or made == items[place]:
        return None
    return [*items[:place], made, *items[place + 1 :]]


PROSE: tuple[SectionName, ...] = (
    "Session Intent",
    "Standing Instructions",
    "Decisions Made",
    "Current State",
    "Blockers / Open Questions",
    "Error Context",
    "Next Steps",
    "Story",
)
RUN: tuple[SectionName, ...] = ("Commands", "Current State")
NUMBERED: tuple[SectionName, ...] = (*PROSE, "Commands", "Index")

CUT = Mutation(DELETED, _deleted)
"""Text that was torn: its own counts show it."""
LEFT_OUT = Mutation(COUNTED, _deleted, counted=True)
"""As a renderer drops an entry: only a probe can miss it."""
MUTATIONS = (
    Mutation("one letter of a path", _in_path(other_letter), (MODIFIED, READ)),
    Mutation("another folder", _in_path(other_folder), (MODIFIED, READ)),
    Mutation("another suffix", _in_path(other_suffix), (MODIFIED, READ)),
    Mutation("another action", _other_action, (MODIFIED,)),
    Mutation("last cells exchanged", _exchanged, (MODIFIED,)),
    Mutation("another number", _in_text(other_number), NUMBERED),
    Mutation("another number in the detail", _in_detail(other_number), (MODIFIED,)),
    Mutation("another count", _in_text(other_count), ("Current State",)),
    Mutation("another flag", _in_text(other_flag), RUN),
    Mutation("a flag dropped", _in_text(no_flag), RUN),
    Mutation("another word", _in_text(other_word), (*PROSE, "Commands")),
    Mutation("not dropped", _in_text(no_not), PROSE),
    Mutation(
        "cut short",
        _in_text(cut_short),
        ("Session Intent", "Standing Instructions"),
    ),
    Mutation("reason dropped", _in_text(_no_reason), ("Decisions Made",)),
    Mutation("open and resolved exchanged", _in_text(_turned), ("Error Context",)),
    Mutation("in progress dropped", _in_text(_not_begun), ("Next Steps",)),
    Mutation("a name misspelt", _in_text(one_letter), ("Index",)),
)
"""How an entry is made wrong, each where it can stand."""


# One session compacted for several windows, with what the probes find on the way.


class Good(NamedTuple):
    """A summary that was accepted, and all it was asked by."""

    session: str
    window: int
    text: str
    state: Summary
    standing: Standing
    probes: tuple[Probe, ...]
    beside: tuple[str, ...]
    """Words that stand verbatim beside it."""


class Proved(NamedTuple):
    """One compaction: as it was rendered first, and as it was repaired."""

    window: int
    first: Verdict
    first_tokens: int
    made: Compaction
    verdict: Verdict
    anew: Verdict
    """The repaired text asked what a text of its own room is asked: that may be more than it was
    repaired for."""
    standing: Standing
    beside: tuple[str, ...]

    def good(self, session: str) -> Good | None:
        """None where the summary may not stand for its turns."""
        state = self.made.state
        if state is None or not self.verdict.accepted or not self.verdict.answers:
            return None
        return Good(
            session=session,
            window=self.window,
            text=self.made.summary,
            state=state,
            standing=self.standing,
            probes=tuple(answer.probe for answer in self.verdict.answers),
            beside=self.beside,
        )


def proved(transcript: Transcript, windows: Sequence[int]) -> Iterator[Proved]:
    """A compaction for each window that the session does not fit, where one frees anything."""
    size = sum(turn.tokens for turn in transcript.turns)
    budgets = {window: budget_for(transcript, window) for window in windows}
    small = {window: budget for window, budget in budgets.items() if size > budget.usable}
    if not small:
        return
    transcript = prepared(transcript, EXACT)
    flow = flow_of(transcript.turns, root=transcript.session.latest("root"))
    known = tuple(facts_of(transcript))
    for window, budget in small.items():
        job = Job(transcript, budget, "", None, EXACT, masking=False, known=known)
        plan = plan_of(job, flow)
        told = summary_of(job, flow, plan)
        first = verdict_of(job, plan, told)
        draft = repaired(job, flow, Draft(plan, told, first))
        made = record_of(job, flow, draft)
        anew = verdict_of(job, draft.plan, draft.told)
        if first is None or anew is None or made.verdict is None or made.plan.nothing_to_do:
            continue
        yield Proved(
            window=window,
            first=first,
            first_tokens=EXACT.count(told.text),
            made=made,
            verdict=made.verdict,
            anew=anew,
            standing=draft.told.standing,
            beside=said_again(transcript, made.plan.repeated),
        )


# What the agent sees although an entry of the summary is gone: it is said elsewhere as well.

CURRENT = ("Now: ", "Asked last")
"""How the line of the current request begins."""


def said_elsewhere(entry: Entry, good: Good) -> bool:
    """The user's words beside the summary, a rule in the request that is worked on, a name in
    another entry, an error in the words of another tool."""
    if entry.section == "Session Intent":
        return stands_beside(entry, good.beside)
    if entry.section == "Standing Instructions":
        return stands_beside(entry, (*good.beside, *_request(entries_of(good.text))))
    if entry.section == "Index":
        return named_again(entry, entries_of(good.text))
    if entry.section == "Error Context":
        return told_by_another(entry, entries_of(good.text))
    return False


def stands_beside(entry: Entry, beside: Iterable[str]) -> bool:
    words = quoted_words(entry.text)
    return bool(words) and any(holds(text, words) for text in beside)


def _request(entries: Iterable[Entry]) -> Iterator[str]:
    """The line of the request that is worked on, or was worked on last."""
    return (
        entry.text
        for entry in entries
        if entry.section == "Session Intent" and entry.text.startswith(CURRENT)
    )


def named_again(entry: Entry, entries: Iterable[Entry]) -> bool:
    """A name that stands in any other entry."""
    lines = (f"{one.text} {one.detail}" for one in entries if one != entry)
    return any(holds(line, entry.text) for line in lines)


def told_by_another(entry: Entry, entries: Iterable[Entry]) -> bool:
    """Whether all words of it stand, in their order, in another entry of its section."""
    words = entry.text.split()
    return any(
        other.section == entry.section and other.text != entry.text and _in_order(words, other)
        for other in entries
    )


def _in_order(words: Sequence[str], other: Entry) -> bool:
    left = iter(other.text.split())
    return all(word in left for word in words)


# The mutation check: do the probes notice when one entry of a good summary is lost or wrong?

TRIES = 20
"""Cases drawn for one that can be used: a text may say nothing."""

MADE_WRONG = "made wrong"
ALL = "all"
GROUPS = (DELETED, COUNTED, MADE_WRONG, ALL)
"""Sorts of mutations, and all of them."""


class Look(Protocol):
    """Asks a text what the facts behind it tell."""

    def __call__(
        self,
        summary: Summary,
        text: str,
        probes: Iterable[Probe],
        *,
        standing: Standing = ...,
        beside: Iterable[str] = ...,
    ) -> Verdict: ...


class Case(Value, frozen=True):
    """One mutation of one good summary."""

    session: str
    window: int
    section: SectionName
    mutation: str
    entry: str
    """As it stood there."""
    asked: bool
    """Whether it answers a probe of its section."""
    critical: bool
    """Whether it answers a critical one."""
    elsewhere: bool
    """The agent sees it still: nothing is lost."""
    by_probes: bool
    """A probe fails that passed before."""
    by_strays: bool
    """A line stands there that no fact holds, or a section does not add up, and did not before."""

    @property
    def noticed(self) -> bool:
        return self.by_probes or self.by_strays


class Noticed(Value, frozen=True):
    """Cases of one kind of entry, or of one sort of mutation. Those of what is said elsewhere as
    well are counted apart."""

    kind: str
    cases: int
    by_probes: Mean | None
    """Share of all cases in which a probe fails."""
    noticed: Mean | None
    """By probes, by lines that no fact holds or by sections that do not add up."""
    asked: int
    """Cases in which the entry answers a probe: what else it says only a longer summary is
    asked."""
    asked_by_probes: Mean | None
    """Share of these in which a probe fails."""
    critical: int
    """Cases in which the entry answers a critical probe."""
    critical_by_probes: int
    critical_noticed: int
    elsewhere: int
    elsewhere_noticed: int


class Checked(Value, frozen=True):
    seed: int
    summaries: int
    """Good ones that were drawn from."""
    kinds: tuple[Noticed, ...]
    cases: tuple[Case, ...]


def checked(goods: Sequence[Good], count: int, *, seed: int, look: Look = verify) -> Checked:
    """So many cases, drawn by chance; the same for the same summaries and seed."""
    cases = tuple(_cases(goods, count, seed, look))
    drawn = Resampling((case.session for case in cases), seed=seed)
    groups: list[tuple[str, Callable[[Case], bool]]] = [
        *((name, lambda case, name=name: case.section == name) for name in SECTIONS),
        *((name, lambda case, name=name: _is_of(case, name)) for name in GROUPS),
    ]
    return Checked(
        seed=seed,
        summaries=len(goods),
        kinds=tuple(_noticed(name, filter(of, cases), drawn) for name, of in groups),
        cases=cases,
    )


def _cases(goods: Sequence[Good], count: int, seed: int, look: Look) -> Iterator[Case]:
    chance = Random(seed)
    whole: dict[int, Verdict] = {}
    tries = count * TRIES if goods else 0
    while count and tries:
        tries -= 1
        place = chance.randrange(len(goods))
        made = mutated(goods[place].text, chance)
        if made is None:
            continue
        if place not in whole:
            whole[place] = _look(goods[place], goods[place].text, look)
        count -= 1
        yield _case(goods[place], made, whole[place], _look(goods[place], made.text, look))


def _look(good: Good, text: str, look: Look) -> Verdict:
    return look(good.state, text, good.probes, standing=good.standing, beside=good.beside)


def _case(good: Good, made: Mutated, before: Verdict, after: Verdict) -> Case:
    failed = {answer.probe for answer in before.failed}
    alone = Shown((made.entry,))
    own = (probe for probe in good.probes if probe.section == made.entry.section)
    answered = [probe for probe in own if answer(probe, alone).passed]
    return Case(
        session=good.session,
        window=good.window,
        section=made.entry.section,
        mutation=made.mutation,
        entry=made.entry.text,
        asked=bool(answered),
        critical=any(probe.critical for probe in answered),
        elsewhere=said_elsewhere(made.entry, good),
        by_probes=any(answer.probe not in failed for answer in after.failed),
        by_strays=not set(after.strays) <= set(before.strays),
    )


def _is_of(case: Case, group: str) -> bool:
    sort = case.mutation if case.mutation in (DELETED, COUNTED) else MADE_WRONG
    return group in (sort, ALL)


def _noticed(kind: str, cases: Iterable[Case], drawn: Resampling) -> Noticed:
    every = list(cases)
    lost = [case for case in every if not case.elsewhere]
    apart = [case for case in every if case.elsewhere]
    asked = [case for case in lost if case.asked]
    critical = [case for case in lost if case.critical]
    return Noticed(
        kind=kind,
        cases=len(lost),
        by_probes=drawn.mean((case.session, float(case.by_probes), 1) for case in lost),
        noticed=drawn.mean((case.session, float(case.noticed), 1) for case in lost),
        asked=len(asked),
        asked_by_probes=drawn.mean((case.session, float(case.by_probes), 1) for case in asked),
        critical=len(critical),
        critical_by_probes=sum(case.by_probes for case in critical),
        critical_noticed=sum(case.noticed for case in critical),
        elsewhere=len(apart),
        elsewhere_noticed=sum(case.noticed for case in apart),
    )
