"""Which session a call is about that names none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kedgeline.hosts.mcp.sessions import LATELY, around, opened
from kedgeline.session.journal import Keeping
from kedgeline.session.session import Session
from kedgeline.store import Store
from kedgeline.tokens import EXACT
from tests.integrations.mcp.serving import (
    HERE,
    harbor,
    keep,
    memory,
    serving,
    transcript,
)
from tests.turns import turn

BOAT = Path("/home/ada/boat")


def two() -> Store:
    store = memory()
    keep(store, "here", harbor())
    keep(store, "elsewhere", [turn(0, user="Sail.", says="We sail.")], BOAT)
    return store


def chosen(server: Any, **arguments: Any) -> tuple[str, str]:
    found = server.given("recall", **arguments)
    return found["session"], found["chosen"]


def test_it_is_chosen_by_name_option_or_folder() -> None:
    with serving(two()) as server:
        assert chosen(server) == ("here", "of this folder")
        assert chosen(server, session="elsewhere") == ("elsewhere", "asked for")
    with serving(two(), session="elsewhere") as server:
        assert chosen(server) == ("elsewhere", "--session")


def test_the_client_says_which_session_it_is_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claude Code gives its servers the id of the session."""
    with serving(two(), client_session="elsewhere") as server:
        assert chosen(server) == ("elsewhere", "of this client")
        assert server.given("pin", what="t0")["session"] == "elsewhere"
    with serving(two(), client_session="not-kept-yet") as server:
        assert chosen(server) == ("here", "of this folder")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "elsewhere")
    found = opened(str(tmp_path))
    assert found.client_session == "elsewhere"
    found.store.close()


def test_the_beginning_of_an_id_is_enough() -> None:
    store = memory()
    first, second = (f"0199a2b4-{n}{n}{n}{n}-7000-8000-0123456789ab" for n in (1, 2))
    for name in (first, second):
        keep(store, name, harbor())
    with serving(store) as server:
        assert chosen(server, session="0199a2b4-1") == (first, "asked for")
        assert server.refused("summary", session="0199a2b4").startswith("2 sessions begin with")
        assert server.refused("summary", session="019").startswith("no session '019'")


def test_it_is_the_one_of_the_nearest_folder_above() -> None:
    store = two()
    keep(store, "above", [turn(0, user="Look.", says="I look.")], HERE.parent)
    with serving(store, folder=HERE / "src" / "deep") as server:
        assert chosen(server) == ("here", "of a folder above")
        assert server.given("pin", what="t4")["session"] == "here"


def test_one_of_another_project_is_read_but_never_taken_for_the_one_under_way() -> None:
    with serving(two(), folder=Path("/home/ada/lighthouse")) as server:
        assert chosen(server) == ("elsewhere", "newest")
        told = server.refused("pin", what="Sail.")
        assert Session("elsewhere", server.kept.store).pins() == []
    assert told.startswith("no session of this folder is kept; name one, 'elsewhere'")


def written(store: Store, name: str, *, at: int) -> None:
    session = Session(name, store)
    session.keeping = Keeping(EXACT, None, clock=lambda: at)
    session.append(transcript([turn(0, user=f"I am {name}.", says="Yes.")]))


@pytest.mark.parametrize(("apart", "one"), [(LATELY - 1, False), (LATELY, True)])
def test_of_several_that_were_written_to_lately_none_is_changed(apart: int, one: bool) -> None:
    store, start = memory(), 1_700_000_000_000_000
    written(store, "first", at=start)
    written(store, "second", at=start + apart)
    with serving(store) as server:
        assert chosen(server) == ("second", "of this folder")
        if one:
            assert server.given("pin", what="t0")["session"] == "second"
            return
        told = server.refused("pin", what="t0")
        assert server.given("pin", what="t0", session="first")["session"] == "first"
    assert told == (
        "2 sessions of this folder were written to within an hour; name one of them: "
        "'second', 'first'"
    )


def test_a_session_that_comes_later_is_seen() -> None:
    store = memory()
    keep(store, "elsewhere", harbor(), BOAT)
    with serving(store) as server:
        assert chosen(server) == ("elsewhere", "newest")
        keep(store, "here", harbor())
        assert chosen(server) == ("here", "of this folder")
        keep(store, "here", harbor(), BOAT)  # the session goes on in another folder
        assert chosen(server) == ("here", "newest")


def test_folders_above_end_with_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path.resolve() / "ada"
    deep = home / "harbor" / "src" / "deep"
    deep.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    assert list(around(deep)) == [deep, deep.parent, home / "harbor"]
    (home / "harbor" / "src" / ".git").mkdir()
    assert list(around(deep)) == [deep, deep.parent]
    assert list(around(home)) == [home]
    assert list(around(tmp_path.resolve())) == [tmp_path.resolve()]
