"""All facts of a conversation, in one pass."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from kedgeline.facts.calls import ActionExtractor, CallExtractor
from kedgeline.facts.commands import CommandExtractor
from kedgeline.facts.dead_ends import DeadEndExtractor
from kedgeline.facts.decisions import DecisionExtractor
from kedgeline.facts.errors import ErrorExtractor
from kedgeline.facts.extractor import Extractor, Setting, agent_turns
from kedgeline.facts.files import FileExtractor
from kedgeline.facts.paths import Checkouts, root_of
from kedgeline.facts.questions import QuestionExtractor
from kedgeline.facts.repository import RepositoryExtractor
from kedgeline.facts.requests import RequestExtractor
from kedgeline.facts.rules import InstructionExtractor
from kedgeline.facts.session import AgentExtractor, SessionExtractor, session_facts
from kedgeline.facts.statements import AnswerExtractor, StatementExtractor
from kedgeline.facts.todos import TodoExtractor
from kedgeline.model import AnyFact, Transcript, Turn
from kedgeline.shell import KnownOutcomes, OutcomesOf

AGENTS_TURNS = 1_000
"""Turns whose outcomes are kept, so that those of a sub-agent are found out once for all extractors
that look into it."""
EXTRACTORS: tuple[Callable[[Setting], Extractor], ...] = (
    RequestExtractor,
    AnswerExtractor,
    InstructionExtractor,
    FileExtractor,
    CommandExtractor,
    ActionExtractor,
    RepositoryExtractor,
    ErrorExtractor,
    DeadEndExtractor,
    DecisionExtractor,
    QuestionExtractor,
    TodoExtractor,
    AgentExtractor,
    SessionExtractor,
    StatementExtractor,
    CallExtractor,
)
"""One per kind of fact; each conversation gets instances of its own."""


class Extraction:
    """Shows each turn to the extractors. The cost of a turn does not depend on how many came
    before."""

    def __init__(self, setting: Setting) -> None:
        self._checkouts = Checkouts(setting.root, setting.began)
        self._setting = setting._replace(checkouts=self._checkouts)
        self._extractors = tuple(make(self._setting) for make in EXTRACTORS)

    def add(self, turn: Turn) -> Iterator[AnyFact]:
        """The facts of the next turn."""
        outcomes = self._setting.outcomes(turn)
        for outcome in outcomes:
            self._checkouts.follow(outcome)
            for _, results in agent_turns(self._setting, outcome):
                for inner in results:
                    self._checkouts.follow(inner, of_agent=True)
        for extractor in self._extractors:
            yield from extractor.see(turn, outcomes)


def setting_of(transcript: Transcript, outcomes: OutcomesOf | None = None) -> Setting:
    """`outcomes` is where those of its turns are known already."""
    agents = {agent.delegated_by: agent for agent in transcript.agents if agent.delegated_by}
    known = KnownOutcomes(AGENTS_TURNS) if outcomes is None else outcomes
    session = transcript.session
    began = next((change.value for change in session.changes if change.name == "root"), "")
    return Setting(root=root_of(session), began=began, agents=agents, outcomes=known)


def facts_of(transcript: Transcript, outcomes: OutcomesOf | None = None) -> Iterator[AnyFact]:
    """Every fact, in the order of the turns; words that wait for an answer come last. `outcomes` is
    where those of its turns are known already."""
    extraction = Extraction(setting_of(transcript, outcomes))
    noted = deque(
        sorted(session_facts(transcript.session, transcript.turns), key=lambda fact: fact.turn)
    )
    pending = (transcript.pending,) if transcript.pending is not None else ()
    for turn in (*transcript.turns, *pending):
        while noted and noted[0].turn <= turn.index:
            yield noted.popleft()
        if not turn.is_blank:
            yield from extraction.add(turn)
    yield from noted
