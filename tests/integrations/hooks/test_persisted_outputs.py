"""Outputs that the real Claude Code puts into a file: what is kept of them is all of them."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from kedgeline.model import Usage
from kedgeline.session.session import Session
from kedgeline.store.protocol import open_store
from tests.integrations.hooks.test_replaced_claude import BASH, Replaced
from tests.models.server import Line, Request, Says, serving

pytestmark = pytest.mark.hosts

LAST = 20_000
WHOLE = "\n".join(map(str, range(1, LAST + 1)))


def prints_much(request: Request) -> Line:
    usage = Usage(input=9_000, output=20)
    if "tool_result" in request.text or '"name":"Bash"' not in request.text:
        return Says("Mended.", usage=usage)
    command = json.dumps({"command": f"seq 1 {LAST}", "description": "lamps"})
    return Says(tool=command, called="Bash", ending="tool call", usage=usage)


def test_a_large_output_is_kept_whole_by_hooks_and_by_a_replaced_compaction(tmp_path: Path) -> None:
    with serving(rule=prints_much) as server:
        claude = Replaced(tmp_path / "home", server)
        claude.says("Mend the lamps", *BASH)
        claude.status(lambda known: known.get("turns", 0) >= 1)
        claude.says("/compact")
        assert "<persisted-output>" in server.requests[-1].text + server.requests[-2].text
    with closing(open_store(str(claude.home / "store"))) as store:
        for name in (claude.session, f"claude-code-{claude.session}"):
            session = Session(name, store)
            calls = [call for turn in session.turns() for call in turn.tool_calls]
            assert len(calls) == 1
            assert WHOLE in session.original("t0.0").text, name
