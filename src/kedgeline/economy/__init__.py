"""Tokens and what they cost, and which of a bank's tokens to spend."""

from kedgeline.economy.counting import LedgerBuilder, Saving, count_reading, count_turns, ledger_of
from kedgeline.economy.ledger import Cost, Ledger, Spent, rates_of
from kedgeline.economy.loading import Item, Loaded, load, load_context, open_errors
from kedgeline.economy.packing import Consumed, Packet, read_packet, update_claim
from kedgeline.economy.report import Report, report_of

__all__ = [
    "Consumed",
    "Cost",
    "Item",
    "Ledger",
    "LedgerBuilder",
    "Loaded",
    "Packet",
    "Report",
    "Saving",
    "Spent",
    "count_reading",
    "count_turns",
    "ledger_of",
    "load",
    "load_context",
    "open_errors",
    "rates_of",
    "read_packet",
    "report_of",
    "update_claim",
]
