"""Seed 002, the protocol: triggers, the session file of a task, probes, phases, the hand-off."""

from __future__ import annotations

from pathlib import Path

import pytest

import kedgeline as library
from kedgeline.pipeline.handoff import hand_on
from kedgeline.planning import History, Signals, should_compact
from kedgeline.summary import phased, session_file
from kedgeline.tokens import EXACT
from tests.line import Line
from tests.seeds.rows import row
from tests.seeds.talks import Talk, desk, service, voyage
from tests.seeds.test_000 import section, summarized

TASK = ("--product", "harbour", "--task", "HAR-7")
FILE = "products/harbour/.claude/scratch/session-summary-HAR-7.md"
SECTIONS = [
    "Session Intent",
    "Files Modified",
    "Files Read (Not Modified)",
    "Decisions Made",
    "Current State",
    "Next Steps",
    "Error Context",
]
BY_HAND = """\
## Session Summary — HAR-7

### Session Intent
Plan the winter berths. Updated only if scope changes.

### Files Modified
| File | Action | What Changed |
|------|--------|-------------|
| src/winter.ts | created | The winter plan |
| src/berths.ts | modified | Named the piers |

### Files Read (Not Modified)
- docs/ice.md — Checked when the basin freezes

### Decisions Made
1. Close the north pier in January because of the ice
2. Used SHA-256 for the tickets (not bcrypt) because tickets are compared, not verified

### Current State
- Two of three piers planned

### Next Steps
1. Plan the south pier

### Error Context (if any)
- Previous attempt to read the ice table failed — typed it in by hand
"""
"""A session file as a person or another tool writes it."""


def decide(share: float, **fields: object) -> tuple[str, str, bool]:
    past = {name: fields.pop(name) for name in History.__struct_fields__ if name in fields}
    tokens = round(168_000 * share)
    history = History(**past)  # type: ignore[arg-type]
    made = should_compact(Signals(context_tokens=tokens, window=200_000, history=history))
    return made.action, made.trigger, made.masking


def file_of(talk: Talk) -> str:
    return session_file(summarized(talk), 4_096, EXACT.count, task="HAR-7")


def part(text: str, name: str) -> str:
    return section(text.replace("### ", "## "), name)


@pytest.fixture
def merged(kedgeline: Line, tmp_path: Path) -> str:
    """A file that was there, with a session of ours written into it, twice."""
    path = tmp_path / FILE
    path.parent.mkdir(parents=True)
    path.write_text(BY_HAND, "utf-8")
    for talk in (service(), service().user("And now the reminder").says("Which hour?")):
        file = talk.at(tmp_path / "a.json")
        kedgeline("summarize", file, "--write-session-file", *TASK, "--root", str(tmp_path))
    return path.read_text("utf-8")


@row("At 70 % of the context a summary")
def test_01_soft() -> None:
    assert (decide(0.6999)[0], decide(0.70)[:2]) == ("nothing", ("compact", "context"))


@row("At 85 % it is forced, with masking")
def test_02_force() -> None:
    assert decide(0.8499) == ("compact", "context", False)
    assert decide(0.85) == ("force", "context_force", True)


@row(
    "Of the context's use",
    deviates="R31: of the window without the room for the answer, or a request would not fit",
)
def test_03_utilisation() -> None:
    at = Signals(context_tokens=140_000, window=200_000, history=History())
    assert "83 % of the usable window (140,000 of 168,000" in should_compact(at).reason


@row("At a task boundary what is completed is compressed")
def test_04_boundary() -> None:
    past = {"tokens_since": 90_000, "turns_since": 9}
    assert decide(0.55, **past, anchor_since="tests pass")[1] == "task_boundary"
    assert decide(0.45, **past, anchor_since="tests pass")[0] == "nothing"
    assert decide(0.55, **past)[0] == "nothing"


@row("More than 20 turns: it is looked at")
def test_05_turns() -> None:
    past = {"tokens_since": 9_000}
    assert decide(0.3, turns_since=20, **past)[0] == "nothing"
    assert decide(0.3, turns_since=21, **past)[:2] == ("evaluate", "turns")


