"""Commands that worked and will be needed again, verbatim."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from kedge.model.summary import Summary
from kedge.sentences import one_line
from kedge.summary.items import THEN, Item
from kedge.summary.salience import salience

PURPOSES = ("test", "build", "lint", "deploy", "migration", "install")
"""Purposes that have a weight of their own."""
NEVER_WORKED = 0.5
"""What is left of the worth of a command that never worked."""
DONE_ONCE = 0.5
"""What is left of the worth of a command that was meant for one moment and changes more than files:
run again it could do harm."""
_ONCE = re.compile(
    r"\bgit (?:-C \S+ )?(?:reset|checkout|restore|rebase|stash|clean|cherry-pick|merge|commit)\b"
    r"|\bgit (?:rm|mv|tag)\b|--force|--amend|\brm\b|(?<![0-9&])>{1,2} {0,2}(?!/dev/null|&)[\w./~]"
    r"|\bgh (?:pr|issue|release) (?:comment|merge|close|create|edit|review)\b"
    r"|(?:-X|--method)[ =]?(?:POST|PUT|PATCH|DELETE)\b|\bkill\b"
)
LONGEST = 400
"""Characters of a command: a longer one is a script, and stands in its turn."""


def commands(summary: Summary) -> Iterator[Item]:
    """Of one command with different endings the line used most and newest, then the others."""
    for runs in summary.commands.values():
        lines = Counter(run.command for run in runs)
        newest = {run.command: run for run in runs}
        worked = {run.command for run in runs if run.success}
        for command, times in lines.items():
            run = newest[command]
            if len(command) > LONGEST or "\n" in command:
                continue
            recent = run.turn / (summary.through + 2)
            kind = run.purpose if run.purpose in PURPOSES else "other command"
            worth = salience(kind, recent=recent, again=times - 1 + (command in worked))
            if run.success is False and command not in worked:
                worth *= NEVER_WORKED
            if _ONCE.search(command):
                worth *= DONE_ONCE
            about = "planned, not run" if run.about.startswith("planned") else ""
            turns = tuple(one.turn for one in runs if one.command == command)
            text = f"`{one_line(command)}`" + (f" ({about})" if about else "")
            yield Item("Commands", text, turns[-4:], THEN, worth=worth)
