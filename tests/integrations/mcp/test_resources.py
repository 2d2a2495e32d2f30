"""Resources and the prompt, and paths that lead elsewhere."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from kedge.integrations.mcp.resources import LARGEST
from tests.integrations.mcp.serving import (
    harbor,
    reading,
    refusal,
    resource,
    serving,
    store_of,
    talk,
)


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    folder = tmp_path / "project" / "memory-bank"
    (folder / "archive").mkdir(parents=True)
    (folder / "progress.md").write_text("# Progress\n- the pier stands\n")
    (folder / "archive" / "old.md").write_text("# Old\n")
    (folder / ".hidden.md").write_text("hidden")
    (tmp_path / "project" / "private.md").write_text("private")
    (folder / "link.md").symlink_to(tmp_path / "project" / "private.md")
    (folder / "away").symlink_to(tmp_path / "project")
    return folder


def unread(server: Any, uri: str) -> str:
    return refusal(server, reading(uri))


def test_sessions_and_summaries_can_be_read() -> None:
    with serving() as server:
        listed = json.loads(resource(server, "kedge://sessions"))
        named = resource(server, "kedge://sessions/harbor/summary")
        current = resource(server, "kedge://summary")
        part = resource(server, "kedge://sessions/harbor/summary?first=3")
        unknown = unread(server, "kedge://sessions/nowhere/summary")
        behind = unread(server, "kedge://sessions/harbor/summary?first=9999")
    assert [one["name"] for one in listed["sessions"]] == ["harbor"]
    assert named == current
    assert named.split("\n")[2:] == part.split("\n")
    assert "Never touch the billing module." in named
    assert unknown.startswith("no session 'nowhere'")
    assert "there is no line 9,999" in behind


def test_files_of_the_bank_can_be_read(bank: Path) -> None:
    with serving(folder=bank.parent) as server:
        assert json.loads(resource(server, "kedge://bank"))["files"] == ["kedge://bank/progress.md"]
        assert resource(server, "kedge://bank/progress.md").startswith("# Progress")
        assert resource(server, "kedge://bank/archive/old.md") == "# Old\n"
    with serving(folder=bank.parent / "src" / "deep") as server:
        assert resource(server, "kedge://bank/progress.md").startswith("# Progress")


@pytest.mark.parametrize(
    "path",
    [
        "../private.md",
        "%2e%2e/private.md",
        "..%2fprivate.md",
        "archive/../../private.md",
        "archive/%2e%2e/progress.md",
        "/etc/hostname",
        "%2fetc%2fhostname",
        "..%5cprivate.md",
        ".hidden.md",
        "archive//old.md",
        "progress.md%00",
        "link.md",
        "away/private.md",
        "archive",
    ],
)
def test_no_path_leads_out_of_the_bank(bank: Path, path: str) -> None:
    with serving(folder=bank.parent) as server:
        told = unread(server, f"kedge://bank/{path}")
    assert "private" not in told.replace("private.md", "")
    assert "left alone" in told


def test_a_file_that_is_missing_or_too_large_is_told(bank: Path) -> None:
    with (bank / "giant.md").open("wb") as file:
        os.truncate(file.fileno(), LARGEST + 1)
    with serving(folder=bank.parent) as server:
        assert "kedge://bank lists them" in unread(server, "kedge://bank/nothing.md")
        assert "too large" in unread(server, "kedge://bank/giant.md")
    with serving() as server:
        assert "is no memory bank" in unread(server, "kedge://bank")


def test_a_long_file_is_cut_and_says_where_it_goes_on(bank: Path) -> None:
    (bank / "long.md").write_text("\n".join(f"- entry {n}" for n in range(5_000)))
    with serving(folder=bank.parent) as server:
        text = resource(server, "kedge://bank/long.md")
        address = text.rpartition("it goes on at ")[2].removesuffix("]")
        following = resource(server, address)
    shown = text.partition("\n\n[")[0].split("\n")
    assert following.split("\n")[0] == f"- entry {len(shown)}"


def test_the_prompt_hands_a_session_off() -> None:
    async def asked(client: Client) -> Any:
        (prompt,) = (await client.list_prompts()).prompts
        (message,) = (await client.get_prompt("handoff", {"session": "harbor"})).messages
        return prompt, message.content.text  # type: ignore[union-attr]

    with serving(store_of(harbor=harbor())) as server:
        prompt, text = talk(server, asked)
    assert (prompt.name, [one.required for one in prompt.arguments]) == ("handoff", [False, False])
    assert "session 'harbor' (asked for)" in text
    assert "Never touch the billing module." in text


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"session": "nowhere"}, "no session 'nowhere'"),
        ({"tokens": "many"}, "'many' is no number of tokens"),
        ({"tokens": "0"}, "'0' is no number of tokens"),
    ],
)
def test_a_prompt_that_cannot_be_given_says_why(arguments: dict[str, str], sentence: str) -> None:
    async def asked(client: Client) -> Any:
        return await client.get_prompt("handoff", arguments)

    with serving() as server:
        assert refusal(server, asked).startswith(sentence)
