"""From a folder to PostgreSQL and back."""

from __future__ import annotations

from contextlib import closing
from io import BytesIO
from pathlib import Path

from kedgeline.session.checking import check
from kedgeline.session.exports import export_session, import_session
from kedgeline.session.session import Session
from kedgeline.store import Store
from kedgeline.store.protocol import open_store
from tests.checking.planting import session_in
from tests.exporting.test_round_trip import same


def moved(source: Store, target: Store) -> None:
    file = BytesIO()
    export_session(source, "demo", file)
    file.seek(0)
    import_session(target, file)


def test_a_session_moves_between_stores(tmp_path: Path, postgres: str) -> None:
    with (
        closing(open_store(tmp_path / "one")) as folder,
        closing(open_store(postgres)) as server,
        closing(open_store(tmp_path / "two")) as other,
    ):
        session = session_in(folder)
        moved(folder, server)
        moved(server, other)
        for store in (server, other):
            same(session, Session("demo", store, window=session.window))
            assert list(check(store)) == []
            assert store.indexed("demo") == folder.indexed("demo") != {}
