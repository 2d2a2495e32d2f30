"""What kedgeline's own requests to models cost is in the ledger, once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kedgeline.cli.main import app
from kedgeline.economy import LedgerBuilder, count_turns
from kedgeline.economy.counting import OURS
from kedgeline.economy.ledger import Ledger
from kedgeline.model import ModelCall, Usage
from kedgeline.redact import REDACTOR
from kedgeline.session.checking import check
from kedgeline.session.exports import export_session, import_session
from kedgeline.session.journal import Journal, add_value
from kedgeline.session.session import Session
from kedgeline.store import Store
from kedgeline.store.protocol import open_store
from tests.turns import turn

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECRET = "ghp_" + "Zx81kQ0vNn3aWm5RtYu7Pb2cDe4FgHj6LsTo"


def call(number: int, **fields: Any) -> ModelCall:
    given = {
        "role": "summarise",
        "model": "openai:gpt-5",
        "sent": 900,
        "usage": Usage(input=1_000, output=100),
        "at": AT + timedelta(seconds=number),
        "seconds": 1.5,
        "prompt_hash": "p",
    }
    return ModelCall(**{**given, **fields})


GUESSED = call(2, estimated=True, usage=Usage(input=10, output=5), model="command:local")
LOST = call(3, failure="timed out", usage=Usage(), estimated=True)


def ledger_of(**sessions: list[ModelCall]) -> Ledger:
    builder = LedgerBuilder()
    for name, calls in sessions.items():
        count_turns(builder, [], source=name, calls=calls)
    return builder.ledger()


def test_they_are_an_agents_messages_by_model() -> None:
    ledger = ledger_of(a=[call(1), GUESSED, LOST, call(4, model="anthropic:claude-sonnet-4-5")])
    assert {(cell.session, cell.agent) for cell in ledger.cells} == {("a", OURS)}
    models = ledger.per("model")
    assert list(models) == ["claude-sonnet-4-5", "gpt-5", "command:local"]
    assert models["gpt-5"].tokens == Usage(input=1_000, output=100)
    assert (ledger.total.messages, ledger.total.estimated_messages) == (3, 1)
    assert models["command:local"].estimated == Usage(input=10, output=5)


def test_copies_count_once_where_they_came_first() -> None:
    ledger = ledger_of(a=[call(1), call(2)], b=[call(1), call(2), call(9)])
    assert ({name: one.messages for name, one in ledger.per("session").items()}) == {"a": 2, "b": 1}
    assert ledger.copies == 2


def test_equal_ones_of_a_session_are_not_copies() -> None:
    """Where nobody knows when they were made."""
    one = call(1, at=None)
    assert ledger_of(a=[one, one]).total.messages == 2
    both = ledger_of(a=[one, one], b=[one, one])
    assert (both.total.messages, both.copies) == (2, 2)


# kept sessions


def write(session: Session, *calls: ModelCall) -> None:
    with session.store.writing(session.name) as writing:
        for one in calls:
            add_value(writing, "call", one, session.keeping)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(tmp_path / "store")) as store:
        yield store


@pytest.fixture
def harbor(store: Store) -> Session:
    session = Session("harbor", store)
    session.append(turn(0, user="go", says="gone", model="gpt-5"))
    write(session, call(1), GUESSED, LOST)
    return session


def cost(store: Path, *arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["cost", *arguments, "--store", str(store), "--json"])
    assert result.exit_code == 0, result.output
    value: dict[str, Any] = json.loads(result.stdout)
    return value


def test_the_command_shows_them(harbor: Session, tmp_path: Path) -> None:
    found = cost(tmp_path / "store", "harbor")
    agents = {row["agent"]: row for row in found["agents"]}
    assert set(agents) == {"main", "kedgeline"}
    ours = agents["kedgeline"]
    assert (ours["messages"], ours["input"], ours["output"]) == (2, 1_010, 105)
    assert ours["estimated"]["messages"] == 1
    assert ours["cost"]["unknown"] == ["command:local"]
    assert ours["cost"]["amount"] == pytest.approx((1_000 * 1.25 + 100 * 10) / 1_000_000)
    models = {row["model"]: row["messages"] for row in found["models"]}
    assert models == {"gpt-5": 2, "command:local": 1}


def test_a_fork_takes_them_over_and_both_together_count_once(
    harbor: Session, tmp_path: Path
) -> None:
    """What was paid before the fork counts towards its budget too."""
    fork = harbor.fork("quay")
    assert list(Journal(fork.store, "quay").calls()) == [call(1), GUESSED, LOST]
    write(harbor, call(10))
    write(fork, call(11), call(12))
    place = tmp_path / "store"
    for names in (("harbor", "quay"), ("quay", "harbor")):
        (ours,) = [row for row in cost(place, *names)["agents"] if row["agent"] == "kedgeline"]
        assert ours["messages"] == 2 + 1 + 2
    (alone,) = [row for row in cost(place, "quay")["agents"] if row["agent"] == "kedgeline"]
    assert alone["messages"] == 4


@pytest.mark.parametrize("redacted", [False, True])
def test_an_import_is_a_copy_too(harbor: Session, tmp_path: Path, redacted: bool) -> None:
    write(harbor, call(5, model=f"command:llm --key {SECRET}"))
    target = BytesIO()
    cleaning = REDACTOR if redacted else None
    export_session(harbor.store, "harbor", target, cleaning=cleaning)
    import_session(harbor.store, BytesIO(target.getvalue()), name="copy")
    names = [one.model for one in Journal(harbor.store, "copy").calls()]
    assert any(SECRET in name for name in names) is not redacted
    assert list(check(harbor.store)) == []
    (ours,) = [
        row
        for row in cost(tmp_path / "store", "harbor", "copy")["agents"]
        if row["agent"] == "kedgeline"
    ]
    assert ours["messages"] == 3
