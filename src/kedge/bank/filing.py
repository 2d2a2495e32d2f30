"""A session's summary as entries of the bank: decisions that stand, the state, milestones.

Only what is not there yet: filing twice, or after more turns, adds what is new. An entry that
somebody wrote in the same words, or edited since, is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from kedge.bank.briefs import brief_128
from kedge.bank.known import Known, key_of
from kedge.bank.moving.triggers import stem
from kedge.bank.shapes.spelling import TITLE_LENGTH
from kedge.bank.values import ACTIVE, ARCHIVE, DECISIONS, PROGRESS, Document, Entry, NewEntry
from kedge.model import Committed, Decided, Speaker, Summary, TodoSet
from kedge.sentences import cut, first_sentence, one_line
from kedge.summary import summary_128, summary_512
from kedge.tokens import EXACT

FILES_NAMED = 20
"""Files that the state names as its sources, the newest; a session may touch hundreds."""
MILESTONES = frozenset({"commit", "merge", "pull_request", "tag"})
"""What a repository came to that is a milestone; a branch or a push is none."""
HASH_SHOWN = 12
"""Characters of a commit's hash: enough in any repository."""
WHOSE: dict[Speaker, str] = {
    "user": "Decided by the user.",
    "agent": "Decided by the agent.",
    "tool": "Shown by an edit of the agent.",
}
ACTIVE_STATUS, DONE_STATUS = "Active", "completed"

Filed = tuple[str, NewEntry]
"""The name of a file, and what goes into it."""


def filed(
    summary: Summary, documents: Sequence[Document], *, session: str, agent: str, at: datetime
) -> list[Filed]:
    """What of a summary is new to a bank, in the order to write it. `documents` are all of the
    bank's files, archives included."""
    filing = _Filing(session, agent, at)
    log, active, progress = (_files(documents, name) for name in (DECISIONS, ACTIVE, PROGRESS))
    return [
        *((_name(log, DECISIONS), new) for new in filing.decisions(summary, Known(log))),
        *((_name(active, ACTIVE), new) for new in filing.state(summary, Known(active))),
        *((_name(progress, PROGRESS), new) for new in filing.milestones(summary, Known(progress))),
    ]


class _Filing:
    """Who files what, and when."""

    def __init__(self, session: str, agent: str, at: datetime) -> None:
        self.session, self.agent, self.at = session, agent, at

    def decisions(self, summary: Summary, known: Known) -> Iterator[NewEntry]:
        known.take(_said(one) for made in summary.decisions.values() for one in made)
        chains = [chain for made in summary.decisions_now() if (chain := _distinct(made))]
        standing = {key_of(_said(made[-1])) for made in chains}
        new: set[str] = set()
        for made in sorted(filter(_weighed, chains), key=lambda made: made[-1].turn):
            latest = _said(made[-1])
            # What stands in another matter says nothing about this one.
            before = [said for one in made[:-1] if key_of(said := _said(one)) not in standing]
            if known.has_latest([*before, latest]) or key_of(latest) in new:
                continue
            if known.edited(self.source(made[-1].turn)):
                continue
            new.add(key_of(latest))
            replaced = known.newest(before) or self._edited(made[:-1], known)
            yield self._decision(made[-1], [_said(one) for one in made[:-1]], replaced)

    def _edited(self, made: Sequence[Decided], known: Known) -> Entry | None:
        found = (known.edited(self.source(one.turn)) for one in reversed(made))
        return next((entry for entry in found if entry), None)

    def _decision(
        self, decision: Decided, before: Sequence[str], replaced: Entry | None
    ) -> NewEntry:
        said = _said(decision)
        context = [WHOSE[decision.by], *(f"Before it: {one}" for one in before[-1:])]
        fields = {
            "Context": " ".join(context),
            "Decision": said,
            "Rationale": one_line(decision.rationale),
            "Alternatives": f"Not taken: {one_line(decision.rejected)}"
            if decision.rejected
            else "",
        }
        turns = dict.fromkeys(turn for turn in (decision.turn, decision.offered) if turn >= 0)
        title = cut(first_sentence(said) or said, TITLE_LENGTH)
        return NewEntry(
            agent=self.agent,
            at=self.at,
            title=title,
            status=_status(replaced),
            sources=tuple(map(self.source, turns)),
            summary=brief_128(f"{said}\n\n{fields['Rationale']}", title=title),
            fields={name: value for name, value in fields.items() if value},
        )

    def state(self, summary: Summary, known: Known) -> Iterator[NewEntry]:
        """One entry, unless nothing has happened since the last."""
        through = summary.through
        if summary == Summary(through=through):
            return
        text = summary_512(summary, EXACT.count)
        if known.has_source(self.source(through)) or known.holds(text):
            return
        yield NewEntry(
            agent=self.agent,
            at=self.at,
            title=f"State of session {self.session}",
            text=text,
            sources=(self.source(through), *_files_touched(summary)),
            summary=summary_128(summary, EXACT.count),
        )

    def milestones(self, summary: Summary, known: Known) -> Iterator[NewEntry]:
        reached = [*_todos_done(summary), *_commits(summary)]
        for one in sorted(reached, key=lambda one: one.turn):
            if known.done(one.title or one.told) or (one.name and known.mentions(one.name)):
                continue
            known.add(one.title or one.told)
            yield NewEntry(
                agent=self.agent,
                at=self.at,
                title=one.told,
                status=DONE_STATUS,
                sources=(self.source(one.turn),),
                summary=brief_128(one.told),
            )

    def source(self, turn: int) -> str:
        return f"{self.session} t{turn}"


