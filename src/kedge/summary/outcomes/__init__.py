"""The style `outcomes`: the context, and one line for what each folded turn came to."""

from kedge.summary.outcomes.fitting import fit, fitted
from kedge.summary.outcomes.lines import Effect, Line, effect_of, outcome_lines
from kedge.summary.outcomes.text import Outcomes, merged, parse, render

__all__ = [
    "Effect",
    "Line",
    "Outcomes",
    "effect_of",
    "fit",
    "fitted",
    "merged",
    "outcome_lines",
    "parse",
    "render",
]
