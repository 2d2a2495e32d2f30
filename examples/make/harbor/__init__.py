"""A long session: a marina's booking service gets a waiting list and a calendar export."""

from __future__ import annotations

import stored
from workspace import Workspace

from harbor import (
    calendar_feed,
    documents,
    double_offers,
    endpoints,
    exploring,
    feed_keys,
    planning,
    reminders,
    review,
    waiting_list,
)
from harbor.material import ROOT, Session
from recorders.claude_code.journal import Record

CHAPTERS = (
    exploring,
    planning,
    waiting_list,
    endpoints,
    double_offers,
    documents,
    calendar_feed,
    feed_keys,
    review,
    reminders,
)


def record() -> list[Record]:
    """The whole session, record by record."""
    session = Session(
        seed="harbor",
        start="2026-03-02T08:12:40",
        workspace=Workspace(ROOT, stored.project("harbor")),
        branch="main",
        version="2.1.12",
        model="claude-opus-4-5-20251101",
    )
    for chapter in CHAPTERS:
        chapter.play(session)
    return session.journal.records
