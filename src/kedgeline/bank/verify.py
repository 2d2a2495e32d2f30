"""Whether a bank is what was written into it: hashes of archives and decisions, the index, and git
where there is a repository."""

from __future__ import annotations

import os
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from difflib import SequenceMatcher
from functools import lru_cache
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from kedgeline.bank.archive import Archive, archive_name, archives_of
from kedgeline.bank.compacting import index_of, index_wanted
from kedgeline.bank.documents import is_unrecognised, read_document
from kedgeline.bank.fields import stamp
from kedgeline.bank.markdown import hidden_in
from kedgeline.bank.rows import end_of, named_by
from kedgeline.bank.values import (
    CHAIN,
    DECISIONS,
    INDEX,
    LIMITS,
    Document,
    Entry,
    Limits,
    Other,
    chain_name,
    derived_name,
    stem,
)
from kedgeline.errors import BankMalformed
from kedgeline.model import Value

Gravity = Literal["violation", "warning", "note"]
GRAVITIES: tuple[Gravity, ...] = ("violation", "warning", "note")
"""Something was lost or changed that must not be; something can be made right by ourselves;
something worth knowing."""
RESTORE = "put the archive back from a copy or from git"
GIT_SECONDS = 60
"""For one call of git: a hanging disk must not hang us."""
AT_ONCE = 64
"""Committed versions held in memory together."""
LOGS = (".md", ".markdown", ".jsonl")
MIXED = -1
"""Stands for the place of a row that a merge has put elsewhere."""
_ANY_LOG = "decision*"
"""Every spelling of its name begins like this."""
_REFERRED = re.compile(
    rb"^(?:> |- |\| )Archived: .*sha256:([0-9a-f]{64})"
    rb'|^\{"archived".*"sha256": ?"([0-9a-f]{64})"',
    re.MULTILINE,
)
_STATUS = re.compile(
    r"^ {0,3}(?:[-*+][ \t]+)?"
    r"(?:\*\*(?:(?:Status|State)\*\*[ \t]*:|(?:Status|State):\*\*)|(?:Status|State)[ \t]*:)"
    r"(?:[ \t]+(?P<value>[^\n]*))?(?:\n|\Z)",
    re.MULTILINE | re.IGNORECASE,
)
"""A field with its name and a colon. `Status codes: 404` is none."""
_BEHIND = re.compile(r"(?:\n[ \t]*([-*_])(?:[ \t]*\1){2,}|\n[ \t]*<!--(?:(?!-->)[\s\S])*-->)+\Z")
"""Rules and comments behind all else."""


class Finding(Value, frozen=True):
    file: str
    line: int
    """Counted from 1; 0 where it is about the file as a whole."""
    what: str
    gravity: Gravity
    advice: str = ""
    """What to do."""

    def __str__(self) -> str:
        place = f"{self.file}, line {self.line}" if self.line else self.file
        return f"{self.gravity}: {place}: {self.what}" + (f"; {self.advice}" * bool(self.advice))


class Findings(Value, frozen=True):
    """All of them, the worst first, and what was looked at: no finding says nothing where nothing
    was checked."""

    found: tuple[Finding, ...] = ()
    checked: tuple[str, ...] = ()
    """One sentence for each thing that was looked at, with its numbers, or why it was not."""

    @property
    def sound(self) -> bool:
        """Whether nothing was lost or changed that must not be."""
        return not any(finding.gravity == "violation" for finding in self.found)


def verify(
    documents: Sequence[Document],
    derived: Mapping[str, bytes],
    *,
    limits: Limits = LIMITS,
    folder: Path | None = None,
    links: Sequence[str] = (),
) -> Findings:
    """`derived`: archives, the index and the chain as they are, by name. `folder`: where the bank
    lies, for its git history; None leaves that out. `links`: names of the bank that are symbolic
    links, and so were not read."""
    archives = archives_of(derived)
    logs = [document for document in documents if stem(document.name) == DECISIONS]
    found = [*_archives(documents, archives), *_without_log(documents, derived, links)]
    what = "this is a symbolic link, and links are not followed, so nothing in it was checked"
    found += (_violation(name, 0, what, "put the file itself there") for name in links)
    entries = sum(1 for document in documents for _ in document.entries())
    count = sum(len(one.blocks) for one in archives.values())
    checked = [f"{len(documents)} files with {entries:,} entries, {count:,} archive blocks"]
    for document in documents:
        rows, _ = read_chain(derived.get(chain_name(document.name)))
        found += _predecessors(document, rows)
    for log in logs:
        chain = derived.get(chain_name(log.name))
        found += (*_against_chain(log, chain), *_log_alone(log, derived, limits))
        if rows := read_chain(chain)[0]:
            since = f" and counts since {rows[0].at}" if rows[0].at else ""
            checked.append(f"the chain of {log.name} has {len(rows):,} rows{since}")
    history = ["git history was not looked at: nobody asked for it"]
    if folder is not None:
        of_git, history = _against_git(folder, logs, links)
        found += of_git
    order = sorted(found, key=lambda f: (GRAVITIES.index(f.gravity), f.file, f.line))
    return Findings(found=tuple(order), checked=(*checked, *history))


