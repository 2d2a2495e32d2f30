"""Proving that nothing needed was lost: questions with known answers, asked of a rendered text."""

from kedgeline.probes.answering import Shown, answer, answers
from kedgeline.probes.criteria import quality, strays
from kedgeline.probes.making import RATIONS, again, probes_of

__all__ = [
    "RATIONS",
    "Shown",
    "again",
    "answer",
    "answers",
    "probes_of",
    "quality",
    "strays",
]
