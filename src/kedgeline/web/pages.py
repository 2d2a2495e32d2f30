"""Pages as JSON: a session, its turns, its files, and a compaction with its record; or all of them
as one file."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from hashlib import sha256
from importlib.resources import files

import msgspec
from msgspec.structs import replace

from kedgeline.errors import UnknownName
from kedgeline.model import (
    Answer,
    Budget,
    Compaction,
    EarlierCompaction,
    Entry,
    FileChanged,
    Transcript,
    Turn,
)
from kedgeline.model.fact import net
from kedgeline.pipeline.compact import compact
from kedgeline.pipeline.draft import Told, left_out
from kedgeline.pipeline.handoff import asked, hand_on, verify
from kedgeline.pipeline.job import budget_for
from kedgeline.pipeline.view import earlier_summary, view
from kedgeline.planning import POLICY
from kedgeline.summary import as_entry, entries_of, merged
from kedgeline.tokens import OfTurns, context_of
from kedgeline.web.session import (
    Page,
    ShownSession,
    call_line,
    session_title,
    turn_page,
    turn_shown,
    without_markup,
)

NOW = "now"
"""Names the compaction that kedgeline would make of the session as it is."""
LEAST_ROOM = 2_048
"""Tokens of our summary beside a host's that is shorter: the smallest full level."""
TRIED = (1.0, 0.6, 0.35)
"""Shares of a window that the session would fill, in which a compaction is tried."""
LEAST_WINDOW = 4_000
"""Tokens of the smallest window that a compaction is shown for."""


def picked(value: object, names: str, **renamed: str) -> Page:
    """Attributes of a value: those named, then those that have another name on the page."""
    keys = {name: name for name in names.split()} | renamed
    return {key: getattr(value, name) for key, name in keys.items()}


def session_page(opened: ShownSession) -> Page:
    """The session as a timeline. What there is of each turn stands in columns, as sessions have
    thousands."""
    about, numbers = opened.transcript.session, opened.numbers
    turns, root = opened.turns, about.latest("root")
    page: Page = {
        "name": opened.name,
        "format": opened.transcript.format,
        "title": about.latest("title") or _first_request(turns),
        "root": root,
        "branch": about.latest("branch"),
        "model": opened.model,
        "seen": opened.seen,
        "kept": opened.kept is not None,
        "pins": [{"turn": one.turn, "text": one.text} for one in opened.pins],
        "window": opened.window._asdict(),
        "first": opened.first,
        "columns": {
            "title": [session_title(turn, root) for turn in turns],
            "who": ["user" if turn.user_message else "agent" for turn in turns],
            "calls": [len(turn.tool_calls) for turn in turns],
            "failed": [sum(one.failed for one in turn.tool_results) for turn in turns],
            "at": [turn.timestamp.timestamp() if turn.timestamp else None for turn in turns],
            **numbers._asdict(),
        },
        "checks": [
            {"turn": one.turn, "passed": one.success, "what": call_line(one.command)}
            for one in opened.checks
        ],
        "compactions": compactions_of(opened),
        "agents": [_lane(opened, one) for one in opened.transcript.agents],
        "files": files_page(opened),
        "pending": opened.transcript.pending.user_message if opened.transcript.pending else "",
    }
    columns = page.pop("columns")  # its texts are plain
    return {**turn_shown(page), "columns": columns}


def _first_request(turns: Sequence[Turn]) -> str:
    return call_line(next((turn.user_message for turn in turns if turn.user_message), ""))


def compactions_of(opened: ShownSession) -> list[Page]:
    """All that were made, by whomever, in the order of turns; and the one that could be."""
    found = [_host_line(opened, number, one) for number, one in enumerate(opened.hosts)]
    for event, made in opened.events:
        found.append(
            {
                "id": f"ours-{event.number}",
                "by": "kedgeline",
                "turn": opened.first + made.turns,
                "kind": "summary",
                **picked(made, "", before="tokens_before", after="tokens_after"),
                "undone": event.undone,
            }
        )
    found.sort(key=lambda one: int(one["turn"]))
    if opened.turns:
        turn = opened.turns[-1].index + 1
        found.append({"id": NOW, "by": "kedgeline", "turn": turn, "kind": "preview"})
    return found


def _host_line(opened: ShownSession, number: int, one: EarlierCompaction) -> Page:
    context = opened.numbers.context
    place = one.turn - opened.first
    before = context[place - 1] if 0 < place <= len(context) else None
    after = context[place] if 0 <= place < len(context) else None
    return {
        "id": f"host-{number}",
        **picked(one, "by turn trigger"),
        "kind": one.kind.replace("_", " "),
        "before": before if one.tokens_before is None else one.tokens_before,
        "after": after if one.tokens_after is None else one.tokens_after,
        "summary": bool(one.summary),
    }


