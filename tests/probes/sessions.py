"""Random sessions that leave many facts: files, checks, commits, tasks, rules, actions."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from kedgeline.model import Transcript
from tests.test_compaction import session
from tests.turns import Step, bash, called, edit, turn

THINGS = (
    "berth",
    "crane",
    "ferry",
    "light",
    "tide",
    "rope",
    "winch",
    "mast",
    "pier",
    "keel",
    "sail",
)
REQUESTS = (
    "Port the {} to the {}, please",
    "Never push the {} to `{}`.",
    "Let's use the {} instead of the {}.",
    "fix the {} and then the {}",
)
STATES = ("pending", "in_progress", "completed")
NEW_REQUEST = 0.1
"""Share of turns in which the user says something."""


def random_session(chance: Random, least: int = 15, most: int = 45) -> Transcript:
    turns, exchange = [], -1
    for number in range(chance.randint(least, most)):
        words = ""
        if number == 0 or chance.random() < NEW_REQUEST:
            exchange += 1
            words = chance.choice(REQUESTS).format(*chance.sample(THINGS, 2))
        steps = [chance.choice(STEPS)(chance) for _ in range(chance.choice((1, 1, 2, 4)))]
        says = chance.choice(("", "", "I'll use the winch because it is faster.", "Done."))
        turns.append(turn(number, *steps, user=words, says=says, exchange=exchange))
    return session(turns)


def _named(chance: Random) -> str:
    return f"{chance.choice(THINGS)}{chance.randint(0, 30)}"


def _edit(chance: Random) -> Step:
    return edit(f"src/{_named(chance)}.py")


def _write(chance: Random) -> Step:
    name = _named(chance)
    return called("Write", "ok", file_path=f"src/new_{name}.py", content=f"def {name}(): pass")


def _read(chance: Random) -> Step:
    name = _named(chance)
    return called("Read", f"def {name}(): pass\n" * 40, file_path=f"lib/{name}.py")


def _tests(chance: Random) -> Step:
    return bash("pytest -q", f"{chance.randint(1, 99)} passed in 0.1s")


def _failing(chance: Random) -> Step:
    thing = chance.choice(THINGS)
    output = f"E   {thing.title()}Error: no {thing}\n2 failed, 7 passed in 0.1s"
    return bash(f"pytest -q tests/test_{thing}.py", output, exit_code=1)


def _commit(chance: Random) -> Step:
    thing = chance.choice(THINGS)
    output = f"[main {chance.getrandbits(28):07x}] Add the {thing}"
    return bash(f'git commit -m "Add the {thing}"', output)


def _remove(chance: Random) -> Step:
    return bash(f"rm src/{_named(chance)}.py")


def _todos(chance: Random) -> Step:
    todos = [
        {"content": f"check the {thing}", "status": chance.choice(STATES)}
        for thing in chance.sample(THINGS, 3)
    ]
    return called("TodoWrite", "ok", todos=todos)


def _action(chance: Random) -> Step:
    return called("book_berth", "berth 12 booked", boat=_named(chance))


STEPS: tuple[Callable[[Random], Step], ...] = (
    _edit,
    _write,
    _read,
    _tests,
    _failing,
    _commit,
    _remove,
    _todos,
    _action,
)