def _status(replaced: Entry | None) -> str:
    if replaced is None:
        return ACTIVE_STATUS
    return f"{ACTIVE_STATUS} (supersedes {replaced.id or replaced.title})"


def _distinct(made: Sequence[Decided]) -> tuple[Decided, ...]:
    """Without choices that only say the one before them again: the first one made it, or the user
    who agreed to it. A reason that was given with any of them is kept."""
    kept: list[Decided] = []
    for one in made:
        if not _said(one):
            continue  # nothing that anybody could see
        if not kept or key_of(_said(kept[-1])) != key_of(_said(one)):
            kept.append(one)
        elif one.by == "user" and kept[-1].by != "user":
            kept[-1] = _with_reasons(one, kept[-1])
        else:
            kept[-1] = _with_reasons(kept[-1], one)
    return tuple(kept)


def _with_reasons(made: Decided, again: Decided) -> Decided:
    return replace(
        made,
        rationale=made.rationale or again.rationale,
        rejected=made.rejected or again.rejected,
    )


def _weighed(made: Sequence[Decided]) -> bool:
    """Whether a matter belongs into a log that nothing ever leaves: the user chose, or the agent
    gave a reason or named what it did not take. "I'll inline it" is neither."""
    return any(one.by == "user" or one.rationale or one.rejected for one in made)


def _said(decision: Decided) -> str:
    return one_line(decision.decision)


class _Reached(NamedTuple):
    turn: int
    title: str
    kind: str = ""
    name: str = ""
    """A hash, a tag or an address."""

    @property
    def told(self) -> str:
        named = f"{self.kind} {self.name}" if self.name else ""
        return f"{self.title} ({named})" if self.title and named else self.title or named


def _todos_done(summary: Summary) -> Iterator[_Reached]:
    for events in summary.todos.values():
        title = cut(one_line(events[-1].text), TITLE_LENGTH) if events else ""
        if title and events[-1].status == "completed":
            yield _Reached(_since(events), title)


def _since(events: Sequence[TodoSet]) -> int:
    """The turn from which on it was completed."""
    turn = events[-1].turn
    for event in reversed(events):
        if event.status != "completed":
            break
        turn = event.turn
    return turn


def _commits(summary: Summary) -> Iterator[_Reached]:
    gone = {one.replaces for one in summary.repository if one.replaces}
    for one in summary.repository:
        name = one_line(one.name[:HASH_SHOWN] if one.what == "commit" else one.name)
        title = cut(one_line(one.about), TITLE_LENGTH)
        if one.what in MILESTONES and not _replaced(one, gone) and (title or name):
            yield _Reached(one.turn, title, one.what.replace("_", " "), name)


def _replaced(one: Committed, gone: set[str]) -> bool:
    """Hashes are told in any length."""
    return bool(one.name) and any(
        hash.startswith(one.name) or one.name.startswith(hash) for hash in gone
    )


def _files_touched(summary: Summary) -> list[str]:
    newest = sorted(
        (changes[-1].turn, path)
        for path, changes in summary.files_now().items()
        if not changes[-1].scratch
    )[::-1]
    named = [one_line(path) for _, path in newest[:FILES_NAMED]]
    more = len(newest) - len(named)
    return [*named, f"+{more} more files"] if more > 0 else named


def _files(documents: Sequence[Document], name: str) -> list[Document]:
    """The file itself first, then its archive."""
    plain = {document.name: stem(document.name) for document in documents}
    own = [document for document in documents if plain[document.name] == name]
    return own + [document for document in documents if plain[document.name] == name + ARCHIVE]


def _name(found: Sequence[Document], name: str) -> str:
    own = (document.name for document in found if stem(document.name) == name)
    return next(own, f"{name}.md")
