"""Closing answers: where the agent says what came of a request and calls nothing more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kedge.facts.extractor import Setting
from kedge.model import Answered, Turn
from kedge.outcomes import Outcome
from kedge.sentences import cut, first_sentence, one_line, sentences

SHOWN = 240
"""Characters of the answer: what was done stands in its first sentence."""
WHOLE = 1_200
"""Characters of the answer that are kept for words that refer to it: a list of options fits."""
ENOUGH = 60
"""Characters that say something: `Done.` alone does not."""
TAIL = 200
"""Characters at its end in which a question to the user stands."""


class AnswerExtractor:
    def __init__(self, setting: Setting) -> None:
        """Nothing of a session matters here beside the turns."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[Answered]:
        words = turn.assistant_response.strip()
        if words and not turn.tool_calls:
            yield Answered(
                turn=turn.index,
                by="agent",
                text=cut(_opening(words), SHOWN),
                asks="?" in words[-TAIL:],
                whole=cut(one_line(words[: 2 * WHOLE]), WHOLE),
            )


def _opening(words: str) -> str:
    """The first sentences, as many as it takes to say something."""
    told = ""
    for sentence in sentences(words):
        told = f"{told} {sentence}".strip()
        if len(told) >= ENOUGH:
            break
    return told or first_sentence(words)
