"""The memory bank: files that people and agents write, kept small and whole."""

from kedgeline.bank.bank import (
    Added,
    Bank,
    BankCompaction,
    Contents,
    FileStatus,
    Status,
    Transaction,
)
from kedgeline.bank.compaction import BankPlan, BankSignals, FilePlan, Trigger
from kedgeline.bank.entries import LIMITS, BankEntry, Document, Limits, NewEntry, Reference
from kedgeline.bank.verify import Finding, Findings

__all__ = [
    "LIMITS",
    "Added",
    "Bank",
    "BankCompaction",
    "BankEntry",
    "BankPlan",
    "BankSignals",
    "Contents",
    "Document",
    "FilePlan",
    "FileStatus",
    "Finding",
    "Findings",
    "Limits",
    "NewEntry",
    "Reference",
    "Status",
    "Transaction",
    "Trigger",
]
