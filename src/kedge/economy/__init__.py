"""Tokens and what they cost, and which of a bank's tokens to spend."""

from kedge.economy.building import LedgerBuilder
from kedge.economy.claims import Consumed, update_claim
from kedge.economy.counting import count_reading, count_turns, ledger_of
from kedge.economy.items import load_context, open_errors
from kedge.economy.ledger import Ledger, Spent
from kedge.economy.loading import Item, Loaded, load
from kedge.economy.packets import Packet, read_packet
from kedge.economy.prices import Cost, rates_of
from kedge.economy.report import Report, report_of
from kedge.economy.saving import Saving

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
