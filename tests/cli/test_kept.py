"""Kept sessions on the command line, as people and programs use them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kedgeline import read
from kedgeline.pipeline.view import problems
from tests.claude import Records, text, use
from tests.cli.running import LONG, undocumented, written
from tests.line import Line

ANSWERED = [
    {"role": "user", "content": "Never touch the billing module."},
    {"role": "assistant", "content": [{"type": "text", "text": "Understood."}]},
]


@pytest.fixture
def harbor(kedgeline: Line) -> Line:
    """A store with a long session."""
    kedgeline("add", "harbor", LONG)
    return kedgeline


def test_a_file_is_added_once_and_then_only_what_is_new(kedgeline: Line, tmp_path: Path) -> None:
    turns = len(read(LONG).turns)
    first = kedgeline.one("add", "harbor", LONG)
    assert (first["known"], first["turns"]) == (0, turns)
    assert kedgeline.one("add", "harbor", LONG)["new"] == 0
    (listed,) = kedgeline.rows("sessions")
    assert (listed["name"], listed["turns"], listed["compactions"]) == ("harbor", turns, 0)
    assert undocumented(*listed) == []
    records = Records()
    records.user("fix it")
    records.assistant("m1", text("on it"))
    kedgeline.one("add", "s", written(tmp_path, records))
    records.user("and test it")
    records.assistant("m2", use("c1", "Bash", command="pytest"))
    assert kedgeline.one("add", "s", written(tmp_path, records))["turns"] == 2
    assert [row["user_message"] for row in kedgeline.rows("turns", "s")][1] == "and test it"


def test_messages_on_stdin_are_put_behind_and_known_again(kedgeline: Line) -> None:
    def added(*messages: object, name: str = "s", key: str = "") -> int:
        given = json.dumps(messages).encode()
        found: int = kedgeline.one("add", name, "-", "--key", key, stdin=given)["new"]
        return found

    assert (added(*ANSWERED), added(*ANSWERED)) == (2, 0)
    again = {"role": "user", "content": "again"}
    assert added(*ANSWERED, again) == 1
    written = json.loads(kedgeline("view", "s", "--to", "anthropic").stdout)
    assert written[-1]["content"] in ("again", [{"type": "text", "text": "again"}])
    assert added(again, name="k", key="a") == 1
    assert added({"role": "assistant", "content": "yes"}, name="k") == 1
    assert [added(again, name="k", key=key) for key in ("a", "b")] == [0, 1]


@pytest.mark.parametrize("provider", ["anthropic", "openai-chat", "openai-responses", "gemini"])
def test_a_compacted_session_is_viewed_for_every_provider(harbor: Line, provider: str) -> None:
    made = harbor.one("compact", "harbor", "--window", "32k")
    seen = harbor.one("view", "harbor", "--to", provider)
    assert made["tokens_after"] < made["tokens_before"]
    assert problems(provider, seen["messages"]) == []
    assert "<kedgeline-summary>" in json.dumps(seen["messages"])


def test_what_compact_says_of_a_kept_session_is_what_it_says_of_its_file(harbor: Line) -> None:
    kept, file = (harbor.one("compact", name, "--window", "32k") for name in ("harbor", LONG))
    for key in ("cut", "reason", "folded", "kept", "said_again", "anchors", "warnings"):
        assert kept[key] == file[key]
    masks = [
        [(one["turn"], one["call_id"], one["reason"]) for one in made["masked"]]
        for made in (kept, file)
    ]
    assert masks[0] == masks[1]
    assert kept["markdown"][:1_000] == file["markdown"][:1_000]
    seen = harbor("view", "harbor").stdout.decode()
    assert "kedgeline recall 'QUESTION' --session harbor" in seen.replace("\n", " ")


def test_undo_gives_back_the_view_to_the_byte_and_history_tells(harbor: Line) -> None:
    def view() -> bytes:
        return harbor("view", "harbor", "--to", "anthropic").stdout

    before = view()
    harbor("compact", "harbor", "--window", "32k")
    harbor("compact", "harbor", "--window", "32k")
    once = view()
    harbor("compact", "harbor", "--window", "8k")
    assert (harbor.one("undo", "harbor")["undone"], view() == once) == (2, True)
    assert (harbor.one("undo", "harbor")["undone"], view() == before) == (1, True)
    assert "no compaction of 'harbor' stands" in harbor("undo", "harbor", code=2).stderr.decode()
    events = harbor.rows("history", "harbor")
    assert [event["what"] for event in events] == ["compaction", "attempt", "compaction"]
    assert (events[0]["undone"], events[0]["count"], len(events[0]["chain"])) == (True, 1, 64)
    assert "no new turns" in events[1]["reason"]
    assert undocumented(*events[0]) == []
    told = harbor("history", "harbor").stdout.decode()
    assert "compaction 1" in told
    assert "nothing done" in told


def test_pins_stand_in_every_view_until_they_are_taken_back(harbor: Line) -> None:
    first = harbor.one("pin", "harbor", "Never push to main.")
    second = harbor.one("pin", "harbor", "t12")
    assert (first["text"], second["turn"], undocumented(*first)) == ("Never push to main.", 12, [])
    harbor("compact", "harbor", "--window", "32k")
    seen = harbor("view", "harbor").stdout.decode()
    answer = read(LONG).turns[12].assistant_response
    assert "Never push to main." in seen
    assert all(line in seen for line in answer.splitlines())
    assert [row["pin"] for row in harbor.rows("pin", "harbor")] == [first["pin"], second["pin"]]
    harbor("unpin", "harbor", "t12")
    harbor("unpin", "harbor", f"#{first['pin']}")
    assert "Never push to main." not in harbor("view", "harbor").stdout.decode()
    assert "nothing is pinned" in harbor("pin", "harbor").stdout.decode()
    assert "has no pin" in harbor("unpin", "harbor", "t12", code=2).stderr.decode()


def test_originals_are_found_and_shown_by_their_marks(harbor: Line) -> None:
    harbor("compact", "harbor", "--window", "8k")
    found = harbor.rows("recall", "waiting list", "--limit", "3")
    assert {row["session"] for row in found} == {"harbor"}
    turns = read(LONG).turns
    called = next(turn for turn in turns if turn.tool_results and turn.tool_results[0].output)
    mark = f"t{called.index}"
    assert harbor.one("show", "harbor", mark)["index"] == called.index
    output = harbor("show", "harbor", f"{mark}.0").stdout.decode()
    assert output.rstrip("\n") == called.tool_results[0].output.rstrip("\n")
    assert "the last is t" in harbor("show", "harbor", "t9999", code=2).stderr.decode()


def test_other_commands_take_a_kept_session_too(harbor: Line) -> None:
    for command in ("facts", "todos", "anchors", "summarize", "turns"):
        assert harbor(command, "harbor").stdout == harbor(command, LONG).stdout, command


def test_a_session_is_known_by_how_its_name_begins(
    kedgeline: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kedgeline("add", "775cd62b-e1b9", LONG)
    assert kedgeline.one("stats", "775cd")["turns"] == len(read(LONG).turns)
    kedgeline("add", "775cd62b-ffff", LONG)
    assert b"775cd62b-ffff" in kedgeline("plan", "775cd", code=3).stderr
    said = kedgeline("view", "775cd62b-e1b8", code=3).stderr.decode()
    assert "no session '775cd62b-e1b8'; there is 775cd62b-e1b9" in said
    monkeypatch.chdir(tmp_path)  # a file of the name comes first
    (tmp_path / "775cd62b-e1b9").write_text(json.dumps(ANSWERED), "utf-8")
    assert len(kedgeline.rows("turns", "775cd62b-e1b9")) == 1


@pytest.mark.parametrize("name", ["../x", "a/b", ".hidden", "", "con", "x" * 65])
def test_a_name_that_could_be_a_path_is_refused(kedgeline: Line, name: str, store: Path) -> None:
    said = kedgeline("add", name, LONG, code=2).stderr.decode()
    assert said.startswith("kedgeline: the session ")
    assert not store.exists() or kedgeline.rows("sessions") == []


def test_secrets_are_in_no_summary_and_in_no_record(
    kedgeline: Line, tmp_path: Path, store: Path
) -> None:
    """T-S7: a canary is searched for in all that is stored; the archive itself is compressed."""
    canary = "ghp_" + "9fK2mQ7xZ1" * 3 + "aB3dE5"
    records = Records()
    for number in range(12):
        records.user(f"deploy {number} with the token {canary}")
        call = use(f"c{number}", "Bash", command=f"curl -H 'Authorization: token {canary}' /x")
        records.assistant(f"m{number}", call)
        records.result(f"c{number}", f"ok {number} {canary}" + " filler" * 300)
    kedgeline("add", "s", written(tmp_path, records))
    made = kedgeline("compact", "s", "--window", "8k", "--json")
    assert canary.encode() not in made.stdout + made.stderr
    assert b"[secret: GitHub" in made.stdout
    for path in store.iterdir():
        assert canary[4:].encode() not in path.read_bytes(), path.name
    assert canary in kedgeline("show", "s", "t0").stdout.decode().replace("\n", "")
