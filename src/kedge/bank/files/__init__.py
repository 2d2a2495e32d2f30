"""The files of a bank: held by one process at a time, replaced together, taken back."""

from kedge.bank.files.layout import LARGEST, OWN
from kedge.bank.files.opening import WAIT_SECONDS, Files, Looked, held, peek
from kedge.bank.files.recovery import Recovery
from kedge.bank.files.undoing import Transaction, Undone

__all__ = [
    "LARGEST",
    "OWN",
    "WAIT_SECONDS",
    "Files",
    "Looked",
    "Recovery",
    "Transaction",
    "Undone",
    "held",
    "peek",
]
