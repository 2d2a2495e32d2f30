"""Extracting facts: exact things that happened, each with its turn and who said it."""
