"""Options and arguments that several commands take, under one name each, and groups of them.

A command may take a group (`Source`, `Limits` …) as one parameter: `expanded` shows its fields to
the command line as options and hands them over as one value."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, get_type_hints

import typer

MULTIPLES = {"k": 1_000, "m": 1_000_000}
"""Windows are spoken of as 200k and 1m."""
LEAST_WINDOW = 1_000
"""Tokens: no model has a smaller one, so that a smaller number is a slip of the hand."""


def tokens_given(text: str | int) -> int:
    """A number of tokens as people write it: 200000, 200_000, 200,000, 200k, 1m."""
    plain = str(text).strip().lower().replace("_", "").replace(",", "")
    number, unit = (plain[:-1], plain[-1:]) if plain[-1:] in MULTIPLES else (plain, "")
    try:
        found = float(number) * MULTIPLES.get(unit, 1)
    except ValueError:
        found = -1
    if not 0 <= found < 1e12:
        raise typer.BadParameter(f"{text!r} is no number of tokens; write 200000, 200k or 1m")
    return int(found)


def window_given(text: str | int) -> int:
    window = tokens_given(text)
    if window < LEAST_WINDOW:
        raise typer.BadParameter(
            f"a window of {window:,} tokens is smaller than any model's; write 32k, 200k or 1m"
        )
    return window


def option(help: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=help, **{"metavar": "TEXT", **more})


def flag(help: str, *names: str, **more: Any) -> Any:
    """An option that is there or not: its type would only be noise."""
    return typer.Option(*names, help=help, **{"metavar": "", **more})


def amount(help: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=help, **{"metavar": "N", **more})


def argument(help: str, **more: Any) -> Any:
    return typer.Argument(help=help, **more)


def tokens_option(help: str, *names: str) -> Any:
    """An option that takes a number of tokens."""
    return option(help, *names, parser=tokens_given, metavar="TOKENS")


PROVIDERS = "anthropic, openai-chat, openai-responses or gemini"
Json = Annotated[bool, flag("Write JSON, one object a line, instead of text.", "--json")]
Vocabulary = Annotated[
    str | None,
    option("Count with model (the session's own), o200k, cl100k or estimate.", metavar="NAME"),
]
FormatName = Annotated[
    str | None,
    option("Read as this format instead of recognising it.", "--format", metavar="NAME"),
]
File = Annotated[
    str,
    argument(
        "A session of any format, - for stdin, or one that is kept: its name, or how that begins.",
        metavar="FILE",
    ),
]
SessionNumber = Annotated[
    int | None, amount("Which session, where the file holds several.", "--session", min=0)
]
SessionName = Annotated[
    str, argument("A session that is kept: its name, or how that begins.", metavar="SESSION")
]
StorePlace = Annotated[
    str | None,
    option(
        "Where sessions are kept: a folder, or postgresql://…; else what settings say.",
        "--store",
        metavar="PLACE",
    ),
]
Window = Annotated[
    int | None,
    option(
        "The model's context window, e.g. 200k; else what settings say, or the model's own.",
        "--window",
        parser=window_given,
        metavar="TOKENS",
    ),
]
Overhead = Annotated[
    int, tokens_option("Tokens of system prompt and tools that the session does not show.")
]
Provider = Annotated[
    str | None,
    option(
        f"Where the context will be sent: {PROVIDERS}. "
        "Without it the cut keeps to the rules of all.",
        "--to",
        metavar="PROVIDER",
    ),
]


class Source(NamedTuple):
    """The session that a command reads, and how."""

    file: File
    format: FormatName = None
    session: SessionNumber = None
    vocabulary: Vocabulary = None
    store: StorePlace = None


class Limits(NamedTuple):
    """What a compaction may spend."""

    window: Window = None
    overhead: Overhead = 0


Command = Callable[..., Any]


def expanded(command: Command) -> Command:
    """The command with the fields of its groups as parameters of its own."""
    hints = get_type_hints(command, include_extras=True)
    signature = inspect.signature(command)
    groups: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        hint = hints[name]
        if not (isinstance(hint, type) and issubclass(hint, tuple)):
            parameters.append(parameter.replace(annotation=hint))
            continue
        groups[name] = hint
        for field, annotation in get_type_hints(hint, include_extras=True).items():
            default = hint._field_defaults.get(field, inspect.Parameter.empty)  # type: ignore[attr-defined]
            kind = inspect.Parameter.KEYWORD_ONLY
            parameters.append(
                inspect.Parameter(field, kind, default=default, annotation=annotation)
            )

    def run(**given: Any) -> Any:
        for name, group in groups.items():
            given[name] = group(**{field: given.pop(field) for field in group._fields})
        try:
            return command(**given)
        except BrokenPipeError as error:  # the reader has seen enough: all is well
            raise typer.Exit(0) from error

    kinds = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {one.name: one.annotation for one in kinds}
    run.__signature__ = inspect.Signature(kinds)  # type: ignore[attr-defined]
    return run
