"""Resources and the prompt, and paths that lead elsewhere."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from kedgeline.mcp.results import DATA
from kedgeline.mcp.server import LARGEST
from tests.integrations.mcp.serving import reading, refusal, resource, serving, talk


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


def body(text: str) -> str:
    """What stands behind the line that says what it is."""
    head, _, rest = text.partition("\n\n")
    assert head.startswith("[")
    assert head.endswith(f" {DATA}]")
    return rest


def test_sessions_and_summaries_can_be_read(server: Any) -> None:
    listed = json.loads(resource(server, "kedgeline://sessions"))
    named = resource(server, "kedgeline://sessions/harbor/summary")
    part = resource(server, "kedgeline://sessions/harbor/summary?first=3")
    unknown = unread(server, "kedgeline://sessions/nowhere/summary")
    behind = unread(server, "kedgeline://sessions/harbor/summary?first=9999")
    assert [one["name"] for one in listed["sessions"]] == ["harbor"]
    assert listed["data"] == DATA
    assert named.startswith("[Summary of the session 'harbor' (asked for). ")
    assert body(named).split("\n")[2:] == body(part).split("\n")
    assert "Never touch the billing module." in named
    assert unknown.startswith("no session 'nowhere'")
    assert "there is no line 9,999" in behind


def test_the_summary_under_way_is_of_this_folder_and_names_its_session(server: Any) -> None:
    with serving() as here:
        current = resource(here, "kedgeline://summary")
        named = resource(here, "kedgeline://sessions/harbor/summary")
    elsewhere = unread(server, "kedgeline://summary")
    assert current.startswith("[Summary of the session 'harbor' (of this folder). ")
    assert body(current) == body(named)
    assert elsewhere.startswith("no session of this folder is kept, so that none is under way")


@pytest.mark.parametrize("first", ["abc", "", "1.5", "9" * 5_000])
def test_a_line_that_is_no_number_is_told_in_one_sentence(
    server: Any, first: str, caplog: pytest.LogCaptureFixture
) -> None:
    for address in ("kedgeline://sessions/harbor/summary", "kedgeline://bank/progress.md"):
        told = unread(server, f"{address}?first={first}")
        assert told.startswith(f"{address}?first={first}"[:80])
        assert " was read with wrong arguments: first: " in told
        assert "integer" in told
        assert "\n" not in told
    assert caplog.records == []


def test_files_of_the_bank_can_be_read(server: Any, bank: Path) -> None:
    listed = json.loads(resource(server, "kedgeline://bank"))
    assert "kedgeline://bank/progress.md" in listed["files"]
    assert listed["data"] == DATA
    assert body(resource(server, "kedgeline://bank/progress.md")).startswith("# Progress")
    assert body(resource(server, "kedgeline://bank/archive/old.md")) == "# Old\n"
    with serving(folder=bank.parent / "src" / "deep") as below:
        assert body(resource(below, "kedgeline://bank/progress.md")).startswith("# Progress")


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
    told = unread(server, f"kedgeline://bank/{path}")
    assert "private" not in told.replace("private.md", "")
    assert "cannot use" in told


def test_a_file_that_is_missing_or_too_large_is_told(server: Any, bank: Path) -> None:
    with (bank / "giant.md").open("wb") as file:
        os.truncate(file.fileno(), LARGEST + 1)
    assert "kedgeline://bank lists them" in unread(server, "kedgeline://bank/nothing.md")
    assert "too large" in unread(server, "kedgeline://bank/giant.md")
    with serving() as without:
        assert "is no memory bank" in unread(without, "kedgeline://bank")


def test_a_long_file_is_cut_and_says_where_it_goes_on(server: Any, bank: Path) -> None:
    (bank / "long.md").write_text("\n".join(f"- entry {n}" for n in range(5_000)))
    text = resource(server, "kedgeline://bank/long.md")
    address = text.rpartition("it goes on at ")[2].removesuffix("]")
    following = resource(server, address)
    shown = body(text).partition("\n\n[")[0].split("\n")
    assert body(following).split("\n")[0] == f"- entry {len(shown)}"


def handed_off(server: Any, **arguments: str) -> str:
    async def asked(client: Client) -> Any:
        (message,) = (await client.get_prompt("handoff", arguments)).messages
        return message.content.text  # type: ignore[union-attr]

    return str(talk(server, asked))


def test_the_prompt_hands_a_session_off(server: Any) -> None:
    async def listed(client: Client) -> Any:
        return (await client.list_prompts()).prompts

    (prompt,) = talk(server, listed)
    text = handed_off(server, session="harbor")
    assert (prompt.name, [one.required for one in prompt.arguments]) == ("handoff", [False, False])
    assert "session 'harbor' (asked for)" in text
    assert "Never touch the billing module." in body(text)
    assert handed_off(server, session="harbor", tokens="") == text


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"session": "nowhere"}, "no session 'nowhere'"),
        ({}, "no session of this folder is kept, so that none is under way"),
        ({"tokens": "many"}, "handoff was asked for with wrong arguments: tokens: Input should be"),
        ({"tokens": "0"}, "handoff was asked for with wrong arguments: tokens: Input should be"),
        ({"tokens": "9" * 5_000}, "handoff was asked for with wrong arguments: tokens: "),
        ({"tokens": "99999"}, "handoff was asked for with wrong arguments: tokens: Input should"),
        ({"room": "9"}, "handoff takes no 'room'; it takes session, tokens"),
        ({"r" * 5_000: "9"}, f"handoff takes no '{'r' * 80}'; it takes session, tokens"),
    ],
)
def test_a_prompt_that_cannot_be_given_says_why(
    server: Any, arguments: dict[str, str], sentence: str
) -> None:
    async def asked(client: Client) -> Any:
        return await client.get_prompt("handoff", arguments)

    assert refusal(server, asked).startswith(sentence)
