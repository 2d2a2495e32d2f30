"""A session's summary as entries of the bank: decisions that stand, the state, milestones.

Only what is not there yet: filing again, or after more turns, adds what is new. An entry that
somebody wrote in the same words, or edited since, is known."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import datetime

from msgspec.structs import replace

from kedgeline.bank.briefs import brief_128
from kedgeline.bank.entries import (
    ACTIVE,
    ALIASES,
    ARCHIVE,
    DECISIONS,
    PROGRESS,
    TITLE_LENGTH,
    BankEntry,
    Document,
    NewEntry,
    read_fields,
)
from kedgeline.model import Decided, Speaker, Summary
from kedgeline.summary import summary_128, summary_512
from kedgeline.text.prose import cut, first_sentence, one_line, sentences
from kedgeline.tokens import EXACT

FILES_NAMED = 20
"""Files that the state names as its sources, the newest; a session may touch hundreds."""
MILESTONES = frozenset({"commit", "merge", "pull_request", "tag"})
"""What a repository came to that is a milestone; a branch or a push is none."""
HASH_SHOWN = 12
"""Characters of a commit's hash."""
WHOSE: dict[Speaker, str] = {
    "user": "Decided by the user.",
    "agent": "Decided by the agent.",
    "tool": "Shown by an edit of the agent.",
}
_TELLING = frozenset(("decision", "title", "text", *ALIASES.keys() & {"task", "milestone"}))
"""Fields that say what an entry is about; the others say why, when, by whom or what not."""
_HASH = re.compile(r"\b[0-9a-f]{7,40}\b")


def filed(
    summary: Summary, documents: Sequence[Document], *, session: str, agent: str, at: datetime
) -> list[tuple[str, NewEntry]]:
    """What of a summary is new to a bank, each with its file. `documents` are all of the bank's
    files, archives included."""
    found: list[tuple[str, NewEntry]] = []
    blank = NewEntry(agent=agent, at=at)
    session = session.replace(",", ";")  # it stands in a list of sources
    makers = {DECISIONS: _decisions, ACTIVE: _state, PROGRESS: _milestones}
    for name, make in makers.items():
        own = [one for one in documents if one.stem == name]
        archives = [one for one in documents if one.stem == name + ARCHIVE]
        file = own[0].name if own else f"{name}.md"
        known = KnownEntries([*own, *archives])
        found += [(file, new) for new in make(summary, known, session, blank)]
    return found


def _source(session: str, turn: int) -> str:
    return f"{session} t{turn}"


def _decisions(
    summary: Summary, known: KnownEntries, session: str, blank: NewEntry
) -> Iterator[NewEntry]:
    every = {filing_key(_said(one)) for made in summary.decisions.values() for one in made}
    new: set[str] = set()
    chains = [chain for made in summary.decisions_now() if (chain := _distinct(made))]
    standing = {filing_key(_said(made[-1])) for made in chains}
    for made in sorted(filter(_weighed, chains), key=lambda made: made[-1].turn):
        last, latest = made[-1], _said(made[-1])
        # what stands in another matter says nothing about this one
        before = [said for one in made[:-1] if filing_key(said := _said(one)) not in standing]
        newest = known.newest([*before, latest])
        if (newest and known.says(newest, latest)) or filing_key(latest) in new:
            continue
        if known.edited(_source(session, last.turn), every):
            continue
        new.add(filing_key(latest))
        edited = (known.edited(_source(session, one.turn), every) for one in reversed(made[:-1]))
        replaced = newest or next(filter(None, edited), None)
        status = f"Active (supersedes {replaced.id or replaced.title})" if replaced else "Active"
        context = [WHOSE[last.by], *(f"Before it: {_said(one)}" for one in made[-2:-1])]
        rationale = one_line(last.rationale)
        fields = {
            "Context": " ".join(context),
            "Decision": latest,
            "Rationale": rationale,
            "Alternatives": f"Not taken: {one_line(last.rejected)}" if last.rejected else "",
        }
        turns = dict.fromkeys(turn for turn in (last.turn, last.offered) if turn >= 0)
        title = cut(first_sentence(latest) or latest, TITLE_LENGTH)
        yield replace(
            blank,
            title=title,
            status=status,
            sources=tuple(_source(session, turn) for turn in turns),
            summary=brief_128(rationale, title=title),
            fields={name: value for name, value in fields.items() if value},
        )


def _distinct(made: Sequence[Decided]) -> tuple[Decided, ...]:
    """Without choices that only say the one before them again: the first one made it, or the user
    who agreed to it. A reason that was given with any of them is kept."""
    kept: list[Decided] = []
    for one in made:
        if not any(map(str.isalnum, _said(one))):
            continue
        if not kept or filing_key(_said(kept[-1])) != filing_key(_said(one)):
            kept.append(one)
            continue
        first, again = kept[-1], one
        if one.by == "user" and first.by != "user":
            first, again = one, first
        rationale, rejected = first.rationale or again.rationale, first.rejected or again.rejected
        kept[-1] = replace(first, rationale=rationale, rejected=rejected)
    return tuple(kept)


def _weighed(made: Sequence[Decided]) -> bool:
    """Whether a matter belongs into a log that nothing ever leaves: the user chose, or the agent
    gave a reason or named what it did not take. "I'll inline it" is neither."""
    return any(one.by == "user" or one.rationale or one.rejected for one in made)


def _said(decision: Decided) -> str:
    return one_line(decision.decision)


