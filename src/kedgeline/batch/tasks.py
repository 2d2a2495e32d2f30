"""What a batch does with each session, and the columns it writes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from kedgeline.batch.inputs import InputSession
from kedgeline.economy.counting import ledger_of
from kedgeline.errors import UnknownName
from kedgeline.facts import facts_of
from kedgeline.model import Compaction, Summary, Transcript, Turn, Value
from kedgeline.pipeline.compact import compact
from kedgeline.pipeline.handoff import HandedOn, hand_on, summarize
from kedgeline.pipeline.job import budget_for, flow_of
from kedgeline.pipeline.read import Reading, collect, counted, write
from kedgeline.pipeline.stats import stats_of
from kedgeline.pipeline.view import view
from kedgeline.planning import POLICY
from kedgeline.redact import REDACTOR
from kedgeline.tokens import EXACT

Row = dict[str, Any]
Column = tuple[str, str]
"""A name and its type, as Arrow calls it."""

SCHEMA_VERSION = 2
"""Of the columns below; it stands in every Parquet file and in the manifest."""


class TaskSettings(Value, frozen=True):
    """What a batch is asked to do, the same for every session."""

    tasks: tuple[str, ...]
    window: int = 200_000
    tokens: int = 2_048
    """Room of a summary."""
    provider: str = "anthropic"
    """Whose messages are written."""
    formats: tuple[str, ...] = ()
    """Only sessions of these formats; all where there is none."""


class Work:
    """One session under way: what several tasks need is made once."""

    def __init__(self, session: InputSession, settings: TaskSettings) -> None:
        self.session, self.settings = session, settings

    @cached_property
    def reading(self) -> Reading | None:
        """The session as it is read, once; None where it was read already."""
        return self.session.reading()

    @property
    def countable(self) -> Reading | Transcript:
        """For counting: turn by turn where no task needs all of them together."""
        if COUNTED.issuperset(self.settings.tasks) and self.reading is not None:
            return self.reading
        return self._said

    @cached_property
    def _said(self) -> Transcript:
        if self.reading is None:
            return self.session.transcript()
        return self.reading.choose(collect(self.reading), None)

    @cached_property
    def transcript(self) -> Transcript:
        """Without the secrets in it: what is written goes to others."""
        return REDACTOR.transcript(self._said)

    @cached_property
    def sized(self) -> Transcript:
        """The same, with the tokens of each turn."""
        return counted(self.transcript, EXACT)

    @cached_property
    def summary(self) -> Summary:
        return summarize(self.transcript, redactor=None)

    @cached_property
    def handed_on(self) -> HandedOn:
        return hand_on(self.summary, self.settings.tokens, EXACT.count)

    @cached_property
    def compaction(self) -> Compaction:
        budget = budget_for(self.sized, self.settings.window)
        return compact(self.sized, budget, provider=self.settings.provider)


class Task(NamedTuple):
    columns: tuple[Column, ...]
    row: Callable[[Work], Sequence[Any]]
    """Values of the columns."""


def _stats(work: Work) -> Sequence[Any]:
    stats = stats_of(work.countable, EXACT)
    sizes = (stats.turns, stats.exchanges, stats.tool_calls["total"], stats.failures)
    return (*sizes, stats.agents, len(stats.compactions), stats.tokens.total, stats.model)


def _anchors(work: Work) -> Sequence[Any]:
    root = work.transcript.session.latest("root")
    anchors = flow_of(work.transcript.turns, root=root).anchor_points
    return len(anchors), _json(anchors)


def _facts(work: Work) -> Sequence[Any]:
    facts = list(facts_of(work.transcript))
    return len(facts), _json([{"kind": type(fact).__name__, **_plain(fact)} for fact in facts])


def _summary(work: Work) -> Sequence[Any]:
    text = work.handed_on.text
    return text, EXACT.count(text)


def _compact(work: Work) -> Sequence[Any]:
    done = work.compaction
    written = write(view(work.sized, done), to=work.settings.provider)
    messages = _json(written.messages)
    return done.tokens_before, done.tokens_after, done.plan.cut, done.summary, messages


def _probe(work: Work) -> Sequence[Any]:
    found = work.handed_on.verdict
    failed = [answer.probe.question for answer in found.failed]
    return found.score, len(found.answers), found.accepted, _json(failed)


def _cost(work: Work) -> Sequence[Any]:
    if work.session.source is None:
        return None, None, None, None
    ledger = ledger_of(work.session.source)
    total = ledger.total.tokens
    return total.input, total.output, total.cache_read, total.cache_write


def _rollout(work: Work) -> Sequence[Any]:
    """The session as it stood when its window was full, what a compaction made of it, and what of
    the time before it was used afterwards. A session that never fills its window has no rollout."""
    whole = work.sized
    usable = budget_for(whole, work.settings.window).usable
    sizes = accumulate(turn.tokens for turn in whole.turns)
    full = next((n for n, size in enumerate(sizes, 1) if size > usable * POLICY.begin), None)
    if full is None or full == len(whole.turns):
        return None, None, None, None, None
    before = replace(whole, turns=whole.turns[:full], pending=None)
    provider = work.settings.provider
    done = compact(before, budget_for(before, work.settings.window), provider=provider)
    contexts = [write(one, to=provider).messages for one in (before, view(before, done))]
    used = _used_later(before.turns, whole.turns[full:])
    return full, _json(contexts[0]), done.summary, _json(contexts[1]), _json(used)


def _used_later(before: Sequence[Turn], after: Sequence[Turn]) -> dict[str, list[str]]:
    """Files that calls name again, and commands that run again to the letter."""

    def named(turns: Sequence[Turn]) -> tuple[dict[str, None], dict[str, None]]:
        calls = [call for turn in turns for call in turn.tool_calls]
        commands = [call.parameters.get("command") for call in calls if call.verb == "run"]
        texts = (command for command in commands if isinstance(command, str))
        return dict.fromkeys(path for call in calls for path in call.paths()), dict.fromkeys(texts)

    (files, commands), (later_files, later_commands) = named(before), named(after)
    return {
        "files": [path for path in later_files if path in files],
        "commands": [command for command in later_commands if command in commands],
    }


def _export(work: Work) -> Sequence[Any]:
    written = write(work.transcript, to=work.settings.provider)
    tools = ((work.transcript.wire or {}).get("body") or {}).get("tools")
    values = (written.messages, written.system, tools, written.left_out)
    return [_json(value) for value in values]


def _plain(value: object) -> Any:
    return msgspec.to_builtins(value, str_keys=True)


def _json(value: object) -> str:
    return msgspec.json.encode(_plain(value)).decode()


COUNTED = frozenset({"stats", "cost"})
"""Tasks that never hold a session as a whole."""


def _columns(kind: str, names: str) -> tuple[Column, ...]:
    return tuple((name, kind) for name in names.split())


BASE = _columns("string", "source session sha256 format")
TASKS: Mapping[str, Task] = {
    "stats": Task(
        (
            *_columns("int64", "turns exchanges tool_calls failures agents host_compactions"),
            *(("tokens", "int64"), ("model", "string")),
        ),
        _stats,
    ),
    "anchors": Task((("anchor_count", "int64"), ("anchors", "string")), _anchors),
    "facts": Task((("fact_count", "int64"), ("facts", "string")), _facts),
    "summary": Task((("summary", "string"), ("summary_tokens", "int64")), _summary),
    "compact": Task(
        (
            *_columns("int64", "tokens_before tokens_after cut"),
            *_columns("string", "compaction context"),
        ),
        _compact,
    ),
    "probe": Task(
        (
            *(("score", "double"), ("probes", "int64"), ("accepted", "bool")),
            ("failed_probes", "string"),
        ),
        _probe,
    ),
    "cost": Task(
        _columns("int64", "input_tokens output_tokens cache_read_tokens cache_write_tokens"), _cost
    ),
    "rollout": Task(
        (
            ("full_at", "int64"),
            *_columns("string", "context_before rollout_summary context_after used_later"),
        ),
        _rollout,
    ),
    "export": Task(_columns("string", "messages system tools left_out"), _export),
}


def tasks_named(names: Sequence[str]) -> tuple[str, ...]:
    """Tasks by their names, each once, in the order of the table."""
    for name in names:
        if name not in TASKS:
            raise UnknownName("task", name, known=tuple(TASKS))
    return tuple(name for name in TASKS if name in names)


def columns_of(settings: TaskSettings) -> tuple[Column, ...]:
    return (*BASE, *(column for name in settings.tasks for column in TASKS[name].columns))


def row_of(session: InputSession, source: str, settings: TaskSettings) -> Row | None:
    """A session as a row; None where its format is not asked for."""
    work = Work(session, settings)
    format = (work.reading or work.transcript).format
    if settings.formats and format not in settings.formats:
        return None
    row: Row = dict(
        zip((name for name, _ in BASE), (source, session.name, session.sha256, format), strict=True)
    )
    for name in settings.tasks:
        task = TASKS[name]
        row.update(zip((column for column, _ in task.columns), task.row(work), strict=True))
    return row
