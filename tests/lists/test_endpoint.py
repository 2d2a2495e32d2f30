"""`kedgeline serve`: JSON in and out on loopback."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kedgeline.adapters.endpoint import Endpoint
from tests.conftest import ROOT
from tests.lists.shapes import openai_chat
from tests.lists.test_plain_call import WINDOW, long_talk


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint(window=WINDOW)
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


def asked(endpoint: Endpoint, body: Any, path: str = "/compact", **headers: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", endpoint.server_port)
    data = body if isinstance(body, str) else json.dumps(body)
    connection.request("POST", path, data, headers)
    response = connection.getresponse()
    found = response.status, json.loads(response.read())
    connection.close()
    return found


def test_a_list_goes_in_and_the_list_to_send_comes_out(endpoint: Endpoint) -> None:
    messages = openai_chat(long_talk())
    status, done = asked(endpoint, {"messages": messages})
    assert (status, done["compacted"], done["window"]) == (200, True, WINDOW)
    assert len(done["messages"]) < len(messages)
    status, again = asked(endpoint, {"messages": [*messages, {"role": "user", "content": "Well?"}]})
    assert again["messages"][:-1] == done["messages"]
    assert not again["compacted"]


def test_a_conversation_can_be_named(endpoint: Endpoint) -> None:
    messages = openai_chat(long_talk())
    one = asked(endpoint, {"messages": messages, "conversation": "one"})[1]
    other = asked(endpoint, {"messages": messages[:4], "conversation": "other"})[1]
    assert one["compacted"]
    assert other["messages"] == messages[:4]


def test_what_is_no_list_is_refused(endpoint: Endpoint) -> None:
    assert asked(endpoint, "{")[0] == 400
    assert asked(endpoint, {"messages": "go"})[0] == 400
    assert asked(endpoint, {"messages": []}, "/elsewhere")[0] == 404
    assert asked(endpoint, {"messages": []})[1]["messages"] == []
    unknown = [{"role": "user", "blocks": [{"kind": "x", "text": "go " * 20_000}]}] * 2
    status, done = asked(endpoint, {"messages": unknown})
    assert (status, done["messages"]) == (200, unknown)
    assert done["error"].startswith("NotATranscript")


def test_pages_of_a_browser_are_not_answered(endpoint: Endpoint) -> None:
    assert asked(endpoint, {"messages": []}, origin="https://elsewhere.example")[0] == 403
    assert asked(endpoint, {"messages": []}, host="elsewhere.example:80")[0] == 403


def test_the_command_serves_with_the_window_of_settings() -> None:
    command = [sys.executable, "-m", "kedgeline", "serve", "--port", "0", "--json"]
    given = {**os.environ, "KEDGELINE_WINDOW": str(WINDOW)}
    with subprocess.Popen(command, env=given, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        port = int(json.loads(served.stdout.readline())["url"].rpartition(":")[2])
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("POST", "/compact", json.dumps({"messages": openai_chat(long_talk())}))
        done = json.loads(connection.getresponse().read())
        connection.close()
        served.terminate()
    assert (done["window"], done["compacted"]) == (WINDOW, True)


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
def test_prepare_step_of_the_ai_sdk(endpoint: Endpoint) -> None:
    """Version 7 of the SDK carries the messages of a step on to the next, as this loop does."""
    script = ROOT / "tests" / "lists" / "ai_sdk_loop.mjs"
    plugin = ROOT / "plugins" / "ai-sdk" / "kedgeline.mjs"
    place = f"http://127.0.0.1:{endpoint.server_port}"
    command = ["node", script, place, plugin]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["compactions"] >= 3
    assert found["most"] < WINDOW * 3
    assert found["pairs"]
    assert found["failed"]
