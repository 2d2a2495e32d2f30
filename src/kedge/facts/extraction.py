"""All facts of a conversation, in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kedge.facts.extractor import Extractor, Setting
from kedge.model import AnyFact, Transcript, Turn
from kedge.outcomes import outcomes_of

EXTRACTORS: tuple[Callable[[Setting], Extractor], ...] = ()
"""One per kind of fact; each conversation gets instances of its own."""


class Extraction:
    """Shows each turn to the extractors. The cost of a turn does not depend on how many came
    before."""

    def __init__(self, setting: Setting) -> None:
        self._extractors = tuple(make(setting) for make in EXTRACTORS)

    def add(self, turn: Turn) -> Iterator[AnyFact]:
        """The facts of the next turn."""
        outcomes = outcomes_of(turn)
        for extractor in self._extractors:
            yield from extractor.see(turn, outcomes)


def setting_of(transcript: Transcript) -> Setting:
    agents = {agent.delegated_by: agent for agent in transcript.agents if agent.delegated_by}
    return Setting(root=transcript.session.latest("root"), agents=agents)


def facts_of(transcript: Transcript) -> Iterator[AnyFact]:
    """Every fact, in the order of the turns."""
    extraction = Extraction(setting_of(transcript))
    for turn in transcript.turns:
        yield from extraction.add(turn)
