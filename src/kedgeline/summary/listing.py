"""What was said: the intent, rules, answers and decisions, in the words of who said it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from kedgeline.model import Answered, Decided, Requested, Speaker, Stated, Worded
from kedgeline.model.summary import SectionName, Summary
from kedgeline.summary.state import ALWAYS, FIRST, OPEN, THEN, WORDS, Item, salience
from kedgeline.text.prose import announces, cut, foreign, one_line

# What the user wants, and how they want it, in their own words.

Standing = Literal["here", "beside", "later"]
"""Where the current request stands verbatim: in this text; beside it, so that here its beginning is
enough; or in turns that follow, so that no request here is the current one."""

EARLIER_SHOWN = 240
"""Characters of an earlier request: its beginning says what it was about."""
SHORTENED = (240, 600, *range(900, 4_801, 300))
"""Characters of a long current request, rendition by rendition, before it stands there whole."""
SHORT = 12
"""Words of a request up to which it may lean on what was said before it."""
STEP_SHOWN = 120
"""Characters of words on the way."""
OFFER_SHOWN = 300
"""Characters at the end of an answer, where it asks or offers what short words reply to."""
OUTLINED = 80
"""Characters of one heading or item of a plan."""
LEAST_ITEMS = 3
"""Headings and items from which a text is a plan, and its outline tells it better than its
beginning."""

_LEANS = re.compile(
    r"\b(?:it|this|that|these|those|them|again|too|also|same|both|one|ones|first|second|option"
    r"|yes|yeah|ok|okay|sure|do|go|continue|proceed|(?<![\d,.])\d{1,2}(?![,.]?\d)|[a-e]\))\b",
    re.IGNORECASE,
)
_OUTLINE = re.compile(r"^\s{0,8}(?:#{1,6}\s+|[-*+]\s+|\d{1,2}[.)]\s+)(\S.*)$", re.MULTILINE)


def intent(summary: Summary, standing: Standing = "here") -> Iterator[Item]:
    """The current request with what it leans on, how its scope began, and the first request. All
    others stand in the Story."""
    asked = summary.asked
    if not asked:
        return
    current = asked[-1] if standing != "later" else None
    leaned_on = _leaned_on(asked) if current is not None else None
    if current is not None:
        yield from _current(summary, asked, current, standing)
        later = [request for request in summary.requests if request.turn > current.turn]
        replies = bool(later) and _answered_before(summary, current, later[-1]) is not None
        for request in later:
            label = "Now" if replies and request is later[-1] else "Said since"
            text = f'{label}: "{cut(one_line(request.text), STEP_SHOWN)}"{_since(summary, request)}'
            yield Item("Session Intent", text, (request.turn,), FIRST, salience("words since"))
        if replies and (offer := _offer(summary, later[-1])) is not None:
            yield offer
    opening = max((n for n, request in enumerate(asked) if request.scope == "new"), default=0)
    for request, label, kind in (
        (asked[opening], "Scope", "opening of a scope"),
        (asked[0], "First request", "opening of the session"),
    ):
        told = request is current or (request is leaned_on and label == "Scope")
        if not told and (request is not asked[0] or label == "First request"):
            text = f'{label}: "{cut(one_line(request.text), EARLIER_SHOWN)}"'
            text += _since(summary, request)
            yield Item("Session Intent", text, (request.turn,), FIRST, salience(kind))


def _current(
    summary: Summary, asked: Sequence[Requested], current: Requested, standing: Standing
) -> Iterator[Item]:
    answer = _closing(summary, current)
    closed = answer is not None and not answer.asks
    label = f"Asked last, answered in t{answer.turn}" if answer and closed else "Now"
    if (before := _answered_before(summary, current, summary.requests[-1])) is not None:
        label = f"Asked before, answered in t{before.turn}"
    first, *longer = _renditions(current.text.strip(), whole=standing == "here")
    since = _since(summary, current)
    yield Item(
        "Session Intent",
        f'{label}: "{first}"{since}',
        (current.turn,),
        tier=ALWAYS,
        worth=salience("current request"),
        more=tuple(f'{label}: "{words}"{since}' for words in longer),
    )
    if _leans(current):
        if (leaned_on := _leaned_on(asked)) is not None:
            text = f'It leans on: "{cut(one_line(leaned_on.text), EARLIER_SHOWN)}"'
            text += _since(summary, leaned_on)
            worth = salience("answer referred to")
            yield Item("Session Intent", text, (leaned_on.turn,), FIRST, worth)
        if (offer := _offer(summary, current)) is not None:
            yield offer


def _answered_before(summary: Summary, request: Requested, reply: Requested) -> Answered | None:
    """The answer to a request that later words reply to: `Do it.`"""
    between = (one for one in summary.answers if request.turn <= one.turn < reply.turn)
    return next(between, None)


def _leans(request: Requested) -> bool:
    """Whether a request cannot stand alone."""
    return len(request.text.split()) <= SHORT and _LEANS.search(request.text) is not None


def _leaned_on(asked: Sequence[Requested]) -> Requested | None:
    """The request before the current one, where that one leans on it."""
    leans = len(asked) > 1 and asked[-2].turn < asked[-1].turn and _leans(asked[-1])
    leans = leans and asked[-2].text != asked[-1].text
    return asked[-2] if leans else None


def _since(summary: Summary, request: Requested) -> str:
    """What the user gave anew since, of what a request says."""
    newer = (
        f'replaced in t{new.turn}: "{cut(one_line(new.text), STEP_SHOWN)}"'
        for old, new in summary.overtaken().items()
        if old.turn == request.turn
    )
    told = "; ".join(dict.fromkeys(newer))
    return f" ({told})" if told else ""


def _renditions(words: str, *, whole: bool) -> tuple[str, ...]:
    """A long request shortened: its beginning, and with more room the outline of a plan."""
    if len(words) <= SHORTENED[0]:
        return (words,)
    line, items = one_line(words), [one_line(item) for item in _OUTLINE.findall(words)]
    found = []
    for most in SHORTENED:
        if most < len(words):
            plan = len(items) >= LEAST_ITEMS and most > SHORTENED[0]
            beginning = cut(line, most // 2 if plan else most)
            outline = " · ".join(cut(one, OUTLINED) for one in items if one not in beginning)
            found.append(cut(f"{beginning} {outline}" if plan else beginning, most))
    return tuple(dict.fromkeys((*found, *((words,) if whole else ()))))


def _offer(summary: Summary, current: Requested) -> Item | None:
    """The end of the answer that words reply to which cannot stand alone: `do 1, 2 and 5`."""
    earlier = [answer for answer in summary.answers if answer.turn < current.turn]
    if not earlier or earlier[-1].turn != current.turn - 1:
        return None
    whole = foreign(earlier[-1].whole)
    end = whole if len(whole) <= OFFER_SHOWN else f"… {whole[-OFFER_SHOWN:].partition(' ')[2]}"
    worth = salience("answer referred to")
    text = f"It answers what the agent said: {end}"
    return Item("Session Intent", text, (earlier[-1].turn,), FIRST, worth)


def _closing(summary: Summary, current: Requested) -> Answered | None:
    """The answer that closed the current request, where nothing came after it."""
    last = summary.answers[-1] if summary.answers else None
    if last is None or last.turn < max(current.turn, summary.through):
        return None
    return last


# What the agent said came of its work.

CLOSED_SHOWN = 300
"""Characters of the answer that closed last: whole statements. The Story tells the others."""
EARLIER, EARLIER_SHOWN = 2, 120
"""Earlier answers that tell what the work came to so far, and characters of each."""
FILLED = 60
"""Characters from which the beginning of an answer says something."""
SHORT_CODE = 120
"""Characters of a block of code that is told in the middle of an answer: a command to run."""
_FENCE = re.compile(r"`{3}(?:\w+ )?")
OPENING = 2
"""Statements of an answer in which it announces what it will do."""
LEAD = 45
"""Characters below which what ends in a colon only introduces: "Here's a summary:"."""


def closings(summary: Summary) -> Iterator[Item]:
    """What the agent said came of its work: in the answer that closed last, and before it."""
    said: dict[int, list[Stated]] = {}
    for one in summary.statements:
        if one.where == "answer":
            said.setdefault(one.turn, []).append(one)
    known: set[str] = set()
    worked = summary.calls[-1].turn if summary.calls else -1
    talk = bool(summary.values_now())  # what the user has given comes before what was said of it
    for place, answer in enumerate(reversed(summary.answers[-EARLIER - 1 :])):
        told = sorted(said.get(answer.turn, ()), key=lambda one: one.place)
        if place:
            told = [one for one in told if not one.text.endswith("?")]
        called = place or any(call.turn >= answer.turn for call in summary.calls)
        if called and told and all(one.code for one in told):
            continue  # an edit or a command, told as a call
        told = [one for one in told if not one.code or len(one.text) <= SHORT_CODE]
        first = passage(told, EARLIER_SHOWN if place else CLOSED_SHOWN)
        first = first or cut(_FENCE.sub("`", answer.text), CLOSED_SHOWN)
        if first in known or (place and len(first) < LEAD):
            continue
        known.add(first)
        label = "The agent said earlier" if place else "The agent closed with"
        if not place and worked > answer.turn:
            label = "The agent last closed with"
        yield Item(
            "Current State",
            f"{label}: {first}",
            (answer.turn,),
            THEN if talk else FIRST,
            salience("earlier answer", place=place) if place else salience("closing answer"),
        )


def passage(said: Sequence[Stated], most: int) -> str:
    """The first statements of an answer, whole, each behind what introduces it; as many as there is
    room for, and one in any case. One that begins by announcing what will be done tells at its end
    what came of it."""
    ends = any(announces(part) for one in said[:OPENING] for part in (one.head, one.text))
    kept = [one for one in said if one.code or not _only_leads(one)]
    if ends:
        size, start = 0, len(kept)
        while start and (size == 0 or size + len(kept[start - 1].text) <= most):
            start -= 1
            size += len(kept[start].text) + 3
        kept = kept[start:]
    told, head = "", ""
    for one in kept:
        lead = f"{one.head.rstrip(':')}: " if one.head and one.head != head else ""
        joint = (" " if lead or not one.head else " · ") if told else ""
        more = f"{joint}{lead}{f'`{one_line(one.text)}`' if one.code else one.text}"
        if not ends and told and len(told) + len(more) > most and len(told) > FILLED:
            return f"{told} …"
        told, head = told + more, one.head
    return cut(told, 2 * most)


def _only_leads(one: Stated) -> bool:
    """Whether a statement only introduces or announces."""
    text = one.text
    return (text.endswith(":") and len(text) < LEAD) or announces(text)


def instructions(summary: Summary, standing: Standing = "here") -> Iterator[Item]:
    """Every rule, byte for byte; one that was repeated cites all its turns, one that later words
    replaced is marked."""
    current = summary.asked[-1].text if summary.asked and standing != "later" else ""
    said: dict[tuple[str, str], list[int]] = {}
    replaced = summary.replaced_rules()
    overtaken = summary.overtaken()
    for rule in summary.instructions:
        if rule.lasts:
            said.setdefault((rule.text, rule.source), []).append(rule.turn)
    for (text, source), turns in said.items():
        named = "" if source == "user" else f" ({source})"
        there = source == "user" and text in current  # it stands in the request, verbatim
        if source == "user" and (ended := replaced.get(text)) is not None:
            named = f" ({'superseded' if ended.lasts else 'taken back'} in t{ended.turn})"
            there = True
        elif newer := [new.turn for old, new in overtaken.items() if old.text == text]:
            named, there = f" (superseded in t{newer[-1]})", True
        yield Item(
            "Standing Instructions",
            f'"{text}"{named}',
            tuple(turns),
            tier=THEN if there else ALWAYS,
            worth=salience("rule in the request"),
        )


# Decisions with their reasons; one that was replaced stays, marked.

WHO: dict[Speaker, str] = {"user": "", "agent": "Agent: ", "tool": "By an edit: "}
"""How a choice begins that the user did not make: nobody may take it for theirs."""
RULE_SHARE = 0.6
"""Share of a decision from which a rule that stands in it says all that it does."""
NO_REASON = "no reason given"
"""Where a rationale would stand: a reader need not look for one."""
QUOTED, REPLY = 120, 300
"""Characters of what a reply answers, where there is little room; with a reply that is short so
many in all."""
LONG_DECISION = 90
"""Characters from which words may say their reason in any way."""
_SAYS_WHY = re.compile(
    r"\b(?i:because|since|given|so that|otherwise|risk|to avoid|to make sure|in order to)\b"
    r"|[.!] [A-Z]"
)
"""In a decision that tells its reason itself: in the same sentence, or in the next."""


def decisions(summary: Summary) -> Iterator[Item]:
    rules = {rule.text for rule in summary.instructions}
    rules |= {said.text for said in summary.values_now()}
    for made in summary.decisions_now():
        latest = made[-1]
        if any(_same_words(latest.decision, rule) for rule in rules):
            continue  # it stands among the instructions, or in the state
        turns = tuple(sorted({turn for one in made for turn in _turns(one)}))
        replaced = dict.fromkeys(one.decision for one in made if one.decision != latest.decision)
        first, *longer = _renditions_of(latest)
        after = f". Superseded: {'; '.join(replaced)}" if replaced else ""
        by_user = latest.by == "user"
        kind = "decision of the user" if by_user else "decision of the agent"
        yield Item(
            "Decisions Made",
            f"{WHO[latest.by]}{first}{after}",
            turns,
            tier=OPEN if by_user else THEN,
            worth=salience(kind, recent=latest.turn / (summary.through + 2)),
            more=tuple(f"{WHO[latest.by]}{one}{after}" for one in longer),
        )


def _same_words(decision: str, rule: str) -> bool:
    return decision in rule or (rule in decision and len(rule) >= RULE_SHARE * len(decision))


def _renditions_of(decision: Decided) -> tuple[str, ...]:
    """The words with the end of what they answer, where it asks; with all of it, the reason or that
    none was given, and what was not taken."""
    quotes = decision.by == "agent" and decision.about
    says = len(decision.decision) > LONG_DECISION or _SAYS_WHY.search(decision.decision) or quotes
    why = decision.rationale or ("" if says else NO_REASON)
    found = []
    most = max(QUOTED, REPLY - len(decision.decision))
    for about in dict.fromkeys((_ending(decision.about, most), decision.about)):
        beside = "; ".join(part for part in (about, why) if part)
        text = f"{decision.decision} ({beside})" if beside else decision.decision
        if decision.rejected and decision.rejected not in decision.decision:
            text += f"{'' if text.endswith('.') else '.'} Not taken: {decision.rejected}"
        found.append(text)
    return tuple(found)


def _ending(about: str, most: int) -> str:
    """The end of a long quote, behind whose it is: a question stands there."""
    whose, quoted, words = about.partition("“")
    if len(words) <= most:
        return about
    return f"{whose}{quoted}… {words[-most:].partition(' ')[2]}"


def _turns(decision: Decided) -> tuple[int, ...]:
    """Where it was made, and where it was laid before the user."""
    return (decision.offered, decision.turn) if decision.offered >= 0 else (decision.turn,)


# What a model wrote of the turns: beside the facts, behind all of them, and told apart by how it
# begins.

IN_SHORT = "In short"
SUGGESTED = "Suggested: "
"""A step that stands in no list of the session's."""
PERHAPS = "Perhaps open: "
"""A question that nobody asked in so many words."""
LABELS = (f"{IN_SHORT}: ", f"{IN_SHORT}, ", SUGGESTED, PERHAPS)
"""How every line begins that a model wrote, and no other."""
DECISION_SHOWN = 60
"""Characters of a decision that say which one is meant: it stands above in full."""
PRESENT: tuple[tuple[str, SectionName, str, str], ...] = (
    ("state", "Current State", f"{IN_SHORT}: ", "state in short"),
    ("question", "Blockers / Open Questions", PERHAPS, "suggestion"),
    ("next step", "Next Steps", SUGGESTED, "suggestion"),
)
"""What is told of the present: gone when more is folded."""


