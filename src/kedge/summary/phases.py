"""A summary by phase (seed 002): what research, planning and implementation hand on differs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, get_args

from kedge.model import Summary
from kedge.model.summary import SectionName
from kedge.summary.fitting import fit
from kedge.summary.items import SECTIONS
from kedge.summary.markdown import NOTHING, body
from kedge.summary.sections import items_of
from kedge.summary.sections.files import net

Phase = Literal["research", "planning", "implementation"]
PHASES: tuple[Phase, ...] = get_args(Phase)


class Template(NamedTuple):
    words: int
    """The most it may have: the seed counts phases in words."""
    headings: dict[str, tuple[SectionName, ...]]
    """What it tells under which heading."""


TEMPLATES: dict[Phase, Template] = {
    "research": Template(
        1_000,
        {
            "Problem Statement": ("Session Intent",),
            "Key Findings": ("Decisions Made", "Current State", "Index"),
            "Relevant Files": ("Files Read (Not Modified)", "Files Modified"),
            "Constraints Discovered": (
                "Standing Instructions",
                "Error Context",
                "Blockers / Open Questions",
            ),
        },
    ),
    "planning": Template(
        2_000,
        {
            "Goal": ("Session Intent",),
            "Decisions": ("Decisions Made",),
            "Signatures, Types and Data": ("Index",),
            "Files": ("Files Modified", "Files Read (Not Modified)"),
            "Constraints": ("Standing Instructions",),
            "Open Questions": ("Blockers / Open Questions", "Error Context"),
            "Steps": ("Next Steps", "Commands"),
            "Current State": ("Current State",),
        },
    ),
    "implementation": Template(2_000, {name: (name,) for name in SECTIONS}),
}
"""What each phase hands on (seed 002), from the same sections."""


def phase_of(summary: Summary) -> Phase:
    """What the session was doing last: changing files, planning to, or finding out."""
    changed = [
        events[-1].turn
        for events in summary.files.values()
        if net(events) and not all(event.scratch for event in events)
    ]
    planned = [noted.turn for noted in summary.session.get("mode", ()) if noted.value == "plan"]
    planned += [todo[-1].turn for todo in summary.todos.values() if todo[-1].source == "plan"]
    if changed and max(changed) >= max(planned, default=-1):
        return "implementation"
    return "planning" if planned else "implementation" if changed else "research"


def phased(summary: Summary, phase: Phase) -> str:
    """The summary as this phase hands it on, in no more words than it may have; rules and the
    current request even beyond."""
    template = TEMPLATES[phase]
    room = template.words - sum(_words(heading) + 1 for heading in template.headings)
    fitted = fit(items_of(summary), room, _words)

    def parts(names: tuple[SectionName, ...]) -> Iterator[str]:
        for name in names:
            found = [item for item in fitted.items if item.section == name]
            if found or fitted.left_out.get(name):
                yield from body(name, found, fitted.left_out.get(name, 0))

    return "\n\n".join(
        "\n".join([f"## {heading}", *(list(parts(names)) or [NOTHING])])
        for heading, names in template.headings.items()
    )


def _words(text: str) -> int:
    return len(text.split())
