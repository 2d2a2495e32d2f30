"""What a host is told of a session: before its compaction what must not be lost, after it what its
summary lacks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from kedge.foreign import neutral
from kedge.matching import holds_plain, plain
from kedge.model import SectionName, Summary
from kedge.summary import fit, items_of
from kedge.summary.items import ALWAYS, SECTIONS, Item
from kedge.summary.markdown import TABLE, body

Count = Callable[[str], int]

MOST = 8_800
"""Characters of one hand-over: hosts cut what a hook says at about 10,000, and drop what is behind,
and the frame around it takes some."""
MOST_RULES = 6_000
"""Characters of rules and request, so that where a host takes one answer for all, what its summary
lacks has room beside them."""
LONGEST = 1_500
"""Characters of one rule, one pin or the request, where all of them do not fit: a pasted log must
not take the place of what else was said."""
STEERING_TOKENS = 900
"""Of what a summariser is told: it has a page of instructions of its own, and follows the end best.
"""
LACKING_TOKENS = 1_500
"""Of what a host's summary lacks: half of what such a summary has."""
LEAST_TOKENS = 40
"""Less is no entry with its heading."""
PINNED = "Pinned by the user"
FIRST: tuple[SectionName, ...] = ("Standing Instructions", "Session Intent")
"""What stands before all else, in this order: a host that cuts, cuts at the end."""
WANTED: tuple[SectionName, ...] = (
    "Session Intent",
    "Standing Instructions",
    "Files Modified",
    "Decisions Made",
    "Current State",
    "Blockers / Open Questions",
    "Error Context",
    "Next Steps",
    "Commands",
)
STEERING = (
    "kedge follows this session. Keep what stands below in the summary: the user's words, paths "
    "and commands word for word."
)
PUT_BACK = (
    "From kedge, which follows this session: what was said and done before the compaction, as the "
    "record has it. The user's words are verbatim. Marks such as [t12] name turns: `kedge show "
    "{session} t12` shows one as it was, `kedge recall WORDS --session {session}` finds more."
)
FURTHER = "From kedge: what the summary of this conversation lacks, as the record has it."
_PARTS = re.compile(r"; |, |`")


def steering_of(summary: Summary, session: str, count: Count, pins: Sequence[str] = ()) -> str:
    items = [item for item in _items(summary) if item.section in WANTED]
    return _block(STEERING, items, session, count, STEERING_TOKENS, MOST, pins)


def rules_of(summary: Summary, session: str, count: Count, pins: Sequence[str] = ()) -> str:
    """What must be there with the first word after a compaction: pins, rules, and the request."""
    items = [item for item in _items(summary) if item.tier == ALWAYS]
    return _block(PUT_BACK.format(session=session), items, session, count, 0, MOST_RULES, pins)


def lacking_of(
    summary: Summary,
    there: Iterable[str],
    session: str,
    count: Count,
    *,
    pins: Sequence[str] = (),
    most: int = MOST,
) -> str:
    """What stands in none of these texts, the most needed first."""
    texts = list(there)
    spelt = [plain(text.replace("\\|", "|")) for text in texts]
    lines = [plain(line.replace("\\|", "|")) for text in texts for line in text.splitlines()]
    items = [
        item
        for item in _items(summary)
        if item.section in WANTED and not _is_said(item, spelt, lines)
    ]
    unsaid = [pin for pin in pins if not any(holds_plain(text, plain(pin)) for text in spelt)]
    return _block(FURTHER, items, session, count, LACKING_TOKENS, most, unsaid)


def _items(summary: Summary) -> Iterator[Item]:
    """With every rule that stands among what must be there, also one that the request has in it:
    the request may be cut. One that ends with its own words was not taken back."""
    for item in items_of(summary):
        is_rule = item.section == "Standing Instructions" and item.text.endswith('"')
        yield item._replace(tier=ALWAYS) if is_rule else item


def _is_said(item: Item, texts: Sequence[str], lines: Sequence[str]) -> bool:
    """Whether a text has what an item is about, to the letter. Of a file, that its path is named
    says nothing of what was done to it: the same line tells that, or what changed."""
    if item.section == TABLE and item.action:
        return any(holds_plain(line, plain(item.text)) and _tells(line, item) for line in lines)
    about = item.text.strip('`"')  # our quotation marks are not what was said
    quoted = about.partition(': "')[2].removesuffix('"') if item.section == "Session Intent" else ""
    return any(holds_plain(text, plain(one)) for text in texts for one in (about, quoted) if one)