def is_worded(text: str) -> bool:
    """Whether a line is a model's."""
    return text.startswith(LABELS)


def wordings(summary: Summary) -> Iterator[Item]:
    """The newest words about each matter, as long as nothing newer is known of it."""
    intent = _newest(summary, "intent")
    if intent is not None and intent.turn >= _last_wish(summary):
        yield _item("Session Intent", f"{IN_SHORT}: ", intent, "intent in short")
    for about, section, label, kind in PRESENT:
        for one in summary.wordings.get(about, ()):
            if one.turn >= summary.through:
                yield _item(section, label, one, kind)
    yield from _changes(summary)
    yield from _reasons(summary)


def _changes(summary: Summary) -> Iterator[Item]:
    now = summary.files_now()
    for path in dict.fromkeys(one.key for one in summary.wordings.get("change", ())):
        told = _newest(summary, "change", path)
        changes = now.get(path)
        if told is not None and changes and told.turn >= changes[-1].turn:
            label = f"{IN_SHORT}, {foreign(path)}: "
            yield _item("Files Modified", label, told, "change in short")


def _reasons(summary: Summary) -> Iterator[Item]:
    for made in summary.decisions_now():
        told = _newest(summary, "rationale", made[-1].key)
        if told is not None and told.turn >= made[-1].turn:
            label = f"{IN_SHORT}, on “{foreign(cut(made[-1].decision, DECISION_SHOWN))}”: "
            yield _item("Decisions Made", label, told, "change in short")


def _newest(summary: Summary, about: str, key: str = "") -> Worded | None:
    every = [one for one in summary.wordings.get(about, ()) if one.key == key]
    return every[-1] if every else None


def _last_wish(summary: Summary) -> int:
    """The last turn in which the user asked for something, or gave a rule."""
    return max((one.turn for one in (*summary.asked, *summary.instructions)), default=-1)


def _item(section: SectionName, label: str, one: Worded, kind: str) -> Item:
    turns = tuple(range(one.first, one.turn + 1))
    return Item(section, f"{label}{foreign(one.text)}", turns, WORDS, salience(kind))
