"""A session's summary as entries of the bank: decisions that stand, the state, milestones.

Only what is not there yet: filing twice, or after more turns, adds what is new. An entry that
somebody wrote in the same words, or edited since, is known."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from kedgeline.bank.briefs import brief_128
from kedgeline.bank.fields import TITLE_LENGTH
from kedgeline.bank.values import ACTIVE, ARCHIVE, DECISIONS, PROGRESS, Document, Entry, NewEntry
from kedgeline.bank.values import stem as plain_name
from kedgeline.model import Decided, Speaker, Summary
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

Filed = tuple[str, NewEntry]
"""The name of a file, and what goes into it."""


def filed(
    summary: Summary, documents: Sequence[Document], *, session: str, agent: str, at: datetime
) -> list[Filed]:
    """What of a summary is new to a bank, in the order to write it. `documents` are all of the
    bank's files, archives included."""
    found: list[Filed] = []
    blank = NewEntry(agent=agent, at=at)
    makers = {DECISIONS: _decisions, ACTIVE: _state, PROGRESS: _milestones}
    for name, make in makers.items():
        own = [one for one in documents if plain_name(one.name) == name]
        archives = [one for one in documents if plain_name(one.name) == name + ARCHIVE]
        file = own[0].name if own else f"{name}.md"
        known = Known([*own, *archives])
        found += [(file, new) for new in make(summary, known, session, blank)]
    return found


def _source(session: str, turn: int) -> str:
    return f"{session} t{turn}"


def _decisions(summary: Summary, known: Known, session: str, blank: NewEntry) -> Iterator[NewEntry]:
    known.take([_said(one) for made in summary.decisions.values() for one in made])
    chains = [chain for made in summary.decisions_now() if (chain := _distinct(made))]
    standing = {key_of(_said(made[-1])) for made in chains}
    new: set[str] = set()
    for made in sorted(filter(_weighed, chains), key=lambda made: made[-1].turn):
        last, latest = made[-1], _said(made[-1])
        # What stands in another matter says nothing about this one.
        before = [said for one in made[:-1] if key_of(said := _said(one)) not in standing]
        if known.has_latest([*before, latest]) or key_of(latest) in new:
            continue
        if known.edited(_source(session, last.turn)):
            continue
        new.add(key_of(latest))
        edited = (known.edited(_source(session, one.turn)) for one in reversed(made[:-1]))
        replaced = known.newest(before) or next(filter(None, edited), None)
        status = f"Active (supersedes {replaced.id or replaced.title})" if replaced else "Active"
        context = [WHOSE[last.by], *(f"Before it: {_said(one)}" for one in made[-2:-1])]
        fields = {
            "Context": " ".join(context),
            "Decision": latest,
            "Rationale": one_line(last.rationale),
            "Alternatives": f"Not taken: {one_line(last.rejected)}" if last.rejected else "",
        }
        turns = dict.fromkeys(turn for turn in (last.turn, last.offered) if turn >= 0)
        title = cut(first_sentence(latest) or latest, TITLE_LENGTH)
        yield replace(
            blank,
            title=title,
            status=status,
            sources=tuple(_source(session, turn) for turn in turns),
            summary=brief_128(f"{latest}\n\n{fields['Rationale']}", title=title),
            fields={name: value for name, value in fields.items() if value},
        )


def _distinct(made: Sequence[Decided]) -> tuple[Decided, ...]:
    """Without choices that only say the one before them again: the first one made it, or the user
    who agreed to it. A reason that was given with any of them is kept."""
    kept: list[Decided] = []
    for one in made:
        if not any(map(str.isalnum, _said(one))):
            continue  # nothing that anybody could read
        if not kept or key_of(_said(kept[-1])) != key_of(_said(one)):
            kept.append(one)
            continue
        first, again = kept[-1], one
        if one.by == "user" and first.by != "user":
            first, again = one, first
        kept[-1] = replace(
            first,
            rationale=first.rationale or again.rationale,
            rejected=first.rejected or again.rejected,
        )
    return tuple(kept)


def _weighed(made: Sequence[Decided]) -> bool:
    """Whether a matter belongs into a log that nothing ever leaves: the user chose, or the agent
    gave a reason or named what it did not take. "I'll inline it" is neither."""
    return any(one.by == "user" or one.rationale or one.rejected for one in made)


def _said(decision: Decided) -> str:
    return one_line(decision.decision)


def _state(summary: Summary, known: Known, session: str, blank: NewEntry) -> Iterator[NewEntry]:
    """One entry, unless nothing has happened since the last."""
    through = summary.through
    if summary == Summary(through=through):
        return
    text, source = summary_512(summary, EXACT.count), _source(session, through)
    if known.has_source(source) or known.holds(text):
        return
    newest = sorted(
        (changes[-1].turn, path)
        for path, changes in summary.files_now().items()
        if not changes[-1].scratch
    )[::-1]
    files = [one_line(path) for _, path in newest[:FILES_NAMED]]
    more = len(newest) - len(files)
    yield replace(
        blank,
        title=f"State of session {session}",
        text=text,
        sources=(source, *files, *([f"+{more} more files"] if more else [])),
        summary=summary_128(summary, EXACT.count),
    )


