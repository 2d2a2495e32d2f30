"""The viewer's server answers nobody but its own page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kedgeline import Session, open_store
from kedgeline.redact import Redactor
from kedgeline.settings import Settings
from tests.conftest import EXAMPLES

pytest.importorskip("starlette", reason="the extra `web` is not installed")
pytest.importorskip("httpx", reason="Starlette's test client needs httpx")

from starlette.testclient import TestClient

from kedgeline.web.server import app_for
from kedgeline.web.session import Sessions

TOKEN, PORT = "t" * 43, 8123
HOME = f"http://127.0.0.1:{PORT}"


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder with a session of Claude Code, and a store with one that is compacted."""
    folder = tmp_path_factory.mktemp("machine")
    projects = folder / "home" / ".claude" / "projects" / "larder"
    projects.mkdir(parents=True)
    data = (EXAMPLES / "claude-code-compacted.jsonl").read_bytes()
    (projects / "s1.jsonl").write_bytes(data)
    with Session.open("harbor", folder / "store", window=32_000) as kept:
        kept.follow(EXAMPLES / "claude-code-long.jsonl")
        kept.compact()
    return folder


@pytest.fixture
def sessions(machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sessions]:
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    shutil.copytree(machine, tmp_path, dirs_exist_ok=True)
    store = open_store(tmp_path / "store")
    yield Sessions(
        store, settings=Settings(), home=tmp_path / "home", window=32_000, redactor=Redactor()
    )
    store.close()


@pytest.fixture
def stranger(sessions: Sessions) -> TestClient:
    return TestClient(app_for(sessions, TOKEN, PORT), base_url=HOME, follow_redirects=False)


@pytest.fixture
def client(stranger: TestClient) -> TestClient:
    answer = stranger.get("/", params={"token": TOKEN})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert "httponly" in answer.headers["set-cookie"].lower()
    assert "samesite=strict" in answer.headers["set-cookie"].lower()
    return stranger


PATHS = ("/", "/static/viewer.js", "/api/sessions", "/api/session?id=kept:harbor", "/nothing")


@pytest.mark.parametrize("path", PATHS)
def test_without_the_token_there_is_nothing(stranger: TestClient, path: str) -> None:
    assert stranger.get(path).status_code == 401


@pytest.mark.parametrize("token", ["", "t", "t" * 42, "x" * 43, "t" * 44, "é" * 43])
def test_a_wrong_token_is_refused(stranger: TestClient, token: str) -> None:
    assert stranger.get("/", params={"token": token}).status_code == 401
    assert stranger.get("/api/sessions").status_code == 401


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        *(("host", one, 421) for one in ("evil.example:8123", "127.0.0.1", "127.0.0.1:80", "")),
        ("host", "localhost.evil.example:8123", 421),
        *(("origin", one, 403) for one in ("http://evil.example", "null", "http://127.0.0.1:9999")),
        ("origin", f"https://127.0.0.1:{PORT}", 403),
        ("sec-fetch-site", "same-site", 403),
    ],
)
def test_who_comes_from_elsewhere_is_refused(
    client: TestClient, header: str, value: str, status: int
) -> None:
    """A name that an attacker lets point to this machine is no name of ours."""
    assert client.get("/api/sessions", headers={header: value}).status_code == status
    assert client.post("/api/undo", headers={header: value}, json={}).status_code == status


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_has_the_headers(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in headers


def test_sessions_of_the_store_and_of_agents_are_listed(client: TestClient) -> None:
    rows = {row["agent"]: row for row in client.get("/api/sessions").json()["sessions"]}
    assert rows["kept"]["id"] == "kept:harbor"
    assert rows["claude-code"]["title"].startswith("I want `larder import")
    page = client.get("/api/session", params={"id": rows["claude-code"]["id"]}).json()
    assert len(page["columns"]["title"]) == 51


def test_a_path_is_no_id(client: TestClient) -> None:
    for id in ("/etc/passwd", "../../etc/passwd", "kept:../x", "kept:", ""):
        answer = client.get("/api/session", params={"id": id})
        assert answer.status_code == 400, id
    assert client.get("/static/..%2F__init__.py").status_code == 404
    assert client.get("/api/turns", params={"id": "kept:harbor", "first": "x"}).status_code == 400


def test_search_finds_originals(client: TestClient) -> None:
    hits = client.get("/api/search", params={"q": "waiting list"}).json()["hits"]
    assert hits
    assert hits[0]["id"] == "kept:harbor"


def test_undo_and_pin_need_the_word_of_the_page(client: TestClient) -> None:
    word = client.get("/api/sessions").json()["action"]
    right = {"origin": HOME, "x-kedgeline-action": word}

    def sent(what: str, headers: dict[str, str] = right, **more: Any) -> Any:
        body = {"id": "kept:harbor", "what": 12, **more}
        return client.post(f"/api/{what}", headers=headers, json=body)

    def page() -> Any:
        return client.get("/api/session", params={"id": "kept:harbor"}).json()

    for headers in ({}, {"origin": HOME}, {**right, "x-kedgeline-action": TOKEN}):
        assert [sent(what, headers).status_code for what in ("pin", "undo")] == [403, 403]
    assert client.get("/api/undo").status_code == 405
    assert sent("pin").json()["turn"] == 12
    assert [one["turn"] for one in page()["pins"]] == [12]
    assert sent("pin", off=True).status_code == 200
    assert sent("undo").json() == {"undone": 1}
    assert page()["compactions"][0]["undone"]
    assert sent("undo").status_code == 400


def test_a_session_that_grows_is_seen(client: TestClient, tmp_path: Path) -> None:
    (path,) = tmp_path.glob("home/.claude/projects/*/*.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-40]))
    rows = client.get("/api/sessions").json()["sessions"]
    id = next(row["id"] for row in rows if row["agent"] == "claude-code")
    before = client.get("/api/session", params={"id": id}).json()
    path.write_bytes(b"".join(lines))
    seen = client.get("/api/seen", params={"id": id}).json()["seen"]
    after = client.get("/api/session", params={"id": id}).json()
    assert before["seen"] != seen == after["seen"]
    assert len(before["columns"]["title"]) < len(after["columns"]["title"])