@row("The triggers act in a living agent")
def test_06_living(tmp_path: Path) -> None:
    whole = voyage().transcript()
    with library.Session.open("voyage", tmp_path / "store", window=7_000) as session:
        session.append(whole)
        assert session.should_compact().compacts
        session.compact()
        assert not session.should_compact().compacts


@row("The file of a task is products/{PRODUCT}/.claude/scratch/session-summary-{TASK_ID}.md")
def test_07_path(merged: str, tmp_path: Path) -> None:
    assert (tmp_path / FILE).read_text("utf-8") == merged


@row("Its title is '## Session Summary — {TASK_ID}'")
def test_08_title(merged: str) -> None:
    assert merged.split("\n")[0] == "## Session Summary — HAR-7"
    assert file_of(desk()).split("\n")[0] == "## Session Summary — HAR-7"


@row("It has a Session Intent")
def test_09_intent() -> None:
    assert "Build the berth service" in part(file_of(service()), "Session Intent")


@row("The intent changes only where the scope does")
def test_10_intent_stays() -> None:
    talk = service()
    for n in range(12):
        talk.user(f"Now also paint sign {n}.").write(f"signs/{n}.svg", "<svg/>").says("Painted.")
    assert "Build the berth service" in part(file_of(talk), "Session Intent")


@row("Files Modified: a table of file, action and what changed")
def test_11_table() -> None:
    assert part(file_of(service()), "Files Modified").startswith("| File | Action | What Changed |")


@row("Actions are created, modified, deleted")
def test_12_actions() -> None:
    table = part(file_of(service()), "Files Modified").split("\n")[2:]
    found = {line.split("|")[1].strip(): line.split("|")[2].strip() for line in table}
    assert found == {
        "src/berths.ts": "created",
        "src/routes.ts": "modified",
        "src/old.ts": "deleted",
    }


@row("What changed is described in brief, so that nobody reads the file again")
def test_13_what_changed() -> None:
    table = part(file_of(service()), "Files Modified")
    (made,) = [line for line in table.split("\n") if "src/berths.ts" in line]
    assert "book" in made
    assert "Berth" in made
    (changed,) = [line for line in table.split("\n") if "src/routes.ts" in line]
    assert "validated" in changed


@row("Files Read: with the reason for reading")
def test_14_reads() -> None:
    reads = part(file_of(service()), "Files Read (Not Modified)")
    (tide,) = [line for line in reads.split("\n") if "src/tide.ts" in line]
    assert "import style" in tide
    assert "db/schema.prisma" in reads


@row("Decisions are numbered")
def test_15_numbered() -> None:
    assert part(file_of(service()), "Decisions Made").startswith("1. ")


@row("Both forms of a decision are found: used X because, chose X over Y for Z")
def test_16_both_decisions() -> None:
    made = part(file_of(service()), "Decisions Made")
    assert "SHA-256" in made
    assert "one lock per pier" in made


@row("It has a Current State")
def test_17_state() -> None:
    assert "16 tests passed" in part(file_of(service()), "Current State")


@row("The Current State is the latest")
def test_18_latest() -> None:
    talk = service().user("Check the routes.")
    talk.bash("npm test -- routes", "Tests:       1 failed, 2 passed, 3 total", failed=True)
    talk.edit("src/routes.ts", "validated", "validated, limited")
    talk.bash("npm test -- routes", "Tests:       3 passed, 3 total").bash(
        "npm test", "Tests:       19 passed, 19 total"
    )
    state = part(file_of(talk.says("Fixed.")), "Current State")
    assert "19 tests passed" in state
    assert "FAILS" not in state


@row("Next Steps are numbered")
def test_19_steps() -> None:
    steps = part(file_of(desk()), "Next Steps").split("\n")
    assert [line[:3] for line in steps] == ["1. ", "2. "]


@row("Next Steps hold the plan as stated")
def test_20_stated_plan() -> None:
    steps = part(file_of(service()), "Next Steps").split("\n")
    assert [step.partition(" [")[0] for step in steps] == [
        "1. Let a guest extend a stay",
        "2. Remind guests a day before",
        "3. Limit bookings per hour",
    ]


