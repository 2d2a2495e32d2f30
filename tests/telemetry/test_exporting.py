"""Spans of commands: sent to a collector that is there, and never a burden where none is."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult

from kedgeline.cli.models import trace as traced
from kedgeline.errors import MissingExtra
from kedgeline.pipeline import telemetry as exporting
from kedgeline.pipeline.telemetry import SECONDS, Delivery, Sending, start
from tests.conftest import ROOT

LONG = str(ROOT / "examples" / "claude-code-long.jsonl")


class Collector:
    """Takes what is sent to it."""

    def __init__(self) -> None:
        self.taken: list[ExportTraceServiceRequest] = []
        self.paths: list[str] = []
        taking = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                taking.taken.append(ExportTraceServiceRequest.FromString(body))
                taking.paths.append(self.path)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *given: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def spans(self) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
        """Name, attributes, and those of its program."""
        return [
            (span.name, plain(span.attributes), plain(resource.resource.attributes))
            for request in self.taken
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


def plain(attributes: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}


@pytest.fixture
def collector() -> Iterator[Collector]:
    found = Collector()
    yield found
    found.close()


def ran(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    return subprocess.run(
        [sys.executable, "-m", "kedgeline", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**clean, **variables},
    )


def test_a_command_tells_a_collector_of_its_compaction(collector: Collector) -> None:
    at = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.address}
    elsewhere = {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{collector.address}/elsewhere"}
    run = ("compact", LONG, "--window", "32k")
    assert ran(*run, **at).returncode == 0
    assert collector.taken == [], "nothing is sent unless settings ask for it"
    done = ran(*run, KEDGELINE_TELEMETRY="true", **at)
    assert (done.returncode, "warning: spans" in done.stderr) == (0, False)
    ran(*run, KEDGELINE_TELEMETRY="true", OTEL_SERVICE_NAME="lighthouse", **elsewhere)
    (name, attributes, program), (_, _, other) = collector.spans()
    assert (name, attributes["gen_ai.operation.name"]) == ("compact", "compact")
    assert attributes["kedgeline.tokens.after"] < attributes["kedgeline.tokens.before"]
    assert attributes["kedgeline.turns.folded"] > 0
    assert [program["service.name"], other["service.name"]] == ["kedgeline", "lighthouse"]
    assert collector.paths == ["/v1/traces", "/elsewhere"]


# A collector that is not there


def sending(exporter: Any) -> tuple[Sending, TracerProvider]:
    delivery = Delivery(exporter)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(delivery))  # type: ignore[arg-type]
    return Sending(provider, delivery), provider


class Hanging:
    """A collector that takes the call and never answers."""

    def __init__(self) -> None:
        self.free = threading.Event()

    def export(self, spans: Any) -> SpanExportResult:
        self.free.wait(10)
        return SpanExportResult.FAILURE

    def shutdown(self) -> None:
        pass


def test_who_waits_for_a_collector_waits_no_longer_than_the_bound() -> None:
    exporter = Hanging()
    found, provider = sending(exporter)
    provider.get_tracer("kedgeline").start_span("compact").end()
    begun = time.monotonic()
    problem = found.finish(0.2)
    took = time.monotonic() - begun
    exporter.free.set()
    assert "not delivered within 0.2 seconds" in problem
    assert 0.2 <= took < 2


def test_spans_that_were_refused_are_said_to_be_lost_and_without_spans_nothing_is() -> None:
    exporter = Hanging()
    exporter.free.set()
    found, provider = sending(exporter)
    provider.get_tracer("kedgeline").start_span("compact").end()
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in found.finish(5)
    assert sending(exporter)[0].finish(5) == ""


def test_a_command_says_once_that_no_collector_was_there_and_goes_on() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # nobody listens
        done = ran(
            "compact",
            LONG,
            "--window",
            "32k",
            KEDGELINE_TELEMETRY="true",
            OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{held.getsockname()[1]}",
        )
    assert done.returncode == 0
    assert done.stdout.startswith("#")
    assert [line for line in done.stderr.splitlines() if "spans" in line] == [
        f"warning: {exporting.LOST.format(SECONDS)}"
    ]
    assert "onnection" not in done.stderr, "what the packages say of it stays with them"


# Setting up


@pytest.mark.parametrize(
    "missing", ["opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http.trace_exporter"]
)
def test_a_package_that_is_missing_is_named_with_the_line_that_installs_it(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingExtra, match=r"run pip install 'kedgeline\[telemetry\]'"):
        start()


def test_a_program_with_a_provider_of_its_own_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    own = TracerProvider(shutdown_on_exit=False)
    replaced: list[object] = []
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: own)
    monkeypatch.setattr(trace, "set_tracer_provider", replaced.append)
    assert start().finish() == ""
    assert replaced == []


def test_a_failing_command_still_sends_its_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    finished: list[str] = []

    class Sent:
        def finish(self) -> str:
            finished.append("sent")
            return ""

    monkeypatch.setenv("KEDGELINE_TELEMETRY", "true")
    monkeypatch.setattr(exporting, "start", Sent)
    with pytest.raises(MissingExtra), traced():
        raise MissingExtra("it", "bank")
    assert finished == ["sent"]


def test_delivery_looks_like_an_exporter() -> None:
    """It stands in the place of one: what the processor asks of an exporter, it has."""
    wanted = {name for name in vars(OTLPSpanExporter) if not name.startswith("_")}
    assert wanted <= set(dir(Delivery))


def test_a_variable_with_a_wrong_value_is_said_and_stops_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "-1")
    sending = start()
    assert "no spans are sent" in sending.finish()
