"""Which files were created, modified, deleted, renamed or read, and what changed in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kedge.model import FileChanged, Matter, Probe, Summary
from kedge.model.fact import standing
from kedge.probes.making.homes import probe
from kedge.probes.making.requests import beginning


def files(summary: Summary) -> Iterator[Probe]:
    """Every file that is different now."""
    for path, events in different(summary).items():
        became = _became(events)
        yield probe(
            matter=became,
            question=f"What became of {path}?",
            expected=(path, became),
            turn=events[-1].turn,
            critical=True,
            key=path,
            lasting=True,
        )


def changes(summary: Summary) -> Iterator[Probe]:
    """What changed last in each file, the newest first."""
    told = (
        (path, events[-1])
        for path, events in different(summary).items()
        if events[-1].what or events[-1].said
    )
    for path, event in sorted(told, key=lambda one: -one[1].turn):
        yield probe(
            matter="change",
            question=f"What was changed in {path} in t{event.turn}?",
            expected=(path, _whole_words(event.what or event.said)),
            turn=event.turn,
            key=path,
        )


def reads(summary: Summary) -> Iterator[Probe]:
    """Files that were read and are as they were, the newest first."""
    changed = {path for path, events in summary.files.items() if not _came_and_went(events)}
    seen = [(path, sights) for path, sights in summary.reads.items() if path not in changed]
    for path, sights in sorted(seen, key=lambda one: (-one[1][-1].turn, -len(one[1]))):
        yield probe(
            matter="read",
            question=f"Which file was read in t{sights[-1].turn}?",
            expected=(path,),
            turn=sights[-1].turn,
            key=path,
        )


def different(summary: Summary) -> dict[str, tuple[FileChanged, ...]]:
    """Events of the files of the work that are not as they were, by the name they have now."""
    return {
        path: events
        for path, events in summary.files_now().items()
        if not _came_and_went(events) and not all(event.scratch for event in events)
    }


def _came_and_went(every: Sequence[FileChanged]) -> bool:
    """Whether a file is as it was: created and deleted, or all changes taken back."""
    events = standing(every)
    return not events or (events[0].action == "created" and events[-1].action == "deleted")


def _became(events: Sequence[FileChanged]) -> Matter:
    actions = [event.action for event in events]
    if actions[-1] == "deleted":
        return "deleted"
    if actions[0] == "created":
        return "created"
    return "renamed" if "renamed" in actions else "modified"


def _whole_words(text: str) -> str:
    """How a change is told, up to where it may be cut."""
    return beginning(text.partition("…")[0])
