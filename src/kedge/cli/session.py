"""One session for a command: read, chosen, counted as its own model counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from kedge.cli.kept import is_file, opened_store, redactor, session_named
from kedge.cli.output import shown

if TYPE_CHECKING:
    from kedge.model import Budget, Transcript
    from kedge.tokens import Counter

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


File = Annotated[
    str, typer.Argument(help="A session of any format, - for stdin, or one that is kept.")
]
Session = Annotated[
    int | None, typer.Option(min=0, help="Which session, where the file holds several.")
]
Window = Annotated[
    int | None,
    typer.Option(
        parser=tokens_given,
        metavar="TOKENS",
        help="The model's context window, e.g. 200k; else what settings say.",
    ),
]
Overhead = Annotated[
    int,
    typer.Option(
        parser=tokens_given,
        metavar="TOKENS",
        help="Tokens of system prompt and tools that the session does not show.",
    ),
]
MaxOutput = Annotated[
    int | None,
    typer.Option(
        parser=tokens_given,
        metavar="TOKENS",
        help="Longest answer of the model; room for it is set aside.",
    ),
]


class Opened(NamedTuple):
    transcript: Transcript
    counter: Counter
    counted_as: str
    """What a token is here, for people."""


def opened(
    file: str,
    *,
    format: str | None,
    session: int | None,
    vocabulary: str | None,
    secrets: bool = False,
) -> Opened:
    """A session with its tokens counted: with the vocabulary asked for, else as its model has them,
    else as settings say."""
    from kedge.reading import counted
    from kedge.settings import load_settings
    from kedge.tokens import counter_for, counter_named

    transcript = given(file, format=format, session=session, secrets=secrets)
    model = transcript.session.latest("model") or _model(transcript)
    if vocabulary or not model:
        counter = counter_named(vocabulary or load_settings().vocabulary)
        return Opened(counted(transcript, counter), counter, counter.name)
    counter = counter_for(model)
    return Opened(counted(transcript, counter), counter, f"{counter.name} for {model}")


def given(
    file: str, *, format: str | None, session: int | None, secrets: bool = False
) -> Transcript:
    """The session of a file, or one that is kept, not counted. What reports are made from is
    without secrets; with `secrets`, it is as it was said."""
    from kedge.reading import collect, stream

    if is_file(file):
        reading = stream(file, format=format)
        transcript = reading.choose(collect(reading, turns=shown(reading)), session)
    else:
        transcript = session_named(file, opened_store(None)).transcript()
    return transcript if secrets else redactor().transcript(transcript)


class Room(NamedTuple):
    """A window, and what of it a compaction may spend."""

    window: int
    overhead: int
    """System prompt and tools, those of the session's own included."""
    max_output: int | None
    budget: Budget


def room_for(
    transcript: Transcript,
    counter: Counter,
    window: int | None,
    overhead: int,
    max_output: int | None,
) -> Room:
    from kedge.settings import load_settings
    from kedge.steps import budget_for
    from kedge.tokens import overhead_tokens

    size = load_settings().window if window is None else window
    budget = budget_for(transcript, size, counter=counter, overhead=overhead, max_output=max_output)
    return Room(size, overhead + overhead_tokens(transcript, counter), max_output, budget)


def known_provider(name: str | None) -> str:
    """The provider's name, or nothing; one that nobody knows is an error and no silent default."""
    from kedge.formats import load_provider

    return load_provider(name).name if name else ""


def _model(transcript: Transcript) -> str:
    return next((turn.model for turn in reversed(transcript.turns) if turn.model), "")
