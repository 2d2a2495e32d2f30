"""Choices that words say of themselves: that one was made, how something is mended and why, what is
left as it is, what was put in the place of what."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from kedgeline.facts.questions import OPTION, SHOWN
from kedgeline.facts.statements import Piece, pieces_of, sentences_of, without_folded
from kedgeline.model import Decided, Speaker
from kedgeline.text.prose import cut
from kedgeline.text.spoken import at_beginning

LONGEST = 420
"""Characters of a sentence; longer ones describe."""
ABOUT = 220
"""Characters of the agent's words that a reply is told with."""

# Choices that say so of themselves.

MOST = 2
"""Choices taken from one answer, the last: more of them are an explanation. Of what is said before
a call the last one stands."""
_STATED = re.compile(
    r"\W{0,4}(?:(?:so|ok|okay|now|then|also|and|but)\b\s*[,:—–-]?\s*){0,2}"
    r"(?:(?P<label>(?:final |key |design |architecture )?decisions?(?: made| taken)?\s*[:—–-]\s*)\S"
    r"|(?:i|we)(?:'ve| have)? (?:also |deliberately |intentionally |finally )?"
    r"(?:chose|chosen|opted|decided|agreed|picked|settled|went with|preferred)\b)",
    re.IGNORECASE,
)
_TAKES = re.compile(
    r"\W{0,4}(?:(?:so|now|then|also|and|but)\b[\s,]*)?(?:(?:i|we)(?:'ll|'ve| will| have)? |let's )?"
    r"(?:also |just )?(?:used?|take|took|keep|kept|go with|went with)\s",
    re.IGNORECASE,
)
"""How a sentence begins that may say a choice: with what was not taken, or a reason, it does."""
_USERS = at_beginning(
    (
        r"(?:let's|lets|i'll|we'll|we) (?:just )?(?:(?:go|stick|stay) with|use|keep)"
        r" (?!(?:this|that|these|those|it|them)\b)\w+",
        r"i(?:'d| would)?(?: really| much)? prefer",
        r"(?:please )?(?:use|keep) .{1,80}? (?:instead of|rather than)\b",
    )
)
_CONTRAST = re.compile(
    r"\b(?:instead of|rather than|(?<=, )not)\s"
    r"|\b(?:chose|chosen|picked|preferred|use) .{1,80}? over\s",
    re.IGNORECASE,
)
_OPEN = re.compile(r"\b(?:would|could|might|may|if you|you can|you'd)\b|\?$", re.IGNORECASE)
"""Leave open what is done."""
_BECAUSE = re.compile(r",?\s+\(?(?:because|since|so that|in order to)\b", re.IGNORECASE)
_PAUSE = re.compile(r"[,;.()](?:\s|$)|\s(?:because|since|so that|to|for)\s|\s[—–-]\s")


def stated_in(text: str, turn: int, by: Speaker) -> Iterator[Decided]:
    """Choices that say so of themselves, whole sentences with what introduces them. What the agent
    does without saying that it chose stands in the Story, in its own words."""
    for piece in pieces_of(text):
        plain = piece.text.replace("’", "'")
        if piece.code or len(plain) > LONGEST or not is_choice(plain, by):
            continue
        label = found["label"] if (found := _STATED.match(plain)) else None
        told = (piece.text[len(label) :] if label else piece.text).strip().rstrip(":")
        reason = _BECAUSE.search(told) if by == "agent" else None
        choice = told[: reason.start()] if reason else told
        head = piece.head if len(piece.head) <= OPTION else ""
        joint = " " if head.endswith(":") else ": "
        text = f"{head}{joint}{choice}" if head else choice
        yield decided(
            turn,
            by,
            text if by == "user" else _shown(text),
            key=("" if head else pair_key(told)) or key_of(told),
            rationale=_shown(told[reason.start() :]) if reason else "",
            rejected=left_out(told),
        )


def is_choice(plain: str, by: Speaker) -> bool:
    said = _STATED.match(plain) or (by == "user" and _USERS.match(plain))
    if by == "agent" and _TAKES.match(plain):
        said = said or _CONTRAST.search(plain) or _BECAUSE.search(plain)
    return bool(said) and _OPEN.search(plain) is None


def left_out(choice: str) -> str:
    """What was not taken."""
    left = _CONTRAST.search(choice)
    return _shown(_PAUSE.split(choice[left.end() :], maxsplit=1)[0]) if left else ""


