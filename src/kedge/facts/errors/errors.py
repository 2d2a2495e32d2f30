"""Errors: seen, and shown to be past."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kedge.facts.errors.changes import shown
from kedge.facts.errors.failures import Failure, failure_of
from kedge.facts.errors.keys import MOST_PLACES, key_of, places_of
from kedge.facts.errors.open import REMEMBERED, Open, OpenErrors, opened
from kedge.facts.errors.runs import steps_of
from kedge.facts.extractor import Setting
from kedge.facts.files.paths import Paths
from kedge.model import ErrorResolved, ErrorSeen, Speaker, Turn
from kedge.outcomes import Outcome
from kedge.outcomes.telling.told import Told
from kedge.sentences import cut, one_line

LINE_SHOWN = 240
"""Characters of a telling line: a message, a path, what was expected and what came."""
MOST_SEEN = 3
"""Errors given of one output: the first ones cause many of the others."""

Found = ErrorSeen | ErrorResolved


class ErrorExtractor:
    """Gives each error when it is seen, and again when something shows it to be past."""

    def __init__(self, setting: Setting) -> None:
        self._root = setting.root
        self._agents, self._outcomes = setting.agents, setting.outcomes
        self._paths = Paths(setting.root)
        self._errors = OpenErrors(self._paths)
        self._minor: dict[str, int] = {}
        """In which exchange a client's rule was last broken: once is enough to be told."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[Found]:
        for outcome in outcomes:
            steps = steps_of(outcome)
            for key, how in self._errors.settle(turn, outcome, steps):
                yield ErrorResolved(turn=turn.index, by=_speaker(turn), key=key, how=how)
            failure = failure_of(outcome, steps, self._paths)
            if failure is not None:
                yield from self._failed(turn, outcome, failure)
            if outcome.call.verb == "delegate" and outcome.call.id in self._agents:
                yield from self._of_agent(turn, outcome.call.id)

    def _failed(self, turn: Turn, outcome: Outcome, failure: Failure) -> Iterator[Found]:
        found = self._keyed(failure)
        gone = self._errors.replace(outcome, failure, failure.told[0].kind, set(found))
        for key, how in gone:
            yield ErrorResolved(turn=turn.index, by=_speaker(turn), key=key, how=how)
        for key, (told, places) in list(found.items())[:MOST_SEEN]:
            if failure.minor and self._told_before(told, turn.exchange):
                continue
            line = cut(one_line(told.line), LINE_SHOWN)
            count = self._errors.changes.count
            self._errors.add(key, opened(told, line, places, turn, failure, count))
            yield ErrorSeen(
                turn=turn.index,
                by=_speaker(turn),
                key=key,
                line=line,
                about=failure.about,
                places=places,
            )

    def _keyed(self, failure: Failure) -> dict[str, tuple[Told, tuple[str, ...]]]:
        """The errors by their keys; those of one key are one, with all its places."""
        folder = failure.awaited[-1].folder if failure.awaited else ""
        found: dict[str, tuple[Told, tuple[str, ...]]] = {}
        for told in failure.told:
            key = self._key(told, failure)
            first, before = found.get(key, (told, ()))
            places = (*before, *places_of(told, self._paths, folder))
            found[key] = (first, tuple(dict.fromkeys(places))[:MOST_PLACES])
        return found

    def _key(self, told: Told, failure: Failure) -> str:
        """Where the line tells little, what it is about belongs to the key."""
        key = key_of(told.line, self._root)
        if failure.minor or told.line.startswith("exit code "):
            return f"{key} [{failure.target or shown(failure.about)}]"
        return key

    def _told_before(self, told: Told, exchange: int) -> bool:
        """Whether the same rule was broken in this exchange already, by whichever call."""
        key = key_of(told.line, self._root)
        before = self._minor.pop(key, None)
        self._minor[key] = exchange
        if len(self._minor) > REMEMBERED:
            del self._minor[next(iter(self._minor))]
        return before == exchange

    def _of_agent(self, turn: Turn, call_id: str) -> Iterator[ErrorSeen]:
        """What a sub-agent left unsolved: its word, as nobody looked on."""
        for key, error in self._left_open(self._agents[call_id].turns)[-MOST_SEEN:]:
            count = self._errors.changes.count
            here = error._replace(since=count, turn=turn.index, exchange=turn.exchange)
            self._errors.add(key, here)
            yield ErrorSeen(
                turn=turn.index,
                by="agent",
                key=key,
                line=error.line,
                about=error.about,
                places=error.places,
            )

    def _left_open(self, turns: Sequence[Turn]) -> tuple[tuple[str, Open], ...]:
        inner = ErrorExtractor(Setting(root=self._root))
        for turn in turns:
            for _ in inner.see(turn, self._outcomes(turn)):
                pass
        return tuple(one for one in inner._errors.items() if not one[1].target)


def _speaker(turn: Turn) -> Speaker:
    return "agent" if turn.agent else "tool"