def _violation(file: str, line: int, what: str, advice: str) -> Finding:
    return Finding(file=file, line=line, what=what, gravity="violation", advice=advice)


def _warning(file: str, line: int, what: str, advice: str) -> Finding:
    return Finding(file=file, line=line, what=what, gravity="warning", advice=advice)


def _note(file: str, line: int, what: str, advice: str = "") -> Finding:
    return Finding(file=file, line=line, what=what, gravity="note", advice=advice)


# Archives


def _archives(documents: Sequence[Document], archives: Mapping[str, Archive]) -> Iterator[Finding]:
    """Archives held against their own hashes, and references against the archives."""
    led: defaultdict[str, set[str]] = defaultdict(set)
    for document in documents:
        name = archive_name(document.name)
        whole = {b.sha256: b for b in archives.get(name, Archive()).blocks if not b.damage}
        left = [(document.name, one.line, one.sha256, one.entries) for one in document.references()]
        while left:
            file, line, digest, entries = left.pop()
            block = whole.get(digest)
            if block is None:
                some = f"for {entries} entries" if entries else "here"
                what = f"a reference stands {some}, and no whole block of {name} has its hash"
                yield _violation(file, line, f"{what} {digest[:12]}", RESTORE)
            elif entries and block.entries != entries:
                what = f"a reference says {entries} entries, its block has {block.entries}"
                yield _warning(file, line, what, "correct the number by hand")
            if block and digest not in led[name]:
                inner = (one or other for one, other in _REFERRED.findall(block.content))
                left += [(name, block.line, one.decode(), 0) for one in inner]
            led[name].add(digest)
    for name, archive in archives.items():
        yield from _blocks_of(name, archive, led[name])
    for document in documents:
        name = archive_name(document.name)
        blocks = archives.get(name, Archive()).blocks
        yield from _kept_twice(
            document, b"\0".join(b.content for b in blocks if b.sha256 in led[name])
        )


def _blocks_of(name: str, archive: Archive, led: set[str]) -> Iterator[Finding]:
    """`led`: the hashes that references lead to."""
    whole = {b.sha256: b for b in archive.blocks if not b.damage}
    undone = {block.sha256 for block in archive.blocks if block.run in archive.undone}
    for block in archive.blocks:
        if block.damage and block.sha256 not in whole:
            what = f"the block {block.sha256[:12]} of {block.entries} entries is damaged: "
            yield _violation(name, block.line, what + block.damage, RESTORE)
        elif not block.damage and block.sha256 not in led | undone:
            what = f"no reference leads to the block {block.sha256[:12]}"
            advice = "its line was taken out of the file by hand; the entries are here"
            yield _note(name, block.line, what, advice)


def _kept_twice(document: Document, archived: bytes) -> Iterator[Finding]:
    """Entries that stand in the file and in its archive, or twice in the file."""
    seen: dict[str, int] = {}
    for entry in document.entries():
        text, what = entry.text.strip(), ""
        if text in seen:
            what = f"the same entry stands in line {seen[text]}"
        elif text and text.encode() in archived:
            what = "the same entry stands in the archive"
        if what:
            yield _note(
                document.name, entry.line, what, "take one of them out by hand if it is not meant"
            )
        seen[text] = entry.line


