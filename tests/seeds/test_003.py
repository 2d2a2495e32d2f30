"""Seed 003, the token economy: levels of a summary, the memory bank, budgets, costs."""

from __future__ import annotations

import json
import re
import tomllib
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from kedgeline.bank import BankSignals
from kedgeline.economy.loading import Loadable, Loaded, load_items
from kedgeline.hosts import hook as entry
from kedgeline.hosts import places
from kedgeline.hosts.worker import work
from kedgeline.pipeline.handoff import level
from kedgeline.tokens import EXACT
from tests.bank.banks import NOW, Bank, active, decisions, milestone, progress
from tests.conftest import EXAMPLES, ROOT
from tests.line import Line
from tests.seeds.rows import row
from tests.seeds.talks import Talk, desk, searches, service, voyage
from tests.seeds.test_000 import summarized

LABELS = ["OBJECTIVE", "APPROACH", "OUTCOME", "PENDING", "DECISIONS"]
TALKS = (desk, service, voyage, searches)
LONG = str(EXAMPLES / "claude-code-long.jsonl")


def at(talk: Talk, tokens: int) -> str:
    return level(summarized(talk), tokens, EXACT.count)


def lines(talk: Talk) -> dict[str, str]:
    """The five lines of the middle level."""
    return dict(line.split(": ", 1) for line in at(talk, 512).split("\n"))


def due(bank: Bank, **signals: Any) -> list[str]:
    return [one.cause for one in bank.plan(BankSignals(**signals)).triggers if one.holds]


