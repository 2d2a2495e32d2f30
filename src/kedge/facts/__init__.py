"""Extracting facts: exact things that happened, each with its turn and who said it."""

from kedge.facts.extraction import EXTRACTORS, Extraction, facts_of, setting_of
from kedge.facts.extractor import Extractor, Setting

__all__ = ["EXTRACTORS", "Extraction", "Extractor", "Setting", "facts_of", "setting_of"]
