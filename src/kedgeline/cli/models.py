"""Language models for a command: which one, under which terms, what it is sent and what it did."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import msgspec

from kedgeline.cli.options import option
from kedgeline.cli.output import console, fields, say, shorten, write_json
from kedgeline.settings import load_settings

if TYPE_CHECKING:
    from rich.status import Status

    from kedgeline.model import Ask, ModelCall, Rates, Reply, Usage, Wording
    from kedgeline.models import Meter, Model, Terms

ModelName = Annotated[
    str | None,
    option(
        "Language model, as openai:…, anthropic:… or 'command:PROGRAM ARGUMENTS'; off for "
        "none, whatever settings say.",
        "--model",
        metavar="NAME",
    ),
]
SIGNALS = ("SIGTERM", "SIGHUP")
"""What ends a program from outside; some systems lack the second."""
NAME = 60
"""Characters of a model's name for people: that of one at an address of its own may be long."""


class Asking(NamedTuple):
    """A model that a command asks."""

    name: str
    model: Model
    terms: Terms

    def meter(self) -> Meter:
        """For what it uses apart from a session."""
        from kedgeline.models import Meter
        from kedgeline.tokens import EXACT

        return Meter(self.terms, count=EXACT.count)


def choose_model(given: str | None, role: Literal["model", "judge"]) -> Asking | None:
    """The model that is given, or else the one that settings name for this role; none where there
    is none. One that nobody knows is an error before any work."""
    settings = load_settings()
    name = getattr(settings, role) if given is None else given
    if name.strip().lower() in ("", "off"):
        return None
    from kedgeline.models import Terms, model_named, name_of
    from kedgeline.pipeline.telemetry import watched

    terms = Terms(
        window=settings.model_window,
        call_seconds=settings.model_call_seconds,
        # A judge is asked as often as there are probes: each request has its own time.
        seconds=0.0 if role == "judge" else settings.model_seconds,
        tokens=settings.model_tokens,
    )
    model = model_named(name)
    known_as = name_of(model)  # what is typed may hold more than is to stand in reports
    return Asking(known_as, watched(model, known_as), terms)


def rates(model: str) -> Rates | None:
    """What a model costs; nothing is known of it where the prices are not installed."""
    from kedgeline.economy import rates_of
    from kedgeline.economy.ledger import is_installed

    return rates_of(model) if is_installed() else None


@contextmanager
def watch_model(asked: Asking) -> Iterator[Model]:
    """The model, with a line on stderr that counts its requests where a person is watching. Where
    the command is told to end meanwhile, what the model has started ends too."""
    with _end_on_signals():
        if not sys.stderr.isatty():
            yield asked.model
            return
        with console(stderr=True).status(f"asking {asked.name}") as status:
            yield _Counted(asked, status)


@contextmanager
def _end_on_signals() -> Iterator[None]:
    """A signal to end becomes an ordinary end, which leaves nothing running: a program that a model
    is has a session of its own, and would not get the signal. Handlers that others have set stay;
    in a thread none can be set."""
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


@contextmanager
def trace() -> Iterator[None]:
    """Spans of the compactions and requests within it, where settings ask for them. A collector
    that cannot be reached is said on stderr and changes nothing else."""
    if not load_settings().telemetry:
        yield
        return
    from kedgeline.pipeline.telemetry import start

    sending = start()
    try:
        yield
    finally:
        if lost := sending.finish():
            say(f"warning: {lost}")


def cost_of(model: str, usage: Usage) -> float | None:
    """In US dollars; none where a price is not known."""
    from kedgeline.economy.ledger import cost_of as price
    from kedgeline.model.ask import bare_name

    cost = price(usage, rates(bare_name(model)), model=model)
    return None if cost.unknown else cost.amount


def call_as_json(call: ModelCall) -> dict[str, Any]:
    """One of the `calls` that commands tell of."""
    return {**msgspec.to_builtins(call), "cost": cost_of(call.model, call.usage)}


def wording_as_json(wording: Wording | None) -> dict[str, Any] | None:
    """The key `wording` of `kedgeline compact --json`."""
    if wording is None:
        return None
    return {
        **fields(wording, "model outcome taken fallback why not_taken"),
        "dropped": [fields(one, "text why") for one in wording.dropped],
        "calls": [call_as_json(call) for call in wording.calls],
        "prompts": wording.prompts,
    }


def report_wording(wording: Wording) -> None:
    """What was taken of a model's words and what was not, for people."""
    parts = [f"{wording.taken:,} entries of {shorten(wording.model, NAME)} taken"]
    if wording.dropped:
        counts = Counter(one.why for one in wording.dropped)
        why = ", ".join(f"{count:,} {reason}" for reason, count in counts.most_common())
        parts.append(f"{wording.not_taken:,} not ({why})")
    if wording.calls:
        parts.append(_spent(wording.calls))
    say(f"model: {'; '.join(parts)}")


def _spent(calls: tuple[ModelCall, ...]) -> str:
    """What calls took, in a few words."""
    from kedgeline.model import Usage

    failed = sum(bool(call.failure) for call in calls)
    told = f"{len(calls):,} request{'' if len(calls) == 1 else 's'}"
    told += f" ({failed:,} without a reply)" if failed else ""
    if failed == len(calls):
        return told
    used = sum((call.usage for call in calls), Usage())
    cost = _sum([cost_of(call.model, call.usage) for call in calls])
    about = "about " if any(call.estimated and not call.failure for call in calls) else ""
    price = f", ${cost:.4f}" if cost is not None else ""
    return f"{told}, {about}{used.context:,} tokens sent and {used.output:,} written{price}"


def rehearse(asks: Sequence[Ask], asked: Asking, *, json: bool) -> None:
    """What would be sent, a line for each request."""
    meter = asked.meter()
    needs = [meter.needs(ask) for ask in asks]
    costs = [cost_of(asked.name, need) for need in needs]
    total, repaired = _sum(costs), _sum([*costs, *costs])
    sent = sum(need.input for need in needs)
    if json:
        requests = [
            {"tokens": need.input, "most_reply_tokens": need.output, "cost": cost}
            for need, cost in zip(needs, costs, strict=True)
        ]
        summed = {"tokens": sent, "cost": total, "repaired_cost": repaired}
        write_json({"model": asked.name, "requests": requests, **summed})
        return
    if not needs:
        console().print("nothing would be folded, so that nothing would be sent")
        return
    from rich.table import Table

    table = Table(title=f"what {shorten(asked.name, NAME)} would be sent")
    for heading in ("request", "tokens", "reply at most", "costs at most"):
        table.add_column(heading, justify="right")
    for number, (need, cost) in enumerate(zip(needs, costs, strict=True), 1):
        table.add_row(f"{number}", f"{need.input:,}", f"{need.output:,}", _dollars(cost))
    table.add_section()
    table.add_row("all", f"{sent:,}", f"{sum(one.output for one in needs):,}", _dollars(total))
    console().print(table)
    say(
        "nothing was sent, and nothing was written down; a reply that cannot be used is asked for "
        f"once more: then all of it costs up to {_dollars(repaired)}"
    )


def _sum(costs: Sequence[float | None]) -> float | None:
    """None where one of them is not known."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known and len(known) == len(costs) else None


def _dollars(cost: float | None) -> str:
    return "not known" if cost is None else f"${cost:.4f}"
