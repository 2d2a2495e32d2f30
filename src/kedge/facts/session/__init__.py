"""The session itself, and what sub-agents reported."""
