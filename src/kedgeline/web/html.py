"""A session as one file that opens from disk: the page, its script and the data in it."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files

import msgspec

from kedgeline.web.pages import compaction_page, session_page, turns_page
from kedgeline.web.session import ShownSession
from kedgeline.web.turns import Page

COMPACTIONS = 8
"""Whose records go into the file, the newest."""
LEVEL = 6
"""Of compression: more takes longer and saves a hundredth."""


def static(name: str) -> str:
    """A file of ours that a browser gets."""
    return (files("kedgeline.web") / "static" / name).read_text("utf-8")


def html_page(opened: ShownSession) -> str:
    """The whole page. Only its own script runs, and nothing can be loaded from anywhere."""
    style, script = static("viewer.css"), static("viewer.js")
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            f"style-src '{_hash(style)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
        )
    )
    page = static("index.html")
    for place, text in (
        ("<!-- policy -->", f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        ('<link rel="stylesheet" href="/static/viewer.css">', f"<style>{style}</style>"),
        (
            '<script src="/static/viewer.js" defer></script>',
            f'<script type="application/json" id="data">{_data(opened)}</script>\n'
            f"<script>{script}</script>",
        ),
    ):
        before, found, behind = page.rpartition(place)
        assert found, place
        page = before + text + behind
    return page


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _data(opened: ShownSession) -> str:
    """Compressed JSON as a text of JSON: it has no sign that HTML gives a meaning to."""
    session = session_page(opened)
    chosen = [one["id"] for one in session["compactions"]][-COMPACTIONS:]
    pages: Page = {
        "session": session,
        "turns": {
            agent: turns_page(opened, 0, 1 << 40, agent)
            for agent in ("", *(one.agent for one in opened.transcript.agents))
        },
        "compactions": {which: compaction_page(opened, which) for which in chosen},
    }
    packed = gzip.compress(msgspec.json.encode(pages), LEVEL, mtime=0)
    return json.dumps({"gzip": b64encode(packed).decode()})
