"""What of a bank goes to which archive: plans made of values, without input or output."""

from kedge.bank.moving.planning import BankPlan, FilePlan, changes_of, plan_of
from kedge.bank.moving.triggers import BankSignals, Trigger, triggers_of

__all__ = [
    "BankPlan",
    "BankSignals",
    "FilePlan",
    "Trigger",
    "changes_of",
    "plan_of",
    "triggers_of",
]
