"""What was done since an error: the files changed, and the installations made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from posixpath import basename

from kedge.facts.errors.runs import Step
from kedge.facts.files.paths import Paths
from kedge.outcomes import Outcome, Touch
from kedge.outcomes.calls import shell_line
from kedge.sentences import cut, one_line

REMEMBERED = 64
"""Files remembered, the latest: few errors take more to mend."""
NAMED = 3
"""Files named as the ones that mended an error; the others are counted."""
COMMAND_SHOWN = 80
"""Characters of a command in what mended an error: one line of a terminal."""


class Changes:
    def __init__(self, paths: Paths) -> None:
        self.count = 0
        """All changes so far."""
        self._paths = paths
        self._files: dict[str, int] = {}
        self._installed = ("", 0)

    def add(self, outcome: Outcome, steps: Sequence[Step]) -> None:
        """Take what a call changed, but not what its commands printed into files."""
        self._put(touch for touch in outcome.touched if not _printed(touch))
        if any(step.passing and step.run.purpose == "install" for step in steps):
            self.count += 1
            self._installed = (shown(shell_line(outcome.call)), self.count)

    def add_printed(self, outcome: Outcome) -> None:
        """Take those too, when it is told what the call has shown to be past."""
        self._put(touch for touch in outcome.touched if _printed(touch))

    def _put(self, touched: Iterable[Touch]) -> None:
        for touch in touched:
            name = self._paths.name(touch.path)
            if touch.action == "read" or not name or self._paths.is_scratch(name):
                continue
            self.count += 1
            self._files.pop(name, None)
            self._files[name] = self.count
        while len(self._files) > REMEMBERED:
            del self._files[next(iter(self._files))]

    def since(self, count: int) -> tuple[str, ...]:
        """Files changed after so many changes."""
        return tuple(path for path, last in self._files.items() if last > count)

    def how(self, count: int) -> str:
        """What was done after so many changes, in a few words; empty where nothing was."""
        if files := self.since(count):
            return f"after editing {named(files)}"
        command, last = self._installed
        return f"by `{command}`" if last > count else ""

    def how_in(self, count: int, text: str) -> str:
        """The same, only of files that a text names."""
        files = [path for path in self.since(count) if basename(path.rstrip("/")) in text]
        return f"after editing {named(files)}" if files else ""


def _printed(touch: Touch) -> bool:
    return touch.by == "shell" and touch.action == "created"


def named(paths: Iterable[str]) -> str:
    """Base names, each once; the last ones first, as they were nearest to the success."""
    names = tuple(dict.fromkeys(basename(path.rstrip("/")) for path in reversed(tuple(paths))))
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def shown(command: str) -> str:
    return cut(one_line(command[: COMMAND_SHOWN * 8]), COMMAND_SHOWN)
