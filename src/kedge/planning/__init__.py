"""Planning: when to compact, where to cut, what to mask."""

from kedge.planning.attempts import SUMMARY_OF_SPAN
from kedge.planning.making import make_plan
from kedge.planning.masking import applied
from kedge.planning.paying import Advice, Going, advise
from kedge.planning.policy import POLICY, Policy
from kedge.planning.repeats import parts_of
from kedge.planning.reporting import WORTH_NAMING
from kedge.planning.rules import EVERYWHERE, Rule, allowed_cuts, rules_for
from kedge.planning.signals import History, Signals
from kedge.planning.triggers import Decision, should_compact

__all__ = [
    "EVERYWHERE",
    "POLICY",
    "SUMMARY_OF_SPAN",
    "WORTH_NAMING",
    "Advice",
    "Decision",
    "Going",
    "History",
    "Policy",
    "Rule",
    "Signals",
    "advise",
    "allowed_cuts",
    "applied",
    "make_plan",
    "parts_of",
    "rules_for",
    "should_compact",
]
