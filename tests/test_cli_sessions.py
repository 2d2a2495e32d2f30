"""Kept sessions on the command line, as people and programs use them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kedgeline import read
from kedgeline.pipeline.view import problems
from tests.claude import Records, text, use
from tests.conftest import EXAMPLES, ROOT
from tests.line import Line

LONG = str(EXAMPLES / "claude-code-long.jsonl")
ANSWERED = [
    {"role": "user", "content": "Never touch the billing module."},
    {"role": "assistant", "content": [{"type": "text", "text": "Understood."}]},
]


def test_a_file_is_added_once_and_then_only_what_is_new(kedgeline: Line) -> None:
    turns = len(read(LONG).turns)
    first = kedgeline.one("add", "harbor", LONG)
    assert (first["known"], first["turns"]) == (0, turns)
    assert kedgeline.one("add", "harbor", LONG)["new"] == 0
    (listed,) = kedgeline.rows("sessions")
    assert (listed["name"], listed["turns"], listed["compactions"]) == ("harbor", turns, 0)


def test_a_file_that_grew_and_was_rewound_is_followed(kedgeline: Line, tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    records = Records()
    records.user("fix it")
    records.assistant("m1", text("on it"))
    file.write_bytes(b"".join(records.lines))
    kedgeline.one("add", "s", str(file))
    records.user("and test it")
    records.assistant("m2", use("c1", "Bash", command="pytest"))
    file.write_bytes(b"".join(records.lines))
    assert kedgeline.one("add", "s", str(file))["turns"] == 2
    assert [row["user_message"] for row in kedgeline.rows("turns", "s")] == [
        "fix it",
        "and test it",
    ]


def test_messages_on_stdin_are_put_behind_and_known_again(kedgeline: Line) -> None:
    given = json.dumps(ANSWERED).encode()
    assert kedgeline.one("add", "s", "-", stdin=given) == {
        "session": "s",
        "new": 2,
        "known": 0,
        "turns": 1,
        "taken_back": 0,
        "undone": 0,
    }
    assert kedgeline.one("add", "s", "-", stdin=given)["new"] == 0
    more = json.dumps([*ANSWERED, {"role": "user", "content": "Go on."}]).encode()
    assert kedgeline.one("add", "s", "-", stdin=more)["new"] == 1
    written = json.loads(kedgeline("view", "s", "--to", "anthropic").stdout)
    assert [message["content"] for message in written][-1] in (
        "Go on.",
        [{"type": "text", "text": "Go on."}],
    )


def test_a_call_is_made_once_under_its_key(kedgeline: Line) -> None:
    given = json.dumps({"role": "user", "content": "again"}).encode()
    kedgeline.one("add", "s", "-", "--key", "a", stdin=given)
    kedgeline.one(
        "add", "s", "-", stdin=json.dumps({"role": "assistant", "content": "yes"}).encode()
    )
    assert kedgeline.one("add", "s", "-", "--key", "a", stdin=given)["new"] == 0
    assert kedgeline.one("add", "s", "-", "--key", "b", stdin=given)["new"] == 1


@pytest.mark.parametrize("provider", ["anthropic", "openai-chat", "openai-responses", "gemini"])
def test_a_compacted_session_is_viewed_for_every_provider(kedgeline: Line, provider: str) -> None:
    kedgeline("add", "harbor", LONG)
    made = kedgeline.one("compact", "harbor", "--window", "32k")
    written = kedgeline.one("view", "harbor", "--to", provider)
    assert made["tokens_after"] < made["tokens_before"]
    assert problems(provider, written["messages"]) == []
    assert "<kedgeline-summary>" in json.dumps(written["messages"])


def test_what_compact_says_of_a_kept_session_is_what_it_says_of_its_file(kedgeline: Line) -> None:
    kedgeline("add", "harbor", LONG)
    kept = kedgeline.one("compact", "harbor", "--window", "32k")
    file = kedgeline.one("compact", LONG, "--window", "32k")
    for key in ("cut", "reason", "folded", "kept", "said_again", "anchors", "warnings"):
        assert kept[key] == file[key]
    kept_masks, file_masks = (
        [(one["turn"], one["call_id"], one["reason"]) for one in made["masked"]]
        for made in (kept, file)
    )
    assert kept_masks == file_masks
    assert kept["markdown"][:2_000] == file["markdown"][:2_000]
    seen = kedgeline("view", "harbor").stdout.decode()
    assert "kedgeline recall 'QUESTION' --session harbor" in seen.replace("\n", " ")


def test_undo_gives_back_the_view_to_the_byte(kedgeline: Line) -> None:
    kedgeline("add", "harbor", LONG)
    before = kedgeline("view", "harbor", "--to", "anthropic").stdout
    kedgeline("compact", "harbor", "--window", "32k")
    once = kedgeline("view", "harbor", "--to", "anthropic").stdout
    kedgeline("compact", "harbor", "--window", "8k")
    assert kedgeline.one("undo", "harbor")["undone"] == 2
    assert kedgeline("view", "harbor", "--to", "anthropic").stdout == once
    assert kedgeline.one("undo", "harbor")["undone"] == 1
    assert kedgeline("view", "harbor", "--to", "anthropic").stdout == before
    nothing = kedgeline("undo", "harbor", code=2).stderr.decode()
    assert "no compaction of 'harbor' stands" in nothing


def test_history_tells_what_was_done_and_undone(kedgeline: Line) -> None:
    kedgeline("add", "harbor", LONG)
    kedgeline("compact", "harbor", "--window", "32k")
    kedgeline("compact", "harbor", "--window", "32k")
    kedgeline("undo", "harbor")
    events = kedgeline.rows("history", "harbor")
    assert [event["what"] for event in events] == ["compaction", "attempt"]
    assert (events[0]["undone"], events[0]["count"]) == (True, 1)
    assert len(events[0]["chain"]) == 64
    assert "no new turns" in events[1]["reason"]
    assert "compaction 1" in kedgeline("history", "harbor").stdout.decode()


def test_pins_stand_in_every_view_until_they_are_taken_back(kedgeline: Line) -> None:
    kedgeline("add", "harbor", LONG)
    first = kedgeline.one("pin", "harbor", "Never push to main.")
    second = kedgeline.one("pin", "harbor", "t12")
    assert (first["text"], second["turn"]) == ("Never push to main.", 12)
    kedgeline("compact", "harbor", "--window", "32k")
    seen = kedgeline("view", "harbor").stdout.decode()
    answer = read(LONG).turns[12].assistant_response
    assert "Never push to main." in seen
    assert all(line in seen for line in answer.splitlines())
    assert [row["pin"] for row in kedgeline.rows("pin", "harbor")] == [
        first["pin"],
        second["pin"],
    ]
    kedgeline("unpin", "harbor", "t12")
    kedgeline("unpin", "harbor", f"#{first['pin']}")
    seen = kedgeline("view", "harbor").stdout.decode()
    assert "Never push to main." not in seen
    assert "nothing is pinned" in kedgeline("pin", "harbor").stdout.decode()
    assert "has no pin" in kedgeline("unpin", "harbor", "t12", code=2).stderr.decode()


def test_originals_of_a_kept_session_are_shown_by_their_marks(kedgeline: Line) -> None:
    kedgeline("add", "harbor", LONG)
    kedgeline("compact", "harbor", "--window", "8k")
    turns = read(LONG).turns
    called = next(turn for turn in turns if turn.tool_results and turn.tool_results[0].output)
    mark = f"t{called.index}"
    assert kedgeline.one("show", "harbor", mark)["index"] == called.index
    output = kedgeline("show", "harbor", f"{mark}.0").stdout.decode()
    assert output.rstrip("\n") == called.tool_results[0].output.rstrip("\n")
    assert "the last is t" in kedgeline("show", "harbor", "t9999", code=2).stderr.decode()


def test_other_commands_take_a_kept_session_too(kedgeline: Line) -> None:
    kedgeline("add", "harbor", LONG)
    for command in (("facts",), ("todos",), ("anchors",), ("summarize",), ("turns",)):
        assert kedgeline(*command, "harbor").stdout == kedgeline(*command, LONG).stdout, command


def test_recall_finds_what_was_folded(kedgeline: Line) -> None:
    kedgeline("add", "harbor", LONG)
    kedgeline("compact", "harbor", "--window", "8k")
    found = kedgeline.rows("recall", "waiting list", "--limit", "3")
    assert found
    assert all(row["session"] == "harbor" for row in found)


def test_a_session_that_is_not_there_is_named_with_those_that_are_near(kedgeline: Line) -> None:
    kedgeline("add", "harbor", LONG)
    said = kedgeline("view", "harbour", code=3).stderr.decode()
    assert "no session 'harbour'; there is harbor" in said
    assert "kedgeline sessions" in said


@pytest.mark.parametrize("name", ["../x", "a/b", ".hidden", "", "con", "x" * 65])
def test_a_name_that_could_be_a_path_is_refused(kedgeline: Line, name: str, store: Path) -> None:
    said = kedgeline("add", name, LONG, code=2).stderr.decode()
    assert said.startswith("kedgeline: the session ")
    assert not store.exists() or kedgeline.rows("sessions") == []


def test_a_file_of_the_name_comes_before_a_kept_session(
    kedgeline: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    kedgeline("add", "harbor", LONG)
    (tmp_path / "harbor").write_text(json.dumps(ANSWERED), "utf-8")
    assert len(kedgeline.rows("turns", "harbor")) == 1


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
    file = tmp_path / "session.jsonl"
    file.write_bytes(b"".join(records.lines))
    kedgeline("add", "s", str(file))
    made = kedgeline("compact", "s", "--window", "8k", "--json")
    assert canary.encode() not in made.stdout + made.stderr
    assert b"[secret: GitHub" in made.stdout
    for path in store.iterdir():
        assert canary[4:].encode() not in path.read_bytes(), path.name
    assert canary in kedgeline("show", "s", "t0").stdout.decode().replace("\n", "")


def test_json_keys_are_documented(kedgeline: Line) -> None:
    reference = (ROOT / "docs" / "json.md").read_text("utf-8")
    kedgeline("add", "harbor", LONG)
    kedgeline("compact", "harbor", "--window", "32k")
    for command in (("sessions",), ("history", "harbor"), ("pin", "harbor", "t1")):
        for key in kedgeline.rows(*command)[0]:
            assert f"`{key}`" in reference, (command, key)


def test_a_plan_says_whether_it_pays_in_money(kedgeline: Line) -> None:
    words = ("plan", LONG, "--window", "32k")
    assert kedgeline.one(*words)["decision"]["advice"]["unit"] != "USD"
    assert kedgeline.one(*words, "--prices")["decision"]["advice"]["unit"] == "USD"
    unnamed = str(EXAMPLES / "swe-agent.traj")
    assert b"leave out --prices" in kedgeline("plan", unnamed, "--prices", code=2).stderr
