"""The tools `summary`, `decisions`, `files` and `probe`: what is known of a session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from kedge.errors import UnknownName, UserError
from kedge.foreign import foreign
from kedge.integrations.mcp.bounding import page, part, short
from kedge.integrations.mcp.kept import Kept
from kedge.integrations.mcp.looking import Line, SessionName
from kedge.integrations.mcp.results import (
    Decision,
    Decisions,
    Failure,
    File,
    Files,
    Probed,
    Summarized,
    about,
    marks,
    quoted,
    sealed,
)
from kedge.model import Answer, Decided, Summary
from kedge.summarizing import hand_on, level
from kedge.summary import LEVELS, items_of

WHOLE = LEVELS[-1]
"""Tokens of a summary, where none are given: the largest named level."""
MOST_ROWS = 200
"""Decisions or files of one call."""
SCORE_DIGITS = 4
"""More would only be noise."""

Rows = Annotated[int, Field(description="Most entries.", ge=1, le=MOST_ROWS)]
Skipped = Annotated[int, Field(description="Entries to leave out: those seen already.", ge=0)]
Tokens = Annotated[
    int | None, Field(description="Longest summary in tokens, instead of a level.", ge=1, le=16_384)
]


class Telling:
    def __init__(self, kept: Kept) -> None:
        self._kept = kept

    def summary(
        self,
        level: Annotated[
            int | None, Field(description="128: a line; 512: five lines; 2048: all sections.")
        ] = None,
        tokens: Tokens = None,
        first: Annotated[Line, Field(description="First line.")] = 1,
        session: SessionName = "",
    ) -> Summarized:
        """The summary of a session as it stands now: intent, rules, files, decisions, state, open
        errors, next steps, with the turns each comes from."""
        chosen = self._kept.chosen(session)
        text, score = self.text(chosen.session.name, level=level, tokens=tokens)
        lines = text.count("\n") + 1
        if first > lines:
            raise UserError(f"the summary has {lines:,} lines; there is no line {first:,}")
        shown = page(text, self._kept.count, first=first)
        size = self._kept.count(text)
        more = f"it goes on: ask again with first={shown.next_line}" if shown.next_line else ""
        result = Summarized(
            **about(chosen),
            turns=self._kept.journal(chosen.session.name).count(),
            tokens=size,
            score=score,
            text=quoted(shown.text),
            note=notes(too_long(size, level or tokens), more),
        )
        return sealed(result, self._kept)

    def text(
        self, name: str, *, level: int | None = None, tokens: int | None = None
    ) -> tuple[str, float | None]:
        """The text of a session's summary, and its score where probes were asked."""
        if level is not None and tokens is not None:
            raise UserError("a level is a number of tokens already; give `level` or `tokens`")
        if level is not None and level not in LEVELS:
            raise UnknownName("level", str(level), known=tuple(map(str, LEVELS)))
        state = self._kept.summary(name)
        if level in LEVELS[:-1]:
            return _levelled(state, level, self._kept), None
        told = hand_on(state, tokens or WHOLE, self._kept.count)
        return told.text, rounded(told.verdict.score)

    def decisions(
        self, limit: Rows = 50, offset: Skipped = 0, session: SessionName = ""
    ) -> Decisions:
        """The decisions of a session, newest first: who made them, why, what was not taken and
        what they replaced."""
        chosen = self._kept.chosen(session)
        rows = list(_decisions(self._kept.summary(chosen.session.name), self._kept))
        taken, left = part(rows[offset:], self._kept.count, limit=limit)
        result = Decisions(
            **about(chosen),
            total=len(rows),
            decisions=taken,
            note=_left(left, offset, len(taken), len(rows)),
        )
        return sealed(result, self._kept)

    def files(
        self,
        kind: Annotated[
            Literal["all", "modified", "read"], Field(description="Which files.")
        ] = "all",
        path: Annotated[str, Field(description="Only paths that hold this.")] = "",
        limit: Rows = 50,
        offset: Skipped = 0,
        session: SessionName = "",
    ) -> Files:
        """The files a session modified, with what changed in each, and those it only read."""
        chosen = self._kept.chosen(session)
        every = _files(self._kept.summary(chosen.session.name), self._kept)
        rows = [
            one
            for one in every
            if path.casefold() in one.path.casefold()
            and (kind == "all" or (one.action == "read") == (kind == "read"))
        ]
        taken, left = part(rows[offset:], self._kept.count, limit=limit)
        result = Files(
            **about(chosen),
            total=len(rows),
            files=taken,
            note=_left(left, offset, len(taken), len(rows)),
        )
        return sealed(result, self._kept)

    def probe(self, tokens: Tokens = None, session: SessionName = "") -> Probed:
        """Ask the summary of a session, as it stands, what the facts tell; show what it cannot
        answer."""
        chosen = self._kept.chosen(session)
        told = hand_on(self._kept.summary(chosen.session.name), tokens or WHOLE, self._kept.count)
        verdict = told.verdict
        failed = sorted(verdict.failed, key=lambda one: not one.probe.critical)
        taken, left = part(
            (_failure(one, self._kept) for one in failed), self._kept.count, limit=MOST_ROWS
        )
        standing = self._kept.journal(chosen.session.name).recorded()
        before = standing.record.compaction.verdict if standing else None
        size = self._kept.count(told.text)
        more = f"{left:,} more failed; more `tokens` make room for them" if left else ""
        result = Probed(
            **about(chosen),
            score=rounded(verdict.score),
            accepted=verdict.accepted,
            asked=len(verdict.answers),
            failed=len(verdict.failed),
            critical_failures=len(verdict.critical_failures),
            summary_tokens=size,
            compaction_score=rounded(before.score) if before else None,
            failures=taken,
            note=notes(too_long(size, tokens), more),
        )
        return sealed(result, self._kept)


