"""A bank folder, errors, a packet and source files become items: all of them, and none silently."""

from __future__ import annotations

import json
import os
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kedgeline.economy.loading import Loaded, load_context, open_errors
from kedgeline.economy.packing import read_packet
from kedgeline.errors import FileRefused
from kedgeline.model import AnyFact, ErrorResolved, ErrorSeen
from kedgeline.redact import Redactor
from kedgeline.summary import build
from kedgeline.tokens import EXACT

LARGE = 100_000
ENTRY = "### [2026-01-02T00:00:00Z] ann\n\nThe pier decides first.\n\n"


def made(folder: Path, **files: str) -> Path:
    """A bank with the five files, and more."""
    bank = folder / "bank"
    bank.mkdir()
    known = ("activeContext", "decisionLog", "progress", "systemPatterns", "productContext")
    for name in known:
        (bank / f"{name}.md").write_text(f"# {name}\n\nOf {name}.\n")
    for name, text in files.items():
        (bank / name.replace("__", ".")).write_text(text)
    return bank


def packet(**more: Any) -> dict[str, Any]:
    return {
        "packet_id": "PKT-20261114-101500-a1b2c3",
        "issued_by": "orchestrator",
        "objective": "Give every vessel a berth",
        "success_criteria": ["tests pass", "no berth twice"],
        "allowed_write_paths": ["src/berths/"],
        "max_token_budget": 50_000,
        **more,
    }


def loaded_names(loaded: Loaded) -> list[str]:
    return [part.name for part in loaded.parts]


def left_out(loaded: Loaded) -> dict[str, str]:
    return {one.name: one.why for one in loaded.left_out}


def test_files_come_in_the_order_of_their_priorities(tmp_path: Path) -> None:
    """The seed's classes, the product context behind progress, files that nobody knows at last."""
    bank = made(tmp_path, tides__md="# Tides\n\nHigh at noon.\n")
    (tmp_path / "plan.py").write_text("def plan(): ...\n")
    loaded = load_context(
        LARGE,
        bank=bank,
        errors=["TideError: too low"],
        packet=read_packet(json.dumps(packet()).encode()),
        files=["plan.py"],
        root=tmp_path,
    )
    assert [(part.priority, part.name) for part in loaded.parts] == [
        (0, "active errors"),
        (0, "delegation packet PKT-20261114-101500-a1b2c3"),
        (0, "systemPatterns.md"),
        (1, "activeContext.md"),
        (1, "plan.py"),
        (2, "decisionLog.md"),
        (2, "progress.md"),
        (2, "productContext.md"),
        (3, "tides.md"),
    ]
    assert loaded.left_out == ()


def test_the_index_stands_for_the_log_and_archives_are_on_demand(tmp_path: Path) -> None:
    bank = made(
        tmp_path,
        decisionLog__index__md="# Index of decisionLog.md\n\n- DEC-001 · Use SQLite.\n",
        activeContext__archive__md=f"# Archive\n\n{ENTRY}",
        decisionLog__chain__jsonl="{}\n",
        catalog__yml="tide: []\n",
    )
    loaded = load_context(LARGE, bank=bank)
    assert "decisionLog.index.md" in loaded_names(loaded)
    assert left_out(loaded) == {
        "decisionLog.md": "on demand",
        "activeContext.archive.md": "on demand",
        "decisionLog.chain.jsonl": "made by kedgeline from other files",
        "catalog.yml": "made by kedgeline from other files",
    }


def test_what_is_missing_unreadable_or_empty_is_said(tmp_path: Path) -> None:
    bank = made(tmp_path, progress__md="", notes__md="x")
    (bank / "systemPatterns.md").unlink()
    (bank / "notes.md").write_bytes(b"\xff\xfe")
    (bank / "elsewhere.md").write_text("x")
    os.link(bank / "elsewhere.md", tmp_path / "twice")
    loaded = load_context(LARGE, bank=bank, files=["gone.py"], root=tmp_path)
    why = left_out(loaded)
    assert why.pop("elsewhere.md").startswith("it has another hard link")
    assert why == {
        "systemPatterns.md": "no such file",
        "gone.py": "no such file",
        "progress.md": "empty",
        "notes.md": "it is not UTF-8 text",
    }


def test_every_file_of_a_random_bank_is_loaded_or_listed(tmp_path: Path) -> None:
    random = Random(2)
    stems = ("activeContext", "decisionLog", "progress", "systemPatterns", "other", "日誌")
    endings = (".md", ".archive.md", ".index.md", ".chain.jsonl", ".jsonl", ".yml", ".txt", "")
    for number in range(60):
        bank = tmp_path / str(number)
        bank.mkdir()
        for name in {random.choice(stems) + random.choice(endings) for _ in range(9)}:
            (bank / name).write_text(random.choice((ENTRY * 40, "", "{}", "# x\n```\ny")))
        budget = random.randint(0, 3_000)
        loaded = load_context(budget, bank=bank, history=random.random() < 0.3)
        told = {*loaded_names(loaded), *left_out(loaded)}
        assert {path.name for path in bank.iterdir()} <= told
        assert EXACT.count(loaded.text) == loaded.tokens <= budget


