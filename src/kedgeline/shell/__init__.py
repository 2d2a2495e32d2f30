"""What tool calls came to: commands and their purpose, test counts, files touched."""

from kedgeline.shell.calls import KnownOutcomes, OutcomesOf, outcomes_of, says_reached
from kedgeline.shell.evidence import CHECKS, Counts, Outcome, Purpose, Run, Touch

__all__ = [
    "CHECKS",
    "Counts",
    "KnownOutcomes",
    "Outcome",
    "OutcomesOf",
    "Purpose",
    "Run",
    "Touch",
    "outcomes_of",
    "says_reached",
]
