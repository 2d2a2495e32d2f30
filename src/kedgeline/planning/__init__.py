"""Planning: when to compact, where to cut, what to mask."""

from kedgeline.planning.making import SUMMARY_OF_SPAN, WORTH_NAMING, make_plan
from kedgeline.planning.masking import applied
from kedgeline.planning.policy import (
    POLICY,
    Advice,
    Decision,
    History,
    Policy,
    Signals,
    policy_of,
    should_compact,
)
from kedgeline.planning.rules import EVERYWHERE, Rule, parts_of, rules_for

__all__ = [
    "EVERYWHERE",
    "POLICY",
    "SUMMARY_OF_SPAN",
    "WORTH_NAMING",
    "Advice",
    "Decision",
    "History",
    "Policy",
    "Rule",
    "Signals",
    "applied",
    "make_plan",
    "parts_of",
    "policy_of",
    "rules_for",
    "should_compact",
]
