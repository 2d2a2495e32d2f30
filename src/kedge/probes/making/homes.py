"""Of which type a probe is, and where its answer belongs, by what it asks about."""

from __future__ import annotations

from kedge.model import Matter, Probe, ProbeType, SectionName

STATE: SectionName = "Current State"
INTENT: SectionName = "Session Intent"
FILES: SectionName = "Files Modified"
ERRORS: SectionName = "Error Context"

HOMES: dict[Matter, tuple[ProbeType, SectionName]] = {
    "request": ("continuation", INTENT),
    "earlier request": ("continuation", INTENT),
    "said since": ("continuation", INTENT),
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
    "answer": ("continuation", STATE),
    "action": ("recall", STATE),
    "commit": ("recall", STATE),
    "report": ("recall", STATE),
    "open error": ("recall", ERRORS),
    "resolved error": ("recall", ERRORS),
    "dead end": ("decision", ERRORS),
    "command": ("recall", "Commands"),
    "name": ("recall", "Index"),
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