def _predecessors(document: Document, rows: Sequence[Row]) -> Iterator[Finding]:
    """In JSON Lines each entry must name the line before it. Entries without a hash are passed
    over: people write lines too. A line that only got another status is still the one that was
    named."""
    if document.shape != "json_lines":
        return
    first = {row.number: row.status for row in rows}
    statuses = {entry.line: first[n] for n, entry in _matched(rows, document).same.items()}
    pieces = [piece for piece in document.pieces if not isinstance(piece, Other)]
    for before, piece in pairwise(pieces):
        named = named_by(piece) if isinstance(piece, Entry) else ""
        superseded = isinstance(before, Entry) and before.status != statuses.get(
            before.line, before.status
        )
        if named and named != end_of(before) and not superseded:
            what = (
                "the predecessor_hash is not that of the line before: a line was taken out, "
                "changed or put in between"
            )
            advice = "put the lines back from a copy or from git"
            yield _violation(document.name, piece.line, what, advice)


# The decision log


class Row(Value, frozen=True):
    """One entry of the log, as it was when it was first seen."""

    number: int
    """Counted from 1, in the order in which entries were seen."""
    id: str
    sha256: str
    """Of the entry without its Status line: decisions get superseded."""
    below: int
    """Number of the row whose entry stood above it in the file; 0 where it was the first."""
    status: str = ""
    at: str = ""
    """When the entry was first seen; empty where nobody said."""


def read_chain(data: bytes | None) -> tuple[list[Row], list[int]]:
    """The rows, numbered as they stand there, and the numbers of lines that are none."""
    rows: list[Row] = []
    broken = []
    for line, text in enumerate((data or b"").splitlines(), start=1):
        try:
            row = msgspec.json.decode(text, type=Row)
            number = len(rows) + 1
            below = row.below if row.number == number else MIXED
            rows.append(replace(row, number=number, below=below))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            broken.append(line)
    return rows, broken


def updated(chain: bytes | None, document: Document, *, at: datetime | None = None) -> bytes:
    """The chain with a row for every entry of the log that has none. Rows are never changed, so
    that what was taken out of the log is still missed."""
    data = chain or b""
    rows, _ = read_chain(data)
    matching = _matched(rows, document)
    numbers = {entry.line: n for n, entry in (matching.same | matching.changed).items()}
    lines = [data if not data or data.endswith(b"\n") else data + b"\n"]
    above = 0
    number = len(rows)
    for entry in document.entries():
        if entry.line not in numbers:
            number += 1
            numbers[entry.line] = number
            row = Row(
                number=number,
                id=entry.id,
                sha256=content_hash(entry),
                below=above,
                status=entry.status,
                at=stamp(at.replace(microsecond=0)) if at else "",
            )
            lines.append(msgspec.json.encode(row) + b"\n")
        above = numbers[entry.line]
    return b"".join(lines)


class _Matching(NamedTuple):
    """Rows of a chain held against the entries of a log, by the row's number."""

    same: dict[int, Entry]
    changed: dict[int, Entry]
    """Entries that have the row's id and another content."""
    missing: list[Row]
    new: list[Entry]
    """Entries without a row."""


def _matched(rows: Sequence[Row], document: Document) -> _Matching:
    """By content first, then by id."""
    by_hash: dict[str, list[Row]] = defaultdict(list)
    for row in reversed(rows):
        by_hash[row.sha256].append(row)
    same: dict[int, Entry] = {}
    left: list[Entry] = []
    for entry in document.entries():
        candidates = by_hash[content_hash(entry)]
        if candidates:
            same[candidates.pop().number] = entry
        else:
            left.append(entry)
    by_id = {row.id: row for row in reversed(rows) if row.id and row.number not in same}
    changed: dict[int, Entry] = {}
    new = []
    for entry in left:
        if entry.id in by_id:
            changed[by_id.pop(entry.id).number] = entry
        else:
            new.append(entry)
    # of one content a merge may have left two rows
    there = {content_hash(entry) for entry in same.values()}
    known = same.keys() | changed.keys()
    missing = [row for row in rows if row.number not in known and row.sha256 not in there]
    return _Matching(same, changed, missing, new)


