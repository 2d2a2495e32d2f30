"""The waiting list itself: model, migration, service, and tests that do not even start."""

from __future__ import annotations

from recorders.claude_code import events

from harbor.material import FORMAT_HOOK, Session, file, made, out

MODELS = "src/harbor/models.py"
BOOKINGS = "src/harbor/bookings.py"
WAITLIST = "src/harbor/waitlist.py"
MIGRATION = "migrations/versions/0003_waiting_list.py"


def play(s: Session) -> None:
    _model(s)
    _migration(s)
    _service(s)


def _model(s: Session) -> None:
    s.turn(
        "",
        s.todo(
            "> Add WaitingEntry to the models and generate the migration",
            "  Write waitlist.py with tests",
            "  Let free_berths leave out berths on offer",
            "  Make an offer when a booking is cancelled",
            "  Register expire_offers in the worker",
            "  Add routes and schemas for the waiting list",
            "  Write the calendar export",
            "  Document everything in docs/api.md, README.md and CHANGELOG.md",
        ),
    )
    branch = "git checkout -b waiting-list"
    s.turn("", s.bash(branch, "Switched to a new branch 'waiting-list'", "Create a branch"))
    s.journal.branch = "waiting-list"
    s.turns(
        "The table first.",
        s.edit(MODELS, *file("edit-models-state.py").split("=====\n")),
        s.edit(MODELS, *file("edit-models-entry.py").split("=====\n")),
    )
    s.turn(
        "",
        s.edit(
            "src/harbor/config.py",
            "    reminder_days: int = 2\n",
            "    reminder_days: int = 2\n    offer_hours: int = 24\n",
        ),
        s.edit(
            "README.md",
            "| `HARBOR_REMINDER_DAYS` | `2` | days before arrival a reminder is sent |\n",
            "| `HARBOR_REMINDER_DAYS` | `2` | days before arrival a reminder is sent |\n"
            "| `HARBOR_OFFER_HOURS` | `24` | hours an offer from the waiting list stands |\n",
        ),
    )


def _migration(s: Session) -> None:
    by_hand = s.bash(
        'alembic revision -m "waiting list" --rev-id 0003',
        "",
        "Create an empty revision to fill in",
    )
    s.turn(
        "Now the migration.",
        s.refused(
            by_hand,
            "No. An empty revision is one you fill in by hand, and migrations are never written by"
            " hand here. `make migration name=waiting_list`.",
        ),
    )
    s.turn(
        "You are right, that was the rule. Generating it.",
        s.bash(
            "make migration name=waiting_list",
            out("migration-0003"),
            "Generate the migration from the models",
            seconds=2.9,
        ),
    )
    made(s, MIGRATION, "0003_waiting_list.py")
    s.turn("", s.read(MIGRATION))
    s.turn(
        "It has the table, the foreign keys and the index. Applying it to my database.",
        s.bash("make migrate", out("migrate-0003"), "Apply migrations", seconds=1.6),
        s.todo(
            "x Add WaitingEntry to the models and generate the migration",
            "> Write waitlist.py with tests",
            "  Let free_berths leave out berths on offer",
            "  Make an offer when a booking is cancelled",
            "  Register expire_offers in the worker",
            "  Add routes and schemas for the waiting list",
            "  Write the calendar export",
            "  Document everything in docs/api.md, README.md and CHANGELOG.md",
        ),
    )


def _service(s: Session) -> None:
    s.turn(
        "",
        events.hooked(s.write(WAITLIST, file("waitlist.py")), FORMAT_HOOK),
        think="offer() is the one entry: called after a cancellation, a withdrawal and an expiry."
        " accept() goes through place(), so price and mail are the same as for any booking. Time"
        " comes in as `now`, like everywhere else in this code.",
    )
    s.turns(
        "Cancelling makes the offer:",
        s.edit(
            BOOKINGS,
            "from harbor.pricing import price_cents\n",
            "from harbor.pricing import price_cents\nfrom harbor.waitlist import offer\n",
        ),
        s.edit(
            BOOKINGS,
            '        f"Your stay from {booking.arrives} to {booking.departs} is cancelled.",\n'
            "    )\n    return booking\n",
            '        f"Your stay from {booking.arrives} to {booking.departs} is cancelled.",\n'
            "    )\n    offer(session, mailer, booking.berth, now=now)\n    return booking\n",
        ),
    )
    s.turn(
        "",
        events.hooked(s.write("tests/test_waitlist.py", file("test_waitlist.py")), FORMAT_HOOK),
    )
    s.turn(
        "",
        s.bash(
            "pytest tests/test_waitlist.py -q",
            out("waitlist-circular"),
            "Run the new tests",
            code=4,
            seconds=2.1,
        ),
    )
