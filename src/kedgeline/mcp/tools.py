"""What the tools do: `recall` and `show` give originals, `summary`, `decisions`, `files` and
`probe` what is known, `pin` and `compact` write."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import accumulate
from threading import Lock
from typing import Any

import anyio
from mcp.server.mcpserver import Context
from mcp_types import InputRequiredResult
from msgspec.json import encode, format

from kedgeline.errors import UnknownName, UserError
from kedgeline.facts import facts_of
from kedgeline.mcp import calls
from kedgeline.mcp.results import Page, Row, marks, page, part, quoted, sealed, short, shortened
from kedgeline.mcp.sampling import TOO_LATE, Jobs, lacking
from kedgeline.mcp.sessions import Check, Chosen, Kept, Waited
from kedgeline.model import Answer, Compaction, Decided, Summary, ToolCall, ToolResult, Turn
from kedgeline.models import Model, Terms
from kedgeline.pipeline.handoff import hand_on, level
from kedgeline.pipeline.view import earlier_summary, told
from kedgeline.session.deciding import Clean, for_compaction, pin_of
from kedgeline.session.journal import Journal, Keeping, Pin
from kedgeline.session.query import query_of
from kedgeline.session.recall import Recalled, recall
from kedgeline.summary import LEVELS, items_of, merged
from kedgeline.text.prose import LOOKED_AT, foreign, plain, sentences, visible

LINES_AROUND = 2
"""Lines around each match, as on the command line."""
WHOLE = LEVELS[-1]
"""Tokens of a summary, where none are given: the largest named level."""
SCORE_DIGITS = 4
"""More would only be noise."""
PINS_SHOWN = 20
"""Pins that a result lists: whoever has more looks for them on the command line."""
WARNINGS_SHOWN = 10
REMEMBERED = 4
"""Summaries that are kept ready, for as long as their sessions are as they were: several tools are
called one after the other."""
NOTHING_NEW = "nothing was newly folded, so that there was nothing to write about"
NOT_WANTED = "the call said so (sampling=false)"
CLOSING = ".。"
"""Ends a sentence; whoever quotes one may leave it out. Not so a mark that makes it a question."""

_LABEL = re.compile(r"^(?=\[(?:user|agent|call|output|client)\b)", re.MULTILINE)
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")


class Tools:
    """Every tool is a method that takes its call."""

    def __init__(self, kept: Kept, jobs: Jobs) -> None:
        self._kept, self._jobs, self._count = kept, jobs, kept.count
        self._summaries: dict[tuple[str, str], Summary] = {}
        self._lock = Lock()

    async def call(
        self, name: str, call: Any, context: Context[Any, Any]
    ) -> Row | InputRequiredResult:
        if isinstance(call, calls.Compact):
            return await self.compact(call, context)
        return await anyio.to_thread.run_sync(partial(getattr(self, name), call))

    def recall(self, call: calls.Recall) -> Row:
        if call.everywhere and call.session:
            raise UserError("`everywhere` looks into all sessions; leave out `session`, or it")
        chosen = self._kept.chosen(call.session)
        query = query_of(
            call.words,
            files=call.files,
            commands=call.commands,
            sessions=() if call.everywhere else (chosen.session.name,),
            who=call.who,
            errors=call.errors,
            limit=call.offset + call.limit + 1,
        )
        found = recall(self._kept.store, query, lines=LINES_AROUND, clean=self._kept.redactor.turn)
        matches, _ = part(map(self._match, found[call.offset :]), self._count, limit=call.limit)
        note = ""
        if not found:
            wider = "" if call.everywhere else ", or look into all sessions with everywhere=true"
            file = "" if call.files else ", name a file it was about in `files`"
            note = f"nothing found: give fewer or other words, leave out a filter{file}{wider}"
        elif not matches:
            note = f"there are only {len(found):,} matches; lower `offset`"
        elif len(found) > (after := call.offset + len(matches)):
            note = f"there are more: ask again with offset={after}"
        return self._result(chosen, note, matches=matches)

    def show(self, call: calls.Show) -> Row:
        chosen = self._kept.chosen(call.session)
        found = chosen.session.original(call.mark)
        mark = call.mark.strip().removeprefix("[").removesuffix("]")
        if found.call is None and found.result is None:
            turn = self._kept.redactor.turn(found.turn)
            title, text = f"turn t{turn.index}", _told(turn, mark)
        else:
            title = f"output of {found.call.tool}" if found.call is not None else "output"
            text = self._kept.clean(found.text)
        shown = self._page(text, mark, call)
        note = ""
        if shown.next_line:
            column = f", column={shown.next_column}" if shown.next_column else ""
            note = (
                f"lines {shown.first:,} to {shown.last:,} of {shown.lines:,}: "
                f"show(mark={mark!r}, first={shown.next_line}{column}) goes on"
            )
        return self._result(
            chosen,
            note,
            mark=mark,
            title=self._line(self._kept.clean(title)),
            first=shown.first,
            last=shown.last,
            lines=shown.lines,
            text=quoted(shown.text),
        )

    def _page(self, text: str, mark: str, call: calls.Show) -> Page:
        first, last, column = call.first, call.last, call.column
        lines = text.split("\n")
        if first > len(lines):
            raise UserError(f"{mark[:80]!r} has {len(lines):,} lines; there is no line {first:,}")
        if column and column >= (size := len(lines[first - 1])):
            raise UserError(
                f"line {first:,} of {mark[:80]!r} has {size:,} characters; lower `column`"
            )
        if last and last < first:
            raise UserError(f"line {last:,} is before line {first:,}; swap `first` and `last`")
        return page(text, self._count, first=first, last=last, column=column)

    def _match(self, one: Recalled) -> Row:
        lines = [f"{'…' * bool(line.column)}{line.text}{'…' * line.cut}" for line in one.lines]
        missing = ", ".join(f'"{phrase}"' for phrase in one.relaxed)
        remarks = (
            f"nothing has all of it; this lacks {missing}" if missing else "",
            "" if one.stands else f"was t{one.turn}, and was taken back later",
            one.damage,
        )
        at = ""
        with suppress(OverflowError, ValueError, OSError):
            at = datetime.fromtimestamp(one.at / 1_000_000, UTC).isoformat(timespec="seconds")
        return {
            "mark": one.mark,
            "output": one.output,
            "session": one.session,
            "who": one.who,
            "title": foreign(one.title),
            "failed": one.error,
            "at": at,
            "first_line": one.lines[0].number if one.lines else 0,
            "text": short(quoted("\n".join(lines)), self._count),
            "remark": notes(*remarks),
        }

    def summary(self, call: calls.Summarize) -> Row:
        chosen = self._kept.chosen(call.session)
        text, score = self.text(chosen.session.name, level_asked=call.level, tokens=call.tokens)
        lines = text.count("\n") + 1
        if call.first > lines:
            raise UserError(f"the summary has {lines:,} lines; there is no line {call.first:,}")
        shown = page(text, self._count, first=call.first)
        size = self._count(text)
        more = f"it goes on: ask again with first={shown.next_line}" if shown.next_line else ""
        return self._result(
            chosen,
            notes(too_long(size, call.level or call.tokens), more),
            turns=self._kept.journal(chosen.session.name).count(),
            tokens=size,
            score=score,
            text=quoted(shown.text),
        )

    def text(self, name: str, *, level_asked: int = 0, tokens: int = 0) -> tuple[str, float | None]:
        """The text of a session's summary, and its score where probes were asked."""
        if level_asked and tokens:
            raise UserError("a level is a number of tokens already; give `level` or `tokens`")
        if level_asked and level_asked not in LEVELS:
            raise UnknownName("level", str(level_asked), known=tuple(map(str, LEVELS)))
        state = self._state(name)
        if level_asked in LEVELS[:-1]:
            return level(state, level_asked, self._count), None
        found = hand_on(state, tokens or WHOLE, self._count)
        return found.text, _rounded(found.verdict.score)

    def decisions(self, call: calls.Decided) -> Row:
        chosen = self._kept.chosen(call.session)
        state = self._state(chosen.session.name)
        made = sorted(state.decisions_now(), key=lambda one: one[-1].turn, reverse=True)
        rows = [self._decision(one) for one in made]
        for entry in state.carried:
            if entry.section == "Decisions Made":  # only the text of an earlier summary is left
                said = self._line(f"{entry.text} {entry.detail}".strip())
                rows.append({"decision": said, "by": "", "turns": marks(entry.turns)})
        return self._listed(chosen, call, "decisions", rows)

    def files(self, call: calls.Touched) -> Row:
        chosen = self._kept.chosen(call.session)
        rows = [
            {
                "path": self._line(item.text),
                "action": item.action if item.section == "Files Modified" else "read",
                "what": self._line(item.detail),
                "turns": marks(item.turns[-4:]),
            }
            for item in items_of(self._state(chosen.session.name))
            if item.section in ("Files Modified", "Files Read (Not Modified)")
        ]
        wanted = [
            row
            for row in rows
            if call.path.casefold() in row["path"].casefold()
            and (call.kind == "all" or (row["action"] == "read") == (call.kind == "read"))
        ]
        return self._listed(chosen, call, "files", wanted)

    def probe(self, call: calls.Probe) -> Row:
        chosen = self._kept.chosen(call.session)
        found = hand_on(self._state(chosen.session.name), call.tokens or WHOLE, self._count)
        verdict = found.verdict
        failed = sorted(verdict.failed, key=lambda one: not one.probe.critical)
        taken, left = part(map(self._failure, failed), self._count, limit=calls.MOST_ROWS)
        standing = self._kept.journal(chosen.session.name).recorded()
        before = standing.record.compaction.verdict if standing else None
        size = self._count(found.text)
        more = f"{left:,} more failed; more `tokens` make room for them" if left else ""
        return self._result(
            chosen,
            notes(too_long(size, call.tokens), more),
            score=_rounded(verdict.score),
            accepted=verdict.accepted,
            asked=len(verdict.answers),
            failed=len(verdict.failed),
            critical_failures=len(verdict.critical_failures),
            summary_tokens=size,
            compaction_score=_rounded(before.score) if before else None,
            failures=taken,
        )

    def pin(self, call: calls.Pin) -> Row:
        chosen = self._kept.under_way(call.session)
        session = chosen.session
        pin = session.pin(pinnable(self._kept.journal(session.name), session.name, call.what))
        pins = [self._pinned(one) for one in session.pins()]
        return self._result(
            chosen,
            done=f"pinned: {self._pinned(pin)}",
            pins=shortened(pins, self._count, most=PINS_SHOWN),
        )

    async def compact(
        self, call: calls.Compact, context: Context[Any, Any]
    ) -> Row | InputRequiredResult:
        chosen = await anyio.to_thread.run_sync(self._kept.under_way, call.session)
        settings = self._kept.settings
        terms = Terms(  # time and tokens; what it costs is between the client and its model
            window=settings.model_window,
            call_seconds=settings.model_call_seconds,
            seconds=settings.model_seconds,
            tokens=settings.model_tokens,
        )

        def work(model: Model | None, check: Check) -> Compaction:
            watched = self._kept.session(chosen.session.name, check)
            return watched.compact(model=model, terms=terms, window=call.window or None)

        found, unasked = None, ""
        if context.request_state is not None:
            found = await self._jobs.resumed(context)
        elif not (unasked := lacking(context) if call.sampling else NOT_WANTED):
            found = await self._jobs.compacted(work, context)
        if isinstance(found, InputRequiredResult):
            return found
        made = found or await _without_model(work)
        why = "" if found else unasked or TOO_LATE
        return self._result(chosen, **self._report(made, why))

    def _report(self, made: Compaction, unasked: str) -> Row:
        wording, verdict, plan = made.wording, made.verdict, made.plan
        done = (
            f"the stored copy: {made.tokens_before:,} → {made.tokens_after:,} tokens, cut before "
            f"t{made.first + plan.cut}: {plan.reason}; your own context is as it was"
        )
        if plan.nothing_to_do:
            done = f"nothing was folded: {plan.reason}"
        why = wording.why if wording else unasked or NOTHING_NEW
        return {
            "done": self._line(done),
            "folded_turns": sum(span.last - span.first + 1 for span in plan.folded),
            "kept_turns": sum(span.last - span.first + 1 for span in plan.kept),
            "tokens_before": made.tokens_before,
            "tokens_after": made.tokens_after,
            "summary_tokens": made.summary_tokens,
            "score": _rounded(verdict.score) if verdict else None,
            "accepted": verdict.accepted if verdict else None,
            "model": wording.model if wording else "",
            "words": wording.outcome if wording else "not asked for",
            "why": self._line(why),
            "warnings": shortened([*map(foreign, made.warnings)], self._count, most=WARNINGS_SHOWN),
        }

    def _state(self, name: str) -> Summary:
        """All that is known of a session as it stands."""
        journal = self._kept.journal(name)
        key = (name, journal.head().chain)
        with self._lock:
            known = self._summaries.get(key)
        if known is None:
            kept = self._kept
            keeping = Keeping(kept.counter, kept.redactor, kept.settings.keep_secrets)
            known = standing_summary(journal, keeping.cleaned, window=kept.settings.window)
            with self._lock:
                self._summaries[key] = known
                while len(self._summaries) > REMEMBERED:
                    del self._summaries[next(iter(self._summaries))]
        return known

    def _decision(self, made: tuple[Decided, ...]) -> Row:
        latest = made[-1]
        before = dict.fromkeys(one.decision for one in made if one.decision != latest.decision)
        return {
            "decision": self._line(latest.decision),
            "by": latest.by,
            "why": self._line(latest.rationale),
            "not_taken": self._line(latest.rejected),
            "replaced": self._line("; ".join(before)),
            "turns": marks(tuple(one.turn for one in made)[-4:]),
        }

    def _failure(self, answer: Answer) -> Row:
        probe = answer.probe
        return {
            "question": self._line(probe.question),
            "expected": self._line(" · ".join(probe.expected)),
            "critical": probe.critical,
            "turn": marks((probe.turn,)),
        }

    def _pinned(self, pin: Pin) -> str:
        """A pin in a line, cleaned before it is cut."""
        words = f"t{pin.turn}" if pin.turn >= 0 else f'"{foreign(self._kept.clean(pin.text))}"'
        return f"#{pin.number} {short(words, self._count)}"

    def _line(self, text: str) -> str:
        return short(foreign(text), self._count)

    def _listed(
        self, chosen: Chosen, call: calls.Decided | calls.Touched, what: str, rows: list[Row]
    ) -> Row:
        taken, left = part(rows[call.offset :], self._count, limit=call.limit)
        note = f"{left:,} more: ask again with offset={call.offset + len(taken)}" if left else ""
        if call.offset and not taken:
            note = f"there are only {len(rows):,}; lower `offset`"
        return self._result(chosen, note, total=len(rows), **{what: taken})

    def _result(self, chosen: Chosen, note: str = "", **fields: Any) -> Row:
        """A result as it leaves: with the session that it is about, and without secrets."""
        about = {"session": chosen.session.name, "chosen": chosen.how, "note": note}
        return sealed({**about, **fields}, self._kept)


