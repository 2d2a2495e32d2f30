"""What is under way when a worker is killed at a system call, and what may be left of it."""

from __future__ import annotations

import io
from pathlib import Path

from kedgeline.errors import FileRefused
from kedgeline.files import folder_below
from kedgeline.session.checking import Rules, plan_gc, remove_planned
from kedgeline.session.exports import export_session, import_session
from kedgeline.session.session import Session
from kedgeline.store import Store
from kedgeline.store.protocol import open_store
from tests.torture.acts import Act, Kind, do
from tests.torture.places import session_at

OTHER, IMPORTED = "other", "imported"
"""Sessions: one that is cleared up, one that is read from a file."""
OLD, FILE = b"an older file\n", "exported.jsonl"
STEPS: dict[str, tuple[Kind, ...]] = {
    "append": ("turn", "several"),
    "archive": ("words", "large", "image"),
    "compact": ("compact",),
    "undo": ("compact", "undo"),
    "create": ("turn", "words", "turn", "several", "turn"),
    "migrate": (),
    "export": (),
    "import": (),
    "gc": (),
}
"""Each scenario with its steps."""


def prepare(scenario: str, template: Path, seed: int) -> None:
    """Put beside the session what the scenario needs."""
    if scenario == "gc":
        with session_at(str(template), "fast", name=OTHER) as session:
            for number in range(5):
                do(session, seed + 1, Act(number, "large"))
    elif scenario == "export":
        (template / FILE).write_bytes(OLD)
    elif scenario == "import":
        with session_at(str(template)) as session, (template / FILE).open("wb") as target:
            export_session(session.store, session.name, target)


def play(scenario: str, session: Session, folder: Path) -> None:
    """What a scenario does beside steps of its session."""
    store = session.store
    if scenario == "gc":
        remove_planned(store, plan_gc(store, Rules(match=(OTHER,)), now=0))
    elif scenario == "export":
        with folder_below(folder) as below:
            assert below is not None
            with below.replacing(FILE) as target:
                export_session(store, session.name, target)
    elif scenario == "import":
        with (folder / FILE).open("rb") as source:
            import_session(store, source, name=IMPORTED)


def left_wrong(scenario: str, session: Session, folder: Path) -> list[str]:
    """All of it was done, or nothing."""
    store = session.store
    if scenario == "gc":
        return _whole_or_gone(store, OTHER, 5)
    if scenario == "import":
        return _whole_or_gone(store, IMPORTED, store.head(session.name).number)
    if scenario == "export":
        return _half_written((folder / FILE).read_bytes())
    return []


def _whole_or_gone(store: Store, name: str, entries: int) -> list[str]:
    found = store.head(name).number
    listed = [info.entries for info in store.sessions() if info.name == name]
    if found not in (0, entries) or listed != ([found] if found else []):
        return [f"{name} has {found} of {entries} entries, and is listed with {listed}"]
    return []


def _half_written(content: bytes) -> list[str]:
    if content == OLD:
        return []
    fresh = open_store("memory:")
    try:
        import_session(fresh, io.BytesIO(content))
    except FileRefused as error:
        return [f"half an export: {error}"]
    return []
