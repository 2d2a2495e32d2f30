"""Todos, plans and check lists."""
