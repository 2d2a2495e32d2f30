"""Extracting facts: exact things that happened, each with its turn and who said it."""

from kedgeline.facts.extraction import EXTRACTORS, Extraction, facts_of, setting_of
from kedgeline.facts.extractor import Extractor, Setting
from kedgeline.facts.session import has_plan, session_facts

__all__ = [
    "EXTRACTORS",
    "Extraction",
    "Extractor",
    "Setting",
    "facts_of",
    "has_plan",
    "session_facts",
    "setting_of",
]