def test_secrets_do_not_get_out(tmp_path: Path) -> None:
    secret = "qz7Lw0pR4tVx9mK2"
    redactor = Redactor([("HARBOUR_KEY", secret)])
    bank = made(tmp_path, systemPatterns__md=f"# P\n\nThe key is {secret}.\n" * 900)
    (bank / "activeContext.archive.md").write_text(f"{ENTRY}\n{secret}\n")
    (tmp_path / "a.py").write_text(f"KEY = '{secret}'\n")
    for budget in (LARGE, 3_000, 900):
        loaded = load_context(
            budget,
            bank=bank,
            errors=[f"refused: {secret}"],
            packet=read_packet(json.dumps(packet(objective=f"use {secret}")).encode()),
            files=["a.py"],
            root=tmp_path,
            history=True,
            redactor=redactor,
        )
        assert secret not in loaded.text
        assert "[secret: HARBOUR_KEY]" in loaded.text


def test_a_packet_caps_the_budget_and_brings_its_files(tmp_path: Path) -> None:
    bank = made(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "plan.py").write_text("# the plan\n")
    allowed = {"total_tokens": 400, "priority_files": ["src/plan.py", "../secret", "/etc/hosts"]}
    told = read_packet(json.dumps(packet(context_budget=allowed)).encode())
    loaded = load_context(LARGE, bank=bank, packet=told, root=tmp_path)
    assert loaded.budget == 400
    assert "src/plan.py" in loaded_names(loaded)
    outside = "it lies outside of the folder that work is done in"
    assert left_out(loaded) == {"../secret": outside, "/etc/hosts": outside}
    for said in ("Give every vessel a berth", "- no berth twice", "Issued by: orchestrator"):
        assert said in loaded.text


def test_a_link_in_a_packet_leads_nowhere(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret").write_text("hidden")
    (root / "a.md").symlink_to(tmp_path / "secret")
    loaded = load_context(LARGE, bank=made(tmp_path), files=["a.md"], root=root)
    assert "symbolic link" in left_out(loaded)["a.md"]
    assert "hidden" not in loaded.text


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"packet_id": 7}, "packet_id"),
        ({"objective": None}, "objective"),
        ({"context_budget": {"total_tokens": 0}}, "total_tokens"),
    ],
)
def test_a_packet_that_is_none_is_refused_with_what_is_wrong(
    change: dict[str, Any], why: str
) -> None:
    with pytest.raises(FileRefused, match=why):
        read_packet(json.dumps(packet(**change)).encode())


def test_open_errors_are_those_that_nothing_resolved() -> None:
    facts: list[AnyFact] = [
        ErrorSeen(turn=1, key="a", line="TideError: low", places=("pier.py:3",)),
        ErrorSeen(turn=2, key="b", line="TypeError: no pier", about="pytest -q"),
        ErrorSeen(turn=3, key="c", line="KeyError: 7"),
        ErrorResolved(turn=4, key="c", how="a berth more"),
    ]
    assert open_errors(build(facts)) == [
        "TypeError: no pier in pytest -q (t2)",
        "TideError: low at pier.py:3 (t1)",
    ]


def test_links_and_pipes_of_the_bank_are_left_out_and_listed(tmp_path: Path) -> None:
    bank = made(tmp_path)
    (tmp_path / "secret.md").write_text("Elsewhere.\n")
    (bank / "notes.md").symlink_to(tmp_path / "secret.md")
    (bank / "progress.md").unlink()
    (bank / "progress.md").symlink_to(tmp_path / "secret.md")
    (bank / "activeContext.md").unlink()
    os.mkfifo(bank / "activeContext.md")
    loaded = load_context(LARGE, bank=bank)
    assert "Elsewhere" not in loaded.text
    link = "it is a symbolic link, and links are not followed"
    assert left_out(loaded) == {
        "activeContext.md": "it is not a plain file",
        "notes.md": link,
        "progress.md": link,
    }
    assert len(loaded.left_out) == 3


def test_a_file_that_is_named_twice_is_loaded_once(tmp_path: Path) -> None:
    bank = made(tmp_path)
    (tmp_path / "q.py").write_text("TIDE = 7\n")
    names = ["q.py", "./q.py", str(tmp_path.resolve() / "q.py")]
    loaded = load_context(LARGE, bank=bank, files=names, root=tmp_path)
    assert loaded.text.count("TIDE = 7") == 1
    assert loaded_names(loaded).count("q.py") == 1
    assert not loaded.left_out


def test_a_file_of_the_bank_that_is_named_is_loaded_once_and_rises(tmp_path: Path) -> None:
    bank = made(tmp_path, activeContext__archive__md=f"# Archive\n\n{ENTRY}", n__md="Noon.\n")
    names = ["bank/n.md", "./bank/systemPatterns.md", "bank/activeContext.archive.md"]
    loaded = load_context(LARGE, bank=bank, files=names, root=tmp_path)
    assert loaded.text.count("Noon.") == 1
    assert loaded.text.count("Of systemPatterns.") == 1
    classes = {part.name: part.priority for part in loaded.parts}
    assert (classes["n.md"], classes["systemPatterns.md"]) == (1, 0)
    assert classes["bank/activeContext.archive.md"] == 1  # the bank has it on demand only
    assert not loaded.left_out
