"""Files: what became of them, and what was read."""
