"""Tokens and what they cost, and which of a bank's tokens to spend."""

from kedgeline.economy.counting import LedgerBuilder, Saving, count_reading, count_turns, ledger_of
from kedgeline.economy.ledger import Cost, Ledger, Spent, rates_of
from kedgeline.economy.loading import Loadable, Loaded, load_context, load_items, open_errors
from kedgeline.economy.packing import Consumed, Packet, read_packet, update_claim
from kedgeline.economy.report import CostReport, cost_report

__all__ = [
    "Consumed",
    "Cost",
    "CostReport",
    "Ledger",
    "LedgerBuilder",
    "Loadable",
    "Loaded",
    "Packet",
    "Saving",
    "Spent",
    "cost_report",
    "count_reading",
    "count_turns",
    "ledger_of",
    "load_context",
    "load_items",
    "open_errors",
    "rates_of",
    "read_packet",
    "update_claim",
]
