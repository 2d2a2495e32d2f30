"""Writes docs/command-line.md from the commands, docs/reference.md from the public names, the
numbers of the policy into docs/triggers.md, the rations and criteria of probes into docs/probes.md,
and those of the front page into README.md; `make docs` runs it, tests compare."""

from __future__ import annotations

import ast
import inspect
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import typer.main

import kedgeline
from docs import api, headline
from kedgeline.cli.main import app
from kedgeline.pipeline.handoff import summarize
from kedgeline.planning.policy import POLICY, Policy
from kedgeline.probes.criteria import CRITERIA, EVERY, TARGETS, Criterion
from kedgeline.probes.making import RATIONS
from kedgeline.summary import handoff
from kedgeline.tokens import EXACT

ROOT = Path(__file__).parents[1]
SUMMARY = Path(__file__).with_name("summary.md")
EXAMPLES = ROOT / "examples"
TARGET = Path(__file__).with_name("command-line.md")
TRIGGERS = Path(__file__).with_name("triggers.md")
PROBES = Path(__file__).with_name("probes.md")
NAMES = Path(__file__).with_name("reference.md")
WINDOW = Path(__file__).with_name("pictures") / "window.svg"
NARROW_WINDOW = WINDOW.with_name("window-narrow.svg")
FRONT = ROOT / "README.md"
INTRODUCTION = """# The command line

Written by `make docs` from the commands themselves.

Data goes to stdout, everything else to stderr. Every command has `--json`: one JSON object, or one
a line where there are several; its keys are in [json.md](json.md). `-` reads stdin. `NO_COLOR` is
respected. `kedgeline --install-completion` sets up completion for your shell. Whatever takes longer
than a second shows its progress on stderr: on a terminal in a line that changes, in a file as a
line every five seconds.

## Exit codes

| exit code | meaning |
|--:|---|
| 0 | done |
| 1 | the work failed |
| 2 | wrong usage, settings or names |
| 3 | the input cannot be read, or is no transcript |
| 130 | interrupted |
"""


def reference() -> str:
    root = typer.main.get_command(app)
    return INTRODUCTION + "".join(
        _section(name, command) for name, command in commands(root, "kedgeline")
    )


def commands(command: Any, name: str) -> list[tuple[str, Any]]:
    """Every command below this one, by its full name."""
    inner = getattr(command, "commands", None)
    if not inner:
        return [(name, command)]
    return [found for key in sorted(inner) for found in commands(inner[key], f"{name} {key}")]


def _section(name: str, command: Any) -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and p.name != "help"]
    usage = " ".join([name, *(f"{a.metavar or a.name.upper()}" for a in arguments), "[OPTIONS]"])
    rows = [(f"`{a.metavar or a.name.upper()}`", a.help or "") for a in arguments]
    rows += [(f"`{', '.join(o.opts)}`", _described(o)) for o in options]
    table = "\n".join(f"| {left} | {right} |" for left, right in rows)
    help_text = (command.help or "").strip()
    return f"\n## {name}\n\n{help_text}\n\n```\n{usage}\n```\n\n| | |\n|---|---|\n{table}\n"


def _described(option: Any) -> str:
    default = option.default
    shown = (
        isinstance(default, (int, str))
        and not isinstance(default, bool)
        and default not in ("", ".")
    )
    return f"{option.help or ''}{f' Default: {default}.' if shown else ''}"


def triggers(page: str) -> str:
    """The page with the table of the policy's numbers in its place."""
    return with_table(page, "policy", policy_table())


def probes(page: str) -> str:
    """The page with the tables of rations and criteria in their places."""
    rationed = with_table(page, "rations", rations_table())
    return with_table(rationed, "criteria", criteria_table())


def front(page: str) -> str:
    """The front page with the few numbers of the measurements in their place."""
    return with_table(page, "bench:headline", headline.headline_table(headline.headline()))


