"""The user's own words: cut into sentences, without what is pasted, and searched for cues."""

from kedge.spoken.cues import anywhere, at_beginning
from kedge.spoken.cutting import HIDDEN, Sentence, opening, quoted, spoken
from kedge.spoken.phrases import opens_task, proposes

__all__ = [
    "HIDDEN",
    "Sentence",
    "anywhere",
    "at_beginning",
    "opening",
    "opens_task",
    "proposes",
    "quoted",
    "spoken",
]
