"""What a host's summary is asked, and what of it stands in what the agent reads.

Asked is what a hand-over of the size of what is put back should say, however long the host's own
text is; names and files that were merely read are not asked for: they can be recalled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kedge.model import Probe, SectionName, Summary
from kedge.probes import Prose, Shown, answer, bare
from kedge.summary import entries_of
from kedge.verifying import asked

PUT_BACK_TOKENS = 1_500
"""Of all that is put back after a compaction: half of what a host's summary has."""
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
"""Sections whose entries may be put back."""


PURPOSES = ("test", "build", "lint", "deploy", "migration", "install")
"""What commands are run for that will be needed again. Others are asked for where they were run
again: looking around once is over."""


def exam(summary: Summary, room: int = PUT_BACK_TOKENS) -> tuple[Probe, ...]:
    """What a hand-over of so many tokens is asked."""
    again, found, lines = _run_again(summary), [], set()
    for probe in asked(summary, room):
        if probe.section not in WANTED or (probe.matter, probe.key) == ("session", "mode"):
            continue  # in which mode it is, the host knows itself
        if probe.matter == "command":
            line = bare(probe.key)
            if probe.key not in again or line in lines:
                continue
            lines.add(line)
        found.append(probe)
    return tuple(found)


def _run_again(summary: Summary) -> set[str]:
    """Commands that will be needed again."""
    times: Counter[str] = Counter()
    every = [run for runs in summary.commands.values() for run in runs]
    for run in every:
        times[run.command] += 1
    return {run.command for run in every if run.purpose in PURPOSES or times[run.command] > 1}


class Reading:
    """All that an agent reads in the place of turns: a host's text in its own words, lines of ours
    in their sections, and turns that were left as they were. What one of them tells is told."""

    def __init__(self, texts: Iterable[str]) -> None:
        given = [text for text in texts if text]
        self._ours = [Shown(found) for found in map(entries_of, given) if found]
        self._words = [Prose(text) for text in given]

    def tells(self, probe: Probe) -> bool:
        return any(one.tells(probe) for one in self._words) or any(
            answer(probe, shown).passed for shown in self._ours
        )

    def lacks(self, probes: Iterable[Probe]) -> tuple[Probe, ...]:
        return tuple(probe for probe in probes if not self.tells(probe))
