"""Facts about files that were read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kedge.facts.extractor import Setting
from kedge.facts.files.agents import agent_turns
from kedge.facts.files.folders import WorkingFolder
from kedge.facts.files.paths import Paths, is_glob
from kedge.facts.files.ranges import lines_read
from kedge.facts.files.sentences import texts_before, why
from kedge.model import FileRead, Turn
from kedge.outcomes import Outcome
from kedge.outcomes.calls import shell_line

BY_AGENT = "by the sub-agent"
_LISTING = ("<path>", "<type>directory</type>")
"""How a client that lists a folder through its reading tool begins and goes on."""
HEAD = 500
"""Characters of an output in which it would."""


class ReadExtractor:
    """Gives every file that was read, with the lines where it was not read whole."""

    def __init__(self, setting: Setting, *, depth: int = 0) -> None:
        self._setting = setting
        self._depth = depth
        self._paths = Paths(setting.root)
        self._folder = WorkingFolder(stays=depth == 0)

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[FileRead]:
        texts = texts_before(turn)
        for place, outcome in enumerate(outcomes):
            yield from self._by_agent(turn, outcome)
            folder = self._folder.of(outcome.call) if shell_line(outcome.call) else ""
            self._folder.follow(outcome)
            for touch in outcome.touched:
                path = self._paths.name(touch.path, folder)
                if touch.action != "read" or not path or is_glob(path) or _is_listing(outcome):
                    continue
                yield FileRead(
                    turn=turn.index,
                    path=path,
                    lines=lines_read(outcome, touch.path),
                    why=why(texts[place]) if place < len(texts) else "",
                )

    def _by_agent(self, turn: Turn, outcome: Outcome) -> Iterator[FileRead]:
        if outcome.call.id not in self._setting.agents:
            return
        extractor = ReadExtractor(self._setting, depth=self._depth + 1)
        for own, outcomes in agent_turns(self._setting, outcome, self._depth):
            for fact in extractor.see(own, outcomes):
                yield replace(fact, turn=turn.index, why=BY_AGENT)


def _is_listing(outcome: Outcome) -> bool:
    output = outcome.result.output[:HEAD] if outcome.result else ""
    return output.startswith(_LISTING[0]) and _LISTING[1] in output
