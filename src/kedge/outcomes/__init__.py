"""What tool calls came to: commands and their purpose, test counts, files touched."""

from kedge.outcomes.calls import outcomes_of
from kedge.outcomes.known import Known, OutcomesOf
from kedge.outcomes.values import CHECKS, Counts, Outcome, Purpose, Run, Touch

__all__ = [
    "CHECKS",
    "Counts",
    "Known",
    "Outcome",
    "OutcomesOf",
    "Purpose",
    "Run",
    "Touch",
    "outcomes_of",
]