def _against_chain(document: Document, chain: bytes | None) -> Iterator[Finding]:
    """Nothing may be gone, changed or moved."""
    log, name = document.name, chain_name(document.name)
    anew = f"or, to accept the log as it is, move its chain away (`mv {name} {name}.damaged`)"
    if chain is None:
        if next(document.entries(), None):
            what = "the log has no chain yet, so nothing can be said about its past"
            yield _note(log, 0, what, "the next change of ours begins one")
        return
    rows, broken = read_chain(chain)
    for line in broken:
        advice = f"put {name} back from a copy or from git, take the line out, {anew}"
        yield _violation(name, line, "this is no row of a chain, perhaps left by a merge", advice)
    matching = _matched(rows, document)
    called = {row.number: row.id or f"number {row.number}" for row in rows}
    for row in matching.missing:
        what = f"the entry {called[row.number]} was taken out of the log"
        yield _violation(log, 0, what, f"put it back from git, {anew}")
    for number, entry in matching.changed.items():
        advice = f"put it back as it was and write a new decision, {anew}"
        yield _violation(log, entry.line, f"the entry {called[number]} was changed", advice)
    for number, entry in _moved(rows, {**matching.same, **matching.changed}):
        what = f"the entry {called[number]} was moved to another place"
        yield _violation(log, entry.line, what, f"put it back where it was, {anew}")
    first = {row.number: row.status for row in rows}
    for number, entry in matching.same.items():
        if first[number] != entry.status:
            what = f"the status of {called[number]} is {entry.status!r}, it was {first[number]!r}"
            yield _note(log, entry.line, what)
    if matching.new:
        what = f"{len(matching.new)} entries of the log are not in its chain yet"
        yield _note(name, 0, what, "the next change of ours adds them")


def _moved(rows: Sequence[Row], there: Mapping[int, Entry]) -> list[tuple[int, Entry]]:
    """Entries that are not where they were among the others. A row says below which other its entry
    stood, so one that a person put in between later was not moved, and it does not matter which end
    of the log grows. Rows that a merge has mixed say nothing."""
    if any(row.below == MIXED for row in rows):
        return []
    follower: dict[int, int] = {}
    for row in rows:
        if row.below in follower:
            follower[row.number] = follower[row.below]
        follower[row.below] = row.number
    expected, number = [], 0
    while number in follower:
        number = follower[number]
        if number in there:
            expected.append(number)
    actual = sorted(there, key=lambda number: there[number].line)
    if actual == expected:
        return []
    matcher = SequenceMatcher(a=expected, b=actual, autojunk=False)
    stayed = {n for one in matcher.get_matching_blocks() for n in actual[one.b : one.b + one.size]}
    return [(number, there[number]) for number in actual if number not in stayed]


def content_hash(entry: Entry) -> str:
    """Of what an entry says without its status. How its lines end, blank lines, and the rules and
    comments behind it do not count: people put those between entries."""
    return _content_hash(entry.text, entry.status)


@lru_cache(maxsize=16_384)
def _content_hash(text: str, status: str) -> str:
    """Remembered, as versions of a log in git have nearly all their entries in common."""
    text = text.replace("\r\n", "\n").strip()
    if text.startswith("{"):
        try:
            fields = msgspec.json.decode(text, type=dict[str, object])
        except msgspec.DecodeError:  # no JSON Lines after all: a heading of a person's own kind
            pass
        else:
            fields.pop("status", None)
            return sha256(msgspec.json.encode(fields, order="sorted")).hexdigest()
    if text.startswith("|"):
        cells = [cell.strip() for cell in text.split("|")]
        text = "|".join(cell for cell in cells if not status or cell != status)
    text = _without_status(text, status)
    lines = "\n".join(line.rstrip() for line in text.split("\n") if line.strip())
    return sha256(_BEHIND.sub("", lines).encode()).hexdigest()


def _without_status(text: str, status: str) -> str:
    """Without the one line that the status was read from. What stands in code and comments is no
    field."""
    candidates = [one for one in _STATUS.finditer(text) if (one["value"] or "").strip() == status]
    hidden = hidden_in("", text) if candidates else []
    for found in candidates:
        if not any(one.start <= found.start() < one.end for one in hidden):
            return text[: found.start()] + text[found.end() :]
    return text


def _without_log(
    documents: Sequence[Document], derived: Mapping[str, bytes], links: Sequence[str]
) -> Iterator[Finding]:
    """Chains and indexes are only ever made of a log."""
    named = [*(document.name for document in documents), *links]
    made = {name for log in named for name in (chain_name(log), derived_name(log, INDEX))}
    for name in sorted(derived.keys() - made):
        log, kind, _ = name.rpartition(CHAIN if stem(name).endswith(CHAIN) else INDEX)
        if kind and stem(log) == DECISIONS:
            what = "it was made from a decision log that is not there any more"
            yield _violation(name, 0, what, "put the log back from a copy or from git")