def _state(
    summary: Summary, known: KnownEntries, session: str, blank: NewEntry
) -> Iterator[NewEntry]:
    """One entry, unless nothing has happened since the last."""
    through = summary.through
    if summary == Summary(through=through):
        return
    text, source = summary_512(summary, EXACT.count), _source(session, through)
    if known.has_source(source) or known.holds(text):
        return
    changed = (
        (changes[-1].turn, path)
        for path, changes in summary.files_now().items()
        if not changes[-1].scratch
    )
    files = [one_line(path) for _, path in sorted(changed, reverse=True)]
    more = [f"+{len(files) - FILES_NAMED} more files"] if len(files) > FILES_NAMED else []
    yield replace(
        blank,
        title=f"State of session {session}",
        text=text,
        sources=(source, *files[:FILES_NAMED], *more),
        summary=summary_128(summary, EXACT.count),
    )


def _milestones(
    summary: Summary, known: KnownEntries, session: str, blank: NewEntry
) -> Iterator[NewEntry]:
    written: set[str] = set()
    for turn, title, name in sorted(_reached(summary), key=lambda one: one[0]):
        told = f"{title} ({name})" if title and name else title or name
        said = filing_key(title or told)
        if (
            not any(map(str.isalnum, told))
            or said in written
            or known.done(said)
            or (name and known.mentions(name.split()[-1]))
        ):
            continue
        written.add(said)
        yield replace(
            blank,
            title=told,
            status="completed",
            sources=(_source(session, turn),),
            summary=brief_128("", title=told),
        )


def _reached(summary: Summary) -> Iterator[tuple[int, str, str]]:
    """Turn, what was reached, and the name of a commit or tag."""
    for events in summary.todos.values():
        title = cut(one_line(events[-1].text), TITLE_LENGTH) if events else ""
        if title and events[-1].status == "completed":
            open_at = [n for n, event in enumerate(events) if event.status != "completed"]
            yield events[open_at[-1] + 1 if open_at else 0].turn, title, ""
    gone = [one.replaces for one in summary.repository if one.replaces]
    for made in summary.repository:
        name = one_line(made.name[:HASH_SHOWN] if made.what == "commit" else made.name)
        title = cut(one_line(made.about), TITLE_LENGTH)
        replaced = made.name and any(_same_hash(made.name, one) for one in gone)
        if made.what in MILESTONES and not replaced and (title or name):
            yield made.turn, title, f"{made.what.replace('_', ' ')} {name}" if name else ""


def _same_hash(one: str, other: str) -> bool:
    """Hashes are told in any length."""
    return one.startswith(other) or other.startswith(one)


def filing_key(text: str) -> str:
    """The same for texts that differ in nothing but blanks, case and signs."""
    lowered = unicodedata.normalize("NFKC", text).casefold()
    kept = (char for char in lowered if unicodedata.category(char)[0] in "LNM")
    return "".join(kept) or lowered.strip()


class KnownEntries:
    """The entries of a file and of its archive, newest first."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._said: list[tuple[BankEntry, set[str]]] = []
        for document in documents:
            entries = document.by_age()
            if not entries and document.stem.endswith(ARCHIVE):
                # one that is not read as entries is one, of what was reached
                entries = [BankEntry(text=document.text, line=1, done=True)]
            self._said += [(one, set(filter(None, map(filing_key, _told(one))))) for one in entries]

    def newest(self, texts: Sequence[str]) -> BankEntry | None:
        """The newest entry that says one of them."""
        keys = {filing_key(text) for text in texts}
        return next((entry for entry, said in self._said if keys & said), None)

    def says(self, entry: BankEntry, text: str) -> bool:
        return any(filing_key(text) in said for one, said in self._said if one is entry)

    def edited(self, source: str, said: set[str]) -> BankEntry | None:
        """An entry that comes from a source and says nothing of what the session said: somebody has
        edited it since."""
        found = (one for one, told in self._said if source in one.sources and not told & said)
        return next(found, None)

    def has_source(self, source: str) -> bool:
        return any(source in entry.sources for entry, _ in self._said)

    def holds(self, text: str) -> bool:
        """Whether an entry has all of a long text."""
        key = filing_key(text)
        texts = (entry.fields.get("text", "") or entry.text for entry, _ in self._said)
        return any(key in filing_key(one) for one in texts)

    def done(self, key: str) -> bool:
        """Whether an entry says that this was reached."""
        return any(key in said for entry, said in self._said if entry.done)

    def mentions(self, name: str) -> bool:
        """Whether an entry has this name in it; a hash in any length."""
        texts = [entry.text for entry, _ in self._said]
        if _HASH.fullmatch(name):
            return any(_same_hash(one, name) for text in texts for one in _HASH.findall(text))
        whole = re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w|\.\w)")
        return any(map(whole.search, texts))


def _told(entry: BankEntry) -> Iterator[str]:
    """Everything an entry says as a whole: its title, its lines, its sentences, the fields that
    tell what it is about. A part of a sentence may say the contrary."""
    yield entry.title
    yield entry.title.rpartition(" (")[0]  # without what it is called elsewhere: (commit 0123abc)
    telling = [value for key, value in entry.fields.items() if key in _TELLING]
    yield from telling
    if entry.text.lstrip().startswith(("{", "|")):
        # where nothing else tells what was decided, the rationale does
        yield "" if telling else entry.fields.get("rationale", "")
        return
    for line in entry.text.splitlines():
        if not read_fields(line):
            yield line
            yield from sentences(line)
