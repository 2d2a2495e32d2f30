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
    reading,
    refusal,
    resource,
    serving,
    talk,
)


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tmp_path = tmp_path_factory.mktemp("bank")
    folder = tmp_path / "project" / "memory-bank"
    (folder / "archive").mkdir(parents=True)
    (folder / "progress.md").write_text("# Progress\n- the pier stands\n")
    (folder / "archive" / "old.md").write_text("# Old\n")
    (folder / ".hidden.md").write_text("hidden")
    (tmp_path / "project" / "private.md").write_text("private")
    (folder / "link.md").symlink_to(tmp_path / "project" / "private.md")
    (folder / "away").symlink_to(tmp_path / "project")
    return folder


@pytest.fixture(scope="module")
def server(bank: Path) -> Any:
    with serving(folder=bank.parent) as found:
        yield found


def unread(server: Any, uri: str) -> str:
    return refusal(server, reading(uri))


def test_sessions_and_summaries_can_be_read(server: Any) -> None:
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


def test_files_of_the_bank_can_be_read(server: Any, bank: Path) -> None:
    assert "kedge://bank/progress.md" in json.loads(resource(server, "kedge://bank"))["files"]
    assert resource(server, "kedge://bank/progress.md").startswith("# Progress")
    assert resource(server, "kedge://bank/archive/old.md") == "# Old\n"
    with serving(folder=bank.parent / "src" / "deep") as below:
        assert resource(below, "kedge://bank/progress.md").startswith("# Progress")


def test_hidden_files_and_links_are_not_listed(server: Any) -> None:
    listed = resource(server, "kedge://bank")
    assert "hidden" not in listed
    assert "link" not in listed


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
def test_no_path_leads_out_of_the_bank(server: Any, path: str) -> None:
    told = unread(server, f"kedge://bank/{path}")
    assert "private" not in told.replace("private.md", "")
    assert "left alone" in told


def test_a_file_that_is_missing_or_too_large_is_told(server: Any, bank: Path) -> None:
    with (bank / "giant.md").open("wb") as file:
        os.truncate(file.fileno(), LARGEST + 1)
    assert "kedge://bank lists them" in unread(server, "kedge://bank/nothing.md")
    assert "too large" in unread(server, "kedge://bank/giant.md")
    with serving() as without:
        assert "is no memory bank" in unread(without, "kedge://bank")


def test_a_long_file_is_cut_and_says_where_it_goes_on(server: Any, bank: Path) -> None:
    (bank / "long.md").write_text("\n".join(f"- entry {n}" for n in range(5_000)))
    text = resource(server, "kedge://bank/long.md")
    address = text.rpartition("it goes on at ")[2].removesuffix("]")
    following = resource(server, address)
    shown = text.partition("\n\n[")[0].split("\n")
    assert following.split("\n")[0] == f"- entry {len(shown)}"


def test_the_prompt_hands_a_session_off(server: Any) -> None:
    async def asked(client: Client) -> Any:
        (prompt,) = (await client.list_prompts()).prompts
        (message,) = (await client.get_prompt("handoff", {"session": "harbor"})).messages
        return prompt, message.content.text  # type: ignore[union-attr]

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
def test_a_prompt_that_cannot_be_given_says_why(
    server: Any, arguments: dict[str, str], sentence: str
) -> None:
    async def asked(client: Client) -> Any:
        return await client.get_prompt("handoff", arguments)

    assert refusal(server, asked).startswith(sentence)
