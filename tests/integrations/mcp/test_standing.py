"""The summary as it stands is the one of the whole session, however often it was compacted."""

from __future__ import annotations

from msgspec.structs import replace

from kedge.integrations.mcp.standing import standing_summary
from kedge.living.adding import Keeping
from kedge.living.journal import Journal
from kedge.model import Note, Summary, Turn
from kedge.session import Session
from kedge.store import Store
from kedge.summarizing import summarize
from kedge.tokens import EXACT
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
        assert told(standing(store)) == told(whole(session))
    session.append({"role": "user", "content": "Now paint the bollards red."})
    assert told(standing(store)) == told(whole(session))
    assert standing(store).requests[-1].text == "Now paint the bollards red."
    store.close()


def told(summary: Summary) -> tuple[Summary, dict[str, int]]:
    """Of names how often they stand there: what they weigh is a sum in another order."""
    counts = {name: entry.count for name, entry in summary.names.items()}
    return replace(summary, names={}), counts


def test_what_waits_without_words_is_covered_too() -> None:
    store = memory()
    note = Turn(index=5, exchange=1, notes=(Note(kind="command", text="/cost"),))
    session = Session("harbor", store, redactor=None)
    session.append(replace(transcript(harbor()), pending=note))
    assert standing(store).through == whole(session).through == 5
    store.close()


def test_a_summary_whose_state_is_gone_is_told_by_its_text() -> None:
    store = memory()
    more = [turn(n, bash(f"make {n}", "ok"), tokens=300) for n in range(5, 40)]
    session = keep(store, "harbor", [*harbor(), *more])
    session.compact(window=WINDOW, style="outcomes")
    found = standing(store)
    assert found.carried
    assert found.through == 39
    store.close()
