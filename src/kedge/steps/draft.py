"""A compaction on its way: what is planned, what is told, what the probes found."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from kedge.model import ConversationFlow, Plan, Step, Summary, Verdict, Wording
from kedge.steps.job import Job
from kedge.summary import Standing
from kedge.summary.items import Item


class Told(NamedTuple):
    text: str
    """What the agent reads."""
    state: Summary | None = None
    """All that is known of the folded turns."""
    standing: Standing = "beside"
    """Where the current request stands verbatim."""
    items: tuple[Item, ...] = ()
    """What the text is made of, for the style `anchored`."""


class Draft(NamedTuple):
    plan: Plan
    told: Told
    verdict: Verdict | None = None
    """None where nothing new is folded."""
    wording: Wording | None = None
    """What a model made of it, where one was asked."""


class Writer(Protocol):
    """Whoever puts words on top of a draft, and never makes it worse."""

    def words(self, job: Job, flow: ConversationFlow, draft: Draft) -> Step[Draft]: ...
