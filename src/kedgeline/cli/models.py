"""Language models for a command: which one, under which terms, what it is sent and what it did."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from kedgeline.cli.output import count, fields, progress, say, shorten, show, write_json
from kedgeline.settings import load_settings

if TYPE_CHECKING:
    from kedgeline.model import Ask, ModelCall, Rates, Usage, Wording
    from kedgeline.models import Meter, Model, Terms

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


@contextmanager
def watch_model(asked: Asking) -> Iterator[Model]:
    """The model, with a line on stderr where a person is watching. Where the command is told to end
    meanwhile, what the model has started ends too: a program that a model is has a session of its
    own, and would not get the signal. Handlers that others have set stay; in a thread none can be
    set."""
    import signal
    from threading import current_thread, main_thread

    def end(number: int, _: object) -> None:
        sys.exit(128 + number)  # as a shell tells that a signal ended it

    ours = [getattr(signal, name) for name in SIGNALS if hasattr(signal, name)]
    ours = [one for one in ours if signal.getsignal(one) == signal.SIG_DFL]
    if current_thread() is not main_thread():
        ours = []
    with progress(f"asking {asked.name}"):
        try:
            for one in ours:
                signal.signal(one, end)
            yield asked.model
        finally:
            for one in ours:
                signal.signal(one, signal.SIG_DFL)


# What it costs.


def rates(model: str) -> Rates | None:
    """What a model costs; nothing is known of it where the prices are not installed."""
    from kedgeline.economy import rates_of
    from kedgeline.economy.ledger import prices_installed

    return rates_of(model) if prices_installed() else None


def _cost_of(model: str, usages: Sequence[Usage]) -> float | None:
    """In US dollars; none where a price is not known."""
    from kedgeline.economy.ledger import cost_of as price
    from kedgeline.model.ask import bare_name

    known = rates(bare_name(model))
    costs = [price(usage, known, model=model) for usage in usages]
    if not costs or any(cost.unknown for cost in costs):
        return None
    return sum(cost.amount or 0.0 for cost in costs)


def call_as_json(call: ModelCall) -> dict[str, Any]:
    """One of the `calls` that commands tell of."""
    return {**msgspec.to_builtins(call), "cost": _cost_of(call.model, [call.usage])}


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


def wording_told(wording: Wording) -> str:
    """What was taken of a model's words and what was not, in a line."""
    parts = [f"{wording.taken:,} entries of {shorten(wording.model, NAME)} taken"]
    if wording.dropped:
        counts = Counter(one.why for one in wording.dropped)
        why = ", ".join(f"{number:,} {reason}" for reason, number in counts.most_common())
        parts.append(f"{wording.not_taken:,} not ({why})")
    answered = [call for call in wording.calls if not call.failure]
    if wording.calls:
        failed = len(wording.calls) - len(answered)
        parts.append(count(len(wording.calls), "request"))
        parts[-1] += f" ({failed:,} without a reply)" if failed else ""
    if answered:
        about = "about " if any(call.estimated for call in answered) else ""
        sent = sum(call.usage.context for call in answered)
        written = sum(call.usage.output for call in answered)
        cost = _cost_of(answered[0].model, [call.usage for call in answered])
        price = f", ${cost:.4f}" if cost is not None else ""
        parts[-1] += f", {about}{sent:,} tokens sent and {written:,} written{price}"
    return f"model: {'; '.join(parts)}"


def rehearse(asks: Sequence[Ask], asked: Asking, *, json: bool) -> None:
    """What would be sent."""
    meter = asked.meter()
    needs = [meter.needs(ask) for ask in asks]
    sent, written = sum(need.input for need in needs), sum(need.output for need in needs)
    total = _cost_of(asked.name, needs)
    if json:
        requests = [
            {
                "tokens": need.input,
                "most_reply_tokens": need.output,
                "cost": _cost_of(asked.name, [need]),
            }
            for need in needs
        ]
        write_json({"model": asked.name, "requests": requests, "tokens": sent, "cost": total})
    elif not needs:
        show("nothing would be folded, so that nothing would be sent")
    else:
        price = "at a cost that is not known" if total is None else f"for ${total:.4f} at the most"
        show(
            f"{shorten(asked.name, NAME)} would be sent {sent:,} tokens in "
            f"{count(len(needs), 'request')} and write {written:,} at the most, {price}"
        )
        say("nothing was sent, and nothing was written down")
