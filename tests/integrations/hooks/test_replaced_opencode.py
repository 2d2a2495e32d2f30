"""The real OpenCode with its summary replaced: the model is asked for a word only."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integrations.hooks.opencode_program import MODEL, texts
from tests.integrations.hooks.test_opencode import RULE, SUMMARY, opened

pytestmark = pytest.mark.hosts

OURS = "<kedgeline-summary>"
WORDS = [f"Mend lamp {number}. {RULE} " + "It stands on the quay. " * 200 for number in range(5)]


@pytest.mark.parametrize("program", ["", "#!/bin/sh\nexit 1\n"])
def test_what_stands_for_the_conversation_is_ours_or_the_hosts(
    tmp_path: Path, program: str
) -> None:
    with opened(tmp_path, "--room", "0") as (host, server):
        if program:
            host.use_as_kedgeline(program)
        with host.serving() as opencode:
            for words in WORDS:
                opencode.says(words)
            asked = len(server.requests)
            opencode._ask(f"/{opencode.session}/summarize", MODEL)
            summarising = server.requests[asked:]
            opencode.says("Go on")
            sent = "\n".join(texts(server.requests[-1]))
            assert (OURS in sent) == (not program)
            assert (SUMMARY in sent) == bool(program)
            if not program:
                assert RULE in sent
                assert all(len(one.text) < 40_000 for one in summarising)
