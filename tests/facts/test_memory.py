"""What an extractor remembers does not grow with the session."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest

from kedgeline.facts.commands import CommandExtractor
from kedgeline.facts.dead_ends import DeadEndExtractor
from kedgeline.facts.errors import ErrorExtractor
from kedgeline.facts.extractor import Extractor, Setting
from kedgeline.facts.files import FileExtractor, ReadExtractor
from kedgeline.facts.dead_ends import UndoExtractor
from kedgeline.facts.repository import RepositoryExtractor
from kedgeline.facts.decisions import DecisionExtractor
from kedgeline.facts.decisions import QuestionExtractor
from kedgeline.facts.requests import RequestExtractor
from kedgeline.facts.rules import InstructionExtractor
from kedgeline.facts.session import AgentExtractor, SessionExtractor
from kedgeline.facts.todos import TodoExtractor
from kedgeline.model import Note, Turn
from kedgeline.outcomes import outcomes_of
from tests.facts.changed import THREE, edit, read
from tests.facts.speaking import noted, refused
from tests.facts.test_aider_commits import block
from tests.facts.test_rebased import REBASED
from tests.facts.todo_calls import approved, created, whole
from tests.turns import bash, called, turn

FEW, MANY = 500, 2_000
"""Turns; after the few of them everything that is bounded is full."""


def waiting(n: int) -> Turn:
    call, _ = called("AskUserQuestion", questions=[{"question": f"Which of {n:05}?"}])
    words = f"why is {n:05} slow?"
    return Turn(index=n, exchange=n // 7, user_message=words, tool_calls=(call,))


def failing(n: int) -> Turn:
    messages = "\n".join(f"f{k}_{n:05}.go:{k}:1: bad y{n:05}" for k in range(9))
    return turn(
        n,
        bash(f"./tool{n:05} --flag", f"error: reason of tool{n:05}", exit_code=1),
        bash(f"./x{n:05}", messages, exit_code=1),
        edit(f"/srv/shop/file{n:05}.py"),
        called("Edit", f"rule{n:05} broken", success=False, file_path=f"g{n:05}.py"),
        read(f"/srv/shop/r{n:05}.py"),
        exchange=n // 3,
    )


def dropping(n: int) -> Turn:
    return turn(
        n,
        called("Write", "created", file_path=f"n{n:05}.md", content="x"),
        edit(f"f{n:05}.py", f"return old({n:05})", f"return new({n:05})"),
        bash(f"tool{n:05} go a b c", f"error: {n:05}", exit_code=1),
        refused("Edit", file_path=f"a{n:05}.py", old_string="x", new_string="y"),
        user="go on with it",
        exchange=n // 50,
    )


def listing(n: int) -> Turn:
    return turn(
        n,
        whole(*((f"item {n:05} {k}", "pending") for k in range(5))),
        created(n, f"task {n:05}"),
        called("Write", "ok", file_path=f"plans/{n:05}.md", content=f"- [ ] a{n:05}\n- [ ] b"),
        approved(f"# Plan\n\n## Task 1: x{n:05}\n## Task 2: y\n"),
        exchange=n,
    )


def proposing(n: int) -> Turn:
    keeps, asks = f"I'll keep `name{n:05}` because it is short.", f"Want me to drop part {n:05}?"
    return turn(n, edit(f"src/{n:05}.py"), user="yes", says=keeps if n % 2 else asks)


def committing(n: int) -> Turn:
    made = bash("git commit -m x", f"[topic {n:07x}] SHOP-{n + 10**4} tax {n:07}\n")
    again = (REBASED,) if n % 7 == 0 else ()
    return turn(n, made, *again, user=f"see BUG-{n + 10**4}")


def requesting(n: int) -> Turn:
    names = " ".join(f"{chr(97 + n % 26)}word{letter}" for letter in "abcdefgh")
    return turn(n, user=f"add {names} {n:05}", says=f"x{n:05}y done " * 50)


def moving(n: int) -> Turn:
    note = Note(kind="environment", text=f"<cwd>/r/{n:05}</cwd>")
    return turn(n, called("EnterPlanMode", "ok"), notes=(note,), model=f"m{n:05}")


CASES: dict[str, tuple[Callable[[Setting], Extractor], Callable[[int], Turn]]] = {
    "agents": (
        AgentExtractor,
        lambda n: turn(n, called("Agent", f"Async agent launched.\nagentId: a{n:05}", prompt="x")),
    ),
    "aider, edits in commits": (
        UndoExtractor,
        lambda n: turn(n, block(f"f{n:05}.py", "" if n % 2 else f"Commit {n:07x} Lift")),
    ),
    "aider, edits that wait": (UndoExtractor, lambda n: turn(n, block(f"f{n:05}.py"))),
    "commands": (CommandExtractor, lambda n: turn(n, bash("cd web && npm test"), bash("cd .."))),
    "dead ends": (DeadEndExtractor, dropping),
    "refusals": (
        DeadEndExtractor,
        lambda n: turn(n, *(refused("Bash", command=f"make t{k}") for k in range(5))),
    ),
    "choices": (
        DecisionExtractor,
        lambda n: turn(n, user=f"use a{n:05} instead of b{n:05}", says="1. one\n2. two"),
    ),
    "proposals": (DecisionExtractor, proposing),
    "errors": (ErrorExtractor, failing),
    "files": (
        FileExtractor,
        lambda n: turn(n, edit(f"src/f{n:05}.py", "a", THREE), read(f"lib/g{n:05}.py")),
    ),
    "files created": (FileExtractor, lambda n: turn(n, block(f"f{n:05}.py", search=""))),
    "reads": (ReadExtractor, lambda n: turn(n, bash(f"cat src/f{n:05}.py"))),
    "rules and their files": (
        InstructionExtractor,
        lambda n: noted(n, "instructions", f"never use {n:05}", user=f"never do {n:05}"),
    ),
    "rules": (
        InstructionExtractor,
        lambda n: turn(n, user=f"never touch file{n:05}.py", says="ok"),
    ),
    "questions": (QuestionExtractor, waiting),
    "repository": (RepositoryExtractor, committing),
    "requests": (RequestExtractor, requesting),
    "session": (SessionExtractor, moving),
    "todos": (TodoExtractor, listing),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_remembered_does_not_grow(case: str) -> None:
    make, turn_of = CASES[case]
    extractor = make(Setting(root="/srv/shop"))
    sizes = []
    for index in range(MANY):
        one = turn_of(index)
        list(extractor.see(one, outcomes_of(one)))
        if index in (FEW, MANY - 1):
            sizes.append(len(pickle.dumps(extractor)))
    few, many = sizes
    assert many <= few * 1.1
