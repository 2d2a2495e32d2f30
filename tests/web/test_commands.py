"""`kedgeline html` and `kedgeline web` as they are called."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from tests.conftest import EXAMPLES

PROGRAM = (sys.executable, "-m", "kedgeline")
SECONDS = 30


def run(*words: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "HOME": str(folder)}
    words = (*PROGRAM, *words)
    return subprocess.run(words, env=environment, capture_output=True, cwd=folder, timeout=SECONDS)


def test_a_file_is_written_for_a_browser(tmp_path: Path) -> None:
    source = str(EXAMPLES / "claude-code-compacted.jsonl")
    done = run("html", source, "--out", "page.html", "--json", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    page = (tmp_path / "page.html").read_bytes()
    assert json.loads(done.stdout) == {"file": "page.html", "bytes": len(page), "turns": 51}
    assert page.startswith(b"<!doctype html>")
    again = run("html", source, "--out", "-", folder=tmp_path)
    assert again.stdout == page


def test_what_is_no_session_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("nothing")
    assert run("html", "x.txt", folder=tmp_path).returncode == 3
    assert run("html", "nobody", folder=tmp_path).returncode in (2, 3)


def test_it_serves_this_machine_until_it_is_stopped(tmp_path: Path) -> None:
    pytest.importorskip("starlette", reason="the extra `web` is not installed")
    environment = {**os.environ, "HOME": str(tmp_path)}
    words = (*PROGRAM, "web", str(EXAMPLES / "codex.jsonl"), "--json")
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout is not None
            assert select.select([server.stdout], [], [], SECONDS)[0], "it did not start"
            url = json.loads(server.stdout.readline())["url"]
            assert url.startswith("http://127.0.0.1:")
            assert "#/s/" in url
            with pytest.raises(HTTPError) as refused:
                urlopen(url.partition("?")[0], timeout=SECONDS)
            assert refused.value.code == 401
            refused.value.close()
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(SECONDS)
