"""What a text that tells everything answers."""

from __future__ import annotations

from kedgeline.model import Summary, Verdict
from kedgeline.pipeline.handoff import asked, verify
from kedgeline.summary import Standing, handoff
from tests.probes.facts import NO_LIMIT, size


def whole(state: Summary, room: int, standing: Standing = "here") -> Verdict:
    """What a text that tells everything answers to what one of so many tokens is asked."""
    text = handoff(state, NO_LIMIT, size, standing=standing)
    request = [one.text for one in state.requests if one.scope != "step"][-1:]
    beside = request if standing == "beside" else []
    probes = asked(state, room, standing=standing)
    return verify(state, text, probes, standing=standing, beside=beside)


def failing(verdict: Verdict) -> list[tuple[str, ...]]:
    return [one.probe.expected for one in verdict.failed]
