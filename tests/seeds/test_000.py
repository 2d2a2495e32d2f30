"""Seed 000, anchored summarization: forced sections, the merge, the state.json, todos."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import kedgeline as library
from kedgeline.facts.todos import says_done
from kedgeline.model.summary import Summary
from kedgeline.session.exports import write_state
from kedgeline.summary import entries_of, facts_in, handoff, merged
from kedgeline.summary.compression_state import compression_state, loaded
from kedgeline.tokens import EXACT
from tests.conftest import EXAMPLES
from tests.line import Line
from tests.seeds.rows import row
from tests.seeds.talks import Talk, chat, desk, voyage

FORCED = [
    "Session Intent",
    "Files Modified",
    "Decisions Made",
    "Current State",
    "Blockers / Open Questions",
    "Next Steps",
]
HARBOUR: dict[str, Any] = {
    "owner": "pilot",
    "compression_state": {
        "summary": {
            "session_intent": "Give the harbour office a berth planner",
            "files_modified": {"src/berths.ts": ["Added the planner", "Fixed the tide offset"]},
            "decisions_made": [{"decision": "Plan by tide", "rationale": "draught decides"}],
            "current_state": "Planner drawn, checking the tide offset",
            "next_steps": ["Draw the winter plan", "Print the signs"],
        },
        "compression_count": 3,
        "last_compressed_at": "2026-01-05T10:30:00Z",
        "probe_score": 0.95,
    },
}
"""A state.json as the seed draws it, of a session that is not known otherwise."""


def summarized(talk: Talk) -> Summary:
    return _summarized(talk.data())


@cache
def _summarized(data: bytes) -> Summary:
    return library.summarize(library.read(data))


def told(talk: Talk, room: int = 4_096) -> str:
    return handoff(summarized(talk), room, EXACT.count)


def section(text: str, name: str) -> str:
    _, _, rest = text.partition(f"## {name}\n")
    return rest.partition("\n\n##")[0]


def state_of(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))["compression_state"]
    return found


@pytest.fixture
def state(tmp_path: Path) -> Path:
    path = tmp_path / "state.json"
    path.write_text(json.dumps(HARBOUR, indent=2))
    return path


@pytest.fixture(scope="module")
def compacted(tmp_path_factory: pytest.TempPathFactory) -> list[library.Compaction]:
    """Three compactions of one living session."""
    made = []
    whole = voyage().transcript()
    with library.Session.open("voyage", tmp_path_factory.mktemp("v"), window=7_000) as session:
        for end in (60, 90, len(whole.turns)):
            session.append(replace(whole, turns=whole.turns[:end]))
            made.append(session.compact())
    return made


@row("Six forced headings, in this order")
def test_01_headings(kedgeline: Line, tmp_path: Path) -> None:
    path = desk().at(tmp_path / "a.json")
    out = kedgeline("summarize", path, "--tokens", "4000").stdout.decode()
    found = [line[3:] for line in out.split("\n") if line.startswith("## ")]
    assert [name for name in found if name in FORCED] == FORCED


@row("The heading is 'Blockers / Open Questions'")
def test_02_blockers_heading() -> None:
    assert "\n## Blockers / Open Questions\n" in told(desk())


@row("Every section on every compression, N/A where there is nothing")
def test_03_nothing_dropped(kedgeline: Line, tmp_path: Path) -> None:
    path = chat(200).at(tmp_path / "a.json")
    out = kedgeline("compact", path, "--window", "32k").stdout.decode()
    assert [name for name in FORCED if f"## {name}\n" not in out] == []
    assert section(out, "Files Modified") == "N/A"


@row("Session Intent says what is wanted")
def test_04_intent() -> None:
    assert "Build the ticket desk for the ferry line" in section(told(desk()), "Session Intent")


@row("Files Modified: path and changes")
def test_05_files() -> None:
    table = section(told(desk()), "Files Modified")
    (seats,) = [line for line in table.split("\n") if "src/desk/seats.ts" in line]
    assert seats.index("created") < seats.index("seatMap") < seats.index("rows")


@row("Decisions Made: decision and rationale, by agent and user, in the usual wordings")
def test_06_decisions() -> None:
    for words, parts in (
        (
            "I chose a queue per pier over one global queue for fairness.",
            ("a queue per pier over one global queue", "fairness"),
        ),
        (
            "Decision: use SQLite instead of Postgres, because one clerk writes.",
            ("use SQLite instead of Postgres", "because one clerk writes"),
        ),
        (
            "I'll go with signed tickets rather than a table because gates work offline.",
            ("signed tickets rather than a table", "because gates work offline"),
        ),
    ):
        talk = Talk().user("Build the desk.").write("a.ts", "export class A {}\n").says(words)
        made = section(told(talk), "Decisions Made")
        assert [part for part in parts if part not in made] == []
    said = "We decided to use cash desks over machines because change matters."
    talk = Talk().user(f"Build the desk. {said}").write("a.ts", "export class A {}\n").says("Done.")
    assert "cash desks" in section(told(talk), "Decisions Made")


@row("Current State says where things stand, also of a chat")
def test_07_state() -> None:
    assert "14 tests passed" in section(told(desk()), "Current State")
    assert "Lighthouse 11 was lit in 1811" in section(told(chat()), "Current State")


@row("Blockers: what is said to block progress")
def test_08_blockers() -> None:
    talk = Talk().user("Build the desk.").write("a.ts", "export class A {}\n")
    talk.says("The map is drawn.\n\nBlocker: waiting for the API key from Runa.")
    assert "API key from Runa" in section(told(talk), "Blockers / Open Questions")


@row("Next Steps: the plan as it was stated")
def test_09_next_steps() -> None:
    for words in (
        "Done with the map.\n\nNext steps:\n1. Print the fares\n2. Refund a ticket",
        "Done with the map.\n\n## Next Steps\n- Print the fares\n- Refund a ticket",
        "Status:\n- [x] the map\n- [ ] Print the fares\n- [ ] Refund a ticket",
        "Remaining:\n1. Print the fares\n2. Refund a ticket",
        "The map is drawn.\n\nTODO:\n- Print the fares\n- Refund a ticket",
    ):
        talk = Talk().user("Build the desk.").write("a.ts", "export class A {}\n").says(words)
        steps = section(told(talk), "Next Steps").split("\n")
        assert [s.partition("[")[0].strip() for s in steps] == [
            "1. Print the fares",
            "2. Refund a ticket",
        ], words


@row("The summary's fields are those of the dataclass")
def test_10_fields() -> None:
    made = compression_state(summarized(desk()), count=1)
    assert list(made["summary"]) == [
        "session_intent",
        "files_modified",
        "decisions_made",
        "current_state",
        "blockers",
        "next_steps",
    ]
    assert made["compression_count"] == 1


@row("files_modified is a dictionary of lists")
def test_11_files_modified() -> None:
    files = compression_state(summarized(desk()), count=1)["summary"]["files_modified"]
    assert files["src/desk/seats.ts"][0] == "created"
    assert len(files["src/desk/seats.ts"]) >= 3


@row("decisions_made are decisions with their rationale")
def test_12_decisions_made() -> None:
    (made,) = compression_state(summarized(desk()), count=1)["summary"]["decisions_made"]
    assert "signed tickets" in made["decision"]
    assert "gates work offline" in made["rationale"]


@row("Merge: the intent is replaced only by a better one")
def test_13_merge_intent(compacted: list[library.Compaction]) -> None:
    for one in compacted:
        intent = section(one.summary, "Session Intent")
        assert "Rewrite the booking engine in legs" in intent
    assert compacted[-1].state is not None
    made = compression_state(compacted[-1].state, count=3)["summary"]
    assert made["session_intent"].startswith("Rewrite the booking engine in legs")


@row("Merge: files of before survive")
def test_14_merge_files(compacted: list[library.Compaction]) -> None:
    first, *_, last = ({f for f in (m.state or Summary()).files} for m in compacted)
    assert first < last
    assert last <= {entry.text for entry in entries_of(compacted[-1].summary)}


@row(
    "Merge: what changed in a file is extended",
    deviates="R23: the seed's code replaces the list although its prose extends it; extended here",
)
def test_15_merge_changes(state: Path) -> None:
    old = loaded(json.loads(state.read_text()))
    talk = Talk().user("Mark the signs").edit("src/berths.ts", "sign()", "sign(red)")
    new = merged(old, facts_in(summarized(talk)))
    (changes,) = compression_state(new, count=4)["summary"]["files_modified"].values()
    assert changes[:2] == ["Added the planner", "Fixed the tide offset"]
    assert len(changes) == 3


@row(
    "Merge: decisions are appended",
    deviates="R24: one that is said again stands once, one that is replaced says by what",
)
def test_16_merge_decisions(state: Path) -> None:
    old = loaded(json.loads(state.read_text()))
    new = merged(old, facts_in(summarized(desk())))
    again = merged(new, facts_in(summarized(desk())))
    made = compression_state(again, count=4)["summary"]["decisions_made"]
    assert [one["decision"].count("Plan by tide") for one in made] == [1, 0]


@row("Merge: the current state is replaced")
def test_17_merge_state(state: Path) -> None:
    new = merged(loaded(json.loads(state.read_text())), facts_in(summarized(desk())))
    now = compression_state(new, count=4)["summary"]["current_state"]
    assert "14 tests passed" in now
    assert "Planner drawn" not in now


@row(
    "Merge: blockers are replaced",
    deviates="R25: where nothing new is known the old ones stay, so that silence erases nothing",
)
def test_18_merge_blockers() -> None:
    held = {"compression_state": {"summary": {"blockers": ["No key for the gate"]}}}
    kept = merged(loaded(held), ())
    assert compression_state(kept, count=1)["summary"]["blockers"] == ["No key for the gate"]


@row("Merge: the next steps are replaced")
def test_19_merge_steps(state: Path) -> None:
    new = merged(loaded(json.loads(state.read_text())), facts_in(summarized(desk())))
    assert compression_state(new, count=4)["summary"]["next_steps"] == [
        "Check the fares (in progress)",
        "Write the refund flow",
    ]


@row(
    "Merge: the count goes up by one",
    deviates="R28: the first compression counts 1, and one without new turns does not count",
)
def test_20_count(tmp_path: Path) -> None:
    path = tmp_path / "new.json"
    counts = [write_state(path, summarized(talk))["compression_count"] for talk in (desk(), desk())]
    longer = desk().user("Now the refunds").write("src/refunds.ts", "export class Refund {}\n")
    counts.append(write_state(path, summarized(longer))["compression_count"])
    assert counts == [1, 1, 2]


@row("The summary as Markdown goes into the context")
def test_21_injection(kedgeline: Line, tmp_path: Path) -> None:
    file = voyage(12).at(tmp_path / "a.json")
    messages = json.loads(kedgeline("compact", file, "--window", "8k", "--to", "anthropic").stdout)
    first = json.dumps(messages[0])
    assert messages[0]["role"] == "user"
    assert first.count("## Session Intent") == 1
    assert "<kedgeline-summary" in first


@row(
    "Lines have the shapes of to_markdown",
    deviates="the files are 002's table with actions and turns; decisions and steps are lists",
)
def test_22_shapes() -> None:
    text = told(desk())
    assert "| File | Action | What Changed |" in text
    assert section(text, "Next Steps").startswith("1. Check the fares")
    assert section(text, "Decisions Made")[:2] in ("- ", "1.")


@row("Nothing wears off over compressions")
def test_23_no_telephone_game(compacted: list[library.Compaction]) -> None:
    for one in compacted:
        assert '"Never touch legacy/ by hand."' in one.summary
        assert one.state is not None
        (made,) = compression_state(one.state, count=1)["summary"]["decisions_made"]
        assert "one queue per pier" in made["decision"]
        assert "piers close alone" in made["rationale"]


@row("Only new turns are compressed")
def test_24_only_new(compacted: list[library.Compaction]) -> None:
    (first,), (second,), (third,) = (one.plan.folded for one in compacted)
    assert (second.first, third.first) == (first.last + 1, second.last + 1)


@row("A summary in state.json is extended and not replaced")
def test_25_extended(kedgeline: Line, tmp_path: Path, state: Path) -> None:
    kedgeline("summarize", desk().at(tmp_path / "a.json"), "--state", str(state))
    found = state_of(state)
    made = found["summary"]
    assert found["compression_count"] == 4
    assert made["session_intent"].startswith("Give the harbour office a berth planner")
    assert made["files_modified"]["src/berths.ts"] == ["Added the planner", "Fixed the tide offset"]
    assert "src/desk/seats.ts" in made["files_modified"]
    assert made["decisions_made"][0]["decision"] == "Plan by tide"
    assert "Planner drawn" not in made["current_state"]


@row("state.json has the key compression_state with the summary in it")
def test_26_key(kedgeline: Line, tmp_path: Path) -> None:
    path = tmp_path / "new.json"
    kedgeline("summarize", desk().at(tmp_path / "a.json"), "--state", str(path))
    assert list(state_of(path))[:4] == [
        "summary",
        "compression_count",
        "last_compressed_at",
        "probe_score",
    ]


@row("A state.json as the seed draws it is read")
def test_27_literal_state() -> None:
    held = HARBOUR["compression_state"]["summary"]
    made = compression_state(loaded(HARBOUR), count=3)["summary"]
    assert {key: made[key] for key in held} == held


@row("last_compressed_at is a time in UTC")
def test_28_time(kedgeline: Line, tmp_path: Path) -> None:
    path = tmp_path / "new.json"
    kedgeline("summarize", desk().at(tmp_path / "a.json"), "--state", str(path))
    at = state_of(path)["last_compressed_at"]
    assert (len(at), at[10], at[-1]) == (20, "T", "Z")


@row("probe_score is a share")
def test_29_score(kedgeline: Line, tmp_path: Path) -> None:
    path = tmp_path / "new.json"
    kedgeline("summarize", desk().at(tmp_path / "a.json"), "--state", str(path))
    assert 0.5 < state_of(path)["probe_score"] <= 1


@row("compression_count stands beside the summary")
def test_30_count_beside(tmp_path: Path) -> None:
    made = write_state(tmp_path / "new.json", summarized(desk()))
    assert (made["compression_count"], "compression_count" in made["summary"]) == (1, False)


@row("Other keys of a state.json stay")
def test_31_other_keys(state: Path) -> None:
    write_state(state, summarized(desk()))
    assert json.loads(state.read_text())["owner"] == "pilot"


@row("A todo in progress that is said to be done is completed")
def test_32_todos(kedgeline: Line, tmp_path: Path) -> None:
    talk = desk().says("Check the fares is done.")
    rows = {
        one["text"]: one["status"] for one in kedgeline.rows("todos", talk.at(tmp_path / "a.json"))
    }
    assert rows["Check the fares"] == "completed"
    assert rows["Write the refund flow"] == "pending"
    assert "Check the fares" not in section(told(talk), "Next Steps")
    undone = desk().says("Check the fares is not done yet.")
    assert "Check the fares" in section(told(undone), "Next Steps")


@row(
    "The todo rule: its words occur in the state", deviates="R29: only where it is said to be done"
)
def test_33_todo_rule() -> None:
    assert not says_done("Tide offset", "Now testing tide offset")
    assert says_done("Tide offset", "Tide offset is done")


@row(
    "Completed todos become part of the summary",
    deviates="R29: they are part of the state and not of the decisions",
)
def test_34_completed() -> None:
    assert "Done: Add the seat map" in section(told(desk()), "Current State")


@row("Compressions are counted, with their scores")
def test_35_history(kedgeline: Line, tmp_path: Path) -> None:
    kedgeline("add", "s", voyage(12).at(tmp_path / "a.json"))
    kedgeline("compact", "s", "--window", "8k")
    (made,) = [one for one in kedgeline.rows("history", "s") if one.get("what") != "added"][:1]
    assert "score" in json.dumps(made)


@row("The intent is preserved over all compressions")
def test_36_intent_preserved(compacted: list[library.Compaction]) -> None:
    texts = [section(one.summary, "Session Intent") for one in compacted]
    assert all("Rewrite the booking engine in legs" in text for text in texts)


@row("Every decision has its rationale, or says that none was given")
def test_37_rationale() -> None:
    talk = Talk().user("Build the desk.").write("a.ts", "export class A {}\n")
    talk.says("I'll go with SQLite rather than Postgres.")
    (made,) = compression_state(summarized(talk), count=1)["summary"]["decisions_made"]
    assert made["rationale"]
    (line,) = section(told(talk), "Decisions Made").split("\n")
    assert "no reason given" in line


@row("System prompts are not compressed into the summary")
def test_38_system_prompt(kedgeline: Line, tmp_path: Path) -> None:
    file = desk().at(tmp_path / "a.json")
    out = (
        kedgeline("summarize", file, "--style", "json").stdout + kedgeline("summarize", file).stdout
    )
    assert b"seats" in out
    assert b"HIDDENPROMPT" not in out


@row("Unrelated sessions are not merged")
def test_39_unrelated(kedgeline: Line, tmp_path: Path) -> None:
    kedgeline("add", "s", str(EXAMPLES / "claude-code-compacted.jsonl"))
    refused = kedgeline("add", "s", str(EXAMPLES / "codex.jsonl"), code=2)
    assert b"session" in refused.stderr


@row("Nor in a state.json")
def test_40_unrelated_state(kedgeline: Line, tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    kedgeline("summarize", desk().at(tmp_path / "a.json"), "--state", str(path))
    before = path.read_bytes()
    other = Talk().user("Paint the boat shed").write("shed.md", "# Shed\n").says("Painted.")
    refused = kedgeline("summarize", other.at(tmp_path / "b.json"), "--state", str(path), code=3)
    assert b"another session" in refused.stderr
    assert path.read_bytes() == before
    longer = desk().user("Now the refunds").write("src/refunds.ts", "export class Refund {}\n")
    kedgeline("summarize", longer.at(tmp_path / "c.json"), "--state", str(path))
    assert state_of(path)["compression_count"] == 2
