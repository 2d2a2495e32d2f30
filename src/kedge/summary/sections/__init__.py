"""The sections of the anchored summary, each from the facts that belong to it."""

from kedge.summary.sections.intent import Standing
from kedge.summary.sections.listing import items_of

__all__ = ["Standing", "items_of"]
