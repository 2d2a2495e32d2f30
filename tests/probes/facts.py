"""Random facts of every kind, as sessions have them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from kedgeline.model import (
    ActionTaken,
    AgentReported,
    Answered,
    AnyFact,
    CommandRun,
    Committed,
    Decided,
    FileChanged,
    Probe,
    SessionNoted,
    Stated,
    Summary,
    TodoSet,
    Verdict,
)
from kedgeline.pipeline.handoff import asked, verify
from kedgeline.probes import probes_of
from kedgeline.summary import Standing, build, handoff
from tests.summary.facts import fact, paths, turns, words

NO_LIMIT = 1_000_000_000
"""Tokens: room for everything."""
MESSAGES = {"0a1b2c3": "Add the berth", "9f8e7d6": "Fix: the light, again", "4c5d6e7": ""}
"""A hash has one message."""
TEXTS = (
    "Moor the ferry at the second berth, and write down how long it took to get there. " * 4,
    "https://harbour.test/" + "berth-" * 40,
    "漢字" * 30,
    "short",
)
"""Some are longer than what is shown of them."""

texts = st.one_of(words, st.sampled_from(TEXTS))
commit = st.sampled_from(sorted(MESSAGES)).flatmap(
    lambda name: st.builds(
        Committed,
        turn=turns,
        what=st.just("commit"),
        name=st.just(name),
        about=st.just(MESSAGES[name]),
    )
)
other_kinds = st.one_of(
    commit,
    st.builds(
        Committed,
        turn=turns,
        what=st.sampled_from(("branch", "push", "pull_request", "tag")),
        name=st.sampled_from(("main", "fix/light", "v1.2", "https://harbour.test/pull/7")),
    ),
    st.builds(
        FileChanged,
        turn=turns,
        path=paths,
        action=st.sampled_from(("created", "modified", "deleted")),
        what=texts,
        scratch=st.booleans(),
    ),
    st.builds(
        CommandRun,
        turn=turns,
        command=st.sampled_from(("make lint", "npm run build -- --prod", "./deploy.sh\n  --all")),
        key=st.sampled_from(("c1", "c2")),
        purpose=st.sampled_from(("lint", "build", "deploy", "migration", "other")),
        success=st.sampled_from((True, False, None)),
        passed=st.sampled_from((None, 3, 12)),
        failed=st.sampled_from((None, 0, 2)),
    ),
    st.builds(ActionTaken, turn=turns, tool=st.just("book_berth"), about=texts, result=texts),
    st.builds(Answered, turn=turns, by=st.just("agent"), text=texts, asks=st.booleans()),
    st.builds(AgentReported, turn=turns, task=words, report=texts),
    st.builds(
        Decided,
        turn=turns,
        by=st.sampled_from(("user", "agent")),
        key=st.sampled_from(("k1", "k2")),
        decision=words,
        rationale=st.one_of(st.just(""), words),
        rejected=st.one_of(st.just(""), words),
    ),
    st.builds(
        Stated,
        turn=turns,
        by=st.just("agent"),
        text=st.tuples(
            st.sampled_from(("`GET /berths` fails", "a.py:12 is <b>", "f(a, b)", "-12,5", "# 3")),
            st.sampled_from(("because of 8080.", "since v1.2.3,", "[t4] of `a b`:", "in 2,048")),
            texts,
        ).map(" ".join),
        where=st.sampled_from(("answer", "report", "narration")),
        head=st.sampled_from(("", "Found:")),
        place=st.integers(0, 9),
    ),
    st.builds(
        SessionNoted,
        turn=turns,
        name=st.sampled_from(("mode", "branch", "plan_file", "worktree")),
        value=st.sampled_from(("plan", "main", "docs/plan.md", "")),
    ),
    st.builds(
        TodoSet,
        turn=turns,
        key=st.sampled_from(("k4", "k5")),
        text=words,
        status=st.sampled_from(("pending", "in_progress", "completed", "dropped")),
        source=st.sampled_from(("plan", "todos")),
    ),
)


def _in_order(found: list[AnyFact]) -> list[AnyFact]:
    return sorted(found, key=lambda one: one.turn)


facts = st.lists(
    st.one_of(fact.filter(lambda one: not isinstance(one, Committed)), other_kinds), max_size=40
).map(_in_order)


def size(text: str) -> int:
    """Tokens of a text, near enough."""
    return (len(text.encode()) + 2) // 3


# Probes made of facts, in a form that is short to write down.


def made(*found: AnyFact, room: int = NO_LIMIT, current: bool = True) -> list[Probe]:
    return list(probes_of(build(found), room, current=current))


def change(turn: int, path: str, action: Any, **fields: Any) -> FileChanged:
    return FileChanged(turn=turn, path=path, action=action, **fields)


def run(turn: int, purpose: str = "test", command: str = "make test", **fields: Any) -> CommandRun:
    return CommandRun(turn=turn, command=command, key=command, purpose=purpose, **fields)


# What a text that tells everything answers.


def whole(state: Summary, room: int, standing: Standing = "here") -> Verdict:
    """What a text that tells everything answers to what one of so many tokens is asked."""
    text = handoff(state, NO_LIMIT, size, standing=standing)
    request = [one.text for one in state.requests if one.scope != "step"][-1:]
    beside = request if standing == "beside" else []
    probes = asked(state, room, standing=standing)
    return verify(state, text, probes, standing=standing, beside=beside)


def failing(verdict: Verdict) -> list[tuple[str, ...]]:
    return [one.probe.expected for one in verdict.failed]