def entry_of(number: int) -> str:
    stamp = (NOW - timedelta(hours=1000 - number)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return (
        f"### [{stamp}] pilot\n\nImplemented part {number} of the berth planner in "
        f"src/berths/part_{number}.py; all tests passing.\n\n"
    )


@pytest.fixture
def line(kedgeline: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Line:
    monkeypatch.chdir(tmp_path)
    kedgeline("bank", "init")
    return kedgeline


@pytest.fixture
def documents(line: Line, tmp_path: Path) -> Line:
    folder = tmp_path / "docs"
    folder.mkdir()
    body = "The pilot boards at the outer buoy.\n\n## Tides\n\nHigh water at noon. A zebra swam.\n"
    (folder / "harbour.md").write_text(f"# Harbour\n\n{body}")
    return line


@row("More than 50 entries are due")
def test_01_entries() -> None:
    assert due(Bank(activeContext_md=active(50))) == []
    assert due(Bank(activeContext_md=active(51))) == ["entries"]


@row("More than 60 % of the session's budget is due")
def test_02_budget() -> None:
    bank = Bank(activeContext_md=active(3))
    assert due(bank, session_tokens=59_000, session_budget=100_000) == []
    assert due(bank, session_tokens=61_000, session_budget=100_000) == ["session"]


@row("More than 20,000 estimated tokens are due")
def test_03_tokens() -> None:
    assert due(Bank(productContext_md="word " * 15_900)) == []
    assert due(Bank(productContext_md="word " * 16_100)) == ["tokens"]


@row("By hand: `update memory bank`")
def test_04_by_hand(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEDGELINE_BANK_ENTRIES", "2")
    for n in range(4):
        line("bank", "add", "activeContext", f"Step {n} done.", "--agent", "a")
    done = line.one("bank", "update", "--agent", "a")
    assert done["files"][0]["moved"] == 2


@row("summary_128 has at most 128 tokens")
def test_05_128() -> None:
    assert [EXACT.count(at(talk(), 128)) > 128 for talk in TALKS] == [False] * 4


@row("summary_512 has at most 512 tokens")
def test_06_512() -> None:
    assert [EXACT.count(at(talk(), 512)) > 512 for talk in TALKS] == [False] * 4


@row("summary_2048 has at most 2048 tokens")
def test_07_2048() -> None:
    assert [EXACT.count(at(talk(), 2_048)) > 2_048 for talk in TALKS] == [False] * 4


@row("128: one sentence with objective and outcome")
def test_08_sentence() -> None:
    text = at(desk(), 128)
    assert text.startswith("Build the ticket desk for the ferry line")
    assert "14 tests passed" in text
    long = desk().user("One more: " + "paint every sign of the pier in the new colours, " * 12)
    text = at(long.says("All signs are painted, none is missing."), 128)
    assert "All signs are painted" in text
    assert "Build the ticket desk" in text


@row("128: the files, with commas")
def test_09_files() -> None:
    _, _, files = at(desk(), 128).partition(" Files: ")
    assert sorted(files.split(", ")) == ["fares.ts", "seats.ts"]


@row("128: no code and no full paths")
def test_10_no_code() -> None:
    for talk in TALKS:
        text = at(talk(), 128)
        assert "`" not in text
        assert "src/" not in text


@row("128: a pattern of files stays as it is, once")
def test_11_patterns() -> None:
    said = "Implemented the desk (src/desk/*, tests/desk/*); all tests passing."
    bank = Bank(activeContext_md=active(50) + f"### [2020-01-01T00:00:00Z] a\n\n{said}\n\n")
    bank.compact()
    (reference,) = bank.document("activeContext.md").references()
    assert reference.summary.count("desk/*") == 1
    assert "all tests passing" in reference.summary


@row("512: five labels in their order")
def test_12_labels() -> None:
    for talk in TALKS:
        assert [one.partition(":")[0] for one in at(talk(), 512).split("\n")] == LABELS


@row("512: there is an outcome")
def test_13_outcome() -> None:
    assert [name() for name in TALKS if lines(name())["OUTCOME"] == "none"] == []
    assert "14 tests passed" in lines(desk())["OUTCOME"]


@row("512: what is pending is there, and what is resolved is not")
def test_14_pending() -> None:
    pending = lines(desk())["PENDING"]
    assert "Check the fares" in pending
    assert "Write the refund flow" in pending
    assert "Resolved" not in pending
    assert "Check the fares" in lines(rules(desk()))["PENDING"]


def rules(talk: Talk) -> Talk:
    """Many rules of the user, which stand before all else."""
    for rule in (
        "Never push to the main branch, whatever the pipeline or the release calendar says",
        "Always write dates as 2026-05-01, in logs as well as on printed tickets and receipts",
        "Never store a passenger's birthday anywhere, not even hashed or in a test fixture",
        "Always name database migrations after the ticket number and the table they change",
        "Never call the payment provider from a unit test, use the recorded answers instead",
        "Always keep the Swedish and the Danish wording of a message in the same commit",
        "Never raise the memory of the worker above 512 MB without asking Runa beforehand",
        "Always round fares down to full crowns, children and dogs included, never upwards",
        "Never delete a cancelled booking, mark it and leave the row where auditors find it",
        "Always answer the harbour office in plain text mails without pictures or signatures",
    ):
        talk.user(f"{rule}, on either pier and in the annex, by day and by night.").says(
            "Understood."
        )
    return talk


@row("512: DECISIONS hold decisions")
def test_15_decisions() -> None:
    assert "signed tickets" in lines(rules(desk()))["DECISIONS"]


@row("512: no code blocks")
def test_16_no_code_blocks() -> None:
    talk = desk().user("Keep this:\n```\nfor (;;) {}\n```\nalways.").says("```ts\nrun()\n```")
    assert "```" not in at(talk, 512)


@row("2048: objective, approach, all decisions, evidence, pending work")
def test_17_handoff() -> None:
    text = at(desk(), 2_048)
    for part in ("Build the ticket desk", "seats.ts", "signed tickets", "14 tests", "refund flow"):
        assert part in text


@row("2048: risks")
def test_18_risks() -> None:
    talk = desk().bash("npm run lint", "src/api/fares.ts: 3 problems", failed=True)
    talk.edit("src/api/fares.ts", "fare(child)", "fare(child, dog)")
    talk.says("Risk: the fares of dogs are guessed until the office answers.")
    text = at(talk, 2_048)
    risks = [one for one in text.split("\n") if one.startswith("- Risk: ")]
    assert len(risks) == 1
    assert "the fares of dogs are guessed" in risks[0]
    assert "Edited since the last test run: src/api/fares.ts" in text


@row("2048: citations are allowed")
def test_19_citations() -> None:
    assert "[t" in at(desk(), 2_048)


@row("2048: no whole files")
def test_20_no_files() -> None:
    talk = desk().call(
        "Read", "\n".join(f"row {n} of the table" for n in range(900)), file_path="t"
    )
    assert "row 450 of the table" not in at(talk, 2_048)


@row("What is old goes to activeContext.archive.md")
def test_21_archive() -> None:
    bank = Bank(activeContext_md=active(51))
    bank.compact()
    assert "activeContext.archive.md" in bank.files


@row("The newest 50 stay")
def test_22_fifty() -> None:
    bank = Bank(activeContext_md=active(55))
    bank.compact()
    assert len([*bank.document("activeContext.md").entries()]) == 50


@row("A reference with a summary stands for them, and ends at a sentence")
def test_23_reference() -> None:
    rows = "".join(entry_of(n) for n in reversed(range(55)))
    bank = Bank(activeContext_md=f"# Active Context\n\n{rows}")
    bank.compact()
    (reference,) = bank.document("activeContext.md").references()
    assert "all tests passing" in reference.summary
    assert reference.summary.partition(" Files:")[0].endswith((".", "more"))
    assert " in;" not in reference.summary


@row(
    "A compaction makes the file smaller",
    deviates="R35, R36: the 51st entry goes however short, and the line for it carries a hash",
)
def test_24_smaller() -> None:
    for count in (55, 60, 90):
        bank = Bank(activeContext_md=active(count))
        before = len(bank.text("activeContext.md"))
        bank.compact()
        assert len(bank.text("activeContext.md")) < before, count
    bank = Bank(activeContext_md=active(51))
    bank.compact()
    (reference,) = bank.document("activeContext.md").references()
    assert (reference.entries, len(reference.sha256)) == (1, 64)


@row("Only ReaperOAK may compact")
def test_25_owner(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEDGELINE_BANK_OWNER", "ReaperOAK")
    assert b"only 'ReaperOAK'" in line("bank", "compact", "--agent", "builder", code=2).stderr
    line("bank", "compact", "--agent", "ReaperOAK")


@row("The archive: timestamped Markdown, the entries word for word")
def test_26_verbatim() -> None:
    bank = Bank(activeContext_md=active(51))
    oldest = bank.text("activeContext.md").rpartition("### ")[2]
    bank.compact()
    archive = bank.text("activeContext.archive.md")
    assert f"### {oldest.strip()}" in archive
    assert f"## {NOW.year}-" in archive


@row("decisionLog.md is never changed")
def test_27_log() -> None:
    bank = Bank(decisionLog_md=decisions(range(1, 102)), activeContext_md=active(60))
    before = bank.text("decisionLog.md")
    bank.compact()
    assert bank.text("decisionLog.md") == before


@row("After 100 decisions there is an index")
def test_28_index() -> None:
    for count, there in ((100, False), (101, True)):
        bank = Bank(decisionLog_md=decisions(range(1, count + 1)))
        bank.compact()
        assert ("decisionLog.index.md" in bank.files) == there


@row("The index has a summary for each")
def test_29_per_entry() -> None:
    bank = Bank(decisionLog_md=decisions(range(1, 102)))
    bank.compact()
    assert sum("DEC-" in one for one in bank.text("decisionLog.index.md").split("\n")) == 101


@row("The log is the source of truth")
def test_30_truth() -> None:
    bank = Bank(decisionLog_md=decisions(range(1, 102)))
    bank.compact()
    assert bank.verify().sound
    changed = bank.text("decisionLog.md").replace("We use way 7.", "We use way 8.")
    bank.files["decisionLog.md"] = changed.encode()
    assert not bank.verify().sound


@row("Milestones that are completed for more than 30 days go")
def test_31_progress() -> None:
    rows = [milestone(n, days=29) for n in range(10)] + [milestone(90, days=31)]
    bank = Bank(progress_md=progress([*rows, milestone(91, days=29)]))
    bank.compact()
    assert "| TASK-090 |" not in bank.text("progress.md")
    assert "| TASK-091 |" in bank.text("progress.md")


@row("They go to progress.archive.md")
def test_32_progress_archive() -> None:
    rows = [milestone(n, days=29) for n in range(10)] + [milestone(90, days=31)]
    bank = Bank(progress_md=progress(rows))
    bank.compact()
    assert "| TASK-090 |" in bank.text("progress.archive.md")


@row("The last 10 stay however old")
def test_33_last_ten() -> None:
    bank = Bank(progress_md=progress(milestone(n, days=90) for n in range(10)))
    bank.compact()
    assert bank.text("progress.md").count("| TASK-") == 10


@row("What is open stays")
def test_34_open() -> None:
    rows = [milestone(n, days=5) for n in range(10)]
    rows.append(milestone(90, days=90, status="in_progress"))
    bank = Bank(progress_md=progress(rows))
    bank.compact()
    assert "| TASK-090 |" in bank.text("progress.md")


def stocked(tmp_path: Path, **files: str) -> Path:
    folder = tmp_path / "memory-bank"
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.md").write_text(text)
    return folder


@row("P0, 30 %: open errors, the packet, systemPatterns")
def test_35_p0(kedgeline: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    stocked(tmp_path, systemPatterns="# Patterns\n\nThe pier decides.\n", activeContext=active(2))
    failing = desk().bash("npm test", "Error: deck 9 sank\nTests: 1 failed", failed=True)
    found = kedgeline.one("bank", "load", "--session", failing.at(tmp_path / "a.json"))
    assert [(one["name"], one["priority"]) for one in found["loaded"]][:3] == [
        ("active errors", 0),
        ("systemPatterns.md", 0),
        ("activeContext.md", 1),
    ]
    assert found["classes"][0]["share"] == 0.3 * found["budget"]


@row("P1, 25 %: activeContext and sources")
def test_36_p1(kedgeline: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    stocked(tmp_path, activeContext=active(2))
    (tmp_path / "plan.py").write_text("BERTHS = 7\n")
    found = kedgeline.one("bank", "load", "--file", "plan.py")
    assert [one["name"] for one in found["loaded"] if one["priority"] == 1] == [
        "activeContext.md",
        "plan.py",
    ]
    assert found["classes"][1]["share"] == 0.25 * found["budget"]


@row("P2, 25 %: the index of decisions and the progress")
def test_37_p2(kedgeline: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    stocked(tmp_path, decisionLog=decisions([1]), progress=progress([milestone(1, days=3)]))
    found = kedgeline.one("bank", "load")
    assert {one["name"] for one in found["loaded"] if one["priority"] == 2} >= {
        "decisionLog.md",
        "progress.md",
    }
    assert found["classes"][2]["share"] == 0.25 * found["budget"]


@row("P3, 20 %: archives, on demand")
def test_38_p3(kedgeline: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = stocked(tmp_path, activeContext=active(2))
    (folder / "activeContext.archive.md").write_text(active(3))
    archive = "activeContext.archive.md"
    left = {one["name"]: one["why"] for one in kedgeline.one("bank", "load")["left_out"]}
    assert left[archive] == "on demand"
    found = kedgeline.one("bank", "load", "--history")["loaded"]
    assert [one["priority"] for one in found if one["name"] == archive] == [3]


def items(*sizes: tuple[str, int, int]) -> list[Loadable]:
    def text(size: int) -> Any:
        cuts = {"full": size, "2048": size // 2, "512": size // 4, "128": size // 8}
        return lambda level: "x" * cuts[str(level)]

    return [
        Loadable(name=name, priority=priority, text=text(size)) for name, priority, size in sizes
    ]


def used(loaded: Loaded) -> list[int]:
    return [one.used for one in loaded.shares]


@row("The shares hold: what is unused flows to the next, and nobody loses theirs")
def test_39_shares() -> None:
    rows = items(("a", 0, 6_000), ("b", 1, 1_900), ("c", 2, 1_900), ("d", 3, 1_500))
    assert all(
        one <= share
        for one, share in zip(
            used(load_items(8_000, rows, len)), (2_400, 2_000, 2_000, 1_600), strict=True
        )
    )
    found = load_items(8_000, items(("a", 0, 6_000), ("c", 2, 1_900)), len)
    assert used(found)[2] >= 1_900
    less = load_items(
        8_000, items(("a", 0, 400), ("b", 1, 3_900), ("c", 2, 1_900), ("d", 3, 1_500)), len
    )
    assert used(less)[1] > 2_000, "what P0 leaves flows to P1"


@row("What is too large falls to a smaller level")
def test_40_levels() -> None:
    found = load_items(
        8_000, items(("a", 0, 6_000), ("b", 1, 1_900), ("c", 2, 1_900), ("d", 3, 1_500)), len
    )
    assert {part.name: part.level for part in found.parts}["a"] != "full"


@row("All of it fits the budget")
def test_41_fits() -> None:
    for budget in (0, 50, 999, 8_000):
        assert load_items(budget, items(("a", 0, 6_000), ("b", 2, 1_900)), len).tokens <= budget


@row("catalog.yml with a summary of 128")
def test_42_catalog(documents: Line, tmp_path: Path) -> None:
    documents("bank", "index", "docs")
    (catalog,) = tmp_path.rglob("catalog.yml")
    assert "summary_128" in catalog.read_text()


@row("Chunks with a summary of 512 in their head")
def test_43_chunks(documents: Line, tmp_path: Path) -> None:
    documents("bank", "index", "docs")
    head = next(tmp_path.rglob("chunk-01.yaml")).read_text()
    for key in ("source", "chunk_index", "token_estimate", "hash", "summary_128", "summary_512"):
        assert f"{key}:" in head


@row("128, then 512, then the chunk, then the source")
def test_44_steps(documents: Line) -> None:
    documents("bank", "index", "docs")
    assert documents.one("bank", "find", "harbour")["stopped_at"] == "128"
    assert documents.one("bank", "find", "zebra")["stopped_at"] in ("512", "chunk")
    assert documents.one("bank", "find", "harbour", "--depth", "chunk")["stopped_at"] == "chunk"


@row("All of it works with what is installed without extras")
def test_45_plain_install(documents: Line) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = {re.split("[^A-Za-z-]", name)[0] for name in project["dependencies"]}
    documents("bank", "index", "docs")
    assert documents.one("bank", "index", "docs")["written"] == []
    assert documents.one("bank", "find", "harbour")["answered"]
    assert "pyyaml" in needed
    assert "bank" not in project["optional-dependencies"]


@row("token_input and token_output of every call")
def test_46_per_call(kedgeline: Line, tmp_path: Path) -> None:
    rows = [json.loads(one) for one in kedgeline("cost", LONG, "--calls").stdout.splitlines()]
    assert len(rows) > 100
    assert {"tool", "turn", "agent", "token_input", "token_output"} <= set(rows[0])
    made = kedgeline.one("cost", LONG)
    assert sum(one["token_input"] for one in rows) == sum(one["input"] for one in made["tools"])
    assert sum(one["token_output"] for one in rows) == sum(one["output"] for one in made["tools"])


@row("Cumulative in the claim")
def test_47_claim(kedgeline: Line, tmp_path: Path) -> None:
    claim = tmp_path / "claim.json"
    claim.write_text('{"packet_id": "PKT-1", "agent_id": "a", "status": "CLAIMED"}')
    for _ in range(2):
        kedgeline("cost", LONG, "--claim", str(claim))
    held = json.loads(claim.read_text())
    assert held["tokens_consumed"] == held["token_input"] + held["token_output"] > 0
    assert held["status"] == "CLAIMED"


@row("The sum of a session")
def test_48_session(kedgeline: Line) -> None:
    made = kedgeline.one("cost", LONG)
    assert made["total"]["output"] == sum(one["output"] for one in made["agents"]) > 0


@row("A report at the end of a session, per agent")
def test_49_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("KEDGELINE_STORE", str(tmp_path / "store"))
    monkeypatch.setattr(
        entry, "start_worker", lambda e, folder: work(e.session, e.host, e.transcript, folder)
    )
    event = {"hook_event_name": "SessionEnd", "session_id": "s1", "transcript_path": LONG}
    entry.event_answered(
        json.dumps(event | {"reason": "exit", "cwd": str(tmp_path)}).encode(), "claude-code"
    )
    report = Path(places.folder_of("s1")) / "cost.md"
    assert "| main |" in report.read_text("utf-8")


@row("Entries in every dialect are read, and written back to the byte")
def test_50_dialects(tmp_path: Path) -> None:
    for name, text in (
        ("activeContext.md", active(3)),
        ("decisionLog.md", decisions([1, 2])),
        ("progress.md", progress([milestone(1, days=2)])),
    ):
        bank = Bank(**{name.replace(".", "_"): text})
        assert len([*bank.document(name).entries()]) == text.count("### ") + text.count("TASK-")
        joined = "".join(str(piece.text) for piece in bank.document(name).pieces)
        assert sha256(joined.encode()).digest() == sha256(text.encode()).digest()