@row("It has an Error Context")
def test_21_errors() -> None:
    assert "missing REDIS_URL" in part(file_of(service()), "Error Context")


@row("An error is told with what was done instead")
def test_22_instead() -> None:
    (line,) = part(file_of(service()), "Error Context").split("\n")
    assert "switched to the database" in line
    assert not line.startswith("- OPEN")


@row("The sections stand in the order of the template")
def test_23_order() -> None:
    found = [line[4:] for line in file_of(service()).split("\n") if line.startswith("### ")]
    assert [name for name in found if name in SECTIONS] == SECTIONS


@row("A file that a person or another tool wrote is taken up and merged")
def test_24_taken_up(merged: str) -> None:
    assert merged.count("| File | Action | What Changed |") == 1
    assert merged.count("### Error Context") == 1
    assert merged.count("| src/berths.ts |") == 1
    (berths,) = [line for line in merged.split("\n") if line.startswith("| src/berths.ts |")]
    assert "Named the piers" in berths
    assert "book" in berths
    assert "| src/winter.ts | created | The winter plan |" in merged
    assert "docs/ice.md — Checked when the basin freezes" in merged
    assert merged.count("Close the north pier in January") == 1
    assert part(merged, "Decisions Made").count("SHA-256") == 1
    assert "Plan the winter berths" in part(merged, "Session Intent")


@row("Step 1: only what is newly truncated is summarised")
def test_25_newly_truncated(tmp_path: Path) -> None:
    whole = voyage().transcript()
    with library.Session.open("voyage", tmp_path / "store", window=7_000) as session:
        session.append(whole)
        first, again = session.compact(), session.compact()
    last = first.plan.folded[-1].last
    assert [span.first for span in again.plan.folded] in ([], [last + 1])


@row("Step 2: files are appended and updated")
def test_26_files() -> None:
    talk = service().edit("src/routes.ts", "validated", "validated, limited")
    talk.write("src/limit.ts", "export const LIMIT = 5\n")
    table = part(file_of(talk), "Files Modified")
    (routes,) = [line for line in table.split("\n") if "src/routes.ts" in line]
    assert routes.index("validated") < routes.index("limited")
    assert "src/limit.ts" in table


@row("Step 2: decisions are appended")
def test_27_decisions() -> None:
    talk = (
        service()
        .user("Go on")
        .says("I'll use cron rather than a worker because one machine runs it.")
    )
    made = part(file_of(talk), "Decisions Made")
    assert made.index("SHA-256") < made.index("cron")


@row("Step 2: state and next steps are replaced")
def test_28_replaced(kedgeline: Line, tmp_path: Path) -> None:
    talk = desk()
    write = ("--write-session-file", *TASK, "--root", str(tmp_path))
    kedgeline("summarize", talk.at(tmp_path / "a.json"), *write)
    talk.user("Next").todos(Check_the_fares="completed", Write_the_refund_flow="in_progress")
    kedgeline(
        "summarize",
        talk.bash("npm test", "Tests:  20 passed, 20 total").at(tmp_path / "a.json"),
        *write,
    )
    text = (tmp_path / FILE).read_text("utf-8")
    assert part(text, "Next Steps").count("\n") == 0
    assert "Write the refund flow" in part(text, "Next Steps")
    assert "20 tests passed" in part(text, "Current State")
    assert "14 tests passed" not in part(text, "Current State")


@row("Step 2: an error that is resolved says so")
def test_29_resolved() -> None:
    (line,) = part(file_of(desk()), "Error Context").split("\n")
    assert line.startswith("- Resolved: ")
    assert "seats.ts" in line


@row("Step 3: probes after every compression")
def test_30_probes(kedgeline: Line, tmp_path: Path) -> None:
    ran = kedgeline("compact", voyage(16).at(tmp_path / "a.json"), "--window", "7k")
    assert b"probes: score" in ran.stderr


@row("Recall: what was the error?")
def test_31_recall() -> None:
    questions = asked(service())
    assert any(one.type == "recall" and "REDIS_URL" in str(one.expected) for one in questions)


