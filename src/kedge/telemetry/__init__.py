"""Compactions as spans of OpenTelemetry, where the program around uses it."""

from kedge.telemetry.spans import Compacting, watched

__all__ = ["Compacting", "watched"]