async def _without_model(work: Any) -> Compaction:
    """The thread of a call that is given up goes on, and writes nothing then."""
    waited = Waited()
    try:
        made: Compaction = await anyio.to_thread.run_sync(
            work, None, waited.check, abandon_on_cancel=True
        )
        return made
    finally:
        waited.end()


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
    # Words that begin as a label of ours does are moved by a blank: nobody speaks for another.
    return "\n".join(f"[{label}]\n{_LABEL.sub(' ', text)}" for label, text in parts if text)


def _given(call: ToolCall) -> str:
    """The parameters of a call; one alone is told as it is."""
    texts = tuple(call.parameters.values())
    if len(texts) == 1 and isinstance(texts[0], str):
        return f"{next(iter(call.parameters))}: {texts[0]}"
    return format(encode(call.parameters), indent=2).decode() if texts else "no parameters"


def _came(mark: str, result: ToolResult | None) -> list[tuple[str, str]]:
    if result is None:
        return [(f"output {mark}", "none")]
    state = "refused" if result.refused else "failed" if result.failed else "done"
    texts = dict.fromkeys(text for text in (result.output, result.error) if text)
    found = [(f"output {mark}: {state}", "\n".join(texts) or "nothing")]
    return [*found, ("user, refusing", result.reason)] if result.reason else found


