"""What a host is told of a session: before its compaction what must not be lost, after it what its
summary lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from kedge.foreign import neutral
from kedge.matching import holds_plain, plain
from kedge.model import SectionName, Summary
from kedge.summary import fit, items_of
from kedge.summary.items import ALWAYS, SECTIONS, Item
from kedge.summary.markdown import body
from kedge.verifying import asked, verify

Count = Callable[[str], int]

STEERING_TOKENS = 900
"""Of what a summariser is told: it has a page of instructions of its own, and follows the end best.
"""
RULES_TOKENS = 600
"""Of what is put back at once; rules and the request even beyond."""
LACKING_TOKENS = 1_500
"""Of what a host's summary lacks: half of what such a summary has."""
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


class Scored(NamedTuple):
    """What the probes find in a host's summary."""

    score: float | None
    critical: int
    failed: tuple[str, ...]
    """Questions that it does not answer."""


def steering_of(summary: Summary, count: Count) -> str:
    items = [item for item in items_of(summary) if item.section in WANTED]
    told = _told(items, STEERING_TOKENS, count)
    return f"{STEERING}\n\n{told}" if told else ""


def rules_of(summary: Summary, session: str, count: Count) -> str:
    """What must be there with the first word after a compaction: rules, and the request."""
    items = [item for item in items_of(summary) if item.tier == ALWAYS]
    told = _told(items, RULES_TOKENS, count)
    return f"{PUT_BACK.format(session=session)}\n\n{told}" if told else ""


def lacking_of(summary: Summary, there: Iterable[str], count: Count) -> str:
    """What stands in none of these texts, the most needed first."""
    texts = [plain(text.replace("\\|", "|")) for text in there]
    items = [
        item
        for item in items_of(summary)
        if item.section in WANTED and not any(_says(text, item) for text in texts)
    ]
    told = _told(items, LACKING_TOKENS, count)
    return f"{FURTHER}\n\n{told}" if told else ""


def scored(summary: Summary, text: str, count: Count, *, beside: Sequence[str] = ()) -> Scored:
    """The probes of a summary of this length, asked of what the agent reads."""
    probes = asked(summary, count(text))
    verdict = verify(summary, text, probes, beside=beside)
    failed = tuple(answer.probe.question for answer in verdict.failed)
    return Scored(verdict.score, len(verdict.critical_failures), failed)


def is_same(one: str, other: str) -> bool:
    """Whether two texts are one summary: hosts tell of it with tags and write it down with words of
    their own around it."""
    inside, outside = sorted((_core(one), _core(other)), key=len)
    return holds_plain(outside, inside) if inside else one == other


def _core(text: str) -> str:
    return plain(text.partition("<summary>")[2].partition("</summary>")[0] or text)


def _told(items: Sequence[Item], room: int, count: Count) -> str:
    """The sections that have something, without those that have not."""
    fitted = fit(items, room, count)
    parts = []
    for name in SECTIONS:
        chosen = [item for item in fitted.items if item.section == name]
        if chosen:
            parts.append("\n".join([f"## {name}", *body(name, chosen, 0)]))
    return neutral("\n\n".join(parts))


def _says(text: str, item: Item) -> bool:
    """Whether a text has what an item is about: to the letter."""
    about = item.text.strip("`")
    quoted = about.partition(': "')[2].removesuffix('"') if item.section == "Session Intent" else ""
    return any(holds_plain(text, plain(one)) for one in (about, quoted) if one)
