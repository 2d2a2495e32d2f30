"""What an import refuses or leaves out: places that leave a gap, and secrets nobody wants kept."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from io import BytesIO
from pathlib import Path

import msgspec
import pytest
import typer
from typer.testing import CliRunner

from kedgeline.cli.compact import compact
from kedgeline.cli.options import expanded
from kedgeline.cli.sessions import import_
from kedgeline.model import Compaction, Plan, Transcript
from kedgeline.redact import REDACTOR
from kedgeline.session.checking import check
from kedgeline.session.exports import export_session, import_session
from kedgeline.session.journal import Keeping, Pin, Recorded, add_mark, add_turn, add_value
from kedgeline.session.query import query_of
from kedgeline.session.recall import recall
from kedgeline.session.session import Session
from kedgeline.store import Store, Writing
from kedgeline.store.protocol import open_store
from kedgeline.tokens import EXACT
from tests.checking.planting import LONG
from tests.exporting.forging import refused
from tests.turns import bash, turn

SECRET = "ghp_" + "Zx81kQ0vNn3aWm5RtYu7Pb2cDe4FgHj6LsTo"
AS_IT_IS = Keeping(EXACT, None)
FAR = 1 << 40


def exported(store: Store, **given: object) -> bytes:
    target = BytesIO()
    export_session(store, "demo", target, **given)  # type: ignore[arg-type]
    return target.getvalue()


def far_turn(writing: Writing) -> None:
    add_turn(writing, turn(FAR, says="x"), AS_IT_IS)


def far_words(writing: Writing) -> None:
    add_turn(writing, turn(FAR, user="x"), AS_IT_IS, kind="words")


def far_cut(writing: Writing) -> None:
    add_mark(writing, "cut", AS_IT_IS, index=FAR)


def far_compaction(writing: Writing) -> None:
    far = Recorded(compaction=Compaction(plan=Plan(cut=FAR)))
    add_value(writing, "compaction", far, AS_IT_IS, index=FAR)


def hidden_compaction(writing: Writing) -> None:
    far = Recorded(compaction=Compaction(plan=Plan(cut=FAR)))
    add_value(writing, "compaction", far, AS_IT_IS, index=1)


def far_pin(writing: Writing) -> None:
    add_value(writing, "pin", Pin(turn=FAR), AS_IT_IS)


def far_undo(writing: Writing) -> None:
    add_mark(writing, "undo", AS_IT_IS, index=FAR)


def elsewhere(writing: Writing) -> None:
    """The entry stands at the end; its turn says another place."""
    entry = add_turn(writing, turn(2, says="x"), AS_IT_IS)
    far = msgspec.structs.replace(entry, index=1)
    writing.add(far)


@pytest.mark.parametrize(
    ("plant", "why"),
    [
        (far_turn, "has no place"),
        (far_words, "has no place"),
        (far_cut, "has no place"),
        (far_compaction, "folds turns"),
        (hidden_compaction, "folds turns"),
        (far_pin, "pins a turn"),
        (far_undo, "which is no compaction"),
        (elsewhere, "elsewhere"),
    ],
)
def test_what_leaves_a_gap_is_refused(plant: Callable[[Writing], None], why: str) -> None:
    """One turn at 2^40 would make a view of so many."""
    store = open_store("memory:")
    Session("demo", store).append([turn(0, says="One."), turn(1, says="Two.")])
    with store.writing("demo") as writing:
        plant(writing)
    assert why in refused(exported(store))


def with_secrets() -> Store:
    """Also in the name of a sub-agent, and twice in a large text."""
    store = open_store("memory:")
    session = Session("demo", store, window=2_000)
    agents = tuple(
        Transcript(format="x", agent=name, turns=(turn(0, says=f"I am {name}", agent=name),))
        for name in (f"for {SECRET}", f"for {SECRET[:-1]}b")
    )
    long = f"{LONG}\npushed with {SECRET}"
    turns = [turn(n, bash(f"step {n}", f"checked {n}\n" * 90)) for n in range(12)]
    turns[1] = turn(1, bash("git push", long), user=f"Use {SECRET}.")
    turns[3] = turn(3, bash("git push again", long))
    session.append(Transcript(format="x", turns=tuple(turns), agents=agents))
    session.pin(f"keep {SECRET} safe")
    session.compact()
    return store


def test_an_import_leaves_secrets_out_where_none_are_to_be_kept() -> None:
    source, target = with_secrets(), open_store("memory:")
    report = import_session(
        target, BytesIO(exported(source)), clean=REDACTOR.clean, cleaning=REDACTOR
    )
    assert report.redacted
    assert SECRET.encode() not in exported(target)
    assert "[secret: GitHub token]" in exported(target).decode()
    assert list(check(target)) == []
    there, here = Session("demo", target), Session("demo", source)
    assert len(there.transcript().turns) == len(here.transcript().turns)
    assert [len(agent.turns) for agent in there.transcript().agents] == [1, 1]
    assert recall(target, query_of("git push again"))


def test_names_of_sub_agents_are_cleaned_in_a_redacted_export() -> None:
    data = exported(with_secrets(), cleaning=REDACTOR)
    assert SECRET.encode() not in data
    threads = {msgspec.json.decode(line).get("thread", "") for line in data.splitlines()}
    assert len(threads) == 3
    import_session(open_store("memory:"), BytesIO(data))


def test_the_command_does_as_settings_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "demo.jsonl"
    file.write_bytes(exported(with_secrets()))
    app = typer.Typer()
    app.command()(import_)
    for keep in ("true", "false"):
        monkeypatch.setenv("KEDGELINE_KEEP_SECRETS", keep)
        place = str(tmp_path / keep)
        done = CliRunner().invoke(app, [str(file), "--store", place])
        assert done.exit_code == 0, done.output
        assert ("secrets left out" in done.stderr) == (keep == "false")
        with closing(open_store(place)) as store:
            assert (SECRET.encode() in exported(store)) == (keep == "true")


@pytest.mark.parametrize("option", ["--vocabulary=o200k", "--session=7", "--format=anthropic"])
def test_a_kept_session_is_compacted_without_what_is_for_files(option: str, tmp_path: Path) -> None:
    place = str(tmp_path / "store")
    with closing(open_store(place)) as store:
        Session("demo", store).append(turn(0, says="One."))
    app = typer.Typer()
    app.command()(expanded(compact))
    done = CliRunner().invoke(app, ["demo", "--store", place, option])
    assert done.exit_code == 2
    assert "leave them out" in " ".join(done.stderr.replace("│", " ").split())
