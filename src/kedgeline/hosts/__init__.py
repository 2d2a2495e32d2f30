"""Coding agents that kedgeline works in: what each is given, their hooks, their settings files."""
