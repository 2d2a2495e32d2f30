"""The summary as it stands is the one of the whole session, however often it was compacted."""

from __future__ import annotations

from msgspec.structs import replace

from kedgeline.hosts.mcp.tools import standing_summary
from kedgeline.model import Note, Summary, Turn
from kedgeline.pipeline.handoff import summarize
from kedgeline.session.journal import Journal, Keeping
from kedgeline.session.session import Session
from kedgeline.store import Store
from kedgeline.tokens import EXACT
from tests.integrations.mcp.serving import WINDOW, harbor, keep, memory, transcript
from tests.turns import bash, edit, turn


def standing(store: Store) -> Summary:
    clean = Keeping(EXACT, None).cleaned
    return standing_summary(Journal(store, "harbor"), clean, window=WINDOW)


def whole(session: Session) -> Summary:
    return summarize(session.transcript(), redactor=None)


def test_it_is_the_same_before_and_after_compactions_and_with_words_that_wait() -> None:
    store = memory()
    session = keep(store, "harbor", harbor())
    assert standing(store) == whole(session)
    for start in (5, 30):
        more = range(start, start + 25)
        session.append(
            [
                turn(n, bash(f"make {n}", "ok") if n % 2 else edit(f"src/{n}.py"), tokens=300)
                for n in more
            ]
        )
        session.compact(window=WINDOW)
        assert session.history()[-1].what.turns == start + 25  # type: ignore[union-attr]
        assert standing(store) == whole(session)
    session.append({"role": "user", "content": "Now paint the bollards red."})
    assert standing(store) == whole(session)
    assert standing(store).requests[-1].text == "Now paint the bollards red."
    store.close()


def test_what_waits_without_words_is_covered_too() -> None:
    store = memory()
    note = Turn(index=5, exchange=1, notes=(Note(kind="command", text="/cost"),))
    session = Session("harbor", store, redactor=None)
    session.append(replace(transcript(harbor()), pending=note))
    assert standing(store).through == whole(session).through == 5
    store.close()
