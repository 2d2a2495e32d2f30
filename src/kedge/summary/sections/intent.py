"""What the user wants, and how they want it, in their own words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from kedge.foreign import foreign
from kedge.model import Answered, Requested
from kedge.model.summary import Summary
from kedge.sentences import cut, one_line
from kedge.summary.items import ALWAYS, FIRST, THEN, Item
from kedge.summary.salience import salience

Standing = Literal["here", "beside", "later"]
"""Where the current request stands verbatim: in this text; beside it, so that here its beginning is
enough; or in turns that follow, so that no request here is the current one."""

EARLIER_SHOWN = 240
"""Characters of an earlier request: its beginning says what it was about."""
SHORT = 12
"""Words of a request up to which it may refer to the answer before it."""
STEP_SHOWN = 120
"""Characters of words on the way."""


def intent(summary: Summary, standing: Standing = "here") -> Iterator[Item]:
    """The current request, those of its scope before it, and how earlier scopes began."""
    requests = summary.requests
    asked = [request for request in requests if request.scope != "step"]
    current = asked[-1] if asked and standing != "later" else None
    if current is not None:
        whole = current.text.strip()
        words = whole if standing == "here" else cut(one_line(whole), EARLIER_SHOWN)
        answer = _closing(summary, current)
        closed = answer is not None and not answer.asks
        label = f"Asked last, answered in t{answer.turn}" if answer and closed else "Now"
        text = f'{label}: "{words}"'
        yield Item(
            "Session Intent", text, (current.turn,), tier=ALWAYS, worth=salience("current request")
        )
        if (before := _referred(summary, requests[-1])) is not None:
            text = f"It answers what the agent said: {foreign(before.whole)}"
            yield Item(
                "Session Intent",
                text,
                (before.turn,),
                tier=FIRST,
                worth=salience("answer referred to"),
            )
        if answer is not None:
            text = f"The agent closed with: {answer.text}"
            yield Item(
                "Current State", text, (answer.turn,), tier=FIRST, worth=salience("closing answer")
            )
    first = max((n for n, request in enumerate(asked) if request.scope == "new"), default=0)
    for number, request in enumerate(asked[:-1] if current is not None else asked):
        yield _earlier(request, same=number >= first, age=len(asked) - number, opens=not number)
    later = [r for r in requests if current is not None and r.turn > current.turn]
    for request in later:
        words = cut(one_line(request.text), STEP_SHOWN)
        text = f'Said since: "{words}"'
        yield Item("Session Intent", text, (request.turn,), FIRST, salience("words since"))


def _referred(summary: Summary, last: Requested) -> Answered | None:
    """The answer right before words that are too short to stand alone: `do 1, 2 and 5`."""
    if len(last.text.split()) > SHORT:
        return None
    earlier = [answer for answer in summary.answers if answer.turn < last.turn]
    return earlier[-1] if earlier and earlier[-1].turn == last.turn - 1 else None


def _closing(summary: Summary, current: Requested) -> Answered | None:
    """The answer that closed the current request, where nothing came after it."""
    last = summary.answers[-1] if summary.answers else None
    if last is None or last.turn < max(current.turn, summary.through):
        return None
    return last


def instructions(summary: Summary, standing: Standing = "here") -> Iterator[Item]:
    """Every rule, byte for byte; one that was repeated cites all its turns, one that later words
    replaced is marked."""
    asked = [r.text for r in summary.requests if r.scope != "step"] if standing != "later" else []
    current = asked[-1] if asked else ""
    said: dict[tuple[str, str], list[int]] = {}
    replaced = summary.replaced_rules()
    for rule in summary.instructions:
        if rule.lasts:
            said.setdefault((rule.text, rule.source), []).append(rule.turn)
    for (text, source), turns in said.items():
        named = "" if source == "user" else f" ({source})"
        there = source == "user" and text in current  # it stands in the request, verbatim
        if source == "user" and (ended := replaced.get(text)) is not None:
            named = f" ({'superseded' if ended.lasts else 'taken back'} in t{ended.turn})"
            there = True
        yield Item(
            "Standing Instructions",
            f'"{text}"{named}',
            tuple(turns),
            tier=THEN if there else ALWAYS,
            worth=salience("rule in the request"),
        )


def _earlier(request: Requested, *, same: bool, age: int, opens: bool) -> Item:
    label = "Asked" if same else "Before" if request.scope == "new" else "Asked then"
    words = cut(one_line(request.text), EARLIER_SHOWN)
    kind = "request of the scope" if same else "earlier request"
    if opens:
        kind = "opening of the session"
    elif request.scope == "new" and not same:
        kind = "opening of a scope"
    return Item(
        "Session Intent",
        f'{label}: "{words}"',
        (request.turn,),
        tier=FIRST if kind != "earlier request" else THEN,
        worth=salience(kind, recent=1 / age),
    )