def _tells(line: str, item: Item) -> bool:
    detail = re.sub(r"\[t\d[^\]]*\]", "", item.detail)
    parts = (part.strip(" →") for part in _PARTS.split(detail))
    if holds_plain(line.lower(), item.action.lower()):
        return True
    return any(holds_plain(line, plain(part)) for part in parts if len(part) > len("abc"))


def _block(
    head: str,
    items: Sequence[Item],
    session: str,
    count: Count,
    room: int,
    most: int,
    pins: Sequence[str],
) -> str:
    """Pins, rules and the request, then as much of the rest as there is room for."""
    always = [item for item in items if item.tier == ALWAYS]
    parts = _always(always, pins, session, most - len(head))
    left = most - len(head) - sum(len(part) + len("\n\n") for part in parts)
    room -= count("\n\n".join(parts))
    rest = _rest([item for item in items if item.tier != ALWAYS], room, left, count)
    if parts and rest and rest[0].partition("\n")[0] == parts[-1].partition("\n")[0]:
        parts[-1] += "\n" + rest.pop(0).partition("\n")[2]  # one heading for both
    return "\n\n".join((head, *parts, *rest)) if parts or rest else ""


def _always(items: Sequence[Item], pins: Sequence[str], session: str, most: int) -> list[str]:
    groups = [(f"## {PINNED}", [(f"- {_moved_in(neutral(pin))}", -1) for pin in pins])]
    for name in FIRST:
        lines = [
            ("\n".join(body(name, [item], 0)), max(item.turns, default=-1))
            for item in items
            if item.section == name
        ]
        groups.append((f"## {name}", lines))
    groups = [(title, lines) for title, lines in groups if lines]
    whole = ["\n".join((title, *(line for line, _ in lines))) for title, lines in groups]
    if sum(len(part) + len("\n\n") for part in whole) <= most:
        return whole
    return list(_cut(groups, session, most))


def _cut(
    groups: Sequence[tuple[str, Sequence[tuple[str, int]]]], session: str, most: int
) -> Iterator[str]:
    """Every group has its share, and what those before it leave; of too many lines the newest."""
    for number, (title, lines) in enumerate(groups):
        least = (len(groups) - number - 1) * (LONGEST + len("## Standing Instructions\n\n\n"))
        room = max(most - least, most // (len(groups) - number)) - len(title) - len("\n\n\n")
        left_out = f"\n- ({len(lines):,} more were left out: `kedge pin {session}`)"
        kept: list[str] = []
        for line, turn in reversed(lines):
            told = _shorter(line, turn, session, min(LONGEST, room))
            if room < len(told) + len("\n") + len(left_out) * (len(kept) + 1 < len(lines)):
                break
            kept.append(told)
            room -= len(told) + len("\n")
        if missing := len(lines) - len(kept):
            turn = lines[missing - 1][1]
            where = f"kedge show {session} t{turn}" if turn >= 0 else f"kedge pin {session}"
            kept.append(f"- ({missing:,} more were left out: `{where}`)")
        part = "\n".join((title, *reversed(kept)))
        most -= len(part) + len("\n\n")
        yield part


def _shorter(line: str, turn: int, session: str, most: int) -> str:
    where = f"`kedge show {session} t{turn}`" if turn >= 0 else f"`kedge pin {session}`"
    hint = f" … (cut here; {where} shows all)"
    return line if len(line) <= most else line[: max(0, most - len(hint))].rstrip() + hint


def _rest(items: Sequence[Item], room: int, most: int, count: Count) -> list[str]:
    """The sections that have something, without those that have not."""
    while room >= LEAST_TOKENS:
        chosen = fit(items, room, count).items
        parts = [
            neutral("\n".join([f"## {name}", *body(name, found, 0)]))
            for name in (*FIRST, *(one for one in SECTIONS if one not in FIRST))
            if (found := [item for item in chosen if item.section == name])
        ]
        if sum(len(part) + len("\n\n") for part in parts) <= most:
            return parts
        room = room * 3 // 4
    return []


def _moved_in(text: str) -> str:
    """Lines behind the first cannot begin a section or an entry."""
    return text.strip().replace("\n", "\n  ")
