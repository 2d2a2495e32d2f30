"""The summary as a session file that orchestrators keep beside a task (seed 002)."""

from __future__ import annotations

from kedge.model import Summary
from kedge.summary.fitting import Count, fit
from kedge.summary.markdown import render
from kedge.summary.sections import items_of

TITLE = "## Session Summary — {task}"
"""The first line; a person may change anything below it."""


def session_file(summary: Summary, room: int, count: Count, *, task: str) -> str:
    """The same sections under smaller headings, below the name of the task."""
    title = TITLE.format(task=" ".join(task.split()))
    fitted = fit(items_of(summary), room - count(title), count)
    return f"{title}\n\n{render(fitted.items, fitted.left_out, heading='###')}\n"
