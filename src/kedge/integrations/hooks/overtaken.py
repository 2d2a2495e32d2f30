"""What was known before a compaction and still holds, where turns follow it: it may have been made
long before the session is first looked at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from msgspec.structs import replace

from kedge.model import (
    AgentReported,
    Answered,
    Committed,
    FileChanged,
    InstructionGiven,
    Requested,
    Summary,
)
from kedge.model.fact import Fact

AnyOf = TypeVar("AnyOf", bound=Fact)


def still_holding(before: Summary, now: Summary, since: int) -> Summary:
    """Without what turns from `since` on overtook: these are there to be read."""
    return replace(
        before,
        requests=_asked(before, now, since),
        answers=_answered(before, now, since),
        instructions=_rules(before, now),
        files=_files(before, now, since),
        decisions=_untouched(before.decisions, now.decisions, since),
        commands=_untouched(before.commands, now.commands, since),
        repository=_repository(before, now, since),
        errors=_untouched(before.errors, now.errors, since),
        todos=_untouched(before.todos, now.todos, since),
        questions=_untouched(before.questions, now.questions, since),
        agents=_agents(before, now, since),
    )


def _untouched(
    before: Mapping[str, tuple[AnyOf, ...]], now: Mapping[str, tuple[AnyOf, ...]], since: int
) -> dict[str, tuple[AnyOf, ...]]:
    """The matters that nothing came to since."""
    touched = {key for key, facts in now.items() if _has_later(facts, since)}
    return {key: facts for key, facts in before.items() if key not in touched}


def _has_later(facts: Iterable[Fact], since: int) -> bool:
    return any(fact.turn >= since for fact in facts)


def _is_asked_anew(now: Summary, since: int) -> bool:
    return _has_later((one for one in now.requests if one.scope != "step"), since)


def _asked(before: Summary, now: Summary, since: int) -> tuple[Requested, ...]:
    """None where the user asked for something since: no request of before is the current one."""
    return () if _is_asked_anew(now, since) else before.requests


def _answered(before: Summary, now: Summary, since: int) -> tuple[Answered, ...]:
    """Those that the last words may refer to: what the agent said behind them is not its last."""
    if _is_asked_anew(now, since) or not before.requests:
        return ()
    last = before.requests[-1].turn
    return tuple(one for one in before.answers if one.turn < last)


def _rules(before: Summary, now: Summary) -> tuple[InstructionGiven, ...]:
    ended = now.replaced_rules()
    return tuple(one for one in before.instructions if one.text not in ended)


def _files(before: Summary, now: Summary, since: int) -> dict[str, tuple[FileChanged, ...]]:
    """A file that has another name since is known by that."""
    every = (change for changes in now.files.values() for change in changes)
    renamed = {change.renamed_from for change in every if change.turn >= since}
    kept = _untouched(before.files, now.files, since)
    return {path: changes for path, changes in kept.items() if path not in renamed}


def _repository(before: Summary, now: Summary, since: int) -> tuple[Committed, ...]:
    later = [one for one in now.repository if one.turn >= since]
    kinds, gone = {one.what for one in later}, {one.replaces for one in later}
    return tuple(one for one in before.repository if one.what not in kinds and one.name not in gone)


def _agents(before: Summary, now: Summary, since: int) -> tuple[AgentReported, ...]:
    later = {one.agent or one.task for one in now.agents if one.turn >= since}
    return tuple(one for one in before.agents if (one.agent or one.task) not in later)
