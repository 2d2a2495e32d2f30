"""`kedgeline batch`: every input once, whatever happens, and the same rows from every engine."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kedgeline.batch import BatchJob, inputs, map, run
from kedgeline.batch.inputs import InputSession, InputSource, sessions_in, sources_of
from kedgeline.batch.job import Progress, batches, planned
from kedgeline.batch.shards import Record, ShardFolder, records
from kedgeline.batch.tasks import TASKS, TaskSettings, tasks_named
from kedgeline.cli.main import app
from kedgeline.errors import KedgelineError, UserError

EXAMPLES = Path(__file__).parents[2] / "examples"
DATASETS = Path(__file__).parents[2] / "docs" / "datasets.md"
ALL = tuple(TASKS)


def talk(number: int, size: int = 1) -> dict[str, Any]:
    said = [
        {"role": "user", "content": f"Question {number}. Never touch billing."},
        {"role": "assistant", "content": f"Answer {number}. " + "More of it. " * size},
    ]
    return {"session_id": f"s{number}", "messages": said}


def folder_of(path: Path, count: int) -> Path:
    path.mkdir()
    for number in range(count):
        (path / f"{number:04}.json").write_text(json.dumps(talk(number, number)["messages"]))
    return path


def job(inputs: Path | str, out: Path | str, *tasks: str, **more: Any) -> BatchJob:
    settings = TaskSettings(tasks=tasks_named(tasks or ("stats",)))
    return BatchJob(
        inputs=(str(inputs),), out=str(out), settings=settings, **{"workers": 2, **more}
    )


def rows_in(out: Path | str) -> list[dict[str, Any]]:
    """Every row that the manifest knows."""
    from pyarrow import parquet

    found: list[dict[str, Any]] = []
    noted = {one for record in records(ShardFolder(str(out))).values() for one in record.shards}
    for shard in (Path(out, one) for one in noted):
        if shard.suffix == ".jsonl":
            found += [json.loads(line) for line in shard.read_bytes().splitlines()]
        elif shard.suffix == ".parquet":
            found += parquet.read_table(shard).to_pylist()
    return sorted(found, key=lambda row: (row["source"], row["session"]))


def test_every_task_gives_its_columns_for_every_format(tmp_path: Path) -> None:
    files = [path for path in EXAMPLES.iterdir() if path.suffix in {".jsonl", ".json", ".traj"}]
    done = run(job(EXAMPLES, tmp_path / "out", *ALL, format="jsonl"))
    rows = rows_in(tmp_path / "out")
    assert done.rows == len(rows) >= len(files)
    for row in rows:
        assert row["turns"] >= 0
        assert row["summary_tokens"] <= 2_048
        assert 0 <= row["score"] <= 1
        assert row["tokens_after"] <= row["tokens_before"]
        assert json.loads(row["messages"]) is not None
    assert {row["format"] for row in rows} >= {"claude-code", "codex", "openai-chat", "anthropic"}


def test_a_batch_goes_on_where_it_stopped_and_does_again_what_changed(tmp_path: Path) -> None:
    inputs = folder_of(tmp_path / "in", 5)
    assert run(job(inputs, tmp_path / "out")).rows == 5
    assert run(job(inputs, tmp_path / "out")).rows == 0
    (inputs / "0002.json").write_text(json.dumps(talk(99)["messages"]))
    os.utime(inputs / "0002.json", ns=(1, 1))
    again = run(job(inputs, tmp_path / "out"))
    assert again.rows == 5 - again.skipped
    assert len(rows_in(tmp_path / "out")) == 5
    assert sum(map_rows(tmp_path / "out")) == 5
    with pytest.raises(UserError, match="another job"):
        run(job(inputs, tmp_path / "out", "summary"))


def test_a_source_that_only_looks_changed_is_not_done_again(tmp_path: Path) -> None:
    """A checkout or a copy gives every file another time: a whole dataset was done again."""
    inputs = folder_of(tmp_path / "in", 3)
    for name in ("0000.json", "0001.json"):
        os.utime(inputs / name, ns=(1, 1))
    run(job(inputs, tmp_path / "out"))
    os.utime(inputs / "0000.json", ns=(2, 2))
    other = (inputs / "0001.json").read_text().replace("Never", "Often")
    (inputs / "0001.json").write_text(other)
    again = planned(job(inputs, tmp_path / "out"))
    assert "0001.json" in {Path(one.path).name for one in again.left}
    (inputs / "0001.json").write_text(other.replace("Often", "Never"))
    assert run(job(inputs, tmp_path / "out")).skipped == 3


def test_time_left_counts_sources_as_well_as_bytes() -> None:
    """A batch told "2 s left" by its bytes, with half of its sources, all small, to go."""
    sources = [InputSource("large", 1_000_000)] * 10 + [InputSource("small", 1_000)] * 1_000
    now = Progress(sources)
    for one in sources[:510]:
        seconds = 0.1 + one.size / 1_000_000
        now.add(Record(one.path, "", 1, seconds=seconds, bytes=one.size))
        now.seconds += seconds
    assert now.left == pytest.approx(500 * 0.101)


@pytest.mark.parametrize("provider", ["anthropic", "openai-chat"])
def test_what_is_exported_is_read_back(tmp_path: Path, provider: str) -> None:
    """The system prompt stands in a column beside the messages; a second batch had lost it."""
    said = {"system": "Be brief.", **talk(1)} if provider == "anthropic" else talk(1)
    if provider == "openai-chat":
        said["messages"].insert(0, {"role": "system", "content": "Be brief."})
    (tmp_path / "in.json").write_text(json.dumps(said))
    settings = TaskSettings(tasks=("export",), provider=provider)
    rows = []
    for source, out in (("in.json", "one"), ("one/shards", "two")):
        run(BatchJob((str(tmp_path / source),), str(tmp_path / out), settings))
        rows += rows_in(tmp_path / out)
    assert "Be brief." in str(rows[0])
    assert [rows[1][name] for name in ("messages", "system", "tools")] == [
        rows[0][name] for name in ("messages", "system", "tools")
    ]


def test_no_secret_is_written(tmp_path: Path) -> None:
    """What a batch writes goes to others."""
    secret = "ghp_" + "a1B2" * 9
    said = [{"role": "user", "content": f"The key is {secret}."}, *talk(1)["messages"]]
    (tmp_path / "in.json").write_text(json.dumps(said))
    run(job(tmp_path / "in.json", tmp_path / "out", *ALL))
    assert secret not in str(rows_in(tmp_path / "out"))


def map_rows(out: Path) -> list[int]:
    """Rows in each shard, as who reads the folder without us finds them."""
    from pyarrow import parquet

    return [parquet.read_table(one).num_rows for one in (out / "shards").iterdir()]


def test_what_was_written_and_not_noted_is_removed(tmp_path: Path) -> None:
    inputs = folder_of(tmp_path / "in", 2)
    run(job(inputs, tmp_path / "out"))
    stray = tmp_path / "out" / "shards" / "stray.parquet"
    stray.write_bytes(b"half")
    run(job(inputs, tmp_path / "out"))
    assert not stray.exists()


def test_a_broken_input_is_a_row_in_errors(tmp_path: Path) -> None:
    inputs = folder_of(tmp_path / "in", 3)
    (inputs / "broken.json").write_bytes(b"\x00\x01 no transcript")
    lines = [json.dumps(talk(7)), "{torn", json.dumps(talk(8))]
    (inputs / "set.jsonl").write_text("\n".join(lines))
    done = run(job(inputs, tmp_path / "out"))
    assert (done.rows, done.errors) == (5, 2)
    told = [json.loads(path.read_bytes()) for path in (tmp_path / "out" / "errors").iterdir()]
    assert {(Path(one["source"]).name, one["session"]) for one in told} == {
        ("broken.json", ""),
        ("set.jsonl", "set.jsonl#1"),
    }
    assert all(one["reason"] for one in told)


@pytest.mark.parametrize("as_json", [False, True])
def test_parquet_is_read_by_row_groups(tmp_path: Path, as_json: bool) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    talks = [talk(number) for number in range(10)]
    if as_json:
        talks = [{**one, "messages": json.dumps(one["messages"])} for one in talks]
    parquet.write_table(arrow.Table.from_pylist(talks), tmp_path / "in.parquet", row_group_size=4)
    assert len(sources_of([tmp_path / "in.parquet"])) == 3
    run(job(tmp_path / "in.parquet", tmp_path / "out", "stats", "export"))
    rows = rows_in(tmp_path / "out")
    assert sorted(row["session"] for row in rows) == [f"s{number}" for number in range(10)]
    first = json.loads(rows[0]["messages"])[0]["content"][0]
    assert first["text"] == "Question 0. Never touch billing."


@pytest.mark.parametrize("bound", [1, 100, 137, 1_000])
def test_a_large_training_set_is_done_in_parts_each_line_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: int
) -> None:
    """A file of gigabytes was one worker's, and began anew after a kill."""
    monkeypatch.setattr(inputs, "RANGE", bound)
    lines = [json.dumps(talk(number, number % 4)) for number in range(20)]
    (tmp_path / "set.jsonl").write_text("\n".join([*lines[:9], "{torn", "", *lines[9:]]))
    sources = sources_of([tmp_path / "set.jsonl"])
    assert sum(one.size for one in sources) == (tmp_path / "set.jsonl").stat().st_size
    names = [one.name for source in sources for one in sessions_in(source)]
    torn = [name for name in names if name.startswith("set.jsonl#")]
    assert sorted(names) == sorted([*(f"s{number}" for number in range(20)), *torn])
    assert len(torn) == 1


