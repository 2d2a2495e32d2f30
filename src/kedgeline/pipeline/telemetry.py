"""Compactions as spans of OpenTelemetry, where the program around uses it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

from kedgeline.model import Ask, Compaction, Reply, Span
from kedgeline.model.ask import reported_name

API = "opentelemetry.trace"
"""The module that tells whether the program around uses OpenTelemetry."""
LONGEST_ID = 128
"""Characters of a conversation's id: real ones are shorter, and a file may hold anything."""
Attributes = Mapping[str, str | bool | int | float]
"""Of a span. Names of our own begin with `kedgeline`, all others are those of the conventions."""

_inside: ContextVar[bool] = ContextVar("kedgeline_compacting", default=False)
"""Whether a compaction is under way: what is made within one is part of it."""


@contextmanager
def _span(
    name: str, kind: Literal["INTERNAL", "CLIENT"], attributes: Attributes
) -> Iterator[Callable[[Attributes], None]]:
    """A span from its beginning to its end; gives what adds attributes to it. Of an error only the
    class is told: messages quote paths, names and replies."""
    loaded = sys.modules.get(API)
    if loaded is None or not hasattr(loaded, "get_tracer"):  # not there, or being loaded now
        yield lambda attributes: None
        return
    from importlib.metadata import version

    from opentelemetry import trace

    with trace.get_tracer("kedgeline", version("kedgeline")).start_as_current_span(
        name,
        kind=trace.SpanKind[kind],
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        ended = False
        try:
            yield span.set_attributes
            ended = True
        finally:
            if not ended:
                kind_of_error = type(sys.exc_info()[1])
                place = kind_of_error.__module__
                before = "" if place == "builtins" else f"{place}."
                span.set_attribute("error.type", before + kind_of_error.__qualname__)
                span.set_status(trace.Status(trace.StatusCode.ERROR))


@contextmanager
def compaction_span(
    conversation: str = "", *, provider: str = "", trigger: str = ""
) -> Iterator[Callable[[Compaction], Compaction]]:
    """A compaction under way: `with compaction_span(name) as told: … return told(record)`. Within
    another one it is silent, as it is a part of that. `provider` is the one whose rules the cut
    follows, `trigger` what made it begin."""
    if _inside.get():
        yield lambda compaction: compaction
        return
    given = {
        "gen_ai.operation.name": "compact",
        "gen_ai.conversation.id": conversation[:LONGEST_ID],
        "kedgeline.provider": provider,
        "kedgeline.trigger": trigger,
    }
    known = {name: value for name, value in given.items() if value}
    outside = _inside.set(True)
    try:
        with _span("compact", "INTERNAL", known) as tell:

            def told(compaction: Compaction) -> Compaction:
                tell(_numbers(compaction))
                return compaction

            yield told
    finally:
        _inside.reset(outside)


def watched(model: Callable[[Ask], Reply], name: str) -> Callable[[Ask], Reply]:
    """A model whose requests are told as spans, with its `name` and what it says it has used."""
    shown = reported_name(name)

    def asked(ask: Ask, /) -> Reply:
        request: Attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": name.partition(":")[0],
            "gen_ai.request.model": shown,
            "gen_ai.request.max_tokens": ask.most_tokens,
            "kedgeline.role": ask.role,
        }
        with _span(f"chat {shown}", "CLIENT", request) as tell:
            reply = model(ask)
            tell({"gen_ai.response.model": reported_name(reply.model or name)})
            if used := reply.usage:  # the conventions count what the cache gave among the input
                tell(
                    {
                        "gen_ai.usage.input_tokens": used.context,
                        "gen_ai.usage.output_tokens": used.output,
                        "gen_ai.usage.cache_read.input_tokens": used.cache_read,
                        "gen_ai.usage.cache_creation.input_tokens": used.cache_write,
                    }
                )
            return reply

    asked.__name__ = name  # by which the model is written down
    return asked


def _numbers(made: Compaction) -> dict[str, str | bool | int | float]:
    def turns(spans: Sequence[Span]) -> int:
        return sum(span.last - span.first + 1 for span in spans)

    plan, verdict = made.plan, made.verdict
    found: dict[str, str | bool | int | float] = {
        "kedgeline.method": made.method,
        "kedgeline.strategy": made.strategy,
        "kedgeline.compactions": made.count,
        "kedgeline.nothing_to_do": plan.nothing_to_do,
        "kedgeline.turns.folded": turns(plan.folded),
        "kedgeline.turns.kept": turns(plan.kept),
        "kedgeline.masked": len(plan.masked),
        "kedgeline.tokens.before": made.tokens_before,
        "kedgeline.tokens.after": made.tokens_after,
        "kedgeline.tokens.summary": made.summary_tokens,
        "kedgeline.warnings": len(made.warnings),
    }
    if verdict is not None:
        found["kedgeline.probe.count"] = len(verdict.answers)
        if verdict.score is not None:
            found["kedgeline.probe.score"] = verdict.score
    return found
