"""The newest compaction taken back: an entry that says so."""

from __future__ import annotations

from kedge.errors import NothingToUndo
from kedge.living.adding import Keeping, add_mark
from kedge.living.appending import Hold
from kedge.model import Compaction


def undo_newest(hold: Hold, session: str, keeping: Keeping) -> Compaction:
    """Leave the newest compaction out of the view from now on; it is given back."""
    with hold() as held:
        standing = held.journal.recorded()
        if standing is None:
            raise NothingToUndo(session)
        add_mark(held.writing, "undo", keeping, index=standing.number)
    return standing.record.compaction
