"""Whether a bank is what was written into it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from kedge.bank.moving.archives import archive_name
from kedge.bank.moving.index import index_name, index_of, index_wanted
from kedge.bank.moving.triggers import stem
from kedge.bank.proving.archived import (
    archive_blocks,
    broken_references,
    damaged,
    kept_twice,
    unreferenced,
)
from kedge.bank.proving.chain import chain_name
from kedge.bank.proving.findings import Finding, Findings, sorted_findings
from kedge.bank.proving.history import History, against_history, gone_from_history
from kedge.bank.proving.linked import against_predecessors
from kedge.bank.proving.logged import (
    against_chain,
    first_statuses,
    known_rows,
    since_when,
    unrecognised,
)
from kedge.bank.values import CHAIN, DECISIONS, INDEX, LIMITS, Document, Limits


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
    archives = archive_blocks(derived)
    found = [*damaged(archives), *unreferenced(documents, archives)]
    found.extend(kept_twice(documents, archives))
    found.extend(map(_link, links))
    found.extend(_without_log(documents, derived, links))
    entries = sum(1 for document in documents for _ in document.entries())
    count = sum(len(some) for some in archives.values())
    checked = [f"{len(documents)} files with {entries:,} entries, {count:,} archive blocks"]
    for document in documents:
        blocks = archives.get(archive_name(document.name), ())
        found.extend(broken_references(document, archives))
        if stem(document.name) != DECISIONS:
            found.extend(against_predecessors(document, blocks))
            continue
        chain = derived.get(chain_name(document.name))
        rows = known_rows(document, chain)
        found.extend(against_predecessors(document, blocks, first_statuses(document, rows)))
        found.extend(against_chain(document, chain))
        found.extend(unrecognised(document))
        found.extend(_index(document, derived, limits))
        found.extend(_same_ids(document))
        checked.extend(since_when(document, rows))
    history = _history(folder, documents, links)
    found.extend(history.found)
    return Findings(found=sorted_findings(found), checked=(*checked, *history.checked))


def _history(folder: Path | None, documents: Sequence[Document], links: Sequence[str]) -> History:
    if folder is None:
        return History(checked=("git history was not looked at: nobody asked for it",))
    logs = [document for document in documents if stem(document.name) == DECISIONS]
    parts = [gone_from_history(folder, logs, links)]
    parts.extend(against_history(folder, log) for log in logs)
    return History(
        found=tuple(finding for part in parts for finding in part.found),
        checked=tuple(said for part in parts for said in part.checked),
    )


def _link(name: str) -> Finding:
    return Finding(
        file=name,
        line=0,
        what="this is a symbolic link, and links are not followed, so nothing in it was checked",
        gravity="violation",
        advice="put the file itself there",
    )


def _without_log(
    documents: Sequence[Document], derived: Mapping[str, bytes], links: Sequence[str]
) -> Iterator[Finding]:
    """Chains and indexes are only ever made of a log."""
    named = [*(document.name for document in documents), *links]
    made = {name for log in named for name in (chain_name(log), index_name(log))}
    for name in sorted(derived.keys() - made):
        log, kind, _ = name.rpartition(CHAIN if stem(name).endswith(CHAIN) else INDEX)
        if kind and stem(log) == DECISIONS:
            yield Finding(
                file=name,
                line=0,
                what="it was made from a decision log that is not there any more",
                gravity="violation",
                advice="put the log back from a copy or from git",
            )


def _index(log: Document, derived: Mapping[str, bytes], limits: Limits) -> Iterator[Finding]:
    name = index_name(log.name)
    index = derived.get(name)
    if index_wanted(log, index, limits) and index != index_of(log):
        what = "the index is not that of the log" if index is not None else "there is no index"
        yield Finding(
            file=name,
            line=0,
            what=what,
            gravity="warning",
            advice="`kedge bank compact` makes it anew",
        )


def _same_ids(log: Document) -> Iterator[Finding]:
    seen: dict[str, int] = {}
    for entry in log.entries():
        if entry.id in seen:
            yield Finding(
                file=log.name,
                line=entry.line,
                what=f"the id {entry.id} was given already in line {seen[entry.id]}",
                gravity="warning",
                advice="leave both, and write the next decisions with new ids",
            )
        elif entry.id:
            seen[entry.id] = entry.line
