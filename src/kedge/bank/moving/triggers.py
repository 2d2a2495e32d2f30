"""When a bank is due for compaction, with the numbers (seed 003)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from kedge.bank.moving.index import index_name
from kedge.bank.values import ACTIVE, ARCHIVE, CHAIN, DECISIONS, INDEX, Document, Limits, known_name
from kedge.model import Value

Cause = Literal["entries", "session", "tokens", "manual"]

CHARACTERS_PER_TOKEN = 4
"""The seed's estimate; exact counting is for what is loaded."""


class BankSignals(Value, frozen=True):
    """What the bank cannot know by itself."""

    manual: bool = False
    """Somebody asked for it: `update memory bank`."""
    session_tokens: int = 0
    """Tokens the session has used."""
    session_budget: int = 0
    """Tokens it may use; 0 where nobody said."""


NO_SIGNALS = BankSignals()


class Trigger(Value, frozen=True):
    """One of the seed's conditions, whether it holds or not."""

    cause: Cause
    holds: bool
    measured: float
    limit: float
    reason: str
    """One sentence with both numbers."""

    @property
    def strength(self) -> float:
        """How far beyond its limit; 1 is the limit."""
        return self.measured / self.limit if self.limit else float(self.measured > 0)


def stem(name: str) -> str:
    """activeContext.md and activeContext.jsonl are activeContext, and so is active-context.md."""
    plain, dot, derived = (name.rpartition(".")[0] or name).partition(".")
    return f"{known_name(plain)}{dot}{derived}"


def tokens_of_text(text: str) -> int:
    return len(text) // CHARACTERS_PER_TOKEN


def counted(entries: int) -> str:
    return "1 entry" if entries == 1 else f"{entries:,} entries"


def working(documents: Iterable[Document], *, indexed: Iterable[str] = ()) -> list[Document]:
    """The files that are loaded: all but archives, the index, the chain, and a log that has an
    index. These are looked up, not loaded, so they do not make the bank too large.
    `indexed`: names of the logs that have one."""
    looked_up = set(indexed)
    return [
        document
        for document in documents
        if document.name not in looked_up
        and not stem(document.name).endswith((ARCHIVE, INDEX, CHAIN))
    ]


def indexed_logs(documents: Iterable[Document], names: Iterable[str], limits: Limits) -> list[str]:
    """Logs that have an index, or will have one with the next change of ours."""
    there = set(names)
    return [
        document.name
        for document in documents
        if stem(document.name) == DECISIONS
        and (
            index_name(document.name) in there
            or sum(1 for _ in document.entries()) > limits.index_after
        )
    ]


def loaded_of(
    documents: Sequence[Document], names: Iterable[str], limits: Limits
) -> list[Document]:
    """The files that are loaded. `names`: the files of the bank, for the index."""
    return working(documents, indexed=indexed_logs(documents, names, limits))


def triggers_of(
    documents: Sequence[Document],
    limits: Limits,
    signals: BankSignals = NO_SIGNALS,
    *,
    names: Iterable[str] = (),
) -> tuple[Trigger, ...]:
    """All four, those that hold first and the strongest of them at the front: somebody's word, then
    what is furthest beyond its limit. `names`: the files of the bank, for the index."""
    found = [
        _manual(signals),
        _entries(documents, limits),
        _session(signals, limits),
        _tokens(loaded_of(documents, names, limits), limits),
    ]
    return tuple(
        sorted(found, key=lambda one: (not one.holds, one.cause != "manual", -one.strength))
    )


def _manual(signals: BankSignals) -> Trigger:
    reason = "somebody asked for it" if signals.manual else "nobody asked for it"
    measured = float(signals.manual)
    return Trigger(cause="manual", holds=signals.manual, measured=measured, limit=1, reason=reason)


def _entries(documents: Sequence[Document], limits: Limits) -> Trigger:
    counts = {
        document.name: sum(1 for _ in document.entries())
        for document in documents
        if stem(document.name) == ACTIVE
    }
    name, most = max(counts.items(), key=lambda row: row[1], default=(f"{ACTIVE}.md", 0))
    holds = most > limits.entries
    than = "more than" if holds else "not more than"
    return Trigger(
        cause="entries",
        holds=holds,
        measured=most,
        limit=limits.entries,
        reason=f"{name} has {counted(most)}, {than} {limits.entries:,}",
    )


def _session(signals: BankSignals, limits: Limits) -> Trigger:
    if signals.session_budget <= 0:
        reason = "the token budget of the session is not known"
        return Trigger(
            cause="session", holds=False, measured=0, limit=limits.session_share, reason=reason
        )
    share = signals.session_tokens / signals.session_budget
    holds = share >= limits.session_share
    than = "at least" if holds else "less than"
    return Trigger(
        cause="session",
        holds=holds,
        measured=share,
        limit=limits.session_share,
        reason=(
            f"the session has used {signals.session_tokens:,} of {signals.session_budget:,} "
            f"tokens, {share:.0%}, {than} {limits.session_share:.0%}"
        ),
    )


def tokens_of(documents: Iterable[Document]) -> int:
    """Estimated; each document for itself, so that they add up."""
    return sum(tokens_of_text(document.text) for document in documents)


def _tokens(loaded: Sequence[Document], limits: Limits) -> Trigger:
    total = tokens_of(loaded)
    holds = total > limits.tokens
    than = "more than" if holds else "not more than"
    return Trigger(
        cause="tokens",
        holds=holds,
        measured=total,
        limit=limits.tokens,
        reason=f"the working files have {total:,} estimated tokens, {than} {limits.tokens:,}",
    )
