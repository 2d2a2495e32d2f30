"""Secrets beside the turns: in the title, the system prompt, pins, names of sub-agents."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from kedgeline.model import Change, Message, SessionFacts, Text, Transcript
from kedgeline.session.archive import unpacked
from kedgeline.session.checking import SAYS
from kedgeline.session.session import Session
from kedgeline.store import Store
from kedgeline.store.protocol import open_store
from tests.turns import bash, called, turn

CANARY = "ghp_" + "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"
WORDS = "lorem ipsum dolor sit amet " * 20


def told(turns: int = 60) -> Transcript:
    """A session with the canary in all that stands beside its turns."""
    start = called("Task", "done", description="look")
    asked = [
        turn(n, bash("ls", WORDS), user=f"request {n} {WORDS}", says=f"answer {n}", tokens=0)
        for n in range(turns)
    ]
    asked[-2] = replace(asked[-2], tool_calls=(start[0],), tool_results=(start[1],))
    names = ("title", "branch", "pull_request", "root", "model")
    facts = SessionFacts(
        changes=tuple(
            Change(name=name, value=f"{place} {CANARY}", turn=place * 7)
            for place, name in enumerate(names)
        )
    )
    agent = Transcript(
        format="claude-code",
        agent=f"agent {CANARY}",
        delegated_by=start[0].id,
        turns=(turn(0, user="look", says="seen", agent=f"agent {CANARY}", tokens=0),),
    )
    head = Message(role="system", parts=(Text(text=f"Deploy with {CANARY}."),))
    return Transcript(
        format="claude-code", turns=tuple(asked), head=(head,), session=facts, agents=(agent,)
    )


def said(store: Store, session: str, *kinds: Any) -> str:
    """All that entries say, texts kept apart included."""
    values = (
        msgspec.to_builtins(unpacked(entry.data, SAYS[entry.kind], store.blob))
        for entry in store.entries(session, kinds=kinds)
        if entry.kind in SAYS
    )
    return msgspec.json.encode([*values, *map(repr, store.entries(session, kinds=kinds))]).decode()


@pytest.mark.parametrize("window", [6_000, 200])
def test_nothing_beside_the_turns_gets_into_a_record(window: int) -> None:
    """Also where turns are folded while they are read."""
    store = open_store("memory:")
    session = Session("demo", store, window=window)
    session.append(told())
    made = session.compact(window=window)
    session.compact(window=window)
    assert made.plan.cut
    record = said(store, "demo", "compaction", "attempt")
    assert "request" in record
    assert CANARY not in record
    assert CANARY in said(store, "demo", "about")  # the archive keeps what was said


def test_an_archive_without_secrets_has_none_beside_the_turns() -> None:
    store = open_store("memory:")
    session = Session("demo", store, window=6_000, keep_secrets=False)
    system = {"role": "system", "content": f"Use {CANARY}."}
    asked = {"role": "user", "content": f"Deploy with {CANARY}."}
    answer = {"role": "assistant", "content": "Done."}
    session.append([system, asked, answer])
    pin = session.pin(f"deploy with {CANARY}")
    other = Session("other", store, window=6_000, keep_secrets=False)
    other.append(replace(told(), agents=()))
    assert CANARY not in said(store, "demo") + said(store, "other")
    assert pin.text == session.pins()[0].text == "deploy with [secret: GitHub token]"


def test_what_is_said_again_beside_the_turns_is_known_although_it_was_cleaned() -> None:
    store = open_store("memory:")
    system = {"role": "system", "content": f"Use {CANARY}."}
    asked = {"role": "user", "content": "Deploy."}
    for _ in range(3):
        Session("demo", store, keep_secrets=False).append([system, asked])
        Session("other", store, keep_secrets=False).append(replace(told(4), agents=()))
    assert len(list(store.entries("demo", kinds=("about",)))) == 1
    assert len(list(store.entries("other", kinds=("about",)))) == 1


def test_a_turn_behind_a_gap_is_refused() -> None:
    session = Session("demo", open_store("memory:"))
    session.append(turn(0, user="first", says="ok"))
    with pytest.raises(ValueError, match="t7 is not the next turn: 1 stand before it"):
        session.append(Transcript(format="x", turns=(turn(0, user="first", says="ok"), turn(7))))
