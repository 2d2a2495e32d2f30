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
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult

from kedgeline import telemetry as exporting
from kedgeline.cli.models import trace as traced
from kedgeline.errors import MissingExtra
from kedgeline.settings import load_settings
from kedgeline.telemetry import SECONDS, Delivery, Sending, start
from tests.conftest import ROOT

LONG = str(ROOT / "examples" / "claude-code-long.jsonl")
SHORT = str(ROOT / "examples" / "codex.jsonl")


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
    done = ran(
        "compact",
        LONG,
        "--window",
        "32k",
        KEDGELINE_TELEMETRY="true",
        OTEL_EXPORTER_OTLP_ENDPOINT=collector.address,
    )
    assert (done.returncode, "warning: spans" in done.stderr) == (0, False)
    ((name, attributes, program),) = collector.spans()
    assert (name, attributes["gen_ai.operation.name"]) == ("compact", "compact")
    assert attributes["kedgeline.tokens.after"] < attributes["kedgeline.tokens.before"]
    assert attributes["kedgeline.turns.folded"] > 0
    assert program["service.name"] == "kedgeline"
    assert collector.paths == ["/v1/traces"]


def test_the_standard_variables_hold(collector: Collector) -> None:
    done = ran(
        "compact",
        SHORT,
        "--window",
        "8k",
        KEDGELINE_TELEMETRY="true",
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=f"{collector.address}/elsewhere",
        OTEL_SERVICE_NAME="lighthouse",
    )
    ((_, _, program),) = collector.spans()
    assert program["service.name"] == "lighthouse"
    assert collector.paths == ["/elsewhere"]
    assert done.returncode == 0


def test_nothing_is_sent_unless_settings_ask_for_it(collector: Collector) -> None:
    done = ran("compact", SHORT, "--window", "8k", OTEL_EXPORTER_OTLP_ENDPOINT=collector.address)
    assert (done.returncode, collector.taken) == (0, [])


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
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        pass


class Refusing:
    def export(self, spans: Any) -> SpanExportResult:
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


def test_the_check_of_the_bound_fails_where_the_work_is_not_put_aside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Waiting(threading.Thread):
        def join(self, timeout: float | None = None) -> None:
            super().join()

    monkeypatch.setattr(exporting, "Thread", Waiting)
    exporter = Hanging()
    threading.Timer(2.2, exporter.free.set).start()
    found, provider = sending(exporter)
    provider.get_tracer("kedgeline").start_span("compact").end()
    begun = time.monotonic()
    found.finish(0.2)
    assert time.monotonic() - begun >= 2


def test_spans_that_were_refused_are_said_to_be_lost() -> None:
    found, provider = sending(Refusing())
    provider.get_tracer("kedgeline").start_span("compact").end()
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in found.finish(5)


def test_without_spans_nothing_is_lost() -> None:
    found, _ = sending(Refusing())
    assert found.finish(5) == ""


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


@pytest.mark.torture
def test_a_collector_that_hangs_delays_a_command_by_its_bound_at_most() -> None:
    run = ("compact", LONG, "--window", "32k")
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()  # takes the connection, never answers
        address = f"http://127.0.0.1:{held.getsockname()[1]}"
        begun = time.monotonic()
        assert ran(*run).returncode == 0
        between = time.monotonic()
        done = ran(*run, KEDGELINE_TELEMETRY="true", OTEL_EXPORTER_OTLP_ENDPOINT=address)
        took, alone = time.monotonic() - between, between - begun
    assert done.returncode == 0
    assert took < alone + SECONDS + 3, "three more seconds for loading the packages"


# Setting up


def test_telemetry_is_a_setting(tmp_path: Path) -> None:
    assert load_settings(tmp_path, environment={}).telemetry is False
    assert load_settings(tmp_path, environment={"KEDGELINE_TELEMETRY": "true"}).telemetry is True
    (tmp_path / "kedgeline.toml").write_text("telemetry = true\n", "utf-8")
    assert load_settings(tmp_path, environment={}).telemetry is True


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
