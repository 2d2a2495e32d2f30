"""What is not to be done: by a rule of the user's, or as somebody decided against it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from math import ceil
from typing import NamedTuple

from kedge.model import AnyFact, Decided
from kedge.wording.claims.clauses import is_negated, turns_away
from kedge.wording.claims.words import content, lowered, tells

FEWEST = 2
"""Stems that a clause shares with a ban that it offends."""
LEAST_SHARE = 0.5
"""Of the stems of a longer one."""
LEAST_REJECTED = 0.75
"""The same of what was not taken among others: that shares words with what was."""
LEAST_SPOKEN = 0.7
"""The same of a ban in the middle of a sentence: its subject is not what is banned."""

_SENTENCE = re.compile(r"(?<=[.!?。！？])\s*|[;；]\s*|,\s*(?:and|but|und|et|y)?\s*|\s(?:and|but)\s")
_BANNED = re.compile(
    r"^\W*(?:(?:please|and|but|also|bitte|s'il\s+vous\s+plaît|por\s+favor|you|we|agents?|the\s+agent"
    r"|rule|rules|important|note|[\w ]{1,40}:)\W+)*?"
    r"(?:(?:must|should|shall|may|can|do|does|will|are|is)\s*(?:not\b|n't\b)(?:\s+(?:be|to|ever))?"
    r"|(?:don't|mustn't|shouldn't|can't|cannot|won't|never(?:\s+ever)?|not|no|avoid|stop|without"
    r"|refrain\s+from|keep\s+out\s+of|stay\s+away\s+from|hands\s+off|leave|do\s+not"
    r"|niemals|nie|nicht|kein\w*|ne|n'|jamais|nunca|jamás|no|não|non|mai|никогда\s+не|не|нельзя"
    r"|不要|别|別|不得|禁止|勿|请勿|切勿)(?=\W|\b|[\u4e00-\u9fff]))\s*(?P<what>.+)",
)
"""A ban, with what is banned behind it."""
_UNLESS = re.compile(
    r"\b(?:without|unless|until|before|except|other\s+than|ohne|außer|bevor|sans|sauf|sin|excepto)\b"
    r"|除非|之前|без|кроме"
)
_AGAINST = re.compile(
    r"\b(?:against|not\s+to|not\s+going\s+to|won't|will\s+not|rather\s+than|instead\s+of)\s+(.+)"
)
_OVER = re.compile(
    r"\b(?:chose|choose|chosen|pick\w*|prefer\w*|took|went\s+with|decided\s+(?:for|on))\b.+?\bover\s+(.+)"
)
_TAKES_UP = re.compile(
    r"\b(?:use|using|uses|switch\w*|mov(?:e|es|ing)|go(?:es)?\s+(?:back|with)|return\w*|adopt\w*|take"
    r"|introduc\w*|replac\w*|try|back\s+to)\b"
)
"""Words that come back to what was not taken."""
_PERMITS = re.compile(
    r"\b(?:may|can|could|might|allowed|permitted|fine|ok|okay|in\s+scope|permission|free\s+to|safe"
    r"|acceptable|agreed|welcome|clearance|cleared|go-ahead|exempt\w*|exception|optional|possible"
    r"|fair\s+game|legitimate|approved|authori[sz]ed|unrestricted|green\s+light|darf|dürfen|erlaubt"
    r"|peut|permis|autorisé|puede|permitido|можно|разрешено)\b|可以|允许|允許|许可"
    r"|\b(?:not|no\s+longer|n't)\s+(?:forbidden|prohibited|banned|off[- ]limits|a\s+problem)\b"
    r"|\bnothing\s+(?:\w+\s+)?against\b|\bno\s+(?:reason|objections?|need)\b"
)
_ASKED_FIRST = re.compile(
    r"\b(?:ask|asking|asked|approv\w*|confirm\w*|agree\w*|permission|consent|says\s+so|allows?)\b"
)


class Ban(NamedTuple):
    what: frozenset[str]
    """Stems of all words that say anything."""
    verb: str
    """The first of them, where they begin with what is not to be done."""
    unless: frozenset[str]
    """Stems of what would make it right."""
    least: int
    """Stems of it that a clause must share."""
    voiced: bool = False
    """Only steps and aims offend it: others may tell of what was not taken."""


def bans_of(rules: Iterable[str], facts: Iterable[AnyFact]) -> Iterator[Ban]:
    for rule in rules:
        yield from _of_rule(rule)
    newest = {fact.key: fact for fact in facts if isinstance(fact, Decided)}
    for fact in newest.values():
        if found := _AGAINST.search(lowered(fact.decision)):
            yield from _banned(found[1])
        elif found := _OVER.search(lowered(fact.decision)):
            other = frozenset(content(found[1]))
            yield Ban(other, "", frozenset(), _least(other, LEAST_REJECTED), voiced=True)
        rejected = frozenset(content(fact.rejected))
        if len(rejected) >= FEWEST:
            yield Ban(rejected, "", frozenset(), _least(rejected, LEAST_REJECTED), voiced=True)


def offends(clause: str, bans: Iterable[Ban], *, voiced: bool, orders: bool) -> bool:
    """Whether a clause is for what is banned. `voiced`: of a step or an aim; `orders`: it tells
    to do something."""
    stems, permits = frozenset(content(clause)), _PERMITS.search(clause) is not None
    if turns_away(clause) and not permits:
        return False
    return any(_is_for(clause, stems, ban, permits, voiced, orders) for ban in bans)


def _is_for(
    clause: str, stems: frozenset[str], ban: Ban, permits: bool, voiced: bool, orders: bool
) -> bool:
    shared = stems & ban.what
    if not shared or (ban.voiced and not (voiced or permits)):
        return False
    if shared == ban.what and ban.voiced and voiced and _TAKES_UP.search(clause):
        return True
    if ban.unless and (ban.unless & stems or _ASKED_FIRST.search(clause)):
        return False
    if permits and not is_negated(clause) and any(map(tells, shared)) and ban.verb:
        return True
    if ban.verb and orders:
        objects = ban.what - {ban.verb}
        if objects and objects <= stems and any(map(tells, objects)):
            return True
    return (
        len(shared) >= ban.least
        and (not ban.verb or ban.verb in shared)
        and (len(ban.what) >= FEWEST or voiced)
    )


def _of_rule(rule: str) -> Iterator[Ban]:
    for part in filter(None, _SENTENCE.split(lowered(rule))):
        if found := _BANNED.match(part):
            yield from _banned(found["what"])
        elif is_negated(part):
            whole = frozenset(content(part))
            if len(whole) > FEWEST:
                yield Ban(whole, "", frozenset(), _least(whole, LEAST_SPOKEN))


def _banned(words: str) -> Iterator[Ban]:
    what, _, unless = _split(words)
    stems = content(what)
    if len(stems) >= FEWEST or any(map(tells, stems)):
        every = frozenset(stems)
        least = min(len(every), _least(every, LEAST_SHARE))
        yield Ban(every, stems[0], frozenset(content(unless)), least)


def _split(words: str) -> tuple[str, str, str]:
    found = _UNLESS.search(words)
    return (words[: found.start()], found[0], words[found.end() :]) if found else (words, "", "")


def _least(stems: frozenset[str], share: float) -> int:
    return max(FEWEST, ceil(share * len(stems)))
