"""The viewer in a real browser: a walk through it, and sessions that want to be more than text."""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kedgeline.redact import Redactor
from kedgeline.web.pages import html_page
from kedgeline.web.session import open_file
from tests.conftest import EXAMPLES
from tests.web import hostile

playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright: `make web-test`")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="no Chromium: `make web-test` installs it")

SECONDS = 20
PATIENCE = 1000 * SECONDS


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


class Tab:
    """A page that is watched: what it asks for, and what goes wrong in it."""

    def __init__(self, browser: Any, home: str, **options: Any) -> None:
        self.context = browser.new_context(viewport={"width": 1300, "height": 850}, **options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.asked: list[str] = []
        self.wrong: list[str] = []
        self.page.on("request", lambda one: self._ask(one.url, home))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", lambda one: self.wrong.append(f"dialog {one.message}"))
        self.page.on("console", self._said)

    def _ask(self, url: str, home: str) -> None:
        if not url.startswith((home, "data:")):
            self.asked.append(url)

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.wrong.append(message.text)

    def is_quiet(self) -> bool:
        ran = self.page.evaluate("[window.ran, document.scripts.length, document.links.length]")
        assert ran[0] is None
        assert not self.page.query_selector("iframe, object, embed, #app script, #app style")
        assert self.page.evaluate("[...document.images].every(i => i.src.startsWith('data:'))")
        assert (self.asked, self.wrong) == ([], [])
        return True


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    made: list[Tab] = []

    def open_tab(home: str, **options: Any) -> Tab:
        made.append(Tab(browser, home, **options))
        return made[-1]

    yield open_tab
    for one in made:
        one.context.close()


def file_of(session: Path, folder: Path) -> str:
    path = folder / "page.html"
    path.write_text(html_page(open_file(session, Redactor())), "utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """A server with a hostile session among Claude Code's own and one that is kept."""
    folder = tmp_path_factory.mktemp("served")
    projects = folder / ".claude" / "projects" / "x"
    projects.mkdir(parents=True)
    hostile.write(projects / "hostile.jsonl")
    environment = {
        **os.environ,
        "HOME": str(folder),
        "KEDGELINE_STORE": str(folder / "store"),
        "KEDGELINE_WINDOW": "32000",
    }
    environment.pop("CLAUDE_CONFIG_DIR", None)
    program = [sys.executable, "-m", "kedgeline"]
    session = EXAMPLES / "claude-code-long.jsonl"
    for words in (["add", "harbor", str(session)], ["compact", "harbor"]):
        subprocess.run(
            [*program, *words], env=environment, check=True, capture_output=True, timeout=60
        )
    words = [*program, "web", "--json"]
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, cwd=folder) as server:
        try:
            assert server.stdout is not None
            assert select.select([server.stdout], [], [], SECONDS)[0], "it did not start"
            url = json.loads(server.stdout.readline())["url"]
            yield {"url": url, "home": url.partition("?")[0], "folder": folder}
        finally:
            server.terminate()
            server.wait(SECONDS)


def walk(tab: Tab) -> None:
    """Through every part of a session that has something to show."""
    page = tab.page
    page.wait_for_selector(".row")
    page.locator(".row").first.click()
    page.wait_for_selector("article.at")
    page.keyboard.press("j")
    for details in page.locator("article details > summary").all()[:12]:
        details.click()
    for name in ("Files", "Compactions"):
        page.get_by_role("tab", name=re.compile(name)).click()
        page.wait_for_selector(".card")
    for number in range(page.locator(".card.click").count()):
        page.locator(".card.click").nth(number).click()
        page.wait_for_selector("#part")
        for part in range(page.locator(".pane nav [role=tab]").count()):
            page.locator(".pane nav [role=tab]").nth(part).click()
        page.get_by_label("All compactions").click()


def test_a_hostile_session_is_only_text_in_a_file(tab: Any, tmp_path: Path) -> None:
    url = file_of(hostile.write(tmp_path / "hostile.jsonl"), tmp_path)
    one = tab(url)
    one.page.goto(url)
    walk(one)
    assert one.is_quiet()
    assert "<script>" in one.page.inner_text("h1")


def test_a_hostile_session_is_only_text_on_the_server(tab: Any, served: dict[str, Any]) -> None:
    one = tab(served["home"])
    one.page.goto(served["url"])
    one.page.locator(".entry", has_text="hostile").click()
    walk(one)
    assert "token" not in one.page.url
    assert one.is_quiet()


def test_any_loss_is_two_clicks_away(tab: Any, tmp_path: Path) -> None:
    url = file_of(EXAMPLES / "claude-code-compacted.jsonl", tmp_path)
    one = tab(url)
    one.page.goto(f"{url}#/s/file/compactions/host-1")
    one.page.get_by_role("tab", name=re.compile("Left out")).click()  # the first
    losses = one.page.locator("#part details .line[role=link]")
    losses.first.wait_for()
    assert losses.count() > 5
    for number in range(losses.count()):
        turn = losses.nth(number).get_attribute("data-turn")
        losses.nth(number).click(position={"x": 4, "y": 4})  # the second
        one.page.wait_for_selector(f"article.at >> text=t{turn}")
        assert one.page.locator("article.at").bounding_box()["x"] > 500
    assert one.is_quiet()


def test_every_line_of_a_summary_opens_its_turn_by_keyboard(tab: Any, tmp_path: Path) -> None:
    url = file_of(EXAMPLES / "claude-code-long.jsonl", tmp_path)
    one = tab(url)
    one.page.goto(f"{url}#/s/file/compactions/now/summary")
    lines = one.page.locator("#part .line[role=link]")
    lines.first.wait_for()
    for number in range(0, lines.count(), 12):
        turn = lines.nth(number).get_attribute("data-turn")
        lines.nth(number).focus()
        one.page.keyboard.press("Enter")
        one.page.wait_for_selector(f"article.at >> text=t{turn}")
    one.page.keyboard.press("Escape")
    one.page.wait_for_selector(".reader", state="hidden")
    one.page.locator(".chart svg").focus()
    for key in ("Home", "ArrowRight", "ArrowRight", "Enter"):
        one.page.keyboard.press(key)
    one.page.wait_for_selector("article.at >> text=t2")
    assert one.is_quiet()


def test_only_what_is_in_view_is_in_the_page(tab: Any, tmp_path: Path) -> None:
    url = file_of(EXAMPLES / "claude-code-long.jsonl", tmp_path)
    one = tab(url)
    one.page.goto(url)
    one.page.wait_for_selector(".row")
    assert one.page.locator(".row").count() < 60
    one.page.locator("#rows").evaluate("rows => rows.scrollTop = rows.scrollHeight")
    one.page.wait_for_selector("#row-193")
    one.page.fill("#search", "Unsupported operand")
    one.page.keyboard.press("Enter")
    one.page.wait_for_selector("text=found")
    assert one.page.locator(".row").count() < 10


@pytest.mark.parametrize("look", ["light", "dark"])
def test_it_fits_a_narrow_screen(tab: Any, tmp_path: Path, look: str) -> None:
    url = file_of(EXAMPLES / "claude-code-long.jsonl", tmp_path)
    one = tab(url, color_scheme=look)
    one.page.set_viewport_size({"width": 390, "height": 800})
    one.page.goto(f"{url}#/s/file/turns?t=48")
    one.page.wait_for_selector("article.at")
    assert one.page.evaluate("document.documentElement.scrollWidth") <= 390
    paper = one.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(20, 24, 27)") == (look == "dark")
    one.page.click("#close")
    one.page.wait_for_selector(".row")


def test_pin_and_undo(tab: Any, served: dict[str, Any]) -> None:
    one = tab(served["home"])
    one.page.goto(served["url"])
    one.page.locator(".entry", has_text="harbor").click()
    one.page.wait_for_selector("text=turns")
    one.page.locator(".row").first.click()
    one.page.click("#pin")
    one.page.wait_for_selector("#pin >> text=Unpin")
    one.page.evaluate("window.confirm = () => true")
    one.page.get_by_role("tab", name=re.compile("Compactions")).click()
    one.page.locator(".card.click", has_text="by kedgeline before").click()
    one.page.get_by_role("button", name="Undo").click()
    one.page.wait_for_selector(".card >> text=undone")
    assert one.is_quiet()


def test_a_session_that_grows_updates_by_itself(tab: Any, served: dict[str, Any]) -> None:
    source = (EXAMPLES / "claude-code-compacted.jsonl").read_bytes().splitlines(keepends=True)
    path = served["folder"] / ".claude" / "projects" / "x" / "growing.jsonl"
    path.write_bytes(b"".join(source[:-30]))
    one = tab(served["home"])
    one.page.goto(served["url"])
    one.page.locator(".entry", has_text="growing").click()
    one.page.get_by_role("tab", name=re.compile("Turns")).wait_for()
    before = one.page.get_by_role("tab", name=re.compile("Turns")).inner_text()
    with path.open("ab") as file:
        file.write(b"".join(source[-30:]))
    assert before != "Turns 51"
    one.page.wait_for_selector("[role=tab]:text-is('Turns 51')")
    assert one.is_quiet()
