"""What a model may say of folded turns: what it is given, and what of its reply they hold."""

from kedge.wording.claims import checked
from kedge.wording.material import sources_of, turn_text
from kedge.wording.packing import packed, packets_of
from kedge.wording.requests import requests_of, tokens_of
from kedge.wording.shape import Checked, Decision, Packet, Prose, Sources, Written
from kedge.wording.writing import write

__all__ = [
    "Checked",
    "Decision",
    "Packet",
    "Prose",
    "Sources",
    "Written",
    "checked",
    "packed",
    "packets_of",
    "requests_of",
    "sources_of",
    "tokens_of",
    "turn_text",
    "write",
]
