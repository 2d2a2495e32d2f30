"""Tuesday: the session is taken up again, and the calendar export is written."""

from __future__ import annotations

from recorders.claude_code import events

from harbor.material import FORMAT_HOOK, ROOT, Session, file, out

ICAL = "src/harbor/ical.py"


def play(s: Session) -> None:
    _resume(s)
    _tasks(s)
    _folding(s)
    _feed(s)
    _committed(s)


def _resume(s: Session) -> None:
    s.journal.clock.jump("2026-03-03T08:31:12")
    s.journal.version = "2.1.47"
    events.hook(s, "SessionStart", "SessionStart:resume", "uv run scripts/session-note.py")
    s.prompt(
        "Morning. I closed the laptop on you yesterday, sorry. See where the e2e test stands,"
        " commit it if it is good, and then write the calendar export.",
        after=3,
    )
    s.turn(
        "The run from yesterday never came back, so I repeat it.",
        s.bash("git status --short", " M tests/test_e2e.py", "What is uncommitted"),
        s.bash("make e2e", out("e2e-second"), "Run the end-to-end tests", seconds=5.1),
    )
    s.turn("", s.bash("make check", out("check-e2e"), "Run all checks", seconds=7.3))
    s.turn(
        "",
        s.bash(
            'git commit -am "End-to-end: wait for a berth and accept the offer"',
            out("commit-e2e"),
            "Commit",
        ),
    )


def _tasks(s: Session) -> None:
    s.turn(
        "Three e2e tests pass, committed. Now the calendar.",
        s.task_create("Write ical.py with tests", "RFC 5545 by hand, no dependency"),
        s.task_create("Add the feed route", "One feed per category, opened by a key"),
        s.task_create("Document the feed", "docs/api.md, README.md, CHANGELOG.md"),
        s.task_create("Open the pull request", "After make check and make e2e"),
    )
    s.turn("", s.task_update("1", "in_progress"))
    s.turn(
        "",
        events.hooked(s.write(ICAL, file("ical.py")), FORMAT_HOOK),
        think="From the search yesterday: DTEND, 75 octets, CRLF, stable UID, DTSTAMP in UTC."
        " Cancelled bookings stay in the feed as CANCELLED so that calendars remove them.",
    )
    s.turn("", events.hooked(s.write("tests/test_ical.py", file("test_ical.py")), FORMAT_HOOK))
    s.turn(
        "",
        s.bash(
            "pytest tests/test_ical.py",
            out("ical-octets"),
            "Run the calendar tests",
            code=1,
            seconds=1.8,
        ),
    )


def _folding(s: Session) -> None:
    s.turn(
        "The limit counts octets and I cut by characters. A fold must not fall inside a character"
        " either, so: character by character, measuring the encoded length.",
        s.edit(ICAL, *file("edit-folded.py").split("=====\n")),
        s.edit(
            ICAL,
            'LINE_LIMIT = 75\n"""Longer lines are folded."""\n',
            'LINE_OCTETS = 75\n"""Longer lines are folded."""\n',
        ),
    )
    s.turn("", s.bash("pytest tests/test_ical.py -q", out("ical-green"), "Run them again"))
    s.turn("", s.task_update("1", "completed"), s.task_update("2", "in_progress"))


def _feed(s: Session) -> None:
    snippet = "## Unreleased\n\n- A waiting list per category: a berth that becomes free is offered"
    attachment = {
        "type": "edited_text_file",
        "filename": f"{ROOT}/CHANGELOG.md",
        "snippet": f"     3→{snippet.splitlines()[0]} (0.10.0)",
    }
    s.workspace.edit("CHANGELOG.md", "## Unreleased\n", "## Unreleased (0.10.0)\n")
    s.journal.add({"type": "attachment", "attachment": attachment})
    s.turns(
        "",
        s.edit(
            "src/harbor/config.py",
            "    offer_hours: int = 24\n",
            '    offer_hours: int = 24\n    feed_secret: str = "change-me"\n',
        ),
        s.write("src/harbor/feeds.py", file("feeds.py")),
        s.write("src/harbor/routes/calendar.py", file("routes_calendar.py")),
    )
    _route(s)


def _route(s: Session) -> None:
    s.turn(
        "",
        s.edit(
            "src/harbor/app.py",
            "from harbor.routes import berths, bookings, waitlist\n",
            "from harbor.routes import berths, bookings, calendar, waitlist\n",
        ),
        s.edit(
            "src/harbor/app.py",
            "    app.include_router(waitlist.router)\n",
            "    app.include_router(waitlist.router)\n    app.include_router(calendar.router)\n",
        ),
        s.write("tests/test_calendar_routes.py", file("test_calendar_routes.py")),
    )
    s.turn(
        "",
        s.bash(
            "pytest tests/test_calendar_routes.py tests/test_ical.py -v",
            out("feed-green"),
            "Run all calendar tests",
            seconds=2.2,
        ),
    )


def _committed(s: Session) -> None:
    s.turn("", s.bash("make check", out("check-feed"), "Run all checks", seconds=7.8))
    s.turn(
        "",
        s.bash(
            'git add -A && git commit -m "Calendar feeds, one per category"',
            out("commit-feed"),
            "Commit",
        ),
        s.task_update("2", "completed"),
    )
    s.done(
        "`GET /calendar/{category}.ics?key=…` serves the bookings of a category as all-day events."
        " A calendar program cannot log in, so the address carries a key: an HMAC of the category"
        " with `HARBOR_FEED_SECRET`. A wrong key is a 404, so that nobody learns which calendars"
        " exist. Cancelled bookings stay in the feed as `CANCELLED`, so that calendars drop them."
        "\n\nTo try it: `python -c \"from harbor.feeds import key_for; print(key_for('small'))\"`."
    )
