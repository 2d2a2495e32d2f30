"""Outputs that Claude Code puts into files: the whole is kept, and only from files of its own."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from kedgeline.hosts.replacement import HostRequest, host_compacted
from kedgeline.hosts.store import opened_session
from kedgeline.session.session import Session
from kedgeline.store.protocol import open_store
from tests.claude import text, use
from tests.integrations.hooks.following import Host
from tests.integrations.hooks.test_replacement import Row, called, history, said

WHOLE = "".join(f"{number} lamp\n" for number in range(9_000))


def stub(path: Path) -> str:
    head = f"<persisted-output>\nOutput too large (90.0KB). Full output saved to: {path}\n\n"
    return f"{head}Preview (first 2KB):\n{WHOLE[:2_000]}\n...\n</persisted-output>"


@pytest.fixture
def apart(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "claude"))
    path = home / "claude" / "projects" / "quay" / "s1" / "tool-results" / "b1.txt"
    path.parent.mkdir(parents=True)
    path.write_text(WHOLE)
    return path


def shown(host: Host, path: Path) -> str:
    """What `show` has of a call whose output is said to be in a file."""
    host.records.user("How many lamps are there?")
    host.records.assistant("a1", use("c1", command="lamps"))
    host.records.result("c1", stub(path))
    host.records.assistant("a2", text("Many."))
    host.runs()
    with opened_session("s1") as session:
        found = session.original("t0.0").result
    assert found
    return found.output


def test_the_whole_is_shown(apart: Path) -> None:
    host = Host(apart.parents[5])
    assert shown(host, apart) == WHOLE
    apart.unlink()
    host.records.user("And on the pier?")
    host.runs()
    with opened_session("s1") as session:
        assert session.original("t0:c1").result.output == WHOLE  # type: ignore[union-attr]


@pytest.mark.parametrize("where", ["elsewhere", "link", "up", "gone", "pipe"])
def test_no_other_file_is_read(apart: Path, home: Path, where: str) -> None:
    """An output can say whatever it likes."""
    secret = home / "tool-results" / "secret.txt"
    secret.parent.mkdir()
    secret.write_text(WHOLE)
    named = apart.with_name("other.txt")
    if where == "link":
        named.symlink_to(secret)
    elif where == "pipe":
        os.mkfifo(named)
    elif where != "gone":
        named = secret
        if where == "up":
            up = "/".join([".."] * 5)
            named = Path(f"{apart.parent}/{up}/tool-results/secret.txt")
    assert shown(Host(home), named) == stub(named)


def test_an_output_of_another_call_with_this_id_is_not_taken(apart: Path, home: Path) -> None:
    host = Host(home)
    apart.write_text("of another call\n" + WHOLE)
    assert shown(host, apart) == stub(apart)


def test_a_context_of_ours_has_the_whole_in_its_archive(apart: Path, home: Path) -> None:
    rows: list[Row] = [said("How many?"), *called("c1", stub(apart)), *history(12)]
    host_compacted("claude-code", HostRequest(messages=rows, session="s1"))
    with closing(open_store(str(home / "store"))) as store:
        found = Session("claude-code-s1", store).original("t0.0").result
    assert found
    assert found.output == WHOLE
