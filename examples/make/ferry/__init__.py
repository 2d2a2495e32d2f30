"""An OpenCode session: a ferry's bills are a cent off for groups."""

from __future__ import annotations

import stored
from recorders.opencode import Export, Record
from workspace import Workspace

ROOT = "/home/jonna/work/ferry-fares"
FARE, TEST = "src/fare.ts", "test/fare.test.ts"


def record() -> Record:
    """The whole export."""
    export = Export(
        seed="ferry",
        start="2026-02-24T13:05:20",
        workspace=Workspace(ROOT, stored.project("ferry")),
        title="Bills a cent off for groups",
        model="claude-sonnet-4-5",
    )
    for scene in (_shown, _fixed, _released, _elsewhere):
        scene(export)
    return export.document()


def _out(name: str) -> str:
    return stored.text("ferry", name)


def _edit(name: str) -> tuple[str, str]:
    old, new = stored.file("ferry", name).split("=====\n")
    return old, new


def _shown(e: Export) -> None:
    e.user(
        "The till at the pier and our bills differ by a cent for groups, e.g. one adult, one child"
        " and one bicycle: the till says 8.08, we say 8.07. The tax office says tax is rounded once"
        " per bill. Please show it with a test first.",
        after=1,
    )
    e.turn(
        "I'll look at how the tax is worked out.",
        e.read(FARE),
        e.read("src/money.ts"),
        e.read(TEST),
    )
    e.turn(
        "",
        e.edit(TEST, *_edit("edit-test.ts")),
        think="415 + 205 + 135 = 755; 7 % is 52.85, so 53 and 808 in all. Rounded per line it is"
        " 29 + 14 + 9 = 52. That is the cent.",
    )
    e.turn("", e.bash("npm test", _out("red"), "Run the tests", code=1))


def _fixed(e: Export) -> None:
    e.turn(
        "As you say: `bill` rounds the tax of every line and adds up what was rounded.",
        e.edit(FARE, *_edit("edit-once.ts")),
    )
    e.turn("", e.bash("npm test", _out("green"), "Run the tests"))
    e.turn("", e.bash("npm run types", _out("types-red"), "Check the types", code=1))
    e.turn(
        "The compiler is right: a plain sum is no `Cents`. The net amount is one already, and it is"
        " the same number.",
        e.edit(FARE, *_edit("edit-net.ts")),
    )
    e.turn(
        "",
        e.bash("npm run types && npm test", _out("both"), "Types and tests"),
    )


def _released(e: Export) -> None:
    e.turn(
        "All green. I'll raise the version, since bills change.",
        e.rejected(
            "npm version minor",
            "Raise the version",
            "Never touch the version, releases are made by the pipeline only.",
        ),
    )
    e.turn(
        "Understood, the version stays as it is. `bill` now works out the tax once, on the net"
        " amount of the whole bill; for your example that gives 8.08 EUR like the till. The test is"
        " `tax is rounded once per bill` in `test/fare.test.ts`.",
    )


def _elsewhere(e: Export) -> None:
    e.user("Is there any other place that rounds per line?", after=95)
    e.turn("", e.grep(r"tax\(|Math\.round"))
    e.turn(
        "No. `tax` is called in one place only, `bill` in `src/fare.ts`, and `Math.round` stands"
        " only in `cents` in `src/money.ts`, which every amount goes through."
    )
