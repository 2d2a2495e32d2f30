"""The memory bank: files that people and agents write, kept small and whole."""

from kedge.bank.adding import Added
from kedge.bank.bank import Bank, Compacted
from kedge.bank.contents import Contents, FileStatus, Status
from kedge.bank.files import Transaction, Undone
from kedge.bank.moving import BankPlan, BankSignals, FilePlan, Trigger
from kedge.bank.proving import Finding, Findings
from kedge.bank.values import LIMITS, Document, Entry, Limits, NewEntry, Reference

__all__ = [
    "LIMITS",
    "Added",
    "Bank",
    "BankPlan",
    "BankSignals",
    "Compacted",
    "Contents",
    "Document",
    "Entry",
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
    "Undone",
]
