"""Vercel's AI SDK: `prepareStep` in its real loop, with `kedgeline serve` and a played model."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kedgeline.adapters.endpoint import Endpoint
from tests.adapters.contract import CALLS, SYSTEM, WINDOW, Planted, Seen, output
from tests.conftest import ROOT

PACKAGES = Path(os.environ.get("KEDGELINE_AI_SDK", ROOT / ".adapters" / "ai-sdk" / "node_modules"))
pytestmark = [
    pytest.mark.adapters,
    pytest.mark.skipif(not (PACKAGES / "ai").is_dir(), reason="the AI SDK is not installed"),
]
PLUGIN = ROOT / "plugins" / "ai-sdk" / "kedgeline.mjs"
WAYS = ("generate", "stream")


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint(window=WINDOW)
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


def run(url: str, way: str, folder: Path, seen: Seen) -> dict[str, Any]:
    outputs = folder / f"{way}.json"
    outputs.write_text(json.dumps([output(number + 1) for number in range(CALLS)]))
    script = ROOT / "tests" / "adapters" / "ai_sdk.mjs"
    node = PACKAGES / ".bin" / "node"
    command = [str(one) for one in (node, script, PACKAGES, PLUGIN, url, way, outputs)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    for prompt in found["prompts"]:
        blocks = [b for m in prompt if isinstance(m["content"], list) for b in m["content"]]
        assert prompt[0] == {"role": "system", "content": SYSTEM}
        asked = [b["toolCallId"] for b in blocks if b["type"] == "tool-call"]
        told = [b["toolCallId"] for b in blocks if b["type"] == "tool-result"]
        seen.request(prompt, asked, told)
    assert found["text"] == "Part 7 is wrong."
    assert found["history"] == [f"c{n + 1}" for n in range(CALLS)]
    assert found["messages"] == 2 * CALLS + 1
    return found


def place(endpoint: Endpoint) -> str:
    return f"http://127.0.0.1:{endpoint.server_port}"


@pytest.mark.parametrize("way", WAYS)
def test_the_result_stays_whole_and_what_is_sent_fits(
    way: str, endpoint: Endpoint, tmp_path: Path
) -> None:
    seen = Seen()
    found = run(place(endpoint), way, tmp_path, seen)
    assert found["errors"] == []
    seen.holds(endpoint.runs.of(way))


@pytest.mark.parametrize("way", WAYS)
def test_an_error_of_ours_does_not_end_the_run(
    way: str, endpoint: Endpoint, tmp_path: Path, planted: Planted
) -> None:
    seen = Seen(window=10**9)
    run(place(endpoint), way, tmp_path, seen)
    assert len(seen.sizes) == CALLS + 1
    assert planted()


def test_a_run_goes_on_where_nothing_serves(tmp_path: Path) -> None:
    seen = Seen(window=10**9)
    found = run("http://127.0.0.1:9", "generate", tmp_path, seen)
    assert len(found["errors"]) == CALLS + 1


def test_runs_in_parallel_share_nothing(endpoint: Endpoint, tmp_path: Path) -> None:
    ways = [f"{way}-{n}" for n, way in enumerate((*WAYS, *WAYS))]
    seen = [Seen() for _ in ways]
    threads = [
        threading.Thread(target=run, args=(place(endpoint), way, tmp_path, one))
        for way, one in zip(ways, seen, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for way, one in zip(ways, seen, strict=True):
        one.holds(endpoint.runs.of(way))


GUIDE = re.compile(r"^```js\n(.*?)^```", re.MULTILINE | re.DOTALL)
GIVEN = """
import { MockLanguageModelV4 } from "ai/test";
const none = { total: undefined };
const doGenerate = {
  content: [{ type: "text", text: "Part 7 is wrong." }],
  finishReason: { unified: "stop" },
  usage: { inputTokens: none, outputTokens: none },
  warnings: [],
};
const [model, tools, prompt] = [new MockLanguageModelV4({ doGenerate }), {}, "Go through it."];
"""


def test_the_code_of_the_guide_runs(endpoint: Endpoint) -> None:
    [code] = GUIDE.findall((ROOT / "docs" / "frameworks.md").read_text("utf-8"))
    script = PACKAGES.parent / "guide.mjs"  # beside the packages that it imports
    code = code.replace("./plugins", str(ROOT / "plugins"))
    script.write_text(f"{GIVEN}{code}console.log(result.text);\n")
    done = subprocess.run(
        [str(PACKAGES / ".bin" / "node"), str(script)],
        env={**os.environ, "KEDGELINE_URL": place(endpoint)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("Part 7 is wrong.\n", "")
    assert endpoint.runs.last is not None
