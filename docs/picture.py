"""Takes the picture of docs/viewer.md in a browser; `make picture` runs it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from kedgeline.redact import Redactor
from kedgeline.web.pages import html_page
from kedgeline.web.session import open_file

ROOT = Path(__file__).parents[1]
SESSION = ROOT / "examples" / "claude-code-compacted.jsonl"
TARGET = ROOT / "docs" / "pictures" / "viewer.png"
SIZE = {"width": 1280, "height": 800}


def main() -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        page = Path(folder) / "session.html"
        page.write_text(html_page(open_file(SESSION, Redactor())), "utf-8")
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport=SIZE, timezone_id="UTC", locale="en-GB")
        tab.goto(f"{page.as_uri()}#/s/file/compactions/host-1")
        tab.locator("#part .line[role=link]").first.click()
        tab.wait_for_selector("article.at")
        tab.screenshot(path=TARGET)
        browser.close()


if __name__ == "__main__":
    main()