def _log_alone(log: Document, derived: Mapping[str, bytes], limits: Limits) -> Iterator[Finding]:
    """Its index, its ids, and whether anything was recognised in it."""
    name = derived_name(log.name, INDEX)
    index = derived.get(name)
    if index_wanted(log, index, limits) and index != index_of(log):
        what = "the index is not that of the log" if index is not None else "there is no index"
        yield _warning(name, 0, what, "`kedgeline bank compact` makes it anew")
    seen: dict[str, int] = {}
    for entry in log.entries():
        if entry.id in seen:
            what = f"the id {entry.id} was given already in line {seen[entry.id]}"
            advice = "leave both, and write the next decisions with new ids"
            yield _warning(log.name, entry.line, what, advice)
        elif entry.id:
            seen[entry.id] = entry.line
    if is_unrecognised(log):
        what = f"no entry was recognised in {log.name}, so nothing was proven"
        known = "headings with an id (`### DEC-001: title`) or a date (`### [2026-01-31] title`)"
        advice = f"known are {known}, lists with dates, tables, and JSON Lines"
        yield _warning(log.name, 0, what, advice)


# Git


class GitFailed(Exception):
    """Why there is no answer, in words; caught where the question was asked."""


def _against_git(
    folder: Path, logs: Sequence[Document], links: Sequence[str]
) -> tuple[list[Finding], list[str]]:
    """Every entry must still be there as it was first committed, in its log or, where that got
    another name, in another one."""
    found: list[Finding] = []
    checked: list[str] = []
    there = {log.name: log for log in logs}
    try:
        ever = [n for n in _names_ever(folder) if stem(n) == DECISIONS and n.endswith(LOGS)]
        for name in [*there, *(name for name in ever if name not in {*there, *links})]:
            firsts, unread, count, spoke = _forms(folder, name)
            if not count:
                checked.append(
                    f"git history was not looked at: no version of {name} was ever committed"
                )
                continue
            gone = ", now gone," if name not in there else ""
            checked.append(f"git history: {count} committed versions of {name}{gone} were read")
            found += unread
            entries = [
                e for log in ([there[name]] if name in there else logs) for e in log.entries()
            ]
            lost = list(_lost(name, firsts, entries))
            if name in there:
                found += lost
            elif (number := sum(one.gravity == "violation" for one in lost)) or (
                spoke and not logs
            ):
                what = (
                    f"the log was committed and is gone; {number:,} entries stand in no other log"
                )
                advice = f"`git log -- {name}` has its commits; put the file back from the last one"
                found.append(_violation(name, 0, what, advice))
    except GitFailed as failed:
        return found, [*checked, f"git history was not looked at: {failed}"]
    if not checked:
        checked = ["git history was not looked at: no decision log was ever committed"]
    return found, checked


def _forms(
    folder: Path, name: str
) -> tuple[dict[str, tuple[Entry, str]], list[Finding], int, bool]:
    """The first form of each entry that ever was and its commit, by its hash; versions that could
    not be read; how many there are; and whether the last had text that is no entry. An entry with
    the id or heading of one that is not in its version is that one, edited."""
    firsts: dict[str, tuple[Entry, str]] = {}
    known: defaultdict[str, set[str]] = defaultdict(set)
    unread: list[Finding] = []
    seen: set[str] = set()
    spoke = False
    committed = _versions(folder, name)
    for start in range(0, len(committed), AT_ONCE):
        some = committed[start : start + AT_ONCE]
        for (_, commit), data in zip(some, _blobs(folder, [b for b, _ in some]), strict=True):
            try:
                document = read_document(name, data)
            except BankMalformed as broken:
                what = f"the version of commit {commit[:12]} was not compared: its line"
                unread.append(_note(name, 0, f"{what} {broken.line} is malformed, {broken.why}"))
                continue
            spoke = is_unrecognised(document)
            now = {content_hash(entry): entry for entry in document.entries()}
            for digest, entry in now.items():
                at = entry.at.isoformat() if entry.at else ""
                key = entry.id or "\n".join(filter(None, (at, entry.agent, entry.title))) or digest
                if digest not in seen and not known[key] - now.keys():
                    firsts[digest] = (entry, commit)
                seen.add(digest)
                known[key].add(digest)
    return firsts, unread, len(committed), spoke


