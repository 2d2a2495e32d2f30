"""A long session: a marina's booking service gets a waiting list and a calendar export."""

from __future__ import annotations

import stored
from recorders.claude_code.journal import Record
from workspace import Workspace

from harbor import (
    calendar_feed,
    documents,
    double_offers,
    endpoints,
    exploring,
    feed_keys,
    holds,
    planning,
    reminders,
    review,
    waiting_list,
    wrong_day,
)
from harbor.material import ROOT, Session

CHAPTERS = (
    exploring,
    planning,
    waiting_list,
    holds,
    endpoints,
    double_offers,
    documents,
    calendar_feed,
    wrong_day,
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