class _Reached(NamedTuple):
    turn: int
    title: str
    name: str = ""
    """A hash, a tag or an address."""
    kind: str = ""

    @property
    def told(self) -> str:
        named = f"{self.kind} {self.name}" if self.name else ""
        return f"{self.title} ({named})" if self.title and named else self.title or named


def _milestones(
    summary: Summary, known: Known, session: str, blank: NewEntry
) -> Iterator[NewEntry]:
    written: set[str] = set()
    for one in sorted(_reached(summary), key=lambda one: one.turn):
        said = key_of(one.title or one.told)
        if said in written or known.done(said) or (one.name and known.mentions(one.name)):
            continue
        written.add(said)
        yield replace(
            blank,
            title=one.told,
            status="completed",
            sources=(_source(session, one.turn),),
            summary=brief_128(one.told),
        )


def _reached(summary: Summary) -> Iterator[_Reached]:
    for events in summary.todos.values():
        title = cut(one_line(events[-1].text), TITLE_LENGTH) if events else ""
        if title and events[-1].status == "completed":
            open_at = [n for n, event in enumerate(events) if event.status != "completed"]
            yield _Reached(events[open_at[-1] + 1 if open_at else 0].turn, title)
    gone = [one.replaces for one in summary.repository if one.replaces]
    for made in summary.repository:
        name = one_line(made.name[:HASH_SHOWN] if made.what == "commit" else made.name)
        title = cut(one_line(made.about), TITLE_LENGTH)
        replaced = made.name and any(_same_hash(made.name, hash) for hash in gone)
        if made.what in MILESTONES and not replaced and (title or name):
            yield _Reached(made.turn, title, name, made.what.replace("_", " "))


def _same_hash(one: str, other: str) -> bool:
    """Hashes are told in any length."""
    return one.startswith(other) or other.startswith(one)


def key_of(text: str) -> str:
    """The same for texts that differ in nothing but blanks, case, signs and what nobody sees."""
    lowered = unicodedata.normalize("NFKC", text).casefold()
    kept = (char for char in lowered if unicodedata.category(char)[0] in "LNM")
    return "".join(kept) or lowered.strip()


class Known:
    """The entries of a file and of its archive, newest first."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._entries: list[Entry] = []
        for document in documents:
            entries = document.by_age()
            if not entries and document.name.rpartition(".")[0].endswith(ARCHIVE):
                # one that is not read as entries is one, of what was reached
                entries = [Entry(text=document.text, line=1, done=True)]
            self._entries += entries
        self._said = [set(filter(None, _units(entry))) for entry in self._entries]
        self._texts = [key_of(_unspelt(entry.text)) for entry in self._entries]
        self._taken: set[int] = set()

    def take(self, texts: Sequence[str]) -> None:
        """Entries that say one of these are what they are: nobody has edited them."""
        self._taken.update(self._saying(texts))

    def _saying(self, texts: Sequence[str]) -> list[int]:
        keys = {key_of(text) for text in texts}
        return [place for place, said in enumerate(self._said) if keys & said]

    def newest(self, texts: Sequence[str]) -> Entry | None:
        """The newest entry that says one of them."""
        return next((self._entries[place] for place in self._saying(texts)), None)

    def has_latest(self, texts: Sequence[str]) -> bool:
        """Whether, of all choices of one matter, the last one is what the newest entry says."""
        newest = next((self._said[place] for place in self._saying(texts)), set())
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

    def done(self, key: str) -> bool:
        """Whether an entry says that this was reached."""
        reached = zip(self._entries, self._said, strict=True)
        return any(key in said for entry, said in reached if entry.done)

    def mentions(self, name: str) -> bool:
        """Whether an entry has this name in it; a hash in any length."""
        texts = [entry.text for entry in self._entries]
        if _HASH.fullmatch(name):
            return any(_same_hash(one, name) for text in texts for one in _HASH.findall(text))
        whole = re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w|\.\w)")
        return any(map(whole.search, texts))


def _unspelt(text: str) -> str:
    """A text without its spelling: JSON writes a new line otherwise."""
    return "\n".join(_strings(text).values()) or text


def _units(entry: Entry) -> Iterator[str]:
    """Keys of everything an entry says as a whole: its title, its lines, its sentences, the fields
    that tell what it is about. A part of a sentence may say the contrary."""
    return map(key_of, _told(entry))


def _told(entry: Entry) -> Iterator[str]:
    yield entry.title
    if entry.title.endswith(")"):  # what it is called elsewhere: (commit 0123abc)
        yield entry.title.rpartition(" (")[0]
    if entry.text.lstrip().startswith("{"):
        told = _strings(entry.text)
        # where nothing else tells what was decided, the rationale does
        yield "" if TELLING & told.keys() else told.get("rationale", "")
        yield from (value for name, value in told.items() if name not in OTHER_FIELDS)
        return
    for line in entry.text.splitlines():
        field = _FIELD.match(line)
        if field is None:
            yield line
            yield from sentences(line)
            yield from (cell for cell in line.split("|") if "|" in line and cell.strip())
        elif field[1].casefold().strip() not in OTHER_FIELDS:
            yield line
            yield field[2]


def _strings(text: str) -> dict[str, str]:
    """The values of a line of JSON that are texts, by their names in small letters."""
    try:
        said = json.loads(text)
    except ValueError:
        return {}
    items = said.items() if isinstance(said, dict) else ()
    return {name.casefold(): value for name, value in items if isinstance(value, str)}