def _lane(opened: ShownSession, agent: Transcript) -> Page:
    """A sub-agent: from the turn that started it to the last that began before it was done."""
    calls = (
        turn.index
        for turn in opened.turns
        for call in turn.tool_calls
        if call.id == agent.delegated_by
    )
    first = next(calls, None)
    ended = next((t.timestamp for t in reversed(agent.turns) if t.timestamp), None)
    times = [turn.timestamp for turn in opened.turns]
    last = first
    if first is not None and ended is not None and all(times):
        last = max(first, opened.first + bisect_right(times, ended) - 1)  # type: ignore[type-var]
    failed = sum(one.failed for turn in agent.turns for one in turn.tool_results)
    return {
        "agent": agent.agent,
        "first": first,
        "last": last,
        "turns": len(agent.turns),
        "title": _first_request(agent.turns) or call_line(agent.agent),
        "titles": [session_title(turn) for turn in agent.turns],
        "failed": failed,
    }


def files_page(opened: ShownSession) -> list[Page]:
    """Every file that was changed, with every edit, those worked on last at the top."""
    by_path: defaultdict[str, list[FileChanged]] = defaultdict(list)
    for one in opened.changes:
        by_path[one.path].append(one)
    rows = [
        {
            "path": path,
            "net": net(events) or "as it was",
            "added": sum(one.added for one in events),
            "removed": sum(one.removed for one in events),
            "edits": [
                {**picked(one, "turn action added removed"), "what": one.said or one.what}
                for one in events
            ],
        }
        for path, events in by_path.items()
    ]
    return sorted(rows, key=lambda row: -int(row["edits"][-1]["turn"]))


def turns_page(opened: ShownSession, first: int, last: int, agent: str = "") -> list[Page]:
    """Turns whole, by their numbers, both ends included."""
    found = (turn for turn in opened.thread(agent) if first <= turn.index <= last)
    return [turn_page(turn, opened.agents) for turn in found]


def turns_with(opened: ShownSession, words: Sequence[str]) -> list[int]:
    """The turns in which all these words stand, whatever their case."""
    wanted = [word.casefold() for word in words]
    return [
        turn.index
        for turn in opened.turns
        if (text := _all_of(turn).casefold()) and all(word in text for word in wanted)
    ]


def _all_of(turn: Turn) -> str:
    calls = (str(value) for call in turn.tool_calls for value in call.parameters.values())
    results = (one.output for one in turn.tool_results)
    said = (turn.user_message, turn.assistant_response, turn.thinking)
    return "\n".join((*said, *calls, *results, *(note.text for note in turn.notes)))


# A compaction.


def compaction_page(opened: ShownSession, which: str) -> Page:
    """One of `compactions_of`, by its id. It is made once for each state of the session."""
    if which not in opened.made:
        made = _compaction(opened, which)
        # A record was cleaned of the secrets that were known when it was made.
        opened.made[which] = turn_shown(made, lambda text: without_markup(opened.clean(text)))
    page: Page = opened.made[which]  # type: ignore[assignment]
    return page


def _compaction(opened: ShownSession, which: str) -> Page:
    lines = compactions_of(opened)
    line = next((one for one in lines if one["id"] == which), None)
    if line is None:
        raise UnknownName("compaction", which, known=tuple(str(one["id"]) for one in lines))
    if which == NOW:
        made, window = _made_now(opened)
        size = picked(made, "", before="tokens_before", after="tokens_after")
        return {**line, **_record(opened, made), "window": window, **size}
    if which.startswith("host-"):
        return {**line, **_beside(opened, opened.hosts[int(which.removeprefix("host-"))])}
    made = next(m for event, m in opened.events if f"ours-{event.number}" == which)
    newest = next((e.number for e, _ in reversed(opened.events) if not e.undone), 0)
    return {**line, **_record(opened, made), "can_undo": which == f"ours-{newest}"}


def _made_now(opened: ShownSession) -> tuple[Compaction, Page]:
    """What kedgeline would make of the session as it is; where its window is not full yet, as if
    it was: there would be nothing to see."""
    transcript = replace(
        opened.transcript,
        turns=tuple(
            turn if turn.tokens else replace(turn, tokens=tokens)
            for turn, tokens in zip(opened.turns, opened.numbers.tokens, strict=True)
        ),
    )
    counter, previous = opened.counter, opened.kept.compaction() if opened.kept else None
    context = context_of(transcript, OfTurns(transcript.turns, counter), counter)
    if opened.kept:
        context = opened.kept.context_tokens()
    own = opened.window.tokens

    def made_in(window: int) -> Compaction:
        known = context.within(window)
        budget: Budget = budget_for(transcript, window, counter=counter, overhead=known.hidden)
        return compact(
            transcript, budget, previous=previous, counter=counter, redactor=None, context=known
        )

    made, window = made_in(own), own
    full = round(context.total / POLICY.begin / (1 - POLICY.output_share))
    for share in TRIED:
        if made.plan.folded or share * full < LEAST_WINDOW:
            break
        if share * full < own:
            window = round(share * full)
            made = made_in(window)
    return made, {"tokens": window, "as_if_full": window < own, "own": own}


