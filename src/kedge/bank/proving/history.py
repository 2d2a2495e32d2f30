"""The decision log held against git: every entry of every committed version must still be there."""

from __future__ import annotations

from pathlib import Path

from kedge.bank.proving.chain import content_hash
from kedge.bank.proving.findings import Finding
from kedge.bank.proving.git import GitFailed, Version, contents, versions
from kedge.bank.shapes import read_document
from kedge.bank.values import Document, Entry
from kedge.errors import BankMalformed
from kedge.model import Value

AT_ONCE = 64
"""Versions held in memory together."""


class History(Value, frozen=True):
    """What git says of a log."""

    found: tuple[Finding, ...]
    checked: str
    """One sentence: how many versions were read, or why none."""


def against_history(folder: Path, document: Document) -> History:
    try:
        committed = versions(folder, document.name)
    except GitFailed as failed:
        return History(found=(), checked=f"git history was not looked at: {failed}")
    if not committed:
        why = f"no version of {document.name} was ever committed"
        return History(found=(), checked=f"git history was not looked at: {why}")
    return _compared(folder, document, committed)


def _compared(folder: Path, document: Document, committed: list[Version]) -> History:
    now = {content_hash(entry): entry for entry in document.entries()}
    ids = {entry.id: entry for entry in document.entries() if entry.id}
    lost: dict[str, tuple[Entry, str]] = {}
    unread = []
    for start in range(0, len(committed), AT_ONCE):
        some = committed[start : start + AT_ONCE]
        try:
            texts = contents(folder, [version.blob for version in some])
        except GitFailed as failed:
            return History(found=(), checked=f"git history could not be read: {failed}")
        for version, data in zip(some, texts, strict=True):
            try:
                old = read_document(document.name, data)
            except BankMalformed as broken:
                unread.append(_unread(document.name, version, broken))
                continue
            for entry in old.entries():
                digest = content_hash(entry)
                if digest not in now:
                    lost.setdefault(digest, (entry, version.commit))
    findings = [_lost(document.name, *one, ids) for one in lost.values()]
    checked = f"git history: {len(committed)} committed versions of {document.name} were read"
    return History(found=(*findings, *unread), checked=checked)


def _lost(name: str, entry: Entry, commit: str, ids: dict[str, Entry]) -> Finding:
    called = entry.id or repr(entry.title or entry.text.strip().partition("\n")[0])
    same = ids.get(entry.id)
    became = "was changed since" if same else "is gone"
    return Finding(
        file=name,
        line=same.line if same else 0,
        what=f"the entry {called} of commit {commit[:12]} {became}",
        gravity="violation",
        advice=f"`git show {commit[:12]}` has it as it was; put it back",
    )


def _unread(name: str, version: Version, broken: BankMalformed) -> Finding:
    return Finding(
        file=name,
        line=0,
        what=f"the version of commit {version.commit[:12]} was not compared: its line "
        f"{broken.line} is malformed, {broken.why}",
        gravity="note",
    )
