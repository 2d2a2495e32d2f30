"""Routes for the waiting list, and mail over httpx."""

from __future__ import annotations

from recorders.claude_code import events

from harbor.material import FORMAT_HOOK, Session, file, out

SCHEMAS = "src/harbor/schemas.py"
ROUTES = "src/harbor/routes/waitlist.py"
NOTIFY = "src/harbor/notify.py"


def play(s: Session) -> None:
    _schemas(s)
    _routes(s)
    _wrong_shape(s)
    _httpx(s)
    _checked(s)


def _schemas(s: Session) -> None:
    s.shell("git status --short", "")
    s.prompt(
        "Nice, and I prefer bookings not knowing about the waiting list. Go on with the routes and"
        " with notify.py. Two commits please, they have nothing to do with each other.",
        after=4380,
    )
    s.turn(
        "Routes first.",
        s.read(SCHEMAS),
        s.read("src/harbor/app.py"),
        think="Two commits: routes, then httpx. The body of joining is the same as of booking:"
        " make a common StayIn.",
    )
    s.turn(
        "Booking and waiting take the same body, so I rename `BookingIn` to `StayIn`.",
        s.write(SCHEMAS, file("schemas.py")),
    )
    s.turn(
        "",
        s.edit_missed(
            "src/harbor/routes/bookings.py",
            "from harbor.schemas import BookingOut, BookingIn\n",
            "from harbor.schemas import BookingOut, StayIn\n",
        ),
    )


def _routes(s: Session) -> None:
    s.turn("", s.grep("BookingIn", "*.py"))
    s.turns(
        "",
        s.edit(
            "src/harbor/routes/bookings.py",
            "from harbor.schemas import BookingIn, BookingOut\n",
            "from harbor.schemas import BookingOut, StayIn\n",
        ),
        s.edit("src/harbor/routes/bookings.py", "body: BookingIn,", "body: StayIn,"),
    )
    s.turns(
        "",
        events.hooked(s.write(ROUTES, file("routes_waitlist.py")), FORMAT_HOOK),
        s.edit(
            "src/harbor/app.py",
            "from harbor.routes import berths, bookings\n",
            "from harbor.routes import berths, bookings, waitlist\n",
        ),
        s.edit(
            "src/harbor/app.py",
            "    app.include_router(bookings.router)\n",
            "    app.include_router(bookings.router)\n    app.include_router(waitlist.router)\n",
        ),
    )
    _route_tests(s)


def _route_tests(s: Session) -> None:
    s.turn(
        "",
        events.hooked(
            s.write("tests/test_waitlist_routes.py", file("test_waitlist_routes.py")), FORMAT_HOOK
        ),
    )
    s.turn(
        "",
        s.bash(
            "pytest tests/test_waitlist_routes.py -q --tb=line",
            out("routes-position"),
            "Run the route tests",
            code=1,
            seconds=2.6,
        ),
    )


def _wrong_shape(s: Session) -> None:
    s.turn(
        "`position` is not an attribute of the entry, it has to be worked out. The route builds the"
        " answer itself then; the position is only shown while one waits.",
        s.write(ROUTES, file("routes_waitlist_shown.py")),
    )
    s.turn("", s.bash("make check", out("check-routes"), "Run all checks", seconds=7.7))
    s.turn(
        "",
        s.bash(
            'git add -A && git commit -m "Routes for the waiting list"',
            out("commit-routes"),
            "Commit the routes",
        ),
    )


def _httpx(s: Session) -> None:
    s.turns(
        "Now `notify.py` over httpx. One client per mailer, and the transport can be given, which"
        " makes it testable without a network.",
        s.write(NOTIFY, file("notify.py")),
        s.edit("pyproject.toml", *file("edit-pyproject.toml").split("=====\n")),
    )
    s.turn("", s.write("tests/test_notify.py", file("test_notify.py")))
    s.turn(
        "",
        s.bash(
            "pytest tests/test_notify.py -v",
            out("notify-green"),
            "Run the mail tests",
            seconds=1.9,
        ),
        s.grep("requests", "*"),
    )


def _checked(s: Session) -> None:
    s.turn("", s.bash("make check", out("check-httpx"), "Run all checks", seconds=7.9))
    s.turn(
        "",
        s.bash(
            'git add -A && git commit -m "Send mail with httpx instead of requests"',
            out("commit-httpx"),
            "Commit the mailer",
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
            "  Document everything in docs/api.md, README.md and CHANGELOG.md",
        ),
    )
    s.done(
        "Both are in, as two commits:\n\n- **Routes**: `POST /waitlist`, `GET /waitlist/{id}` (with"
        " the position while one waits), `POST /waitlist/{id}/accept`, `DELETE /waitlist/{id}`."
        " `BookingIn` is now `StayIn`, because joining takes the same body.\n- **Mail**:"
        " `notify.py` uses httpx; `requests` and `types-requests` are gone from `pyproject.toml`."
        " The mailer takes a transport, so it has tests of its own now.\n\n42 tests pass."
    )
