"""One compaction of a living session, as a step."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypedDict

from kedge.compaction import compacting
from kedge.living.adding import Keeping
from kedge.living.appending import Hold
from kedge.living.committing import compacted, rehearsal, room
from kedge.living.journal import Journal
from kedge.living.region import Region
from kedge.model import Budget, Compaction, Step
from kedge.planning import Policy
from kedge.steps import Style, Writer
from kedge.telemetry import Compacting


class CompactOptions(TypedDict, total=False):
    """What a compaction of a session takes by name."""

    window: int | None
    """The model's context window in tokens, where it is not the session's."""
    provider: str
    """Where the context will be sent: its rules say where it may be cut."""
    style: Style
    masking: bool
    """Mask old outputs even where the budget is kept."""
    overhead: int
    """Tokens of system prompt and tools that the session does not show."""
    max_output: int | None
    """Longest answer of the model, in tokens."""


def compacting_session(
    name: str,
    hold: Hold,
    read: Callable[[], Journal],
    keeping: Keeping,
    policy: Policy,
    usual: int,
    writer: Writer | None,
    *,
    window: int | None = None,
    trigger: str = "",
    rehearsed: bool = False,
    provider: str = "",
    style: Style = "anchored",
    masking: bool = False,
    overhead: int = 0,
    max_output: int | None = None,
) -> Step[Compaction]:
    """What is there is compacted, and the record written down. `usual` is the session's own
    window, `trigger` what made it begin; where it is only `rehearsed`, nothing is written."""

    def make(region: Region, budget: Budget) -> Step[Compaction]:
        return compacting(
            region.transcript,
            budget,
            provider=provider,
            previous=region.previous,
            counter=keeping.counter,
            masking=masking,
            style=style,
            redactor=None,  # the region is clean
            at=datetime.fromtimestamp(keeping.clock() / 1_000_000, UTC),
            name=name,
            writer=writer,
        )

    def budget(journal: Journal) -> Budget:
        return room(
            journal,
            keeping,
            usual if window is None else window,
            overhead=overhead,
            max_output=max_output,
            policy=policy,
        )

    if rehearsed:
        return (yield from rehearsal(read(), keeping, make, budget))
    with Compacting(name, provider=provider, trigger=trigger) as watch:
        made = yield from compacted(
            hold, read, keeping, make, budget, policy=policy, provider=provider
        )
        return watch.made(made)
