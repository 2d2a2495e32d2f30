"""Finding originals by words, file, command, error, time or turn, and getting them back."""

from kedge.recall.asking import LIMIT, Moment, RecallOptions, moment, query_of
from kedge.recall.originals import original
from kedge.recall.recalling import recall
from kedge.recall.values import Line, Original, Recalled

__all__ = [
    "LIMIT",
    "Line",
    "Moment",
    "Original",
    "RecallOptions",
    "Recalled",
    "moment",
    "original",
    "query_of",
    "recall",
]
