"""Agent frameworks: one module for each, imported by whoever uses it; `runs` is what they share."""
