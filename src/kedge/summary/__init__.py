"""What stands for folded turns."""

from kedge.summary.fitting import NOTHING_WANTED, Fitted, Wanted, fit
from kedge.summary.levels import LEVELS, handoff, summary_128, summary_512, summary_2048
from kedge.summary.markdown import KINDS, as_entry, entries_of, parse, render
from kedge.summary.phases import PHASES, Phase, phase_of, phased
from kedge.summary.sections import Standing, items_of
from kedge.summary.sections.wordings import is_worded
from kedge.summary.session_file import session_file
from kedge.summary.state import Fold, build, facts_in, merged

__all__ = [
    "KINDS",
    "LEVELS",
    "NOTHING_WANTED",
    "PHASES",
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
    "merged",
    "parse",
    "phase_of",
    "phased",
    "render",
    "session_file",
    "summary_128",
    "summary_512",
    "summary_2048",
]
