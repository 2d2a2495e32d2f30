"""Spans sent to a collector by the command line, as the OTEL_… variables say."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from threading import Thread
from typing import TYPE_CHECKING, Any

from kedge.errors import MissingExtra

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import SpanExportResult

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
        ending = Thread(target=self._provider.shutdown, name="kedge-telemetry", daemon=True)
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
        resource = resource.merge(Resource({SERVICE: "kedge"}))
    try:
        delivery = Delivery(OTLPSpanExporter())
        provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(delivery))  # type: ignore[arg-type]
    except (ValueError, TypeError, OSError) as error:  # a variable with a value it cannot have
        return Sending(problem=NOT_SET_UP.format(error))
    trace.set_tracer_provider(provider)
    return Sending(provider, delivery)
