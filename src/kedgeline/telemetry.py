"""Compactions as spans of OpenTelemetry, where the program around uses it."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar, Token
from dataclasses import dataclass
from threading import Thread
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from kedgeline.errors import MissingExtra
from kedgeline.model import Ask, Compaction, Reply, Span, Usage
from kedgeline.model.ask import reported_name

if TYPE_CHECKING:
    from opentelemetry import trace as api
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import SpanExportResult

__all__ = ["Compacting", "watched"]


# Spans of compactions and of requests to models.

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

_inside: ContextVar[bool] = ContextVar("kedgeline_compacting", default=False)
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

        tracer = trace.get_tracer("kedgeline", version("kedgeline"))
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
        given = {CONVERSATION: id, "kedgeline.provider": provider, "kedgeline.trigger": trigger}
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
        span = _Watched(f"{CHAT} {shown}", "CLIENT", {**request, "kedgeline.role": ask.role})
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
        "kedgeline.method": made.method,
        "kedgeline.strategy": made.strategy,
        "kedgeline.compactions": made.count,
        "kedgeline.nothing_to_do": plan.nothing_to_do,
        "kedgeline.turns.folded": sum(map(_turns, plan.folded)),
        "kedgeline.turns.kept": sum(map(_turns, plan.kept)),
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


# Spans sent to a collector by the command line, as the OTEL_… variables say.

SECONDS = 3.0
"""How long a command waits for the collector when its work is done: one that can be reached answers
in a fraction of it, and one that cannot must not hold up whoever waits for the command."""
SERVICE, UNNAMED = "service.name", "unknown_service"
"""What a program is called, and how that begins where nobody has said."""
LOST = (
    "spans were not delivered within {:g} seconds; look at OTEL_EXPORTER_OTLP_ENDPOINT, or set "
    "telemetry = false"
)
NOT_SET_UP = "no spans are sent: {}; look at the OTEL_… variables, or set telemetry = false"


class Sending:
    """Spans on their way, until `finish`."""

    def __init__(
        self,
        provider: TracerProvider | None = None,
        delivery: Delivery | None = None,
        *,
        problem: str = "",
    ) -> None:
        """Without a provider, the program around has one of its own, or there is a problem."""
        self._provider, self._delivery = provider, delivery
        self._problem = problem

    def finish(self, seconds: float = SECONDS) -> str:
        """Send what is left, and wait no longer than this. Why spans were lost; empty where they
        were not."""
        if self._provider is None or self._delivery is None:
            return self._problem
        # A thread that ends with the program: what hangs in it holds nobody up.
        ending = Thread(target=self._provider.shutdown, name="kedgeline-telemetry", daemon=True)
        ending.start()
        ending.join(seconds)
        return LOST.format(seconds) if ending.is_alive() or self._delivery.lost else ""


class Delivery:
    """An exporter that remembers whether one of its deliveries failed."""

    def __init__(self, exporter: Any) -> None:
        self._exporter = exporter
        self.lost = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result: SpanExportResult = self._exporter.export(spans)
        self.lost = self.lost or result.name != "SUCCESS"
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return bool(self._exporter.force_flush(timeout_millis))


def start() -> Sending:
    """Send spans of this process by OTLP over HTTP, where nobody has set up anything else. All of
    it is said in the standard variables: OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS,
    OTEL_SERVICE_NAME, OTEL_TRACES_SAMPLER, OTEL_SDK_DISABLED …"""
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise MissingExtra("telemetry", "telemetry") from error
    if not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return Sending()
    # Its complaints would mingle with what the command says; `finish` says the one that matters.
    logging.getLogger("opentelemetry").addHandler(logging.NullHandler())
    resource = Resource.create()
    if str(resource.attributes.get(SERVICE, UNNAMED)).startswith(UNNAMED):
        resource = resource.merge(Resource({SERVICE: "kedgeline"}))
    try:
        delivery = Delivery(OTLPSpanExporter())
        provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(delivery))  # type: ignore[arg-type]
    except (ValueError, TypeError, OSError) as error:  # a variable with a value it cannot have
        return Sending(problem=NOT_SET_UP.format(error))
    trace.set_tracer_provider(provider)
    return Sending(provider, delivery)