@row("Artifact: which files were modified?")
def test_32_artifact() -> None:
    found = [one for one in asked(service()) if one.type == "artifact"]
    assert {"src/berths.ts", "src/routes.ts", "src/old.ts"} <= {
        path for one in found for path in str(one).split("'") if path.startswith("src/")
    }


@row("Continuation: what comes next? It is asked, and a summary without it fails")
def test_33_continuation() -> None:
    summary = summarized(desk())
    text = hand_on(summary, 2_048, EXACT.count).text
    without = text.replace("Write the refund flow", "…")
    probes = library.asked(summary, 2_048)
    assert library.verify(summary, text, probes).accepted
    failed = library.verify(summary, without, probes).failed
    assert any(one.probe.type == "continuation" for one in failed)
    assert any(
        one.type == "continuation" and "extend" in str(one.expected) for one in asked(service())
    )


@row("Decision: why was it chosen?")
def test_34_decision() -> None:
    assert any(
        one.type == "decision" and "SHA-256" in str(one.expected) for one in asked(service())
    )


@row("A probe that fails expands its section")
def test_35_repair(kedgeline: Line, tmp_path: Path) -> None:
    made = kedgeline.one("compact", voyage(40).at(tmp_path / "a.json"), "--window", "6k")
    assert made["verdict"]["accepted"], made["verdict"]["failures"]
    assert made["verdict"]["critical_failures"] == 0 or not made["verdict"]["failures"]


@row("Damage is noticed")
def test_36_damage() -> None:
    summary = summarized(service())
    text = hand_on(summary, 2_048, EXACT.count).text
    probes = library.asked(summary, 2_048)
    assert library.verify(summary, text, probes).accepted
    damaged = text.replace("src/routes.ts", "src/roots.ts")
    assert not library.verify(summary, damaged, probes).accepted


@row("Research: problem, findings, files, constraints, at most 1000 words")
def test_37_research() -> None:
    text = phased(summarized(voyage(40)), "research")
    assert [line[3:] for line in text.split("\n") if line.startswith("## ")] == [
        "Problem Statement",
        "Key Findings",
        "Relevant Files",
        "Constraints Discovered",
    ]
    assert len(text.split()) <= 1_000


@row("Planning: signatures, types, contracts, data models, at most 2000 words")
def test_38_planning() -> None:
    talk = service()
    talk.bash("git log --oneline", "b82efbc Name the piers\n0a1b2c3 Begin")
    text = phased(summarized(talk.says("Looked.")), "planning")
    kept = section(text, "Signatures, Types and Data")
    assert "book(berth: Berth, nights: number): Promise<Ticket>" in kept
    assert "interface Berth" in kept
    assert "b82efbc" not in kept
    assert "--oneline" not in kept
    assert len(phased(summarized(voyage(40)), "planning").split()) <= 2_000


@row("Implementation: the template")
def test_39_implementation() -> None:
    text = phased(summarized(service()), "implementation")
    assert [name for name in SECTIONS if f"## {name}\n" not in text] == []


@row("Work under way stays as it is")
def test_40_active(kedgeline: Line, tmp_path: Path) -> None:
    made = kedgeline.one(
        "compact", voyage(16).at(tmp_path / "a.json"), "--window", "7k", "--to", "anthropic"
    )
    assert made["kept"][-1]["last"] - made["kept"][-1]["first"] >= 2
    assert "Leg 15 is done: module 15 is moved" in str(made["messages"][-1])


@row("Paths of files are never shortened")
def test_41_paths(kedgeline: Line, tmp_path: Path) -> None:
    talk = Talk().user("Write all parts.")
    paths = [f"services/harbour/internal/parts/part_{n}/main.go" for n in range(30)]
    for path in paths:
        talk.write(path, "package main\n")
    text = hand_on(summarized(talk), 2_048, EXACT.count).text
    assert [path for path in paths if path not in text] == []