def _levelled(state: Summary, tokens: int | None, kept: Kept) -> str:
    return level(state, tokens or WHOLE, kept.count)


def _decisions(state: Summary, kept: Kept) -> Iterator[Decision]:
    """Those that stand, the newest first; behind them what only an earlier text tells."""
    made = sorted(state.decisions_now(), key=lambda one: one[-1].turn, reverse=True)
    for one in made:
        yield _decision(one, kept)
    for entry in state.carried:
        if entry.section == "Decisions Made":
            told = f"{entry.text} {entry.detail}".strip()
            yield Decision(
                decision=_line(told, kept),
                by="",
                why="",
                not_taken="",
                replaced="",
                turns=marks(entry.turns),
            )


def _decision(made: tuple[Decided, ...], kept: Kept) -> Decision:
    latest = made[-1]
    before = dict.fromkeys(one.decision for one in made if one.decision != latest.decision)
    return Decision(
        decision=_line(latest.decision, kept),
        by=latest.by,
        why=_line(latest.rationale, kept),
        not_taken=_line(latest.rejected, kept),
        replaced=_line("; ".join(before), kept),
        turns=marks(tuple(one.turn for one in made)[-4:]),
    )


def _files(state: Summary, kept: Kept) -> Iterator[File]:
    for item in items_of(state):
        if item.section in ("Files Modified", "Files Read (Not Modified)"):
            yield File(
                path=_line(item.text, kept),
                action=item.action if item.section == "Files Modified" else "read",
                what=_line(item.detail, kept),
                turns=marks(item.turns[-4:]),
            )


def _failure(answer: Answer, kept: Kept) -> Failure:
    probe = answer.probe
    return Failure(
        question=_line(probe.question, kept),
        expected=_line(" · ".join(probe.expected), kept),
        critical=probe.critical,
        turn=marks((probe.turn,)),
    )


def _line(text: str, kept: Kept) -> str:
    return short(foreign(text), kept.count)


def _left(left: int, offset: int, shown: int, total: int) -> str:
    if offset and not shown:
        return f"there are only {total:,}; lower `offset`"
    return f"{left:,} more: ask again with offset={offset + shown}" if left else ""


def too_long(size: int, asked: int | None) -> str:
    """That a summary has more tokens than were asked for; empty where it has not."""
    if asked is None or size <= asked:
        return ""
    return f"it has {size:,} tokens, and cannot be told in {asked:,}"


def notes(*told: str) -> str:
    return "; ".join(filter(None, told))


def rounded(score: float | None) -> float | None:
    return None if score is None else round(score, SCORE_DIGITS)
