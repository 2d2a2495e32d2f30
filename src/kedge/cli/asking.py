"""Language models for a command: which one, under which terms, and a line while it is asked."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from kedge.cli.output import console

if TYPE_CHECKING:
    from rich.status import Status

    from kedge.model import Ask, ModelCall, Rates, Reply, Usage
    from kedge.models import Meter, Model, Terms
    from kedge.settings import Settings

ModelName = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help="Language model, as openai:…, anthropic:… or 'command:PROGRAM ARGUMENTS'; off for "
        "none, whatever settings say.",
    ),
]
OFF = "off"
"""Asks for no model where settings name one, in any case."""
SIGNALS = ("SIGTERM", "SIGHUP")
"""What ends a program from outside; some systems lack the second."""


class Asking(NamedTuple):
    """A model that a command asks."""

    name: str
    model: Model
    terms: Terms

    def meter(self) -> Meter:
        """For what it uses apart from a session."""
        from kedge.models import Meter
        from kedge.tokens import EXACT

        return Meter(self.terms, count=EXACT.count)


def asking(given: str | None, role: Literal["model", "judge"]) -> Asking | None:
    """The model that is given, or else the one that settings name for this role; none where there
    is none. One that nobody knows is an error before any work."""
    from dataclasses import replace

    from kedge.settings import load_settings

    settings = load_settings()
    name = getattr(settings, role) if given is None else given
    if name.strip().lower() in ("", OFF):
        return None
    from kedge.models import model_named, name_of
    from kedge.telemetry import watched

    terms = terms_of(settings)
    if role == "judge":  # it is asked as often as there are probes: each request has its own time
        terms = replace(terms, seconds=0.0)
    model = model_named(name)
    known_as = name_of(model)  # what is typed may hold more than is to stand in reports
    return Asking(known_as, watched(model, known_as), terms)


def terms_of(settings: Settings) -> Terms:
    from kedge.models import Terms

    return Terms(
        window=settings.model_window,
        call_seconds=settings.model_call_seconds,
        seconds=settings.model_seconds,
        tokens=settings.model_tokens,
        cost=settings.model_cost,
        rates=rates,
    )


def rates(model: str) -> Rates | None:
    """What a model costs; nothing is known of it where the prices are not installed."""
    from kedge.economy import rates_of
    from kedge.economy.prices import is_installed

    return rates_of(model) if is_installed() else None


@contextmanager
def shown(asked: Asking) -> Iterator[Model]:
    """The model, with a line on stderr that counts its requests where a person is watching. Where
    the command is told to end meanwhile, what the model has started ends too."""
    with _ending():
        if not sys.stderr.isatty():
            yield asked.model
            return
        with console(stderr=True).status(f"asking {asked.name}") as status:
            yield _Counted(asked, status)


@contextmanager
def _ending() -> Iterator[None]:
    """A signal to end becomes an ordinary end, which leaves nothing running: a program that a model
    is has a session of its own, and would not get the signal. Who has other plans for one keeps
    them; so does who runs this in a thread, where none can be made."""
    import signal
    from threading import current_thread, main_thread

    def end(number: int, _: object) -> None:
        sys.exit(128 + number)  # as a shell tells that a signal ended it

    ours = [getattr(signal, name) for name in SIGNALS if hasattr(signal, name)]
    ours = [one for one in ours if signal.getsignal(one) == signal.SIG_DFL]
    if current_thread() is not main_thread():
        ours = []
    try:
        for one in ours:
            signal.signal(one, end)
        yield
    finally:
        for one in ours:
            signal.signal(one, signal.SIG_DFL)


class _Counted:
    def __init__(self, asked: Asking, status: Status) -> None:
        self.name, self._model, self._status = asked.name, asked.model, status
        self._requests = 0

    def __call__(self, ask: Ask, /) -> Reply:
        self._requests += 1
        self._status.update(f"asking {self.name}: request {self._requests}")
        return self._model(ask)


def cost_of(model: str, usage: Usage) -> float | None:
    """In US dollars; none where a price is not known."""
    from kedge.economy.prices import cost_of as priced
    from kedge.model.rates import bare_name

    cost = priced(usage, rates(bare_name(model)), model=model)
    return None if cost.unknown else cost.amount


def total(calls: tuple[ModelCall, ...]) -> tuple[Usage, float | None]:
    """What calls used together, and what that costs where every price is known."""
    from kedge.model import Usage

    used = Usage()
    costs: list[float | None] = []
    for call in calls:
        used += call.usage
        costs.append(cost_of(call.model, call.usage))
    known = [one for one in costs if one is not None]
    return used, sum(known) if len(known) == len(costs) else None


def call_as_json(call: ModelCall) -> dict[str, Any]:
    """One of the `calls` that commands tell of."""
    import msgspec

    return {**msgspec.to_builtins(call), "cost": cost_of(call.model, call.usage)}


def spent_in_short(calls: tuple[ModelCall, ...]) -> str:
    """What calls took, in a few words."""
    used, cost = total(calls)
    failed = sum(bool(call.failure) for call in calls)
    told = f"{len(calls):,} request{'' if len(calls) == 1 else 's'}"
    told += f" ({failed:,} without a reply)" if failed else ""
    if failed == len(calls):
        return told
    about = "about " if any(call.estimated and not call.failure for call in calls) else ""
    price = f", ${cost:.4f}" if cost is not None else ""
    return f"{told}, {about}{used.context:,} tokens sent and {used.output:,} written{price}"
