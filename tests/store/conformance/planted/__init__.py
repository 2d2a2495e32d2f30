"""Stores with one bug each, by name."""

from tests.store.conformance.planted import adding, holding, reading, searching
from tests.store.conformance.planted.core import PLANTED, Planted

__all__ = ["PLANTED", "Planted", "adding", "holding", "reading", "searching"]