def too_long(size: int, asked: int) -> str:
    """That a summary has more tokens than were asked for; empty where it has not."""
    return f"it has {size:,} tokens, and cannot be told in {asked:,}" if size > asked > 0 else ""


def notes(*said: str) -> str:
    return "; ".join(filter(None, said))


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, SCORE_DIGITS)


def standing_summary(journal: Journal, clean: Clean, *, window: int) -> Summary:
    """What the compaction that stands knows, with the facts of all turns since. Nothing is written,
    and no more is loaded than for a compaction into a window of so many tokens."""
    standing = journal.recorded()
    done = standing.record.compaction if standing else None
    region = for_compaction(journal, done, window=window, clean=clean)
    previous, first = earlier_summary(region.transcript), 0
    if region.previous is not None:
        previous = region.previous.state or told(region.previous.summary)
        first = region.previous.plan.cut
    since = (fact for fact in facts_of(region.transcript) if fact.turn >= first)
    waiting = region.transcript.pending
    last = waiting.index if waiting is not None else journal.count() - 1
    return merged(previous, since, through=last)


# What an agent may pin: only what the user wrote, and nothing that means less than was written.


def pinnable(journal: Journal, session: str, what: str) -> str:
    """The mark of a turn in which the user spoke, or whole sentences of a message of the user's:
    `push to main` out of `Never push to main` would say the contrary. All else is refused. What is
    pinned is said to be the user's from then on, and a page may ask an agent to pin anything."""
    themself = f"other words are pinned by the user: `kedgeline pin {session} WORDS`"
    pin = pin_of(journal, session, what)
    if pin.turn >= 0:
        place = journal.place(pin.turn)
        if place is None or not journal.turn(place).user_words():
            raise UserError(f"the user said nothing in t{pin.turn}; {themself}")
        return what
    words = visible(what)
    if not (wanted := plain(words)):
        raise UserError(
            f"there are no words to pin in {session!r}; give some, or a turn such as t12"
        )
    if not any(says(message, wanted) for message in _messages(journal)):
        raise UserError(
            "these are no whole sentences of a message of the user's in this session; give them "
            f"as they stand there, or the mark of the turn; {themself}"
        )
    return words


