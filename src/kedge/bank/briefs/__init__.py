"""Briefs of any text in 128, 512 and 2,048 tokens, counted exactly, in its own words."""

from kedge.bank.briefs.cues import LABELS
from kedge.bank.briefs.levels import LARGE, MIDDLE, SMALL, brief_128, brief_512, brief_2048, level

__all__ = ["LABELS", "LARGE", "MIDDLE", "SMALL", "brief_128", "brief_512", "brief_2048", "level"]
