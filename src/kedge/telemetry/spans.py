"""Spans of compactions and of requests to models.

Nothing of OpenTelemetry is loaded here: spans are made where the program around has loaded it, and
go to wherever it sends its own. Names are those of the GenAI conventions where they have one; what
they lack is in our own namespace. No text of a conversation and no message of an error becomes part
of a span: such messages quote paths, names and replies.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextvars import ContextVar, Token
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Literal

from kedge.model import Ask, Compaction, Reply, Span, Usage
from kedge.model.rates import reported_name

if TYPE_CHECKING:
    from opentelemetry import trace as api
    from opentelemetry.context import Context

API = "opentelemetry.trace"
"""The module that tells whether the program around uses OpenTelemetry."""
COMPACT, CHAT = "compact", "chat"
"""Operations. The conventions have none for a compaction; a custom one may be used then."""
NAME = "gen_ai.operation.name"
CONVERSATION = "gen_ai.conversation.id"
MODEL, ANSWERED_BY = "gen_ai.request.model", "gen_ai.response.model"
PROVIDER = "gen_ai.provider.name"
MOST = "gen_ai.request.max_tokens"
ERROR = "error.type"

LONGEST_ID = 128
"""Characters of a conversation's id: real ones are shorter, and a file may hold anything."""

Plain = str | bool | int | float

_inside: ContextVar[bool] = ContextVar("kedge_compacting", default=False)
"""Whether a compaction is under way: what is made within one is part of it."""


class _Watched:
    """Something that is told as a span, from its beginning to its end."""

    def __init__(
        self, name: str, kind: Literal["INTERNAL", "CLIENT"], attributes: Mapping[str, Plain]
    ) -> None:
        self._name, self._kind, self._attributes = name, kind, attributes
        self._span: api.Span | None = None
        self._before: Token[Context] | None = None

    def __enter__(self) -> None:
        loaded = sys.modules.get(API)
        if loaded is None or not hasattr(loaded, "get_tracer"):  # not there, or being loaded now
            return
        from importlib.metadata import version

        from opentelemetry import context, trace

        tracer = trace.get_tracer("kedge", version("kedge"))
        self._span = tracer.start_span(
            self._name, kind=trace.SpanKind[self._kind], attributes=dict(self._attributes)
        )
        self._before = context.attach(trace.set_span_in_context(self._span))

    def tell(self, attributes: Mapping[str, Plain]) -> None:
        if self._span is not None:
            self._span.set_attributes(dict(attributes))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._span is None or self._before is None:
            return
        from opentelemetry import context, trace

        context.detach(self._before)
        if error is not None:
            self._span.set_attribute(ERROR, _class_of(error))
            self._span.set_status(trace.Status(trace.StatusCode.ERROR))
        self._span.end()
        self._span = None

    @property
    def told(self) -> bool:
        return self._span is not None and self._span.is_recording()


class Compacting:
    """A compaction under way: `with Compacting(name) as watch: … watch.made(record)`. Within
    another one it is silent, as it is a part of that."""

    def __init__(self, conversation: str = "", *, provider: str = "", trigger: str = "") -> None:
        """`provider` is the one whose rules the cut follows, `trigger` what made it begin."""
        id = conversation[:LONGEST_ID]
        given = {CONVERSATION: id, "kedge.provider": provider, "kedge.trigger": trigger}
        known = {name: value for name, value in given.items() if value}
        self._watched = _Watched(COMPACT, "INTERNAL", {NAME: COMPACT, **known})
        self._outside: Token[bool] | None = None

    def __enter__(self) -> Compacting:
        if not _inside.get():
            self._outside = _inside.set(True)
            self._watched.__enter__()
        return self

    def made(self, compaction: Compaction) -> Compaction:
        """The record, told in numbers."""
        if self._watched.told:
            self._watched.tell(_numbers(compaction))
        return compaction

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._outside is not None:
            self._watched.__exit__(kind, error, traceback)
            _inside.reset(self._outside)
            self._outside = None


@dataclass(frozen=True)
class _Told:
    model: Callable[[Ask], Reply]
    name: str

    def __call__(self, ask: Ask, /) -> Reply:
        shown = reported_name(self.name)
        request: dict[str, Plain] = {
            NAME: CHAT,
            PROVIDER: self.name.partition(":")[0],
            MODEL: shown,
            MOST: ask.most_tokens,
        }
        span = _Watched(f"{CHAT} {shown}", "CLIENT", {**request, "kedge.role": ask.role})
        with span:
            reply = self.model(ask)
            used = _used(reply.usage) if reply.usage else {}
            span.tell({ANSWERED_BY: reported_name(reply.model or self.name), **used})
            return reply


def watched(model: Callable[[Ask], Reply], name: str) -> Callable[[Ask], Reply]:
    """A model whose requests are told as spans, with its `name` and what it says it has used."""
    return _Told(model, name)


def _numbers(made: Compaction) -> dict[str, Plain]:
    plan, verdict = made.plan, made.verdict
    found: dict[str, Plain] = {
        "kedge.method": made.method,
        "kedge.strategy": made.strategy,
        "kedge.compactions": made.count,
        "kedge.nothing_to_do": plan.nothing_to_do,
        "kedge.turns.folded": sum(map(_turns, plan.folded)),
        "kedge.turns.kept": sum(map(_turns, plan.kept)),
        "kedge.masked": len(plan.masked),
        "kedge.tokens.before": made.tokens_before,
        "kedge.tokens.after": made.tokens_after,
        "kedge.tokens.summary": made.summary_tokens,
        "kedge.warnings": len(made.warnings),
    }
    if verdict is not None:
        found["kedge.probe.count"] = len(verdict.answers)
        if verdict.score is not None:
            found["kedge.probe.score"] = verdict.score
    return found


def _turns(span: Span) -> int:
    return span.last - span.first + 1


def _used(usage: Usage) -> dict[str, Plain]:
    """The conventions count what the cache gave among the input; `Usage` does not."""
    return {
        "gen_ai.usage.input_tokens": usage.context,
        "gen_ai.usage.output_tokens": usage.output,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
    }


def _class_of(error: BaseException) -> str:
    """By its full name, as the conventions want it; the language's own by their short one."""
    kind = type(error)
    return (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else (f"{kind.__module__}.{kind.__qualname__}")
    )
