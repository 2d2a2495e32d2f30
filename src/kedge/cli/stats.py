"""`kedge stats`: what a session consists of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kedge.cli.output import FormatName, Json, Vocabulary, console, harmless, shown, write_json
from kedge.errors import NotATranscript, SourceUnreadable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from kedge.stats import Stats
    from kedge.tokens import ModelTokens

BAR_WIDTH = 28
"""Columns of the longest bar: the table stays within 80 columns."""
ABOUT_WIDTH = 52
"""Columns for the path or command of a large output, likewise."""
DIGITS_OF_AN_ESTIMATE = 3
"""More would claim to be known."""
DAMAGE_SHOWN = 8
"""Damaged places listed; `--json` has them all."""


def stats(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Sessions of any format; - for stdin.")
    ],
    json: Json = False,
    format: FormatName = None,
    vocabulary: Vocabulary = None,
) -> None:
    """Show what sessions consist of: turns, tool calls, tokens, earlier compactions, damage."""
    from kedge.reading import stream
    from kedge.settings import load_settings
    from kedge.stats import stats_of
    from kedge.tokens import counter_named

    settings = load_settings()
    counter = counter_named(vocabulary or settings.vocabulary)
    found: list[Stats] = []
    failed = 0
    for name in files:
        try:
            reading = stream(name, format=format)
            result = stats_of(
                reading, counter, largest=settings.largest_outputs, turns=shown(reading)
            )
        except (NotATranscript, SourceUnreadable) as error:
            typer.echo(f"kedge: {error}", err=True)
            failed = error.exit_code
            continue
        if json:
            write_json(as_json(result))
        found.append(result)
    if found and not json:
        _show(found, console())
    if failed:
        raise typer.Exit(failed)


def as_json(stats: Stats) -> dict[str, Any]:
    """The keys of `kedge stats --json`."""
    import msgspec

    values: dict[str, Any] = msgspec.to_builtins(stats)
    values["file"] = values.pop("name")
    values["tokens"] = {"total": stats.tokens.total, **values["tokens"]}
    values["session"] = {change.name: change.value for change in stats.session.changes}
    return values


def _show(found: list[Stats], out: Console) -> None:
    if len(found) == 1:
        _show_one(found[0], out)
    else:
        out.print(_overview(found))


def _show_one(stats: Stats, out: Console) -> None:
    from rich.text import Text

    heading = Text(harmless(stats.name), style="bold")
    out.print(Text("  ").join([heading, Text(stats.format), Text(_where(stats))]))
    out.print(_counts(stats))
    out.print()
    out.print(_bars("tokens", _token_rows(stats)))
    if stats.tool_calls["total"]:
        calls = {verb: count for verb, count in stats.tool_calls.items() if verb != "total"}
        out.print()
        out.print(_bars("tool calls", sorted(calls.items(), key=lambda item: -item[1])))
    if stats.largest_outputs:
        out.print()
        out.print(_largest(stats))
    for line in _remarks(stats):
        out.print(harmless(line), markup=False)


def _where(stats: Stats) -> str:
    """Model, branch and mode, as far as the session says."""
    facts = (stats.model, stats.session.latest("branch"), stats.session.latest("mode"))
    return harmless("  ".join(fact for fact in facts if fact))


def _counts(stats: Stats) -> str:
    words = [
        _number(stats.sessions, "session") if stats.sessions > 1 else "",
        _number(stats.turns, "turn"),
        _number(stats.exchanges, "exchange"),
        _number(stats.user_messages, "user message"),
        _number(stats.queued_messages, "queued message") if stats.queued_messages else "",
        _number(stats.tool_calls["total"], "tool call"),
        f"{stats.failures:,} failed" if stats.failures else "",
        f"{stats.refusals:,} refused" if stats.refusals else "",
    ]
    return " · ".join(word for word in words if word)


def _token_rows(stats: Stats) -> list[tuple[str, int]]:
    kinds = stats.tokens.__struct_fields__
    rows = [(kind.replace("_", " "), getattr(stats.tokens, kind)) for kind in kinds]
    return sorted((row for row in rows if row[1]), key=lambda row: -row[1])


def _bars(title: str, rows: list[tuple[str, int]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    total = sum(count for _, count in rows)
    most = max((count for _, count in rows), default=1)
    heading = Text(f"{title}: {total:,}")
    table = Table(box=None, pad_edge=False, title=heading, title_justify="left")
    for column in ("", "count", "share", ""):
        table.add_column(column, justify="left" if column == "" else "right")
    table.show_header = False
    for name, count in rows:
        bar = Text("█" * max(1, round(BAR_WIDTH * count / most)), style="cyan")
        table.add_row(Text(name), f"{count:,}", f"{count / total:.0%}", bar)
    return table


def _largest(stats: Stats) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, title="largest outputs", title_justify="left")
    table.show_header = False
    for justify in ("right", "right", "left", "left"):
        table.add_column(justify=justify, no_wrap=True, overflow="ellipsis")
    for output in stats.largest_outputs:
        about = harmless(" ".join(output.about.split()))
        shown = about if len(about) <= ABOUT_WIDTH else f"{about[: ABOUT_WIDTH - 1]}…"
        tool = Text(harmless(output.tool))
        table.add_row(f"{output.tokens:,}", f"t{output.turn}", tool, Text(shown))
    return table


def _remarks(stats: Stats) -> list[str]:
    """Everything out of the ordinary, one line each, after an empty one."""
    lines: list[str] = []
    for compaction in stats.compactions:
        before = f" from {compaction.tokens_before:,} tokens" if compaction.tokens_before else ""
        kind = "compacted" if compaction.kind == "summary" else compaction.kind.replace("_", " ")
        trigger = f" ({compaction.trigger})" if compaction.trigger else ""
        lines.append(f"{kind} by {compaction.by}{trigger} before t{compaction.turn}{before}")
    if stats.agents:
        lines.append(
            f"{_number(stats.agents, 'sub-agent')}: {_number(stats.agent_turns, 'turn')}, "
            f"{_number(stats.agent_tool_calls, 'tool call')}, {stats.agent_tokens:,} tokens"
        )
    if stats.rewound:
        lines.append(f"{_number(stats.rewound, 'turn')} rewound by the user, not counted above")
    if stats.pending:
        lines.append(f"pending: {' '.join(stats.pending.split())[:200]}")
    if stats.model_tokens:
        lines.append(_for_model(stats.model_tokens, reported=stats.calibration is not None))
    if stats.skipped_formats:
        names = ", ".join(stats.skipped_formats)
        lines.append(f"broken formats that could not be asked: {names}")
    if stats.ignored:
        kinds = ", ".join(f"{kind} ({count})" for kind, count in stats.ignored.items())
        lines.append(f"unknown records passed over: {kinds}")
    lines.extend(_damage(stats))
    return ["", *lines] if lines else []


def _for_model(found: ModelTokens, *, reported: bool) -> str:
    """What the session is to its own model, and how that is known."""
    if found.exact:
        return f"{found.total:,} tokens for {found.model} ({found.vocabulary}, exact)"
    about = round(found.total, DIGITS_OF_AN_ESTIMATE - len(str(found.total)))
    source = "from reported usage" if reported else "no usage reported"
    how = f"{found.vocabulary} × {found.factor:.2f}, {source}"
    return f"about {about:,} tokens for {found.model} ({how})"


def _damage(stats: Stats) -> list[str]:
    if not stats.damage_count:
        return []
    lines = [f"damage in {_number(stats.damage_count, 'place')}:"]
    lines.extend(
        f"  {f'{damage.file}, ' if damage.file else ''}line {damage.line}: "
        f"{damage.kind.replace('_', ' ')}, {damage.detail}"
        for damage in stats.damage[:DAMAGE_SHOWN]
    )
    if stats.damage_count > DAMAGE_SHOWN:
        lines.append(f"  … and {stats.damage_count - DAMAGE_SHOWN:,} more (--json lists them)")
    return lines


def _overview(found: list[Stats]) -> Table:
    from rich.table import Table
    from rich.text import Text

    names = ("file", "format", "turns", "exchanges", "calls", "tokens", "compactions", "damage")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in names:
        table.add_column(name, justify="left" if name in ("file", "format") else "right")
    for stats in found:
        table.add_row(
            Text(harmless(stats.name.rpartition("/")[2])),
            Text(stats.format),
            *(f"{number:,}" for number in _row(stats)),
        )
    totals = [sum(column) for column in zip(*map(_row, found), strict=True)]
    table.add_section()
    table.add_row(f"{len(found)} files", "", *(f"{total:,}" for total in totals), style="bold")
    return table


def _row(stats: Stats) -> tuple[int, ...]:
    return (
        stats.turns,
        stats.exchanges,
        stats.tool_calls["total"],
        stats.tokens.total,
        len(stats.compactions),
        stats.damage_count,
    )


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