def _record(opened: ShownSession, made: Compaction) -> Page:
    """A compaction of ours: what stands for what, and what of it is not told."""
    plan, verdict = made.plan, made.verdict
    gone = left_out(Told(made.summary, made.state)) if made.state else []
    return {
        "summary": _lines(entries_of(made.summary)),
        "text": made.summary,
        "summary_tokens": made.summary_tokens,
        "reason": plan.reason,
        "warnings": made.warnings,
        "folded": msgspec.to_builtins(plan.folded),
        "kept_turns": msgspec.to_builtins(plan.kept),
        "masked": [
            picked(one, "turn how reason text", before="tokens_before", after="tokens_after")
            for one in plan.masked
        ],
        "repeated": [picked(one, "turn what tokens") for one in plan.repeated],
        "levels": msgspec.to_builtins(made.renditions),
        "losses": _lines(map(as_entry, gone)),
        "score": verdict.score if verdict else None,
        "questions": [_question(one) for one in (verdict.answers if verdict else ())],
        "view": _view(opened, made),
    }


def _view(opened: ShownSession, made: Compaction) -> list[Page]:
    """The context behind the compaction as the model gets it: what leads it, then the turns that
    stay, those that stay as they were by number."""
    originals = {turn.index: turn for turn in opened.turns}
    pinned = [one.text for one in opened.pins if one.text]
    through = replace(opened.transcript, turns=opened.turns[: made.turns], pending=None)
    return [
        {"same": turn.index}
        if originals.get(turn.index) == turn
        else turn_page(turn, opened.agents)
        for turn in view(through, made, pinned=pinned).turns
    ]


def _beside(opened: ShownSession, host: EarlierCompaction) -> Page:
    """A host's compaction: its own summary, ours of the same turns at the same length, and what
    each answers."""
    if not host.summary:
        return {"host": "", "summary": [], "losses": [], "questions": []}
    count = opened.counter.count
    known = (one for one in opened.facts if one.turn < host.turn)
    summary = merged(earlier_summary(opened.transcript), known, through=host.turn - 1)
    room = max(LEAST_ROOM, count(host.summary))
    ours = hand_on(summary, room, count)
    theirs = verify(summary, host.summary, asked(summary, room))
    answered = {one.probe: one.passed for one in theirs.answers}
    questions = [
        {**_question(one), "host": answered.get(one.probe, False)} for one in ours.verdict.answers
    ]
    return {
        "host": host.summary,
        "host_tokens": count(host.summary),
        "host_score": theirs.score,
        "summary": _lines(entries_of(ours.text)),
        "text": ours.text,
        "summary_tokens": count(ours.text),
        "score": ours.verdict.score,
        "questions": questions,
        "losses": _lines(map(as_entry, left_out(Told(ours.text, summary, "here")))),
    }


def _lines(entries: Iterable[Entry]) -> list[Page]:
    """A summary section by section, every line with the turns it cites."""
    found: defaultdict[str, list[Page]] = defaultdict(list)
    for one in entries:
        found[one.section].append(picked(one, "text turns action detail"))
    return [{"section": section, "lines": lines} for section, lines in found.items()]


def _question(answer: Answer) -> Page:
    return {**picked(answer.probe, "question expected turn critical"), "passed": answer.passed}


# A session as one file that opens from disk: the page, its script and the data in it.

COMPACTIONS = 8
"""Whose records go into the file, the newest."""
LEVEL = 6
"""Of compression: more takes longer and saves a hundredth."""


def static(name: str) -> str:
    """A file of ours that a browser gets."""
    return (files("kedgeline.web") / "static" / name).read_text("utf-8")


def html_page(opened: ShownSession) -> str:
    """The whole page. Only its own script runs, and nothing can be loaded from anywhere."""
    style, script = static("viewer.css"), static("viewer.js")
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            f"style-src '{_hash(style)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
        )
    )
    page = static("index.html")
    for place, text in (
        ("<!-- policy -->", f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        ('<link rel="stylesheet" href="/static/viewer.css">', f"<style>{style}</style>"),
        (
            '<script src="/static/viewer.js" defer></script>',
            f'<script type="application/json" id="data">{_data(opened)}</script>\n'
            f"<script>{script}</script>",
        ),
    ):
        before, found, behind = page.rpartition(place)
        assert found, place
        page = before + text + behind
    return page


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _data(opened: ShownSession) -> str:
    """Compressed JSON as a text of JSON: it has no sign that HTML gives a meaning to."""
    session = session_page(opened)
    chosen = [one["id"] for one in session["compactions"]][-COMPACTIONS:]
    pages: Page = {
        "session": session,
        "turns": {
            agent: turns_page(opened, 0, 1 << 40, agent)
            for agent in ("", *(one.agent for one in opened.transcript.agents))
        },
        "compactions": {which: compaction_page(opened, which) for which in chosen},
    }
    packed = gzip.compress(msgspec.json.encode(pages), LEVEL, mtime=0)
    return json.dumps({"gzip": b64encode(packed).decode()})
