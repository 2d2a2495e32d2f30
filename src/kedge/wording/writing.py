"""Having a model write about folded turns, packet by packet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple, Protocol

from kedge.asking import Outcome, asked
from kedge.model import AnyFact, Dropped, Fallback, Step, Unfit, Worded
from kedge.sentences import cut
from kedge.shortening import Count
from kedge.wording.claims import checked
from kedge.wording.requests import known_text, request_for
from kedge.wording.shape import PARAGRAPH, Checked, Packet, Prose, Sources, Written

SHOWN = 200
"""Characters of dropped words that are kept."""
NOW = "now"
PASSING = frozenset({"state", "next step", "question"})
"""What is true at one point only: where later turns were not described, it is of no use."""
COMES_TO: dict[Unfit, Fallback] = {
    "not about these turns": "off topic",
    "said already": "nothing new",
    "an error message or a refusal": "error text",
    "too long": "too large",
}
"""What it comes to where all is dropped for one reason; otherwise nothing in the turns holds it."""
WHY: dict[Fallback, str] = {
    "empty": "every text of its reply is empty",
    "unsupported": "the turns hold nothing of what it wrote",
    "off topic": "what it wrote is not about these turns",
    "nothing new": "what it wrote was said already",
    "error text": "what it wrote is an error message or a refusal",
    "too large": "what it wrote is longer than was asked for",
    "longer than its source": "what it wrote is longer than the turns themselves",
}


class ProseCheck(Protocol):
    def __call__(
        self,
        prose: Prose,
        packet: Packet,
        sources: Sources,
        facts: Sequence[AnyFact],
        /,
        *,
        known: Collection[str] = (),
    ) -> Checked: ...


class _Part(NamedTuple):
    """What came of one packet."""

    taken: tuple[Worded, ...]
    dropped: tuple[Dropped, ...]
    longer: bool = False
    """Than the turns it is about."""

    @property
    def holds(self) -> bool:
        """Whether it may speak for its turns: not where all of its words were dropped."""
        return bool(self.taken or not self.dropped)


def write(
    packets: Sequence[Packet],
    *,
    sources: Callable[[Packet], Sources],
    facts: Callable[[Packet], Sequence[AnyFact]],
    headings: str,
    reply_tokens: int,
    count: Count = len,
    check: ProseCheck = checked,
) -> Step[Written]:
    """What a model says of each packet, as far as its turns hold it.

    It goes on to the first packet on which no usable reply comes. What was written about earlier
    ones is kept, but for what is true at one point only. `headings` are what the summary so far
    says of intent and state; `count` says how much of it there is room for."""
    parts: list[_Part] = []
    prompts: dict[str, None] = {}
    outcome: Outcome[Prose] = Outcome(None)
    for packet in packets:
        taken = [one for part in parts for one in part.taken]
        known = known_text(_so_far(headings, taken), packet.spare, count)
        outcome = yield from asked(request_for(packet, known, reply_tokens=reply_tokens))
        prompts |= dict.fromkeys(outcome.prompts)
        if outcome.value is None:
            break
        texts = [one.text for one in taken]
        found = check(outcome.value, packet, sources(packet), facts(packet), known=texts)
        parts.append(_part(found, packet))
    written = _written(parts, whole=len(parts) == len(packets), reached=outcome)
    return written._replace(
        model=outcome.model,
        requests=min(len(packets), len(parts) + (outcome.value is None)),
        prompts=tuple(prompts),
    )


def _written(parts: Sequence[_Part], *, whole: bool, reached: Outcome[Prose]) -> Written:
    dropped = tuple(one for part in parts for one in part.dropped)
    worded = tuple(_kept(parts, whole=whole and bool(parts) and parts[-1].holds))
    if not whole:
        return Written(worded, dropped, fallback=reached.kind, why=reached.problem)
    if worded or not parts:
        return Written(worded, dropped)
    fallback = _fallback(parts)
    return Written((), dropped, fallback=fallback, why=f"{reached.model}: {WHY[fallback]}")


def _kept(parts: Sequence[_Part], *, whole: bool) -> Iterable[Worded]:
    """Changes and reasons of all packets; the rest as it was last put, and what is told of the
    present only where it reaches to the end."""
    last = {kind: part for part in parts for kind in _groups(part) if whole or kind != NOW}
    for part in parts:
        for one in part.taken:
            if one.about in ("change", "rationale") or last.get(_group(one)) is part:
                yield one


def _groups(part: _Part) -> set[str]:
    return {_group(one) for one in part.taken}


def _group(one: Worded) -> str:
    return NOW if one.about in PASSING else one.about


def _part(found: Checked, packet: Packet) -> _Part:
    if sum(len(one.text) for one in found.worded) < len(packet.text):
        return _Part(found.worded, found.dropped)
    longer = tuple(Dropped(text=cut(one.text, SHOWN), why="too long") for one in found.worded)
    return _Part((), (*found.dropped, *longer), longer=bool(longer))


def _fallback(parts: Sequence[_Part]) -> Fallback:
    if any(part.longer for part in parts):
        return "longer than its source"
    reasons = Counter(
        COMES_TO.get(one.why, "unsupported") for part in parts for one in part.dropped
    )
    return reasons.most_common(1)[0][0] if reasons else "empty"


def _so_far(headings: str, taken: Sequence[Worded]) -> str:
    """What is known before a packet: as the packets before put it, or else the summary."""
    last = {one.about: one.text for one in taken if one.about in ("intent", "state")}
    if not last:
        return headings
    lines = (f"{about.capitalize()}: {cut(text, PARAGRAPH)}" for about, text in last.items())
    return "\n".join((*lines, headings))
