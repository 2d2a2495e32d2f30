"""Names of sessions, owners, threads, marks and keys that try to leave the store, under watch.

Run as a program it does everything that takes a name with every name, and prints what became of
each, and every path that was opened, made or renamed on the way."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

from tests.traversal import RIGHT, WRONG

WORDS = {"role": "user", "content": "berth"}


def acts(root: Path) -> dict[str, Callable[[str], object]]:
    """What takes a name."""
    from kedgeline.model import Transcript, Turn
    from kedgeline.session.archive import original
    from kedgeline.session.exports import export_session, import_session
    from kedgeline.session.session import Session
    from kedgeline.store.protocol import open_store

    store = open_store(root, durability="fast")
    fixed = Session("fixed", store)
    fixed.append(WORDS)
    fixed.append({"role": "assistant", "content": "done"})
    kept = BytesIO()
    export_session(store, "fixed", kept)
    agent = Turn(assistant_response="x")

    def forked(name: str) -> object:
        return fixed.fork(name if name not in RIGHT else f"{name[:60]}.f")

    def imported(name: str) -> object:
        named = name if name not in RIGHT else f"{name[:60]}.i"
        return import_session(store, BytesIO(kept.getvalue()), name=named)

    def delegated(name: str) -> object:
        thread = Transcript(format="kedgeline", agent=name, turns=(agent,))
        return fixed.append(Transcript(format="kedgeline", turns=(agent,), agents=(thread,)))

    return {
        "append": lambda name: Session(name, store).append(WORDS),
        "undo": lambda name: Session(name, store).undo(),
        "pin": lambda name: Session(name, store).pin("berth"),
        "fork": forked,
        "import": imported,
        "owner": lambda name: Session(
            "one", open_store(root, owner=name, durability="fast")
        ).append(WORDS),
        "thread": delegated,
        "mark": lambda name: original(store, "fixed", name),
        "key": lambda name: fixed.append({"role": "user", "content": f"k{name}"}, key=name),
    }


def watched(root: Path) -> dict[str, Any]:
    from kedgeline.errors import KedgelineError

    touched: list[str] = []
    outcomes: dict[str, dict[str, str]] = {}

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("open", "os.mkdir", "os.rename", "os.remove", "os.symlink", "os.link"):
            names = [one for one in arguments if isinstance(one, (str, bytes, Path))][:2]
            touched.extend(os.fsdecode(name) for name in names)

    every = acts(root)
    for act in every.values():  # loads what it needs before it is watched
        with suppress(KedgelineError):
            act("warm")
    sys.addaudithook(hook)
    for name in (*WRONG, *RIGHT):
        for what, act in every.items():
            try:
                act(name)
                came = "done"
            except KedgelineError as error:
                came = type(error).__name__
            outcomes.setdefault(what, {})[name] = came
    return {"outcomes": outcomes, "touched": sorted(set(touched))}


if __name__ == "__main__":
    json.dump(watched(Path(sys.argv[1])), sys.stdout)
