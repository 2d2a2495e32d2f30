"""All probes of a summary, and those of earlier ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import NamedTuple

from kedgeline.model import (
    AnyFact,
    Decided,
    FileChanged,
    Matter,
    Probe,
    SectionName,
    Stated,
    Summary,
)
from kedgeline.probes.making import homes as requests
from kedgeline.probes.making import record
from kedgeline.probes.making import record as errors
from kedgeline.probes.making import record as files
from kedgeline.probes.making import record as work
from kedgeline.probes.making.homes import probe
from kedgeline.text.prose import holds_plain, names_in, plain

# How much is asked: all that a hand-off must say, and of all else what a summary of its size should
# hold.


class Ration(NamedTuple):
    each: int
    """Tokens for which one more is asked."""
    behind: int = 0
    """Tokens that are not counted: a shorter text has better things to say."""


RATIONS: dict[Matter, Ration] = {
    "finding": Ration(450),
    "command": Ration(500),
    "read": Ration(1_500, behind=2_500),
    "change": Ration(900, behind=900),
    "decision": Ration(1_200, behind=200),
    "earlier request": Ration(600, behind=250),
    "said since": Ration(700, behind=600),
    "task done": Ration(2_000, behind=4_000),
    "action": Ration(500, behind=1_200),
    "commit": Ration(2_000, behind=1_000),
    "report": Ration(2_500, behind=4_000),
    "open error": Ration(900, behind=1_000),
    "resolved error": Ration(2_500, behind=4_000),
    "dead end": Ration(2_000, behind=2_000),
    "earlier text": Ration(100),
}
"""For which length of a summary one probe of a matter is asked, those with the highest rank first.
Measured on real sessions: somewhat more than what summaries of 1,000 to 4,000 tokens hold of each
where every section has its share of the room. More would ask for what no summary of the size can
hold, less would not notice what is gone."""

CHARACTERS = 4
"""Of a token, as a rule: what is left to spare need not be known exactly."""
AROUND = 10
"""Tokens around an answer: marks of turns, labels, the line itself."""


def ration(matter: Matter, room: int) -> int:
    """How many things of a matter a summary with so many tokens to spare is asked for."""
    each, behind = RATIONS[matter]
    return max(0, room - behind) // each


def rationed(probes: Iterable[Probe], room: int) -> Iterator[Probe]:
    """The first of probes of one matter."""
    found = iter(probes)
    for first in found:
        yield from islice(chain([first], found), ration(first.matter, room))
        return


def left_of(room: int, asked: Iterable[Probe]) -> int:
    """Tokens that are left where all of these are answered."""
    return max(0, room - sum(map(_tokens, asked)))


def _tokens(probe: Probe) -> int:
    return AROUND + sum(map(len, probe.expected)) // CHARACTERS


# What came out, as the agent and its sub-agents put it: findings, values, reasons.

REPORTED = ("answer", "report")
"""Where findings stand: what is said on the way is often overtaken."""
OF_A_TURN = 3
"""Findings of one answer or report that may be asked for: what is long lists what is less and less
worth it."""
TERMS = 4
"""Of a statement that must be there: with them it is known again in other words too."""
LEAST = 2
"""Terms that one line tells by chance no more."""
WORDS = 3
"""Terms of a statement that names less: its longest words are among them."""
LONG_WORD = 7
"""Letters of such a word."""

_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,:]\d+)*(?![\w])")
_REASON = re.compile(
    r"\b(?:because|since|so that|therefore|due to|caused?|root cause|instead of|rather than|however"
    r"|turns out|means that|only (?:when|if)|no longer|never|must|fails?|failed|missing|wrong)\b",
    re.IGNORECASE,
)
_WORD = re.compile(rf"[^\W\d_]{{{LONG_WORD},}}")


class Finding(NamedTuple):
    said: Stated
    terms: tuple[str, ...]
    telling: int
    """How many signs there are that it says something: names, numbers, a reason."""


def findings(summary: Summary) -> Iterator[Probe]:
    """Those of the newest turns first, of each turn those that tell most."""
    turns: dict[int, list[Finding]] = {}
    for said in summary.statements:
        if said.where in REPORTED and (found := _finding(said)):
            turns.setdefault(said.turn, []).append(found)
    for turn in sorted(turns, reverse=True):
        for one in sorted(turns[turn], key=lambda found: -found.telling)[:OF_A_TURN]:
            yield _asked(one)


def _asked(one: Finding) -> Probe:
    whose = "a sub-agent" if one.said.where == "report" else "the agent"
    return probe(
        matter="finding",
        question=f"What did {whose} report in t{one.said.turn} about {one.terms[0]}?",
        expected=one.terms,
        turn=one.said.turn,
        key=f"{one.said.turn} {one.said.place}",
    )


def _finding(said: Stated) -> Finding | None:
    """None where a statement says nothing that could be missed."""
    text = plain(said.text)
    if said.code or text.endswith(("?", ":")):
        return None
    exact = _apart((*names_in(text), *_NUMBER.findall(text)), text)
    telling = len(exact) + LEAST * bool(_REASON.search(text))
    if len(exact) < LEAST:
        words = sorted(_WORD.findall(text), key=len, reverse=True)
        exact = _apart((*exact, *words), text)[:WORDS]
    if telling < LEAST or len(exact) < LEAST:
        return None
    return Finding(said, tuple(exact[:TERMS]), telling)


def _apart(terms: Iterable[str], text: str) -> list[str]:
    """Those that can be looked for in a text, each once, and none that is a part of another."""
    found = dict.fromkeys(one for one in terms if holds_plain(text, plain(one)))
    return [
        one
        for one in found
        if not any(one != other and holds_plain(plain(other), plain(one)) for other in found)
    ]


def probes_of(summary: Summary, room: int, *, current: bool = True) -> tuple[Probe, ...]:
    """What a summary of so many tokens is asked. `current` says whether the request that is worked
    on is among the folded turns; else it is still there to be read."""
    must = tuple(filter(_can_be_asked, _always(summary, current)))
    ranked = _by_rank(summary, left_of(room, must), current)
    return (*must, *filter(_can_be_asked, ranked))


def _can_be_asked(probe: Probe) -> bool:
    """Whether there is an answer to look for."""
    return bool(probe.expected) and all(part.strip() for part in probe.expected)


def again(
    earlier: Iterable[Probe], made: Iterable[Probe], since: Iterable[AnyFact]
) -> tuple[Probe, ...]:
    """Probes of earlier compactions that hold still and are not made anew: nothing that was there
    may be lost on the way. What newer facts are about is asked by newer probes."""
    known = [*made]
    settled = {(probe.section, probe.key) for probe in known}
    rules = {probe.expected[0] for probe in known if probe.matter == "rule"}
    settled |= {about for fact in since for about in _about(fact)}
    return tuple(
        probe
        for probe in earlier
        if probe.lasting
        and (probe.section, probe.key) not in settled
        and not (probe.matter == "decision" and probe.expected[0] in rules)
    )


def _about(fact: AnyFact) -> Iterator[tuple[SectionName, str]]:
    """The sections and keys of lasting probes that a fact is about."""
    if isinstance(fact, FileChanged):
        yield ("Files Modified", fact.path)
        if fact.renamed_from:
            yield ("Files Modified", fact.renamed_from)
    elif isinstance(fact, Decided):
        yield ("Decisions Made", fact.key)


def _always(summary: Summary, current: bool) -> Iterator[Probe]:
    """What every hand-off must say, however short it is."""
    if current:
        yield from requests.request(summary)
    yield from requests.rules(summary)
    yield from files.files(summary)
    yield from record.earlier_text_that_holds(summary)
    yield from requests.closing_answer(summary, current=current)
    yield from work.users_decisions(summary)
    yield from work.newest_checks(summary)
    yield from work.edited_since(summary)
    yield from work.absences(summary)
    yield from work.open_tasks(summary)
    yield from work.task_count(summary)
    yield from work.questions(summary)
    yield from errors.errors_in_the_way(summary)
    yield from record.newest_actions(summary)
    yield from record.delegated(summary)
    yield from record.repository(summary)
    yield from record.session(summary)


def _by_rank(summary: Summary, room: int, current: bool) -> Iterator[Probe]:
    """What is worth its place, as far as there is place."""
    ranked = (
        requests.earlier_requests(summary, current=current),
        requests.words_since(summary, current=current),
        work.agents_decisions(summary),
        work.tasks_done(summary),
        record.older_actions(summary),
        record.commits(summary),
        record.reports(summary),
        errors.older_errors(summary),
        errors.resolved_errors(summary),
        errors.dead_ends(summary),
        files.changes(summary),
        files.reads(summary),
        record.commands(summary),
        record.earlier_text(summary),
        findings(summary),
    )
    for probes in ranked:
        yield from rationed(probes, room)
