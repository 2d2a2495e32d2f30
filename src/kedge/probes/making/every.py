"""All probes of a summary, and those of earlier ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kedge.model import AnyFact, Decided, FileChanged, Probe, SectionName, Summary
from kedge.probes.making import errors, files, record, requests, work
from kedge.probes.making.rations import left_of, ration, rationed


def probes_of(summary: Summary, room: int, *, current: bool = True) -> tuple[Probe, ...]:
    """What a summary of so many tokens is asked. `current` says whether the request that is worked
    on is among the folded turns; else it is still there to be read."""
    must = tuple(filter(_can_be_asked, _always(summary, current)))
    ranked = _by_rank(summary, left_of(room, must), current)
    return (*must, *filter(_can_be_asked, ranked))


def _can_be_asked(probe: Probe) -> bool:
    """Whether there is an answer to look for."""
    return bool(probe.expected) and all(part.strip() for part in probe.expected)


def again(
    earlier: Iterable[Probe], made: Iterable[Probe], since: Iterable[AnyFact]
) -> tuple[Probe, ...]:
    """Probes of earlier compactions that hold still and are not made anew: nothing that was proved
    to be there may be lost on the way. What newer facts are about is asked by newer probes."""
    known = [*made]
    settled = {(probe.section, probe.key) for probe in known}
    rules = {probe.expected[0] for probe in known if probe.matter == "rule"}
    settled |= {about for fact in since for about in _about(fact)}
    return tuple(
        probe
        for probe in earlier
        if probe.lasting
        and (probe.section, probe.key) not in settled
        and not (probe.matter == "decision" and probe.expected[0] in rules)
    )


def _about(fact: AnyFact) -> Iterator[tuple[SectionName, str]]:
    """The sections and keys of lasting probes that a fact is about."""
    if isinstance(fact, FileChanged):
        yield ("Files Modified", fact.path)
        if fact.renamed_from:
            yield ("Files Modified", fact.renamed_from)
    elif isinstance(fact, Decided):
        yield ("Decisions Made", fact.key)


def _always(summary: Summary, current: bool) -> Iterator[Probe]:
    """What every hand-off must say, however short it is."""
    if current:
        yield from requests.request(summary)
    yield from requests.rules(summary)
    yield from files.files(summary)
    yield from record.earlier_text_that_holds(summary)
    yield from requests.closing_answer(summary, current=current)
    yield from work.users_decisions(summary)
    yield from work.newest_checks(summary)
    yield from work.edited_since(summary)
    yield from work.absences(summary)
    yield from work.open_tasks(summary)
    yield from work.task_count(summary)
    yield from work.questions(summary)
    yield from errors.errors_in_the_way(summary)
    yield from record.newest_actions(summary)
    yield from record.delegated(summary)
    yield from record.repository(summary)
    yield from record.session(summary)


def _by_rank(summary: Summary, room: int, current: bool) -> Iterator[Probe]:
    """What is worth its place, as far as there is place."""
    ranked = (
        requests.earlier_requests(summary, current=current),
        requests.words_since(summary, current=current),
        work.agents_decisions(summary),
        work.tasks_done(summary),
        record.older_actions(summary),
        record.commits(summary),
        record.reports(summary),
        errors.older_errors(summary),
        errors.resolved_errors(summary),
        errors.dead_ends(summary),
        files.changes(summary),
        files.reads(summary),
        record.commands(summary),
        record.earlier_text(summary),
    )
    for probes in ranked:
        yield from rationed(probes, room)
    yield from record.names(summary, ration("name", room))
