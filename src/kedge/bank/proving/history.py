"""The decision log held against git: every entry must still be there as it was first committed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from kedge.bank.moving.triggers import stem
from kedge.bank.proving.findings import Finding
from kedge.bank.proving.forms import Form, Forms
from kedge.bank.proving.git import GitFailed, Version, contents, names_ever, versions
from kedge.bank.proving.hashing import content_hash
from kedge.bank.proving.logged import is_unrecognised
from kedge.bank.shapes import read_document
from kedge.bank.values import DECISIONS, Document, Entry
from kedge.errors import BankMalformed
from kedge.model import Value

AT_ONCE = 64
"""Versions held in memory together."""
LOGS = (".md", ".markdown", ".jsonl")
"""What the name of a log ends with."""
_ANY_LOG = "decision*"
"""Every spelling of its name begins like this."""


class History(Value, frozen=True):
    """What git says of logs."""

    found: tuple[Finding, ...] = ()
    checked: tuple[str, ...] = ()
    """A sentence each: how many versions were read, or why none."""


def against_history(folder: Path, document: Document) -> History:
    """A log that is there."""
    name = document.name
    try:
        committed = versions(folder, name)
    except GitFailed as failed:
        return _unlooked(str(failed))
    if not committed:
        return _unlooked(f"no version of {name} was ever committed")
    try:
        forms, unread, _ = _read(folder, name, committed)
    except GitFailed as failed:
        return History(checked=(f"git history could not be read: {failed}",))
    found = (*_judged(name, forms, list(document.entries())), *unread)
    checked = f"git history: {len(committed)} committed versions of {name} were read"
    return History(found=found, checked=(checked,))


def gone_from_history(
    folder: Path, logs: Sequence[Document], linked: Collection[str] = ()
) -> History:
    """Logs that were committed and are not there. One that got another name is no loss: its entries
    stand in another log. `linked`: names that are links now, of which more is said elsewhere."""
    there = {log.name for log in logs}.union(linked)
    try:
        ever = [name for name in names_ever(folder, _ANY_LOG) if _is_log(name)]
        gone = [_gone(folder, name, logs) for name in ever if name not in there]
    except GitFailed as failed:
        return History() if logs else _unlooked(str(failed))
    if not logs and not ever:
        return _unlooked("no decision log was ever committed")
    found = tuple(finding for one in gone for finding in one.found)
    return History(found=found, checked=tuple(said for one in gone for said in one.checked))


def _is_log(name: str) -> bool:
    return stem(name) == DECISIONS and name.endswith(LOGS)


def _gone(folder: Path, name: str, logs: Sequence[Document]) -> History:
    committed = versions(folder, name)
    forms, unread, newest = _read(folder, name, committed)
    entries = [entry for log in logs for entry in log.entries()]
    lost = sum(one.gravity == "violation" for one in _judged(name, forms, entries))
    checked = f"git history: {len(committed)} committed versions of {name}, now gone, were read"
    if not lost and (logs or not newest or not is_unrecognised(newest)):
        return History(found=tuple(unread), checked=(checked,))
    finding = Finding(
        file=name,
        line=0,
        what=f"the log was committed and is gone; {lost:,} of its entries stand in no other log",
        gravity="violation",
        advice=f"`git log -- {name}` has its commits; put the file back from the last one with it",
    )
    return History(found=(finding, *unread), checked=(checked,))


def _read(
    folder: Path, name: str, committed: Sequence[Version]
) -> tuple[Forms, list[Finding], Document | None]:
    """The forms of all entries, versions that could not be read, and the newest that could.
    Raises GitFailed."""
    forms = Forms()
    unread: list[Finding] = []
    newest: Document | None = None
    oldest_first = committed[::-1]
    for start in range(0, len(committed), AT_ONCE):
        some = oldest_first[start : start + AT_ONCE]
        texts = contents(folder, [version.blob for version in some])
        for version, data in zip(some, texts, strict=True):
            try:
                newest = read_document(name, data)
            except BankMalformed as broken:
                unread.append(_unread(name, version, broken))
            else:
                forms.take(newest.entries(), version.commit)
    return forms, unread, newest


def _judged(name: str, forms: Forms, entries: Sequence[Entry]) -> Iterator[Finding]:
    now = {content_hash(entry): entry for entry in entries}
    ids = {entry.id: entry for entry in reversed(entries) if entry.id}
    unnumbered = {_without_id(entry): entry for entry in entries if entry.id}
    for first, *later in forms.each():
        if first.digest in now:
            for form in later:
                if form.digest not in now:
                    yield _put_back(name, form, unnumbered)
        elif again := _renumbered(first, forms, now, unnumbered):
            yield _note(name, first, again)
        else:
            stands = next((now[form.digest] for form in later if form.digest in now), None)
            yield _lost(name, first, stands or ids.get(first.entry.id))


def _without_id(entry: Entry) -> str:
    return content_hash(replace(entry, text=entry.text.replace(entry.id, "", 1)))


def _renumbered(
    first: Form, forms: Forms, now: Collection[str], unnumbered: dict[str, Entry]
) -> Entry | None:
    """The entry under its new id, where another one was committed with the old id and has kept it:
    two branches gave it twice."""
    if first.entry.id and any(one.digest in now for one in forms.firsts(first.entry.id)):
        return unnumbered.get(_without_id(first.entry))
    return None


def _put_back(name: str, form: Form, unnumbered: dict[str, Entry]) -> Finding:
    return _note(name, form, unnumbered.get(_without_id(form.entry)) if form.entry.id else None)


def _note(name: str, form: Form, again: Entry | None) -> Finding:
    said = f"has the id {again.id} now" if again else "is not there, and the first form of it is"
    return Finding(
        file=name,
        line=again.line if again else 0,
        what=f"the entry {form.called} of commit {form.commit[:12]} {said}",
        gravity="note",
    )


def _lost(name: str, first: Form, stands: Entry | None) -> Finding:
    became = "was changed since" if stands else "is gone"
    return Finding(
        file=name,
        line=stands.line if stands else 0,
        what=f"the entry {first.called} of commit {first.commit[:12]} {became}",
        gravity="violation",
        advice=f"`git show {first.commit[:12]}` has it as it was first committed; put it back like "
        f"that, and write what changed as a new decision",
    )


def _unread(name: str, version: Version, broken: BankMalformed) -> Finding:
    return Finding(
        file=name,
        line=0,
        what=f"the version of commit {version.commit[:12]} was not compared: its line "
        f"{broken.line} is malformed, {broken.why}",
        gravity="note",
    )


def _unlooked(why: str) -> History:
    return History(checked=(f"git history was not looked at: {why}",))
