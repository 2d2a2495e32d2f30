"""Proving that nothing needed was lost: questions with known answers, asked of a rendered text."""

from kedgeline.probes.answering import Prose, Shown, answer, answers, bare, subject
from kedgeline.probes.criteria import quality, strays
from kedgeline.probes.making import RATIONS, again, probes_of

__all__ = [
    "RATIONS",
    "Prose",
    "Shown",
    "again",
    "answer",
    "answers",
    "bare",
    "probes_of",
    "quality",
    "strays",
    "subject",
]
