"""What stands for folded turns."""

from kedgeline.summary.levels import (
    LEVELS,
    NOTHING_WANTED,
    PHASES,
    Fitted,
    Phase,
    Wanted,
    fit,
    handoff,
    phase_of,
    phased,
    session_file,
    summary_128,
    summary_512,
    summary_2048,
)
from kedgeline.summary.listing import Standing, is_worded
from kedgeline.summary.markdown import as_entry, entries_of, parse, render
from kedgeline.summary.sections import SECTIONS, items_of
from kedgeline.summary.state import Fold, build, facts_in, merged
from kedgeline.summary.story import levels_of, story_of

__all__ = [
    "LEVELS",
    "NOTHING_WANTED",
    "PHASES",
    "SECTIONS",
    "Fitted",
    "Fold",
    "Phase",
    "Standing",
    "Wanted",
    "as_entry",
    "build",
    "entries_of",
    "facts_in",
    "fit",
    "handoff",
    "is_worded",
    "items_of",
    "levels_of",
    "merged",
    "parse",
    "phase_of",
    "phased",
    "render",
    "session_file",
    "story_of",
    "summary_128",
    "summary_512",
    "summary_2048",
]
