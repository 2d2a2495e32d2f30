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
from kedge.bank.proving.history import against_history
from kedge.bank.proving.linked import against_predecessors
from kedge.bank.proving.logged import against_chain
from kedge.bank.values import DECISIONS, LIMITS, Document, Limits


def verify(
    documents: Sequence[Document],
    derived: Mapping[str, bytes],
    *,
    limits: Limits = LIMITS,
    folder: Path | None = None,
) -> Findings:
    """`derived`: archives, the index and the chain as they are, by name. `folder`: where the bank
    lies, for its git history; None leaves that out."""
    archives = archive_blocks(derived)
    found = [*damaged(archives), *unreferenced(documents, archives)]
    found.extend(kept_twice(documents, archives))
    for document in documents:
        found.extend(broken_references(document, archives))
        blocks = archives.get(archive_name(document.name), ())
        found.extend(against_predecessors(document, blocks))
    entries = sum(1 for document in documents for _ in document.entries())
    count = sum(len(some) for some in archives.values())
    checked = [f"{len(documents)} files with {entries:,} entries, {count:,} archive blocks"]
    for log in (document for document in documents if stem(document.name) == DECISIONS):
        found.extend(against_chain(log, derived.get(chain_name(log.name))))
        found.extend(_index(log, derived, limits))
        found.extend(_same_ids(log))
        if folder is not None:
            history = against_history(folder, log)
            found.extend(history.found)
            checked.append(history.checked)
    if folder is None:
        checked.append("git history was not looked at: nobody asked for it")
    return Findings(found=sorted_findings(found), checked=tuple(checked))


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