def _lost(
    name: str, firsts: Mapping[str, tuple[Entry, str]], entries: Sequence[Entry]
) -> Iterator[Finding]:
    now = {content_hash(entry) for entry in entries}
    ids = {entry.id: entry for entry in reversed(entries) if entry.id}
    bare = {_without_id(entry): entry for entry in entries if entry.id}
    for digest, (entry, commit) in firsts.items():
        if digest in now:
            continue
        called = entry.id or repr(entry.title or entry.text.strip().partition("\n")[0])
        what = f"the entry {called} of commit {commit[:12]}"
        again = bare.get(_without_id(entry)) if entry.id else None
        stands = ids.get(entry.id)
        if again and stands:  # two branches gave the id, and the other entry has kept it
            yield _note(name, again.line, f"{what} has the id {again.id} now")
            continue
        advice = (
            f"`git show {commit[:12]}` has it as it was first committed; put it back like that, "
            f"and write what changed as a new decision"
        )
        became = "was changed since" if stands else "is gone"
        yield _violation(name, stands.line if stands else 0, f"{what} {became}", advice)


def _without_id(entry: Entry) -> str:
    return content_hash(replace(entry, text=entry.text.replace(entry.id, "", 1)))


_NOTHING_RUNS = (
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.pager=cat"),
    *("-c", "log.showSignature=false", "-c", "diff.external=", "-c", "protocol.allow=never"),
    *("-c", "core.attributesFile=/dev/null", "-c", "safe.bareRepository=explicit"),
    *("-c", "core.sshCommand=false", "-c", "credential.helper="),
)
"""A bank may lie in a repository that a stranger made: each of these settings could name a program,
or a place to fetch from."""
_NOTHING_SHOWN = ("--no-ext-diff", "--no-textconv", "--no-show-signature")
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}


def _versions(folder: Path, name: str) -> list[tuple[str, str]]:
    """Every committed version of a file as its blob and commit, the oldest first, through renames
    and both sides of merges, each content once: where it first appeared."""
    listing = _git(
        folder,
        *("log", "--follow", "--full-history", "--topo-order", "--diff-merges=separate"),
        *("--raw", "-z", "--no-abbrev", *_NOTHING_SHOWN, "--format=commit %H", "--", name),
    )
    found: dict[str, str] = {}
    commit = ""
    for field in listing.split(b"\0"):
        text = field.strip().decode("utf-8", "replace")
        if text.startswith("commit "):
            commit = text.split()[1]
        if text.startswith(":") and set(blob := text.split()[3]) != {"0"}:
            found.pop(blob, None)
            found[blob] = commit
    return list(found.items())[::-1]


def _names_ever(folder: Path) -> list[str]:
    """Names of the logs in this folder that were ever committed, whether they are there or not."""
    listing = _git(
        folder,
        *("log", "--full-history", "--diff-merges=separate", "--name-only", "-z", "--no-renames"),
        *("--relative", *_NOTHING_SHOWN, "--format=", "--", f":(glob,icase){_ANY_LOG}"),
    )
    names = {name.decode("utf-8", "replace").strip() for name in listing.split(b"\0")}
    return sorted(name for name in names if name and "/" not in name)


def _blobs(folder: Path, blobs: Sequence[str]) -> list[bytes]:
    """What these objects hold, in the same order."""
    answer = _git(folder, "cat-file", "--batch", words="\n".join(blobs).encode() + b"\n")
    found, place = [], 0
    for blob in blobs:
        end = answer.index(b"\n", place)
        head = answer[place:end].split()
        if len(head) != 3 or head[1] != b"blob":
            raise GitFailed(f"the object {blob} is missing from the repository")
        size = int(head[2])
        found.append(answer[end + 1 : end + 1 + size])
        place = end + size + 2
    return found


def _git(folder: Path, *arguments: str, words: bytes = b"") -> bytes:
    """Without the settings of anybody."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "--no-pager", "--no-replace-objects", *_NOTHING_RUNS, *arguments],
            cwd=folder,
            env=ours | _ENVIRONMENT,
            input=words,
            capture_output=True,
            timeout=GIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise GitFailed(f"git gave no answer within {GIT_SECONDS} seconds") from None
    except FileNotFoundError:
        raise GitFailed("git is not installed") from None
    except OSError as error:
        raise GitFailed(f"git could not be run: {error.strerror}") from None
    if not done.returncode:
        return done.stdout
    said = done.stderr.decode("utf-8", "replace").strip()
    if "not a git repository" in said:
        raise GitFailed("the folder is in no git repository")
    if "does not have any commits" in said:
        raise GitFailed("the repository has no commits")
    raise GitFailed(f"git says: {said.partition(chr(10))[0][:200]}")
