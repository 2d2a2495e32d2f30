"""The tools: `recall` and `show` give originals, `summary`, `decisions`, `files` and `probe` what
is known, `pin` and `compact` write."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import anyio
from mcp.server.mcpserver import Context
from mcp_types import InputRequiredResult
from msgspec.json import encode, format
from pydantic import Field

from kedgeline.errors import UnknownName, UserError
from kedgeline.mcp.results import (
    Compacted,
    Decision,
    Decisions,
    Failure,
    File,
    Files,
    Given,
    Match,
    Page,
    Pinned,
    Probed,
    Recalls,
    Shown,
    Summarized,
    marks,
    page,
    part,
    quoted,
    sealed,
    short,
    shortened,
)
from kedgeline.mcp.sampling import TOO_LATE, Asked, Jobs, Work, as_answer, lacking
from kedgeline.mcp.sessions import Check, Chosen, Kept, Waited, pinnable
from kedgeline.model import Answer, Compaction, Decided, Summary, ToolCall, ToolResult, Turn
from kedgeline.models import Model, Terms
from kedgeline.pipeline.handoff import hand_on, level
from kedgeline.session.journal import Pin
from kedgeline.session.recall import Recalled, query_of, recall
from kedgeline.settings import Settings
from kedgeline.summary import LEVELS, items_of
from kedgeline.text.prose import foreign

MOST_FOUND = 50
"""Matches of one call: more are a listing that nobody reads."""
LINES_AROUND = 2
"""Lines around each match, as on the command line."""
MOST_NAMED = 20
"""Files or commands of one query."""
LAST_LINE = 1_000_000_000
"""No text has more lines."""

SessionName = Annotated[
    str, Field(description="Session to look in; left out, the one under way in this folder.")
]
Words = Annotated[
    str,
    Field(
        description='Words that all stand in one passage; "in quotes" side by side; wor* begins.'
    ),
]
Few = Annotated[list[str], Field(max_length=MOST_NAMED)]
Named = Annotated[Few | None, Field(description="Only calls that name these files.")]
Ran = Annotated[Few | None, Field(description="Only commands with these words.")]
Who = Annotated[
    Literal["", "user", "agent", "tool", "client"], Field(description="Only what one of them said.")
]
Limit = Annotated[int, Field(description="Most matches.", ge=1, le=MOST_FOUND)]
Offset = Annotated[int, Field(description="Matches to leave out: those seen already.", ge=0)]
Mark = Annotated[
    str,
    Field(description="t12: a turn; t12.0: what its first call gave back; explore-1/t3; #57."),
]
Line = Annotated[int, Field(ge=1, le=LAST_LINE)]

_LABEL = re.compile(r"^(?=\[(?:user|agent|call|output|client)\b)", re.MULTILINE)
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
PINS_SHOWN = 20
"""Pins that a result lists: whoever has more looks for them on the command line."""
LONGEST_PIN = 4_000
"""Characters: what is pinned stands in every view to come."""
WARNINGS_SHOWN = 10
"""Warnings of one compaction that are told."""
NOTHING_NEW = "nothing was newly folded, so that there was nothing to write about"
NOT_WANTED = "the call said so (sampling=false)"

Window = Annotated[
    int | None,
    Field(description="The model's context window in tokens; else what settings say.", ge=1_000),
]


class Tools:
    """Every method is a tool: its name, arguments and first words are what a client sees."""

    def __init__(self, kept: Kept, jobs: Jobs) -> None:
        self._kept, self._jobs, self._count = kept, jobs, kept.count

    def recall(
        self,
        words: Words = "",
        files: Named = None,
        commands: Ran = None,
        errors: Annotated[bool, Field(description="Only calls that failed.")] = False,
        who: Who = "",
        limit: Limit = 10,
        offset: Offset = 0,
        everywhere: Annotated[bool, Field(description="In all sessions of the store.")] = False,
        session: SessionName = "",
    ) -> Recalls:
        """Find what was said, run or printed earlier in a session, also where it was compacted
        away: by words, file, command or error."""
        if everywhere and session:
            raise UserError("`everywhere` looks into all sessions; leave out `session`, or it")
        chosen = self._kept.chosen(session)
        query = query_of(
            words,
            files=files or (),
            commands=commands or (),
            sessions=() if everywhere else (chosen.session.name,),
            who=who,
            errors=errors,
            limit=offset + limit + 1,
        )
        found = recall(self._kept.store, query, lines=LINES_AROUND, clean=self._kept.redactor.turn)
        matches, _ = part(map(self._match, found[offset:]), self._count, limit=limit)
        note = _more(len(found), offset, len(matches))
        return self._result(Recalls, chosen, matches=matches, note=note)

    def show(
        self,
        mark: Mark,
        first: Annotated[Line, Field(description="First line.")] = 1,
        last: Annotated[Line | None, Field(description="Last line.")] = None,
        column: Annotated[
            int, Field(description="Characters of the first line to leave out.", ge=0)
        ] = 0,
        session: SessionName = "",
    ) -> Shown:
        """Show a turn, or what one of its calls gave back, as it was: all lines, or some."""
        chosen = self._kept.chosen(session)
        found = chosen.session.original(mark)
        mark = mark.strip().removeprefix("[").removesuffix("]")
        if found.call is None and found.result is None:
            turn = self._kept.redactor.turn(found.turn)
            title, text = f"turn t{turn.index}", _told(turn, mark)
        else:
            title = _title(found.call)
            text = self._kept.clean(found.text)
        shown = self._page(text, mark, first, last, column)
        return self._result(
            Shown,
            chosen,
            mark=mark,
            title=foreign(short(self._kept.clean(title), self._count)),
            first=shown.first,
            last=shown.last,
            lines=shown.lines,
            text=quoted(shown.text),
            note=_goes_on(mark, shown),
        )

    def _page(self, text: str, mark: str, first: int, last: int | None, column: int) -> Page:
        lines = text.split("\n")
        if first > len(lines):
            raise UserError(f"{mark[:80]!r} has {len(lines):,} lines; there is no line {first:,}")
        if column and column >= (size := len(lines[first - 1])):
            raise UserError(
                f"line {first:,} of {mark[:80]!r} has {size:,} characters; lower `column`"
            )
        if last is not None and last < first:
            raise UserError(f"line {last:,} is before line {first:,}; swap `first` and `last`")
        return page(text, self._count, first=first, last=last, column=column)

    def _match(self, one: Recalled) -> Match:
        lines = [f"{'…' * bool(line.column)}{line.text}{'…' * line.cut}" for line in one.lines]
        return Match(
            mark=one.mark,
            output=one.output,
            session=one.session,
            who=one.who,
            title=foreign(one.title),
            failed=one.error,
            at=_when(one.at),
            first_line=one.lines[0].number if one.lines else 0,
            text=short(quoted("\n".join(lines)), self._count),
            remark="; ".join(_remarks(one)),
        )

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
        shown = page(text, self._count, first=first)
        size = self._count(text)
        more = f"it goes on: ask again with first={shown.next_line}" if shown.next_line else ""
        return self._result(
            Summarized,
            chosen,
            turns=self._kept.journal(chosen.session.name).count(),
            tokens=size,
            score=score,
            text=quoted(shown.text),
            note=notes(too_long(size, level or tokens), more),
        )

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
        told = hand_on(state, tokens or WHOLE, self._count)
        return told.text, rounded(told.verdict.score)

    def decisions(
        self, limit: Rows = 50, offset: Skipped = 0, session: SessionName = ""
    ) -> Decisions:
        """The decisions of a session, newest first: who made them, why, what was not taken and
        what they replaced."""
        chosen = self._kept.chosen(session)
        rows = list(_decisions(self._kept.summary(chosen.session.name), self._kept))
        taken, left = part(rows[offset:], self._count, limit=limit)
        return self._result(
            Decisions,
            chosen,
            total=len(rows),
            decisions=taken,
            note=_left(left, offset, len(taken), len(rows)),
        )

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
        taken, left = part(rows[offset:], self._count, limit=limit)
        return self._result(
            Files,
            chosen,
            total=len(rows),
            files=taken,
            note=_left(left, offset, len(taken), len(rows)),
        )

    def probe(self, tokens: Tokens = None, session: SessionName = "") -> Probed:
        """Ask the summary of a session, as it stands, what the facts tell; show what it cannot
        answer."""
        chosen = self._kept.chosen(session)
        told = hand_on(self._kept.summary(chosen.session.name), tokens or WHOLE, self._count)
        verdict = told.verdict
        failed = sorted(verdict.failed, key=lambda one: not one.probe.critical)
        taken, left = part(
            (_failure(one, self._kept) for one in failed), self._count, limit=MOST_ROWS
        )
        standing = self._kept.journal(chosen.session.name).recorded()
        before = standing.record.compaction.verdict if standing else None
        size = self._count(told.text)
        more = f"{left:,} more failed; more `tokens` make room for them" if left else ""
        return self._result(
            Probed,
            chosen,
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

    def pin(
        self,
        what: Annotated[
            str,
            Field(
                description="A turn of the user's (t12), or whole sentences that they wrote.",
                max_length=LONGEST_PIN,
            ),
        ],
        session: SessionName = "",
    ) -> Pinned:
        """Where the user asks for it: keep a turn or words of theirs, word for word, through every
        compaction to come. Only what the user wrote is taken; only the user takes it back, with
        `kedgeline unpin`."""
        chosen = self._kept.under_way(session)
        kept = chosen.session
        pin = kept.pin(pinnable(self._kept.journal(kept.name), kept.name, what))
        pins = [self._told(one) for one in kept.pins()]
        return self._result(
            Pinned,
            chosen,
            done=f"pinned: {self._told(pin)}",
            pins=shortened(pins, self._count, most=PINS_SHOWN),
        )

    async def compact(
        self,
        context: Context[Any, Any],
        window: Window = None,
        sampling: Annotated[
            bool, Field(description="Let the client's model write prose, where it is offered.")
        ] = True,
        session: SessionName = "",
    ) -> Compacted | InputRequiredResult:
        """Compact a session in the store: old turns are folded into the summary. Nothing is lost:
        `recall` finds all of it, and `kedgeline undo` takes it back."""
        chosen = await anyio.to_thread.run_sync(self._kept.under_way, session)

        def work(model: Model | None, check: Check) -> Compaction:
            terms = terms_of(self._kept.settings)
            watched = self._kept.watched(chosen.session.name, check)
            return watched.compact(model=model, terms=terms, window=window)

        made, unasked = await self._made(context, work, sampling=sampling)
        if isinstance(made, Asked):
            return as_answer(made)
        return self._result(Compacted, chosen, **_report(made, unasked, self._kept))

    async def _made(
        self,
        context: Context[Any, Any],
        work: Work,
        *,
        sampling: bool,
    ) -> tuple[Compaction | Asked, str]:
        """What was done or is asked, and why nobody was asked."""
        unasked, found = "", None
        if context.request_state is not None:
            found = await self._jobs.resumed(context)
        elif not (unasked := lacking(context) if sampling else NOT_WANTED):
            found = await self._jobs.compacted(work, context)
        if found is not None:
            return found, ""
        return await _alone(work), unasked or TOO_LATE

    def _told(self, pin: Pin) -> str:
        """A pin in a line, cleaned before it is cut."""
        words = f"t{pin.turn}" if pin.turn >= 0 else f'"{foreign(self._kept.clean(pin.text))}"'
        return f"#{pin.number} {short(words, self._count)}"

    def _result(self, kind: type[Given], chosen: Chosen, **fields: Any) -> Given:
        """A result as it leaves: with the session that it is about, and without secrets."""
        about: dict[str, Any] = {"session": chosen.session.name, "chosen": chosen.how}
        return sealed(kind(**about, **fields), self._kept)


def _more(found: int, offset: int, shown: int) -> str:
    if not found:
        return "nothing found: give fewer or other words, or leave out a filter"
    if not shown:
        return f"there are only {found:,} matches; lower `offset`"
    if found > offset + shown:
        return f"there are more: ask again with offset={offset + shown}"
    return ""


def _goes_on(mark: str, shown: Page) -> str:
    if not shown.next_line:
        return ""
    column = f", column={shown.next_column}" if shown.next_column else ""
    return (
        f"lines {shown.first:,} to {shown.last:,} of {shown.lines:,}: "
        f"show(mark={mark!r}, first={shown.next_line}{column}) goes on"
    )


def _remarks(one: Recalled) -> Iterator[str]:
    if one.relaxed:
        missing = ", ".join(f'"{phrase}"' for phrase in one.relaxed)
        yield f"nothing has all of it; this lacks {missing}"
    if not one.stands:
        yield f"was t{one.turn}, and was taken back later"
    if one.damage:
        yield one.damage


def _when(microseconds: int) -> str:
    try:
        return datetime.fromtimestamp(microseconds / 1_000_000, UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return ""


def _told(turn: Turn, mark: str) -> str:
    """All of a turn, each part behind a line that says whose it is."""
    parts: list[tuple[str, str]] = [("user", turn.user_message)]
    parts += [(f"client: {note.kind}", note.text) for note in turn.notes]
    parts += [("agent, thinking", turn.thinking), ("agent", turn.assistant_response)]
    for place, call in enumerate(turn.tool_calls):
        parts.append((f"call {mark}.{place}: {foreign(call.tool)}", _given(call)))
        parts += _came(f"{mark}.{place}", turn.result_of(call))
    known = {call.id for call in turn.tool_calls}
    for result in turn.tool_results:
        if result.call_id not in known:
            parts += _came(f"{mark}:{foreign(result.call_id)}", result)
    return "\n".join(f"[{label}]\n{_unlabelled(text)}" for label, text in parts if text)


def _given(call: ToolCall) -> str:
    """The parameters of a call; one alone is told as it is."""
    texts: Sequence[object] = tuple(call.parameters.values())
    if len(texts) == 1 and isinstance(texts[0], str):
        return f"{next(iter(call.parameters))}: {texts[0]}"
    return format(encode(call.parameters), indent=2).decode() if texts else "no parameters"


def _came(mark: str, result: ToolResult | None) -> list[tuple[str, str]]:
    if result is None:
        return [(f"output {mark}", "none")]
    state = "refused" if result.refused else "failed" if result.failed else "done"
    texts = dict.fromkeys(text for text in (result.output, result.error) if text)
    told = [(f"output {mark}: {state}", "\n".join(texts) or "nothing")]
    return [*told, ("user, refusing", result.reason)] if result.reason else told


def _unlabelled(text: str) -> str:
    """Words that begin as a label of ours does are moved by a blank: nobody speaks for another."""
    return _LABEL.sub(" ", text)


def _title(call: ToolCall | None) -> str:
    return f"output of {call.tool}" if call is not None else "output"


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


async def _alone(work: Work) -> Compaction:
    """Without a model. The thread of a call that is given up goes on, and writes nothing then."""
    waited = Waited()
    try:
        return await anyio.to_thread.run_sync(work, None, waited.check, abandon_on_cancel=True)
    finally:
        waited.end()


def terms_of(settings: Settings) -> Terms:
    """Time and tokens; what it costs is between the client and its model."""
    return Terms(
        window=settings.model_window,
        call_seconds=settings.model_call_seconds,
        seconds=settings.model_seconds,
        tokens=settings.model_tokens,
    )


def _report(made: Compaction, unasked: str, kept: Kept) -> dict[str, Any]:
    wording, verdict = made.wording, made.verdict
    return dict(
        done=short(foreign(_done(made)), kept.count),
        folded_turns=sum(span.last - span.first + 1 for span in made.plan.folded),
        kept_turns=sum(span.last - span.first + 1 for span in made.plan.kept),
        tokens_before=made.tokens_before,
        tokens_after=made.tokens_after,
        summary_tokens=made.summary_tokens,
        score=rounded(verdict.score) if verdict else None,
        accepted=verdict.accepted if verdict else None,
        model=wording.model if wording else "",
        words=wording.outcome if wording else "not asked for",
        why=short(foreign(wording.why if wording else unasked or NOTHING_NEW), kept.count),
        warnings=shortened([*map(foreign, made.warnings)], kept.count, most=WARNINGS_SHOWN),
    )


def _done(made: Compaction) -> str:
    if made.plan.nothing_to_do:
        return f"nothing was folded: {made.plan.reason}"
    return (
        f"{made.tokens_before:,} → {made.tokens_after:,} tokens ({made.context_reduction:.0%} "
        f"freed), cut before t{made.first + made.plan.cut}: {made.plan.reason}"
    )
