"""Options and arguments of commands, read from the `Args:` of a command's docstring.

    Args:
        file <FILE>: An argument, as it is shown in angle brackets.
        limit N>=1: An option `--limit`, of the type that the parameter has.
        first --from N>=0: One whose name is not the parameter's.
        full: A flag.

What several commands take stands once, in `SHARED`; a command's own words come first. A
parameter may be a group (`Source`, `WindowSize` …): its fields become options, and one value is
handed over."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, get_origin, get_type_hints

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

PROVIDERS = "anthropic, openai-chat, openai-responses or gemini"
SHARED = """
    Args:
        agent ID: Name of the agent; else that of the settings, or your own.
        bank FOLDER: The bank's folder; else as settings say, or `memory-bank` here or in a folder
            above.
        dry_run: Show what would change, and write nothing.
        file <FILE>: A session file of any format, - for stdin, or a kept session: its name, or the
            beginning of it.
        format NAME: Read as this format instead of detecting it.
        host <HOST>: claude-code, codex, gemini-cli, opencode, hermes, pi, openclaw or cline.
        json: Write JSON, one object a line, instead of text.
        model NAME: Language model, as openai:…, anthropic:… or 'command:PROGRAM ARGUMENTS'; off
            for none, whatever settings say.
        overhead TOKENS: Tokens of a system prompt and tools that are not in the session.
        port N>=0<=65535: Port of this machine; 0 takes any.
        product NAME: The product the task belongs to, for the session file.
        project: For the project around this folder, instead of for you.
        root FOLDER: Folder that holds the products.
        session <SESSION>: A kept session: its name, or the beginning of it.
        session_budget TOKENS: Tokens it may use: 500k.
        session_tokens TOKENS: Tokens a session has used so far, for the trigger on its budget.
        store PLACE: Where sessions are kept: a folder, or postgresql://…; else as settings say.
        style NAME: Form of the summary: anchored, or outcomes.
        to PROVIDER: Where the context will be sent: anthropic, openai-chat, openai-responses or
            gemini. Without it the rules of all of them are kept.
        vocabulary NAME: Count with model (the session's own), o200k, cl100k or estimate.
        window WINDOW: The model's context window, e.g. 200k; else as settings say, or the model's
            own.
    """

# Numbers as people write them.

MULTIPLES = {"k": 1_000, "m": 1_000_000}
"""Windows are spoken of as 200k and 1m."""
LEAST_WINDOW = 1_000
"""Tokens: no model has a smaller one, so that a smaller number is a slip of the hand."""
DAYS = {"h": 1 / 24, "d": 1.0, "w": 7.0, "y": 365.0}
BYTES = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_AGE = re.compile(r"(\d{1,6}(?:\.\d+)?)\s*([hdwy]?)")
_SIZE = re.compile(r"(\d{1,12}(?:\.\d+)?)\s*([kmgt]?b?)")


def tokens_given(text: str | int) -> int:
    """A number of tokens as people write it: 200000, 200_000, 200,000, 200k, 1m."""
    plain = str(text).strip().lower().replace("_", "").replace(",", "")
    number, unit = (plain[:-1], plain[-1:]) if plain[-1:] in MULTIPLES else (plain, "")
    try:
        found = float(number) * MULTIPLES.get(unit, 1)
    except ValueError:
        found = -1
    if not 0 <= found < 1e12:
        raise typer.BadParameter(f"{text!r} is not a number of tokens; write 200000, 200k or 1m")
    return int(found)


def window_given(text: str | int) -> int:
    window = tokens_given(text)
    if window < LEAST_WINDOW:
        raise typer.BadParameter(
            f"a window of {window:,} tokens is smaller than any model's; write 32k, 200k or 1m"
        )
    return window


def days_given(text: str | float) -> float:
    found = _AGE.fullmatch(str(text).strip().lower())
    if found is None:
        raise typer.BadParameter(f"{text!r} is not a time; write 36h, 90d, 12w or 1y")
    return float(found[1]) * DAYS[found[2] or "d"]


def bytes_given(text: str | int) -> int:
    found = _SIZE.fullmatch(str(text).strip().lower())
    if found is None:
        raise typer.BadParameter(f"{text!r} is not a size; write 500kB, 100MB or 2GB")
    unit = found[2] if found[2] in BYTES else f"{found[2]}b"
    return int(float(found[1]) * BYTES[unit])


PARSERS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "TOKENS": ("TOKENS", tokens_given),
    "WINDOW": ("TOKENS", window_given),
    "AGE": ("TIME", days_given),
    "SIZE": ("SIZE", bytes_given),
}
"""By the word that stands for a value: how it is shown, and what reads it."""

# What a shell completes: what a parameter may be, by its name.


def _session_names() -> list[str]:
    from contextlib import closing

    from kedgeline.cli.opening import configured_store

    with closing(configured_store(None)) as store:
        return [one.name for one in store.sessions()]


def _format_names() -> list[str]:
    from kedgeline.formats import format_names

    return list(format_names())


def _host_names() -> list[str]:
    from kedgeline.hosts.install import HOSTS

    return [host.name for host in HOSTS]


CHOICES: dict[str, Callable[[], list[str]]] = {
    **dict.fromkeys(("session", "file", "files", "sources"), _session_names),
    "format": _format_names,
    "host": _host_names,
    "to": lambda: ["anthropic", "openai-chat", "openai-responses", "gemini"],
    "vocabulary": lambda: ["model", "o200k", "cl100k", "estimate"],
}


def _completion(name: str) -> Callable[[str], list[str]] | None:
    def complete(incomplete: str) -> list[str]:
        try:
            return [one for one in CHOICES[name]() if one.startswith(incomplete)]
        except Exception:  # noqa: BLE001 (a shell shows what is printed in the middle of a line)
            return []

    return complete if name in CHOICES else None


# Commands whose help says no types: what stands for a value says more.


class _Quiet:
    def get_params(self, ctx: Any) -> Any:
        found = super().get_params(ctx)  # type: ignore[misc]
        for one in found:
            if isinstance(one, TyperArgument):
                one.display_type_rich = lambda ctx: None  # type: ignore[method-assign]
            elif isinstance(one, TyperOption) and one.is_flag:
                one.metavar = ""
        return found


class QuietCommand(_Quiet, TyperCommand):
    pass


class QuietGroup(_Quiet, TyperGroup):
    pass


def option(help: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=help, **{"metavar": "TEXT", **more})


def flag(help: str, *names: str, **more: Any) -> Any:
    """An option that is there or not: its type would only be noise."""
    return option(help, *names, **{"metavar": "", **more})


def argument(help: str, **more: Any) -> Any:
    return typer.Argument(help=help, **more)


# Groups.


class SessionSource(NamedTuple):
    """The session that a command reads, and how.

    Args:
        session N>=0: Which session, where the file holds several.
    """

    file: str
    format: str | None = None
    session: int | None = None
    vocabulary: str | None = None
    store: str | None = None


class WindowSize(NamedTuple):
    """What a compaction may spend."""

    window: int | None = None
    overhead: int = 0


# From docstrings.

Command = Callable[..., Any]
_ARG = re.compile(r"(\w+)((?: --[\w,/-]+)?)(?: <(.+?)>| ([A-Z][\w=:]*)((?:[<>]=[\d.]+)*))?: (.*)")

_LINE_END = re.compile(r"(?<=\S)\n(?=[^\s-])")
"""Of a line that is not the last of its paragraph, nor one before a list: the screen decides where
lines end."""


def described(docstring: str | None) -> tuple[str, dict[str, Any]]:
    """A docstring without its `Args:`, a line a paragraph, and these by the names of parameters, as
    Typer has them."""
    text, _, rest = (docstring or "").partition("\n    Args:\n")
    text = _LINE_END.sub(" ", inspect.cleandoc(text))
    lines: list[str] = []
    for line in rest.splitlines():
        if line.startswith(" " * 12) and lines:
            lines[-1] += f" {line.strip()}"
        elif line.strip():
            lines.append(line.strip())
    return text, {name: made for name, made in map(_option_of, lines)}


def _option_of(line: str) -> tuple[str, Any]:
    found = _ARG.fullmatch(line)
    assert found is not None, line
    name, flags, shown, value, bounds, help = found.groups()
    if shown is not None:
        return name, argument(help, metavar=shown, autocompletion=_completion(name))
    names = (flags.strip() or f"--{name.replace('_', '-')}").split(",")
    if value is None:
        return name, flag(help, *names)
    more: dict[str, Any] = {"min": None, "max": None, "autocompletion": _completion(name)}
    for sign, number in re.findall(r"([<>])=([\d.]+)", bounds):
        more["min" if sign == ">" else "max"] = float(number) if "." in number else int(number)
    metavar, parser = PARSERS.get(value, (value, None))
    return name, option(help, *names, metavar=metavar, parser=parser, **more)


_SHARED = described(SHARED)[1]


def expanded(command: Command) -> Command:
    """The command with the fields of its groups as parameters of its own, and all of them as
    options of the command line."""
    groups: dict[str, Any] = {}
    kinds: list[inspect.Parameter] = []

    def add(of: Any, fields: dict[str, Any], defaults: dict[str, Any]) -> None:
        own = described(of.__doc__)[1]
        for name, hint in fields.items():
            if isinstance(hint, type) and issubclass(hint, tuple):
                groups[name] = hint
                inner = get_type_hints(hint, include_extras=True)
                add(hint, inner, hint._field_defaults)  # type: ignore[attr-defined]
                continue
            default = defaults.get(name, inspect.Parameter.empty)
            if get_origin(hint) is not Annotated:
                hint = Annotated[hint, own.get(name) or _SHARED[name]]
            kind = inspect.Parameter.KEYWORD_ONLY
            kinds.append(inspect.Parameter(name, kind, default=default, annotation=hint))

    signature = inspect.signature(command)
    hints = get_type_hints(command, include_extras=True)
    given = {name: one.default for name, one in signature.parameters.items()}
    add(command, {name: hints[name] for name in signature.parameters}, given)

    def run(**given: Any) -> Any:
        from kedgeline.cli.opening import located

        for name, group in groups.items():
            given[name] = group(**{field: given.pop(field) for field in group._fields})
            if group is SessionSource:
                given[name] = located(given[name])
        try:
            return command(**given)
        except BrokenPipeError as error:  # the reader has seen enough: all is well
            raise typer.Exit(0) from error

    run.__name__, run.__doc__ = command.__name__, described(command.__doc__)[0]
    run.__annotations__ = {one.name: one.annotation for one in kinds}
    run.__signature__ = inspect.Signature(kinds)  # type: ignore[attr-defined]
    return run


def register(to: typer.Typer, command: Command, example: str, panel: str | None = None) -> None:
    """Make it a command, with what is typed behind `kedgeline` as the example in its help. One
    whose name is taken, by what it runs or by Python, is called `…_command`."""
    name = command.__name__.removesuffix("_command").replace("_", "-")
    made = expanded(command)
    help = f"{made.__doc__}\n\nExample: `kedgeline {example}`"
    to.command(name, cls=QuietCommand, help=help, rich_help_panel=panel)(made)
