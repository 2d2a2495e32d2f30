"""What stands for folded turns."""

from kedge.summary.fitting import fit
from kedge.summary.levels import LEVELS, handoff, summary_128, summary_512, summary_2048
from kedge.summary.markdown import parse, render
from kedge.summary.phases import PHASES, Phase, phase_of, phased
from kedge.summary.sections import Standing, items_of
from kedge.summary.session_file import session_file
from kedge.summary.state import Fold, build, merged

__all__ = [
    "LEVELS",
    "PHASES",
    "Fold",
    "Phase",
    "Standing",
    "build",
    "fit",
    "handoff",
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
