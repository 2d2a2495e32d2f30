"""Documents while the end-to-end tests run, and the end of the day."""

from __future__ import annotations

from recorders.claude_code import events

from harbor.material import Session, file, out

OUTPUT = "/tmp/claude-1000/-home-ines-code-harbor/tasks/b41c9e7.output"
ABOUT = "Run the end-to-end tests"


def play(s: Session) -> None:
    _write(s)
    _notified(s)
    _evening(s)


def _write(s: Session) -> None:
    s.prompt(
        "Perfect. Write the documentation for what we have so far and run `make e2e` in the"
        " background meanwhile.",
        after=3060,
    )
    s.turn("", s.background("make e2e", ABOUT, "b41c9e7", OUTPUT))
    s.workspace.write(OUTPUT, out("e2e-first") + "\n")
    s.turn(
        "",
        s.edit(
            "docs/api.md",
            "| `DELETE /bookings/{id}` | cancels it and tells the owner | 404, 409 |\n",
            "| `DELETE /bookings/{id}` | cancels it, tells the owner and offers the berth to the"
            " first in line | 404, 409 |\n"
            "| `POST /waitlist` | joins the line of a category | 404, 422 |\n"
            "| `GET /waitlist/{id}` | one's place, and what is on offer until when | 404 |\n"
            "| `POST /waitlist/{id}/accept` | books the berth on offer | 404, 409 |\n"
            "| `DELETE /waitlist/{id}` | leaves the line; an offer goes to the next | 404 |\n",
        ),
        s.write("docs/waiting-list.md", file("waiting-list.md")),
    )
    _changes(s)


def _changes(s: Session) -> None:
    s.turn(
        "",
        s.read("CHANGELOG.md"),
        s.edit(
            "README.md",
            "    make worker     # reminders and other jobs, once a minute\n",
            "    make worker     # reminders, offers that run out; once a minute\n",
        ),
    )
    s.turn(
        "",
        s.edit(
            "CHANGELOG.md",
            "# Changelog\n\n## 0.9.2\n",
            "# Changelog\n\n## Unreleased\n\n- A waiting list per category: a berth that becomes"
            " free is offered to the first in line\n  whom it fits and held for"
            " `HARBOR_OFFER_HOURS` hours.\n- Mail is sent with httpx.\n\n## 0.9.2\n",
        ),
    )
    s.done(
        "The documents are written: a new `docs/waiting-list.md` for the rules, the routes in"
        " `docs/api.md`, the setting in `README.md`, and an Unreleased section in `CHANGELOG.md`."
        " The end-to-end tests are still running; I'll look at them when they are done and commit"
        " then."
    )


def _notified(s: Session) -> None:
    events.notified(s, "b41c9e7", OUTPUT, ABOUT)
    s.turn("", s.read(OUTPUT))
    s.turn(
        "They pass, on a fresh database with all four migrations. `make check` once more, then the"
        " commit.",
        s.bash("make check", out("check-docs"), "Run all checks", seconds=7.4),
    )
    s.turn(
        "",
        s.bash(
            'git add -A && git commit -m "Document the waiting list"', out("commit-docs"), "Commit"
        ),
        s.todo(
            "x Add WaitingEntry to the models and generate the migration",
            "x Write waitlist.py with tests",
            "x Let free_berths leave out berths on offer",
            "x Make an offer when a booking is cancelled",
            "x Register expire_offers in the worker",
            "x Add routes and schemas for the waiting list",
            "x Move notify.py from requests to httpx",
            "  Write the calendar export",
            "  Document the calendar export",
        ),
    )
    s.done("Committed. The calendar export and its documentation are what is left of the plan.")


def _evening(s: Session) -> None:
    s.prompt(
        "I have to run. Extend the e2e test so that it also waits and accepts, tomorrow we go on"
        " with the calendar.",
        after=8100,
    )
    s.turn("", s.read("tests/test_e2e.py"), s.read("scripts/seed.py"))
    s.turn("", s.edit("tests/test_e2e.py", *file("edit-e2e.py").split("=====\n")))
    unanswered = s.bash("make e2e", "", ABOUT, seconds=2)
    unanswered.answered = False
    s.turn("", unanswered)
