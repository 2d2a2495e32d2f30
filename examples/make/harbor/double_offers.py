"""One berth, two offers: a lock that hangs, taken back, and an index that does it."""

from __future__ import annotations

from recorders.claude_code.tools import Call

from harbor.material import Session, file, made, out

WAITLIST = "src/harbor/waitlist.py"
TESTS = "tests/test_waitlist.py"
MIGRATION = "migrations/versions/0004_one_open_offer_per_berth.py"
ABORTED = "<error>Command was aborted before completion</error>"


def play(s: Session) -> None:
    before = s.workspace.snapshot()
    _lock(s)
    _hangs(s)
    _undone(s, before)
    _index(s)
    _guarded(s)
    _committed(s)


def _lock(s: Session) -> None:
    s.prompt(
        "Tomas asks: what if two of them cancel at the same moment, can one berth be offered to two"
        " people? It was under risks in your plan. Make sure it can't happen.",
        after=9240,
    )
    s.turn(
        "It can, yes: both requests read the line and the free berths before either has written"
        " its offer. Let me see the code again with that in mind.",
        s.read(WAITLIST, 52, 30),
        s.grep("offer\\(", "src/*.py"),
        think="Simplest: serialise offers with a lock. Requests run in a thread pool in one"
        " process. expire_offers should hold it for the whole run as well, so that nothing slips"
        " in between expiring and offering again.",
    )
    s.turns(
        "A lock around everything that makes offers should do:",
        s.edit(
            WAITLIST,
            "from datetime import date, datetime, timedelta\n\nfrom sqlalchemy import func",
            "import threading\nfrom datetime import date, datetime, timedelta\n\n"
            "from sqlalchemy import func",
        ),
        s.edit(WAITLIST, *file("edit-lock-offer.py").split("=====\n")),
        s.edit(WAITLIST, *file("edit-lock-expire.py").split("=====\n")),
    )
    s.turn(
        "And a test with two threads:",
        s.edit(TESTS, *file("edit-lock-test.py").split("=====\n")),
        s.edit(
            TESTS,
            "from datetime import date, timedelta\n",
            "import threading\nfrom datetime import date, timedelta\n",
        ),
    )


def _hangs(s: Session) -> None:
    run = s.call(
        "Bash",
        {
            "command": "pytest tests/test_waitlist.py -x -q",
            "description": "Run the waiting list tests",
        },
        f"........\n{ABORTED}",
        {"stdout": "........", "stderr": ABORTED, "interrupted": True, "isImage": False},
    )
    run.is_error = True
    run.milliseconds = 94_000
    run.progress = [(_tick(seconds), f"bash-progress-{n}") for n, seconds in enumerate((5, 20, 60))]
    s.turn("", run)
    s.interrupt()


def _tick(seconds: int) -> dict[str, object]:
    return {
        "type": "bash_progress",
        "output": "........",
        "fullOutput": "........",
        "elapsedTimeSeconds": seconds,
        "totalLines": 1,
        "timeoutMs": 120_000,
    }


def _undone(s: Session, before: dict[str, str]) -> None:
    s.prompt(
        "Stop. It hangs (the job takes the lock and then calls offer, which wants it too), and a"
        " lock in one process does nothing for us: production runs two web workers and the job"
        " worker. Undo all of it and let the database refuse a second open offer for a berth.",
        after=25,
    )
    s.turn(
        "Both points are right, I should have thought of the number of processes first. Taking"
        " everything back to the last commit.",
        _checkout(s, before),
        think="Non-reentrant lock taken twice in one thread: of course. And with several processes"
        " it is useless. Undo, then a partial unique index on offered_berth_id where state is"
        " OFFERED; SQLite and PostgreSQL both support that.",
    )


def _checkout(s: Session, before: dict[str, str]) -> Call:
    made_call = s.bash(
        f"git checkout -- {WAITLIST} {TESTS} && git status --short",
        "",
        "Undo the lock",
    )
    s.workspace.restore(before)
    return made_call


def _index(s: Session) -> None:
    s.turns(
        "Now an index that allows only one open offer per berth:",
        s.edit("src/harbor/models.py", *file("edit-models-index.py").split("=====\n")),
        s.edit(
            "src/harbor/models.py",
            "from sqlalchemy import ForeignKey, Index, String\n",
            "from sqlalchemy import ForeignKey, Index, String, text\n",
        ),
    )
    s.turn(
        "",
        s.bash(
            "make migration name=one_open_offer_per_berth",
            out("migration-0004"),
            "Generate the migration from the models",
            seconds=2.7,
        ),
    )
    made(s, MIGRATION, "0004_one_open_offer_per_berth.py")
    s.turn("", s.read(MIGRATION))


def _guarded(s: Session) -> None:
    s.turns(
        "Autogenerate has kept the condition for both databases. `offer` writes inside a savepoint:"
        " when the database refuses, somebody else was faster and the entry simply waits on.",
        s.edit(WAITLIST, *file("edit-hold-offer.py").split("=====\n")),
        s.edit(WAITLIST, *file("edit-hold-function.py").split("=====\n")),
        s.edit(
            WAITLIST,
            "from sqlalchemy import func, select\nfrom sqlalchemy.orm import Session\n",
            "from sqlalchemy import func, select\nfrom sqlalchemy.exc import IntegrityError\n"
            "from sqlalchemy.orm import Session\n",
        ),
        think="The savepoint keeps the rest of the request's transaction (the cancellation) alive.",
    )
    s.turn(
        "",
        s.edit(TESTS, *file("edit-index-test.py").split("=====\n")),
        s.edit(
            TESTS,
            "import pytest\nfrom sqlalchemy.orm import Session\n",
            "import pytest\nfrom sqlalchemy.exc import IntegrityError\n"
            "from sqlalchemy.orm import Session\n",
        ),
        s.edit(
            TESTS,
            "from harbor.bookings import NoBerthFree, cancel\n",
            "from harbor import waitlist\nfrom harbor.bookings import NoBerthFree, cancel\n",
        ),
    )
    s.turn(
        "",
        s.bash(
            "timeout 60 pytest tests/test_waitlist.py -q",
            out("index-green"),
            "Run the waiting list tests, with a limit this time",
            seconds=2.3,
        ),
    )


def _committed(s: Session) -> None:
    s.turn("", s.bash("make check", out("check-index"), "Run all checks", seconds=7.7))
    s.turn(
        "",
        s.bash(
            'git add -A && git commit -m "A berth has at most one open offer"',
            out("commit-index"),
            "Commit",
        ),
    )
    s.done(
        "Done, this time in the database: the unique index `ux_open_offer` (migration 0004) allows"
        " one open offer per berth, whoever makes it. `waitlist.offer` writes in a savepoint and"
        ' treats a refusal as "somebody was faster": the entry stays in line, the cancellation'
        " itself goes through.\n\nThe lock is gone without a trace; it would not have worked across"
        " processes anyway. 44 tests pass."
    )
