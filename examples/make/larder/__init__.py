"""A session that its client compacted: a kitchen inventory in Go learns to import CSV files."""

from __future__ import annotations

import stored
from recorders.claude_code.journal import Record
from workspace import Workspace

from larder import dry_run, importing, merging
from larder.material import ROOT, Session

CHAPTERS = (importing, merging, dry_run)


def record() -> list[Record]:
    """The whole session, record by record."""
    session = Session(
        seed="larder",
        start="2026-02-17T18:40:05",
        workspace=Workspace(ROOT, stored.project("larder")),
        branch="main",
        version="2.1.37",
        model="claude-sonnet-4-5-20250929",
    )
    for chapter in CHAPTERS:
        chapter.play(session)
    return session.journal.records
