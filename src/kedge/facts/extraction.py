"""All facts of a conversation, in one pass."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from kedge.facts.commands.actions import ActionExtractor
from kedge.facts.commands.runs import CommandExtractor
from kedge.facts.errors.dead_ends import DeadEndExtractor
from kedge.facts.errors.errors import ErrorExtractor
from kedge.facts.extractor import Extractor, Setting
from kedge.facts.files.changed import FileExtractor
from kedge.facts.files.paths import root_of
from kedge.facts.files.read import ReadExtractor
from kedge.facts.names.names import NameExtractor
from kedge.facts.repository.repository import RepositoryExtractor
from kedge.facts.repository.undone import UndoExtractor
from kedge.facts.said.answers import AnswerExtractor
from kedge.facts.said.decisions import DecisionExtractor
from kedge.facts.said.instructions import InstructionExtractor
from kedge.facts.said.questions import QuestionExtractor
from kedge.facts.said.requests import RequestExtractor
from kedge.facts.session.agents import AgentExtractor
from kedge.facts.session.session import SessionExtractor, session_facts
from kedge.facts.tasks.todos import TodoExtractor
from kedge.model import AnyFact, Transcript, Turn
from kedge.outcomes import Known, OutcomesOf

AGENTS_TURNS = 1_000
"""Turns whose outcomes are kept, so that those of a sub-agent are found out once for all extractors
that look into it."""
EXTRACTORS: tuple[Callable[[Setting], Extractor], ...] = (
    RequestExtractor,
    AnswerExtractor,
    InstructionExtractor,
    FileExtractor,
    ReadExtractor,
    CommandExtractor,
    ActionExtractor,
    RepositoryExtractor,
    ErrorExtractor,
    DeadEndExtractor,
    UndoExtractor,
    DecisionExtractor,
    QuestionExtractor,
    TodoExtractor,
    AgentExtractor,
    SessionExtractor,
    NameExtractor,
)
"""One per kind of fact; each conversation gets instances of its own."""


class Extraction:
    """Shows each turn to the extractors. The cost of a turn does not depend on how many came
    before."""

    def __init__(self, setting: Setting) -> None:
        self._outcomes = setting.outcomes
        self._extractors = tuple(make(setting) for make in EXTRACTORS)

    def add(self, turn: Turn) -> Iterator[AnyFact]:
        """The facts of the next turn."""
        outcomes = self._outcomes(turn)
        for extractor in self._extractors:
            yield from extractor.see(turn, outcomes)


def setting_of(transcript: Transcript, outcomes: OutcomesOf | None = None) -> Setting:
    """`outcomes` is where those of its turns are known already."""
    agents = {agent.delegated_by: agent for agent in transcript.agents if agent.delegated_by}
    known = Known(AGENTS_TURNS) if outcomes is None else outcomes
    return Setting(root=root_of(transcript.session), agents=agents, outcomes=known)


def facts_of(transcript: Transcript, outcomes: OutcomesOf | None = None) -> Iterator[AnyFact]:
    """Every fact, in the order of the turns; words that wait for an answer come last. `outcomes` is
    where those of its turns are known already."""
    extraction = Extraction(setting_of(transcript, outcomes))
    noted = deque(sorted(session_facts(transcript.session, transcript.turns), key=_turn))
    pending = (transcript.pending,) if transcript.pending is not None else ()
    for turn in (*transcript.turns, *pending):
        while noted and noted[0].turn <= turn.index:
            yield noted.popleft()
        if not turn.is_blank:
            yield from extraction.add(turn)
    yield from noted


def _turn(fact: AnyFact) -> int:
    return fact.turn
