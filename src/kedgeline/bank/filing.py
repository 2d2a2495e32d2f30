"""A session's summary as entries of the bank: decisions that stand, the state, milestones.

Only what is not there yet: filing twice, or after more turns, adds what is new. An entry that
somebody wrote in the same words, or edited since, is known."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from kedgeline.bank.briefs import brief_128
from kedgeline.bank.fields import TITLE_LENGTH
from kedgeline.bank.values import (
    ACTIVE,
    ARCHIVE,
    DECISIONS,
    PROGRESS,
    Document,
    Entry,
    NewEntry,
    stem,
)
from kedgeline.model import Committed, Decided, Speaker, Summary, TodoSet
from kedgeline.summary import summary_128, summary_512
from kedgeline.text.prose import cut, first_sentence, one_line, sentences
from kedgeline.tokens import EXACT

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


OTHER_FIELDS = frozenset(
    (
        *("context", "rationale", "alternatives", "consequences", "sources", "source", "files"),
        *("status", "agent", "date", "id"),
    )
)
"""Names of fields that do not tell what was decided or reached: what was not taken stands there."""
TELLING = frozenset(("decision", "title", "text"))
"""Those that do."""

_FIELD = re.compile(r"^\W*([A-Za-z][\w ]{0,39}?)\W{0,4}:(?:\*\*)?(?:\s|$)(.*)")
_HASH = re.compile(r"\b[0-9a-f]{7,40}\b")
_KEPT = ("L", "N", "M")
"""Categories of characters that words are made of."""


def key_of(text: str) -> str:
    """The same for texts that differ in nothing but blanks, case, signs and what nobody sees."""
    lowered = unicodedata.normalize("NFKC", text).casefold()
    if lowered.isascii():
        return "".join(filter(str.isalnum, lowered)) or lowered.strip()
    kept = (char for char in lowered if unicodedata.category(char)[0] in _KEPT)
    return "".join(kept) or lowered.strip()


class Known:
    """The entries of a file and of its archive, newest first."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._entries = [entry for document in documents for entry in _of(document)]
        self._said = [set(filter(None, _units(entry))) for entry in self._entries]
        self._texts = [key_of(_unspelt(entry.text)) for entry in self._entries]
        self._added: set[str] = set()
        self._taken: set[int] = set()

    def take(self, texts: Iterable[str]) -> None:
        """Entries that say one of these are what they are: nobody has edited them."""
        keys = {key_of(text) for text in texts}
        self._taken.update(place for place, said in enumerate(self._said) if keys & said)

    def newest(self, texts: Sequence[str]) -> Entry | None:
        """The newest entry that says one of them."""
        keys = {key_of(text) for text in texts}
        found = (n for n, said in enumerate(self._said) if keys & said)
        return next((self._entries[place] for place in found), None)

    def has_latest(self, texts: Sequence[str]) -> bool:
        """Whether, of all choices of one matter, the last one is what the newest entry says."""
        keys = {key_of(text) for text in texts}
        newest = next((said for said in self._said if keys & said), set())
        return key_of(texts[-1]) in newest

    def edited(self, source: str) -> Entry | None:
        """An entry that comes from a source and says something else than we know of it: somebody
        has edited it since. It is found once."""
        for place, entry in enumerate(self._entries):
            if place not in self._taken and source in entry.sources:
                self._taken.add(place)
                return entry
        return None

    def has_source(self, source: str) -> bool:
        return any(source in entry.sources for entry in self._entries)

    def holds(self, text: str) -> bool:
        """Whether an entry has all of a long text."""
        key = key_of(text)
        return any(key in held for held in self._texts)

    def done(self, text: str) -> bool:
        """Whether an entry says that this was reached."""
        key = key_of(text)
        reached = zip(self._entries, self._said, strict=True)
        return key in self._added or any(key in said for entry, said in reached if entry.done)

    def mentions(self, name: str) -> bool:
        """Whether an entry has this name in it; a hash in any length."""
        if _HASH.fullmatch(name):
            hashes = (found for entry in self._entries for found in _HASH.findall(entry.text))
            return any(one.startswith(name) or name.startswith(one) for one in hashes)
        whole = re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w|\.\w)")
        return any(whole.search(entry.text) for entry in self._entries)

    def add(self, text: str) -> None:
        self._added.add(key_of(text))


def _of(document: Document) -> list[Entry]:
    """Newest first. An archive that is not read as entries is one, of what was reached."""
    entries = document.by_age()
    if entries or not document.name.rpartition(".")[0].endswith(ARCHIVE):
        return entries
    return [Entry(text=document.text, line=1, done=True)]


def _unspelt(text: str) -> str:
    """A text without its spelling: JSON writes a new line otherwise."""
    values = _strings(text) if text.lstrip().startswith("{") else {}
    return "\n".join(values.values()) or text


def _units(entry: Entry) -> Iterator[str]:
    """Everything an entry says as a whole: its title, its lines, its sentences, the fields that
    tell what it is about. A part of a sentence may say the contrary."""
    yield key_of(entry.title)
    if entry.title.endswith(")"):  # what it is called elsewhere: (commit 0123abc)
        yield key_of(entry.title.rpartition(" (")[0])
    yield from map(key_of, _lines(entry.text))


def _lines(text: str) -> Iterator[str]:
    if text.lstrip().startswith("{"):
        yield from _values(text)
        return
    for line in text.splitlines():
        field = _FIELD.match(line)
        if field is None:
            yield line
            yield from sentences(line)
            yield from (cell for cell in line.split("|") if "|" in line and cell.strip())
        elif field[1].casefold().strip() not in OTHER_FIELDS:
            yield line
            yield field[2]


def _values(text: str) -> Iterator[str]:
    """Of a line of JSON. Where nothing else tells what was decided, the rationale does."""
    told = _strings(text)
    if not TELLING & told.keys():
        yield told.get("rationale", "")
    yield from (value for name, value in told.items() if name not in OTHER_FIELDS)


def _strings(text: str) -> dict[str, str]:
    """The values of a line of JSON that are texts, by their names in small letters."""
    try:
        said = json.loads(text)
    except ValueError:
        return {}
    return {
        name.casefold(): value
        for name, value in (said.items() if isinstance(said, dict) else ())
        if isinstance(value, str)
    }
