"""Of which type a probe is and where its answer belongs; and what the user wants."""

from __future__ import annotations

from collections.abc import Iterator

from kedgeline.model import (
    Matter,
    Probe,
    ProbeType,
    Requested,
    SectionName,
    Summary,
)
from kedgeline.text.prose import one_line

# Of which type a probe is, and where its answer belongs, by what it asks about.

STATE: SectionName = "Current State"
INTENT: SectionName = "Session Intent"
FILES: SectionName = "Files Modified"
ERRORS: SectionName = "Error Context"

HOMES: dict[Matter, tuple[ProbeType, SectionName]] = {
    "request": ("continuation", INTENT),
    "earlier request": ("continuation", "Story"),
    "said since": ("continuation", "Story"),
    "rule": ("instruction", "Standing Instructions"),
    "created": ("artifact", FILES),
    "modified": ("artifact", FILES),
    "deleted": ("artifact", FILES),
    "renamed": ("artifact", FILES),
    "change": ("artifact", FILES),
    "read": ("artifact", "Files Read (Not Modified)"),
    "decision": ("decision", "Decisions Made"),
    "check": ("continuation", STATE),
    "edited since": ("continuation", STATE),
    "absence": ("continuation", STATE),
    "task": ("continuation", "Next Steps"),
    "task done": ("continuation", STATE),
    "question": ("continuation", "Blockers / Open Questions"),
    "branch": ("continuation", STATE),
    "head": ("continuation", STATE),
    "published": ("continuation", STATE),
    "session": ("continuation", STATE),
    "answer": ("continuation", "Story"),
    "action": ("recall", STATE),
    "commit": ("recall", STATE),
    "report": ("recall", STATE),
    "open error": ("recall", ERRORS),
    "resolved error": ("recall", ERRORS),
    "dead end": ("decision", ERRORS),
    "command": ("recall", "Commands"),
    "finding": ("recall", "Story"),
}


def probe(
    matter: Matter,
    question: str,
    expected: tuple[str, ...],
    turn: int,
    *,
    key: str = "",
    critical: bool = False,
    lasting: bool = False,
    section: SectionName | None = None,
) -> Probe:
    """A probe about a matter; its answer belongs where those of the matter do, or in `section`."""
    kind, home = HOMES[matter]
    return Probe(
        type=kind,
        matter=matter,
        question=question,
        expected=expected,
        section=section or home,
        turn=turn,
        critical=critical,
        key=key,
        lasting=lasting,
    )


# What the user wants, and how they want it.

BEGINNING = 80
"""Characters of a request by which it is known again."""
LEAST = 20
"""Characters below which a beginning would be that of many."""


def request(summary: Summary) -> Iterator[Probe]:
    """The words that are worked on, all of them."""
    asked = _asked(summary)
    if asked:
        yield probe(
            matter="request",
            question="What did the user last ask for, in their own words?",
            expected=(asked[-1].text.strip(),),
            turn=asked[-1].turn,
            critical=True,
        )


def earlier_requests(summary: Summary, *, current: bool) -> Iterator[Probe]:
    """The newest first: those of the scope that is under way, then how others began."""
    asked = _asked(summary)
    rest = asked[:-1] if current else asked
    first = max((n for n, one in enumerate(asked) if one.scope == "new"), default=0)
    scope = [one for n, one in enumerate(rest) if n >= first]
    opened = [one for n, one in enumerate(rest) if n < first and one.scope == "new"]
    for one in (*reversed(scope), *reversed(opened)):
        yield probe(
            matter="earlier request",
            question=f"What did the user ask for in t{one.turn}?",
            expected=(beginning(one.text),),
            turn=one.turn,
            key=str(one.turn),
        )


def words_since(summary: Summary, *, current: bool) -> Iterator[Probe]:
    """What was said on the way since the request."""
    asked = _asked(summary)
    if not asked or not current:
        return
    for one in reversed(summary.requests):
        if one.turn > asked[-1].turn:
            yield probe(
                matter="said since",
                question=f"What did the user say in t{one.turn}?",
                expected=(beginning(one.text),),
                turn=one.turn,
                key=str(one.turn),
            )


def closing_answer(summary: Summary, *, current: bool) -> Iterator[Probe]:
    """What the agent said last, where nothing came after it and it never said the same before."""
    asked = _asked(summary)
    last = summary.answers[-1] if summary.answers else None
    if last is None or any(last.text == one.text for one in summary.answers[:-1]):
        return
    if current and asked and last.turn >= max(asked[-1].turn, summary.through):
        yield probe(
            matter="answer",
            question="With what did the agent close its work on the request?",
            expected=(beginning(last.text),),
            turn=last.turn,
        )


def rules(summary: Summary) -> Iterator[Probe]:
    """Every rule that stands, once."""
    said = {rule.text: rule for rule in reversed(summary.instructions) if rule.lasts}
    replaced = summary.replaced_rules()
    for rule in reversed(said.values()):
        if rule.source == "user" and rule.text in replaced:
            continue
        whose = "the user" if rule.source == "user" else rule.source
        yield probe(
            matter="rule",
            question=f"Which rule of {whose} holds since t{rule.turn}?",
            expected=(rule.text,),
            turn=rule.turn,
            critical=True,
            key=rule.text,
            lasting=True,
        )


def beginning(text: str) -> str:
    """The first words, whole ones; none of a text that goes on without a place to part it."""
    line = one_line(text)
    if len(line) <= BEGINNING:
        return line
    end = max(line.rfind(" ", LEAST, BEGINNING), 0) or _before_word(line)
    return line[:end].rstrip(" ,;:")


def _before_word(line: str) -> int:
    """Where the word begins that a text without blanks would be cut in."""
    end = BEGINNING
    while end > LEAST and (line[end - 1].isalnum() or line[end - 1] == "_"):
        end -= 1
    return end if end > LEAST else 0


def _asked(summary: Summary) -> list[Requested]:
    return [one for one in summary.requests if one.scope != "step"]
