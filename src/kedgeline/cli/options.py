"""Options and arguments that several commands take."""

from __future__ import annotations

from typing import Annotated, Any

import typer

MULTIPLES = {"k": 1_000, "m": 1_000_000}
"""Windows are spoken of as 200k and 1m."""


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


def option(help: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=help, **more)


def argument(help: str, **more: Any) -> Any:
    return typer.Argument(help=help, **more)


def tokens_option(help: str, *names: str) -> Any:
    """An option that takes a number of tokens."""
    return option(help, *names, parser=tokens_given, metavar="TOKENS")


Json = Annotated[bool, option("Write JSON, one object a line, instead of text.", "--json")]
Vocabulary = Annotated[
    str | None, option("Count with model (the session's own), o200k, cl100k or estimate.")
]
FormatName = Annotated[
    str | None, option("Read as this format instead of recognising it by content.", "--format")
]
File = Annotated[str, argument("A session of any format, - for stdin, or one that is kept.")]
SessionNumber = Annotated[int | None, option("Which session, where the file holds several.", min=0)]
SessionName = Annotated[str, argument("A session that is kept.", metavar="SESSION")]
StorePlace = Annotated[
    str | None,
    option(
        "Where sessions are kept: a folder, or postgresql://…; else what settings say.",
        "--store",
        metavar="PLACE",
    ),
]
Window = Annotated[
    int | None, tokens_option("The model's context window, e.g. 200k; else what settings say.")
]
Overhead = Annotated[
    int, tokens_option("Tokens of system prompt and tools that the session does not show.")
]
MaxOutput = Annotated[
    int | None, tokens_option("Longest answer of the model; room for it is set aside.")
]
PROVIDERS = "anthropic, openai-chat, openai-responses or gemini"
Provider = Annotated[
    str | None,
    option(
        f"Where the context will be sent: {PROVIDERS}. "
        "Without it the cut keeps to the rules of all."
    ),
]
