"""Names worth remembering: what an agent goes on to write, tied to the file it belongs to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kedge.facts.extractor import Setting
from kedge.facts.files.paths import Paths
from kedge.facts.names.calls import Calls
from kedge.facts.names.sightings import Seen, Sightings, fact
from kedge.facts.names.texts import Texts
from kedge.model import NameSeen, Turn
from kedge.outcomes import Outcome

MOST_A_CALL = 100
"""Facts of one turn for each of its calls, the heaviest: what a page of an edit or a plan names. A
turn may read many files at once."""
REMEMBERED = 4_000
"""Names whose file is remembered; a page of a summary holds two hundred."""
AGENTS_TURNS = 40
"""Turns of a sub-agent that are looked at, its last: what it changed."""
_CHANGES = ("edit", "write")


class NameExtractor:
    """Gives the names of each turn, each once, with its file and its weight."""

    def __init__(self, setting: Setting) -> None:
        self._agents, self._outcomes = setting.agents, setting.outcomes
        self._paths = Paths(setting.root)
        self._homes: dict[str, str] = {}
        """The file each name was last met in; the name met longest ago goes first."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[NameSeen]:
        sightings = Sightings()
        texts, calls = Texts(sightings, self._paths), Calls(sightings, self._paths)
        for words in turn.user_words():
            texts.words(words, "user")
        for note in turn.notes:
            if note.kind == "plan":
                texts.words(note.text, "plan")
            elif note.kind == "shell":
                texts.command(note.text)
        texts.words(turn.assistant_response, "said")
        for outcome in outcomes:
            calls.take(outcome)
            self._agent(outcome, calls)
        for seen in sightings.strongest(MOST_A_CALL * max(1, len(outcomes))):
            yield fact(seen, turn.index, self._home(seen))

    def _agent(self, outcome: Outcome, calls: Calls) -> None:
        """What a sub-agent changed; its words are in its report."""
        agent = self._agents.get(outcome.call.id)
        for turn in agent.turns[-AGENTS_TURNS:] if agent is not None else ():
            for inner in self._outcomes(turn):
                if inner.call.verb in _CHANGES:
                    calls.change(inner)

    def _home(self, seen: Seen) -> str:
        if seen.kind != "symbol":
            return ""
        home = seen.topic or self._homes.pop(seen.name, "")
        if home:
            self._homes.pop(seen.name, None)
            self._homes[seen.name] = home
            if len(self._homes) > REMEMBERED:
                del self._homes[next(iter(self._homes))]
        return home
