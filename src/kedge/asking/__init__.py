"""A structured reply asked of a language model: words from files, data fenced, one repair."""

from kedge.asking.asking import Outcome, Request, ask_of, asked, asked_again
from kedge.asking.no_answer import is_no_answer
from kedge.asking.prompt import Prompt, fenced, prompt_named
from kedge.asking.reading import PROBLEM, Unusable, read_reply
from kedge.asking.shape import schema_of

__all__ = [
    "PROBLEM",
    "Outcome",
    "Prompt",
    "Request",
    "Unusable",
    "ask_of",
    "asked",
    "asked_again",
    "fenced",
    "is_no_answer",
    "prompt_named",
    "read_reply",
    "schema_of",
]
