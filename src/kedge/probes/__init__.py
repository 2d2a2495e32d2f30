"""Proving that nothing needed was lost: questions with known answers, asked of a rendered text."""

from kedge.probes.answering import Shown, answer, answers
from kedge.probes.making import RATIONS, again, probes_of
from kedge.probes.prose import Prose, bare, subject
from kedge.probes.quality import quality
from kedge.probes.strays import strays

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