def test_addresses_of_fsspec_are_read_and_written(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    for number in range(3):
        memory.pipe(f"/in/{number}.json", json.dumps(talk(number)["messages"]).encode())
    found = sources_of(["memory://in/*.json"])
    assert [one.path for one in found] == [f"memory://in/{number}.json" for number in range(3)]
    (first,) = sessions_in(found[0])
    assert first.transcript().turns[0].user_message == "Question 0. Never touch billing."
    place = folder_of(tmp_path / "in", 3)
    out = f"file://{tmp_path}/remote"
    assert run(job(f"file://{place}", out)).rows == 3
    assert run(job(f"file://{place}", out)).rows == 0
    assert {row["session"] for row in _remote_rows(out)} == {f"{n:04}.json" for n in range(3)}


def _remote_rows(out: str) -> list[dict[str, Any]]:
    from pyarrow import parquet

    root = Path(out.removeprefix("file://"))
    return [
        row for one in (root / "shards").iterdir() for row in parquet.read_table(one).to_pylist()
    ]


@pytest.mark.parametrize("where", ["a folder", "a database"])
def test_sessions_of_a_store(tmp_path: Path, where: str, request: pytest.FixtureRequest) -> None:
    from kedgeline import Session as Kept

    database = where == "a database"
    store = request.getfixturevalue("postgres") if database else str(tmp_path / "store")
    for name in ("harbor-1", "harbor-2", "other"):
        with Kept.open(name, store) as kept:
            kept.append(talk(1)["messages"])
    made = BatchJob(
        inputs=(),
        out=str(tmp_path / "out"),
        settings=TaskSettings(tasks=("stats", "summary")),
        store=store,
        sessions=("harbor-*",),
    )
    assert run(made).rows == 2
    assert {row["session"] for row in rows_in(tmp_path / "out")} == {"harbor-1", "harbor-2"}


def test_a_conversation_that_is_a_folder_is_one_session(tmp_path: Path) -> None:
    """OpenHands keeps each event in a file of its own: a folder of 40 gave 40 rows."""
    events = tmp_path / "in" / "conversation" / "events"
    events.mkdir(parents=True)
    (events.parent / "base_state.json").write_text("{}")
    for number in range(4):
        role, source = (("user", "user"), ("assistant", "agent"))[number % 2]
        message = {"role": role, "content": [{"type": "text", "text": f"Said {number}."}]}
        event = {"kind": "MessageEvent", "source": source, "llm_message": message}
        (events / f"event-{number:05}-abcdef01.json").write_text(json.dumps(event))
    run(job(tmp_path / "in", tmp_path / "out", "stats"))
    (row,) = rows_in(tmp_path / "out")
    assert (row["format"], row["turns"], row["session"]) == ("openhands", 2, "conversation")


def test_rows_go_into_a_database(tmp_path: Path, postgres: str) -> None:
    """A team's reports beside its sessions: rows once each, also where it is done again."""
    import psycopg

    inputs = folder_of(tmp_path / "in", 5)
    (inputs / "broken.json").write_bytes(b"\x00\x01 no transcript")
    place = f"{postgres}#weekly"
    first = run(job(inputs, place, "stats", "export"))
    assert (first.rows, first.errors) == (5, 1)
    assert run(job(inputs, place, "stats", "export")).rows == 0
    (inputs / "0002.json").write_text(json.dumps(talk(99)["messages"]))
    os.utime(inputs / "0002.json", ns=(1, 1))
    run(job(inputs, place, "stats", "export"))
    with psycopg.connect(postgres) as connection:
        found = connection.execute("SELECT session, \"row\"->>'turns' FROM weekly.rows ORDER BY 1")
        assert found.fetchall() == [(f"{n:04}.json", "1") for n in range(5)]


def test_a_rollout_is_what_stood_before_and_after_the_window_was_full(tmp_path: Path) -> None:
    """A row to train on: both contexts, and what the agent came back to."""

    def step(number: int) -> list[dict[str, Any]]:
        given = json.dumps({"path": f"src/module_{number % 4}.py"})
        function = {"name": "read_file", "arguments": given}
        call = {"id": f"c{number}", "type": "function", "function": function}
        said = {"role": "assistant", "content": f"Step {number}.", "tool_calls": [call]}
        output = "\n".join(f"line {number + n} of the pier" for n in range(300))
        return [said, {"role": "tool", "tool_call_id": f"c{number}", "content": output}]

    asked = {"role": "user", "content": "Read all modules. Never touch billing."}
    (tmp_path / "in").mkdir()
    long = [asked, *(message for number in range(12) for message in step(number))]
    (tmp_path / "in" / "long.json").write_text(json.dumps(long))
    (tmp_path / "in" / "short.json").write_text(json.dumps([asked, *step(0)]))
    settings = TaskSettings(tasks=("rollout",), window=16_000, provider="openai-chat")
    made = BatchJob(inputs=(str(tmp_path / "in"),), out=str(tmp_path / "out"), settings=settings)
    run(made)
    whole, short = rows_in(tmp_path / "out")
    assert short["full_at"] is None
    before, after = (json.loads(whole[f"context_{when}"]) for when in ("before", "after"))
    assert before == long[: len(before)]
    assert len(json.dumps(after)) < len(json.dumps(before))
    assert "Never touch billing." in whole["rollout_summary"]
    assert json.loads(whole["used_later"])["files"] == [
        f"src/module_{n % 4}.py" for n in range(whole["full_at"], min(whole["full_at"] + 4, 12))
    ]


def test_large_sources_come_first_and_small_ones_together(tmp_path: Path) -> None:
    inputs = folder_of(tmp_path / "in", 200)
    (inputs / "large.json").write_text(json.dumps(talk(0, 1_000_000)["messages"]))
    made = batches(sources_of([inputs]))
    assert Path(made[0][0].path).name == "large.json"
    assert len(made[0]) == 1
    assert sum(len(one) for one in made) == 201
    assert len(made) < 8


def test_formats_sample_and_limit(tmp_path: Path) -> None:
    settings = TaskSettings(tasks=("stats",), formats=("codex",))
    made = BatchJob(inputs=(str(EXAMPLES),), out=str(tmp_path / "out"), settings=settings)
    run(made)
    assert {row["format"] for row in rows_in(tmp_path / "out")} == {"codex"}
    every = sources_of([EXAMPLES])
    assert sources_of([EXAMPLES], limit=2) == every[:2]
    some = sources_of([EXAMPLES], sample=0.5, seed=3)
    assert some == sources_of([EXAMPLES], sample=0.5, seed=3)
    assert 0 < len(some) < len(every)


def turns_of(session: InputSession) -> tuple[str, int]:
    return session.name, len(session.transcript().turns)


def test_a_function_of_ones_own(tmp_path: Path) -> None:
    inputs = folder_of(tmp_path / "in", 3)
    assert sorted(map([inputs], turns_of, workers=1)) == [(f"{n:04}.json", 1) for n in range(3)]


@pytest.mark.filterwarnings("ignore")
def test_ray_gives_the_same_rows(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="the engine ray is an extra: pip install 'kedgeline[ray]'")
    inputs = folder_of(tmp_path / "in", 8)
    run(job(inputs, tmp_path / "local", "stats", "summary"))
    run(job(inputs, tmp_path / "ray", "stats", "summary", engine="ray"))
    assert rows_in(tmp_path / "local") == rows_in(tmp_path / "ray")


KILLED = """
import sys
from pathlib import Path
from tests.batch.test_batch import job
from kedgeline.batch import run
if __name__ == "__main__":
    run(job(sys.argv[1], sys.argv[2], "stats", format="jsonl"))
"""


def killed_batches(tmp_path: Path, *, sources: int, kills: int) -> int:
    """A batch that is killed at random moments, until it comes to its end; how often it was."""
    inputs = folder_of(tmp_path / "in", sources)
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    chance, done = random.Random(1), 0
    words = [sys.executable, str(script), str(inputs), str(tmp_path / "out")]
    while True:
        process = subprocess.Popen(words, env=environment, stderr=subprocess.PIPE)
        if done >= kills:
            assert process.communicate(timeout=300)[1] == b""
            break
        time.sleep(chance.uniform(0.2, 1.6))
        process.send_signal(signal.SIGKILL)
        _, told = process.communicate(timeout=60)
        if process.returncode != -signal.SIGKILL:  # its own processes may be killed as they begin
            assert b"Error" not in told
        done += 1
    rows = rows_in(tmp_path / "out")
    assert [Path(row["source"]).name for row in rows] == [f"{n:04}.json" for n in range(sources)]
    return done


def test_every_input_is_there_once_after_kills(tmp_path: Path) -> None:
    assert killed_batches(tmp_path, sources=300, kills=4) == 4


@pytest.mark.torture
def test_every_input_is_there_once_after_a_hundred_kills(tmp_path: Path) -> None:
    assert killed_batches(tmp_path, sources=3_000, kills=100) == 100


def test_the_command(tmp_path: Path) -> None:
    inputs = folder_of(tmp_path / "in", 2)
    out = str(tmp_path / "out")
    dry = CliRunner().invoke(app, ["batch", str(inputs), "--out", out, "--dry-run", "--json"])
    assert json.loads(dry.stdout)["to_do"] == 2
    assert not Path(out, "shards").exists()
    done = CliRunner().invoke(
        app, ["batch", str(inputs), "--out", out, "--do", "stats,cost", "--json"]
    )
    assert done.exit_code == 0
    assert json.loads(done.stdout)["rows"] == 2
    for words in (
        ["batch", str(inputs)],
        ["batch", "--out", out],
        ["batch", str(inputs), "--out", out, "--do", "x"],
    ):
        with pytest.raises(KedgelineError):
            CliRunner().invoke(app, words, catch_exceptions=False)


RECIPES = re.findall(r"^```py\n(.*?)^```", DATASETS.read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.split()[1])
def test_recipes_of_the_docs_run(tmp_path: Path, recipe: str) -> None:
    """Those whose packages are there: of the others `pip install duckdb daft 'ray[data]'`."""
    for name in re.findall(r"^(?:import|from) (\w+)", recipe, re.MULTILINE):
        pytest.importorskip(name)
    (tmp_path / "examples").symlink_to(EXAMPLES)
    (tmp_path / "recipe.py").write_text(recipe)
    settings = TaskSettings(tasks=("stats", "export"), provider="openai-chat")
    run(BatchJob(inputs=(str(EXAMPLES),), out=str(tmp_path / "reports"), settings=settings))
    done = subprocess.run([sys.executable, "recipe.py"], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout or list((tmp_path / "compacted").glob("*.parquet"))