def pair_key(choice: str) -> str:
    """A key for the two things one is chosen from, whichever it is: a later choice between them
    takes the place of this one."""
    left, rejected = _CONTRAST.search(choice), left_out(choice)
    before = choice[: left.start()].split() if left else []
    pair = sorted(key_of(one.strip(".")) for one in (before[-1], rejected)) if before else []
    return f"{pair[0]} or {pair[1]}" if all(pair) and pair else ""


def _shown(text: str) -> str:
    return text.strip(" ,.(—–-")


# Choices that the agent makes as it works: how it mends something, what it does for a reason that
# it gives, what it leaves as it is, what it put in the place of what.

_WORKS = r"(?:i|we)(?:'ll| will|'m going to)|let's|let me"
_LOOKS_INTO = (
    r"(?!(?:first |also |now |just |quickly |then |try to |need to |have to |want to )*"
    r"(?:check|look|see|verify|confirm|read|search|find|examine|inspect|investigat|explor|review"
    r"|trac|understand|run|try|test|start|begin|open|view|proceed|continue|go |do |move on|wait|ask"
    r"|submit|get|fetch|list|show|explain|summar|commit|push|invoke|launch|dispatch|debug"
    r"|need|have|can|could|should|would|think|know|want|believe|don't|didn't|assume|analy|compare"
    r"|amend|create (?:a |the )?(?:todo|task)|write a (?:quick|small) )\w*)"
)
_MENDS = re.compile(
    r"\W{0,4}(?:(?:so|now|then|and|but|ok|okay|.{10,240}, so)\b[\s,]*)?(?:(?:the|a|my) )?"
    r"(?:(?:right|best|correct|proper|safest|simple(?:r|st)|clean(?:er|est)|better|real|minimal"
    r"|practical) )?"
    r"(?:fix|approach|solution)(?: #?\d{1,2})?"
    r"(?: (?:here )?is(?: \w+)?(?: to\b|\s?[:—–-])|\s?[:—–])\s*\S{2,} \S",
    re.IGNORECASE,
)
"""How it mends something."""
_FOR_A_REASON = re.compile(
    rf"(?:since|because|given)\b.{{10,240}}?,? (?:{_WORKS}) {_LOOKS_INTO}\w{{3,}}"
    rf"|.{{10,240}}?,? so (?:(?:{_WORKS}) (?:just )?{_LOOKS_INTO}\w{{3,}}|(?:i|we) \w{{3,}}ed\b)"
    rf"|\W{{0,4}}(?:(?:so|now|then)\b,? )?(?:{_WORKS}) {_LOOKS_INTO}\w{{3,}}\b.{{3,200}}"
    r"\b(?:because|since|so that|instead of|rather than"
    r"|to (?:avoid|keep|preserve|prevent|match the (?:actual|existing)))\s",
    re.IGNORECASE,
)
"""What it does, with the reason."""
_LEAVES = re.compile(
    r".{10,300}?[.,;—–-] (?:(?:so )?(?:i|we)(?:'ll)? )?"
    r"(?:skip(?:ped|ping)?|no (?:change|fix) needed)\W{0,3}$"
    r"|.{0,200}\bno (?:code )?(?:fix|change)(?:es|s)? (?:is |are )?(?:needed|necessary|required)"
    r" (?:for|in|to)\b"
    r"|(?:i|we)(?:'ll| will|'ve)? (?:leave|left|keep|kept|skip|skipped) .{3,160}"
    r"\b(?:as[- ]is|unchanged|alone|untouched|in place)\b",
    re.IGNORECASE,
)
"""What it leaves as it is."""
_REPLACES = re.compile(
    r"(?!.{0,300} should )(?:.{0,200}\b"
    r"(?:now|updated?|changed?|switche?[ds]?|replaced?|us(?:es?|ing|ed)|emits?|moved"
    r"|kept|resolved)\b.{1,200}\b(?:instead of|rather than)\s"
    r"|\W{0,4}(?:replaced|switched|migrated|converted|changed)\b .{0,160}?\b(?:to|with|by) \S"
    r"|.{0,200}\b(?:resolved|fixed|solved|handled)\b(?: \w+)?"
    r" by (?:keep|tak|us|merg|replac)\w*ing\b)",
    re.IGNORECASE,
)
"""What it put in the place of what: said of changes that were made."""
_MAY_CHOOSE = re.compile(
    r"\b(?:instead of|rather than|fix|approach|solution|since|because|given|so|avoid|keep|kept"
    r"|preserve|prevent|match|skip\w*|needed|necessary|required|leave|left|replaced|switched"
    r"|migrated|converted|changed|resolved|fixed|solved|handled)\b",
    re.IGNORECASE,
)
"""One of these stands in every sentence that is one: most have none, and are passed over."""
_CHANGED = re.compile(r"\W{0,4}changed (.{3,120}?) from ", re.IGNORECASE)
_NO_SUBJECT = re.compile(
    r"\W{0,4}(?:now (?:just )?\w+s|changed (?:to|from)|switched|uses)\b", re.IGNORECASE
)
"""How a change begins that stands below what it is of."""
_TIDIES = re.compile(
    r"\bno longer (?:needed|used)|\bexample fix|^\W{0,4}(?:(?:the|this|that)(?: \w+)?) commits?\b",
    re.IGNORECASE,
)
"""Tidying up, what only shows something, and what somebody else did."""
_LEANING = re.compile(
    r"\W{0,4}(?:[\w']+,? ){0,3}(?:this|that|it|it's|these|those|they|there)\b", re.IGNORECASE
)
"""How a sentence begins that needs the one before it."""


