"""Errors, what resolved them, and ways that led nowhere."""