@row("Old outputs are masked, with a way to see them")
def test_42_masking(kedgeline: Line, tmp_path: Path) -> None:
    talk = voyage(6)
    made = kedgeline.one(
        "compact", talk.at(tmp_path / "a.json"), "--window", "200k", "--mask", "--to", "anthropic"
    )
    assert made["masked"]
    assert "kedgeline show" in str(made["messages"])


@row("Six dimensions with their targets")
def test_43_dimensions(kedgeline: Line, tmp_path: Path) -> None:
    found = kedgeline("probe", service().at(tmp_path / "a.json")).stdout.decode()
    targets = {line[:22].strip(): line[22:].split()[:1] for line in found.split("\n")}
    for name, target in (
        ("accuracy", "4.0"),
        ("context awareness", "4.0"),
        ("artifact trail", "3.5"),
        ("completeness", "3.5"),
        ("continuity", "4.0"),
        ("instruction following", "4.0"),
    ):
        assert targets[name] == [target]


@row("The dimensions measure: without next steps continuity is not met")
def test_44_measured() -> None:
    summary = summarized(desk())
    text = hand_on(summary, 2_048, EXACT.count).text
    probes = library.asked(summary, 2_048)
    whole = library.verify(summary, text, probes).quality
    steps = section(text, "Next Steps")
    less = library.verify(summary, text.replace(steps, "N/A"), probes).quality
    assert whole is not None
    assert less is not None
    assert score(less, "continuity") < score(whole, "continuity")


@row("A file that exists goes under '## Prior Session Context'")
def test_45_prior(kedgeline: Line, tmp_path: Path, merged: str) -> None:
    out = kedgeline("handoff", *TASK, "--root", str(tmp_path)).stdout.decode()
    assert out.startswith("## Prior Session Context\n\n## Session Summary — HAR-7")
    assert "<!-- kedgeline" not in out


@row("Without a file the task is fresh")
def test_46_fresh(kedgeline: Line, tmp_path: Path) -> None:
    assert kedgeline("handoff", *TASK, "--root", str(tmp_path)).stdout == b""


@row("A compaction writes the file of its task")
def test_47_compact_writes(kedgeline: Line, tmp_path: Path) -> None:
    file = voyage(16).at(tmp_path / "a.json")
    write = ("--write-session-file", *TASK, "--root", str(tmp_path))
    made = kedgeline.one("compact", file, "--window", "7k", *write)
    text = (tmp_path / FILE).read_text("utf-8")
    assert made["session_file"].endswith(FILE)
    assert "Rewrite the booking engine" in part(text, "Session Intent")
    assert "| src/m0.py | created |" in text


@row("The summary becomes the context of the hand-off")
def test_48_handoff(kedgeline: Line, tmp_path: Path) -> None:
    file = service().at(tmp_path / "a.json")
    kedgeline("summarize", file, "--write-session-file", *TASK, "--root", str(tmp_path))
    out = kedgeline("handoff", *TASK, "--root", str(tmp_path)).stdout.decode()
    assert "| src/berths.ts | created |" in out


@row(
    "98.6 % compression",
    deviates="R32: of the folded turns; the whole context is measured beside it",
)
def test_49_compression(kedgeline: Line, tmp_path: Path) -> None:
    talk = Talk().user("Look at every page.")
    for n in range(40):
        talk.call("Read", f"page {n} " * 700, file_path=f"pages/{n}.md")
    made = kedgeline.one("compact", talk.says("Looked.").at(tmp_path / "a.json"), "--window", "24k")
    assert 0.6 <= made["context_reduction"] <= 1
    assert 0 <= made["span_reduction"] <= 1


@row("Tokens for a task count, not for a request")
def test_50_tokens_per_task(kedgeline: Line, tmp_path: Path) -> None:
    out = kedgeline("plan", voyage(16).at(tmp_path / "a.json"), "--window", "7k").stdout.decode()
    assert "would save" in out
    assert "turns and cost" in " ".join(out.split())


def asked(talk: Talk) -> list[library.Probe]:
    return list(library.asked(summarized(talk), 2_048))


def score(quality: library.Quality, name: str) -> float:
    (found,) = [one.score for one in quality.dimensions if one.dimension == name]
    assert found is not None
    return found