def with_table(page: str, name: str, table: str) -> str:
    block = f"<!-- {name} -->\n{table}\n<!-- /{name} -->"
    return re.sub(rf"<!-- {name} -->.*?<!-- /{name} -->", lambda _: block, page, flags=re.DOTALL)


def rations_table() -> str:
    """The length of a text for which one probe of a matter is asked."""
    rows = ["| matter | one probe for each … tokens | behind the first |", "|---|--:|--:|"]
    rows += [
        f"| `{matter}` | {ration.each:,} | {ration.behind:,} |"
        for matter, ration in sorted(RATIONS.items())
    ]
    return "\n".join(rows)


def criteria_table() -> str:
    """Every criterion of every dimension, with what it looks at."""
    rows = [
        "| dimension | target | criterion | weight | asks | counts probes about |",
        "|---|--:|---|--:|---|---|",
    ]
    for name, target in TARGETS.items():
        own = [one for one in CRITERIA if one.dimension == name]
        for place, one in enumerate(own):
            first = (name.replace("_", " "), f"{target:.1f}") if not place else ("", "")
            cells = (*first, f"`{one.name}`", f"{one.weight:g}", one.asks, _counted(one))
            rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _counted(criterion: Criterion) -> str:
    if criterion.matters == EVERY:
        return "everything"
    types = [f"all of type {name}" for name in criterion.types]
    return ", ".join((*criterion.matters, *types)) or "none; it is measured on the text"


def policy_table() -> str:
    """Every number of the policy; the strings under the fields say unit and reason."""
    body = ast.parse(inspect.getsource(Policy)).body[0].body  # type: ignore[attr-defined]
    rows = ["| number | default | unit | reason |", "|---|--:|---|---|"]
    for field, text in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
            name = ast.unparse(field.target)
            unit, _, reason = " ".join(ast.literal_eval(text.value).split()).partition(". ")
            value = getattr(POLICY, name)
            shown = f"{100 * value:g} %" if isinstance(value, float) else f"{value:,}"
            rows.append(f"| `{name}` | {shown} | {unit.lower()} | {reason} |")
    return "\n".join(rows)


def summaries(page: str) -> str:
    """The page with samples before and after in their places: `<!-- sample:FILE:TOKENS -->`."""

    def filled(found: re.Match[str]) -> str:
        name, tokens = found[1], int(found[2])
        return (
            f"<!-- sample:{name}:{tokens} -->\n{before_and_after(name, tokens)}\n<!-- /sample -->"
        )

    return re.sub(
        r"<!-- sample:([\w.-]+):(\d+) -->.*?<!-- /sample -->", filled, page, flags=re.DOTALL
    )


def before_and_after(name: str, tokens: int) -> str:
    """What a sample session consists of, and its summary in so many tokens."""
    transcript = kedgeline.read(EXAMPLES / name)
    size = sum(turn.tokens for turn in transcript.turns)
    text = handoff(summarize(transcript), tokens, EXACT.count)
    calls = sum(len(turn.tool_calls) for turn in transcript.turns)
    return (
        f"Before: `examples/{name}`, {len(transcript.turns)} turns, {calls} tool calls, {size:,} "
        f"tokens. After: {EXACT.count(text):,} tokens.\n\n~~~~markdown\n{text}\n~~~~"
    )


if __name__ == "__main__":
    NAMES.write_text(api.reference(), "utf-8")
    WINDOW.write_text(headline.window_picture(headline.headline()), "utf-8")
    NARROW_WINDOW.write_text(headline.narrow_window_picture(headline.headline()), "utf-8")
    FRONT.write_text(front(FRONT.read_text("utf-8")), "utf-8")
    SUMMARY.write_text(summaries(SUMMARY.read_text("utf-8")), "utf-8")
    TARGET.write_text(reference(), "utf-8")
    TRIGGERS.write_text(triggers(TRIGGERS.read_text("utf-8")), "utf-8")
    PROBES.write_text(probes(PROBES.read_text("utf-8")), "utf-8")