def says(message: str, wanted: str) -> bool:
    """Whether words, which are plain already, are whole sentences of a message, one behind the
    other."""
    wanted = wanted.rstrip(CLOSING)
    pieces = list(_pieces(message))
    text = " ".join(pieces)
    if not wanted or wanted not in text:
        return False
    starts = list(accumulate((len(piece) + 1 for piece in pieces), initial=0))
    ends = {
        start + len(piece.rstrip(CLOSING)) for start, piece in zip(starts, pieces, strict=False)
    }
    return any(
        start + len(wanted) in ends and text.startswith(wanted, start)
        for start, before in zip(starts, ("", *pieces), strict=True)
        if not before.endswith(":")  # what follows is understood only together with it
    )


def _messages(journal: Journal) -> Iterator[str]:
    """What the user wrote, the newest first: that is what is pinned most of the time."""
    waiting = journal.pending()
    if waiting is not None:
        yield from waiting.user_words()
    for place in reversed(journal.places()):
        yield from journal.turn(place).user_words()


def _pieces(message: str) -> Iterator[str]:
    """Sentences, each in plain form. Items of a list belong to what stands before them, and a
    paragraph too long to be looked at, a heading or a piece of code stays whole."""
    for paragraph in _BLANK_LINE.split(message):
        line = plain(paragraph)
        found = list(sentences(line)) if len(line) <= LOOKED_AT else []
        yield from found if " ".join(found) == line else [line] if line else []
