"""The sections of the anchored summary, each from the facts that belong to it."""

from kedgeline.summary.sections.listing import Standing, items_of

__all__ = ["Standing", "items_of"]