def taken_up(answer: str, turn: int, *, acts: bool, edited: bool) -> Iterator[Decided]:
    """The choices of an agent that `acts` in the same turn, or says what came of its edits, where
    no word says that it is one."""
    before = ""
    for piece in _with_lists(pieces_of(without_folded(answer))):
        told, last = piece.text.rstrip(" :"), before
        before = told
        plain = told.replace("’", "'")
        if not OPTION // 4 < len(plain) <= LONGEST or not _MAY_CHOOSE.search(plain):
            continue
        if _OPEN.search(plain) or _TIDIES.search(plain) or is_choice(plain, "agent"):
            continue
        mends = acts and _MENDS.match(plain) is not None
        does = mends or (acts and _FOR_A_REASON.match(plain)) or _LEAVES.match(plain)
        if not (does or (edited and not acts and _REPLACES.match(plain))):
            continue
        leans = _LEANING.match(plain) is not None
        about = (piece.head if piece.listed else "") or last
        if leans and not about:
            continue
        if piece.head and _NO_SUBJECT.match(plain):
            told = cut(f"{piece.head.rstrip(':')}: {told}", 2 * SHOWN)
        after = f"after “{cut(about.rstrip(':'), ABOUT // 2)}”"
        yield decided(
            turn,
            "agent",
            told,
            key=_changed_key(plain) or key_of(told),
            about=after if leans or (mends and last) else "",
            rejected=left_out(told),
        )


def _with_lists(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Without code, and items sentence by sentence where they are long; before a list what
    introduces it, with as much of the list as is short."""
    prose = (piece for piece in pieces if not piece.code)
    for head, below in groupby(prose, lambda piece: piece.head if piece.listed else ""):
        listed = [*below]
        if head.endswith(":") and (_REPLACES.match(head) or _MENDS.match(f"{head} x x")):
            yield Piece(cut(f"{head} {'; '.join(one.text for one in listed)}", ABOUT))
        for one in listed:
            parts = [*sentences_of(one.text)] if len(one.text) > OPTION else [one.text]
            yield from (one._replace(text=part) for part in parts)


def _changed_key(plain: str) -> str:
    """What was changed, where a later change of the same takes the place of this one."""
    changed = _CHANGED.match(plain)
    return f"changed {key_of(changed[1])}" if changed else ""


# A decision, and the key by which a later one takes its place.

KEY = 80
"""Characters of a key."""
_FOLDED = re.compile(
    r"\b(?:the|a|an|our|your|my|using|to|it|just|please)\b|[^\w./-]+", re.IGNORECASE
)


def decided(
    turn: int,
    by: Speaker,
    decision: str,
    *,
    key: str = "",
    about: str = "",
    rationale: str = "",
    rejected: str = "",
    offered: int = -1,
) -> Decided:
    return Decided(
        turn=turn,
        by=by,
        key=key or key_of(decision),
        decision=cut(decision, 2 * SHOWN),
        about=about,
        rationale=cut(rationale, SHOWN),
        rejected=cut(rejected, SHOWN),
        offered=offered,
    )


def key_of(text: str) -> str:
    return " ".join(_FOLDED.sub(" ", text.casefold().replace("`", "")).split())[:KEY].strip()
