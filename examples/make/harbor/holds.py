"""From a circular import to the first commit; the user has a wish on the way."""

from __future__ import annotations

from recorders.claude_code import events

from harbor.material import Session, file, out

BOOKINGS = "src/harbor/bookings.py"
WAITLIST = "src/harbor/waitlist.py"
HTTPX = (
    "btw: use httpx, not requests, from now on, also in notify.py when you get there. It is in the"
    " dev group already, move it to the real dependencies"
)


def play(s: Session) -> None:
    _circle(s)
    _holds(s)
    _ties(s)
    _commit(s)


def _circle(s: Session) -> None:
    events.queued(s, HTTPX)
    s.turns(
        "A circle: `bookings` imports `waitlist`, which imports `bookings`. I could import inside"
        " the function, but the direction is the real question: a waiting list is built on"
        " bookings, not the other way round. So `bookings` stays as it was, and the two callers"
        " that free a berth (the route and the worker) make the offer.",
        s.edit(
            BOOKINGS,
            "from harbor.pricing import price_cents\nfrom harbor.waitlist import offer\n",
            "from harbor.pricing import price_cents\n",
        ),
        s.edit(BOOKINGS, "    offer(session, mailer, booking.berth, now=now)\n", ""),
        think="Import inside the function hides the circle. Dependency direction: waitlist ->"
        " bookings. The route can orchestrate. Decide that.",
    )
    events.heard(s, HTTPX)
    _route(s)


def _route(s: Session) -> None:
    s.turns(
        "Noted: httpx instead of requests from now on; I'll change `notify.py` with the routes and"
        " move httpx to the real dependencies. Now the cancelling route:",
        s.edit(
            "src/harbor/routes/bookings.py",
            "from harbor import bookings\n",
            "from harbor import bookings, waitlist\n",
        ),
        s.edit(
            "src/harbor/routes/bookings.py",
            "        return bookings.cancel(session, mailer, booking, now=now)\n"
            "    except bookings.AlreadyCancelled as error:\n"
            '        raise HTTPException(409, "already cancelled") from error\n',
            "        bookings.cancel(session, mailer, booking, now=now)\n"
            "    except bookings.AlreadyCancelled as error:\n"
            '        raise HTTPException(409, "already cancelled") from error\n'
            "    waitlist.offer(session, mailer, booking.berth, now=now)\n"
            "    return booking\n",
        ),
    )
    s.turn(
        "",
        s.bash(
            "pytest tests/test_waitlist.py",
            out("waitlist-two-failed"),
            "Run the new tests",
            code=1,
            seconds=2.4,
        ),
    )


def _holds(s: Session) -> None:
    s.turn(
        "Two failures. One is the hold that `free_berths` does not know about yet, as expected; the"
        " other is a real bug of mine: entries that joined in the same second count as equal.",
        s.read(BOOKINGS, 24, 20),
        think="position uses joined_at < entry.joined_at; with a tie all are first. offer() breaks"
        " ties by id, so position must do the same. First the hold.",
    )
    s.turn(
        "",
        s.edit(BOOKINGS, *file("edit-free-berths.py").split("=====\n")),
        s.edit(
            BOOKINGS,
            "from harbor.models import Berth, Boat, Booking, BookingState, Category\n",
            "from harbor.models import (\n    Berth,\n    Boat,\n    Booking,\n    BookingState,\n"
            "    Category,\n    WaitingEntry,\n    WaitingState,\n)\n",
        ),
    )
    s.turn(
        "",
        s.bash(
            "pytest tests/test_waitlist.py -q",
            out("waitlist-one-failed"),
            "Run the new tests",
            code=1,
            seconds=2.2,
        ),
    )


def _ties(s: Session) -> None:
    s.turns(
        "The hold works. Now the tie: ids grow in the order of joining, so they are enough.",
        s.edit(
            WAITLIST,
            "        WaitingEntry.joined_at < entry.joined_at,\n    )\n",
            "        WaitingEntry.id < entry.id,\n    )\n",
        ),
        s.edit(
            WAITLIST,
            "        .order_by(WaitingEntry.joined_at, WaitingEntry.id)\n",
            "        .order_by(WaitingEntry.id)\n",
        ),
    )
    s.turns(
        "",
        s.bash("pytest -q", out("waitlist-green"), "Run all tests", seconds=2.8),
        s.edit(
            "src/harbor/worker.py",
            "JOBS: tuple[Job, ...] = (remind_arrivals,)\n",
            "JOBS: tuple[Job, ...] = (remind_arrivals, expire_offers)\n",
        ),
        s.edit(
            "src/harbor/worker.py",
            "from harbor.notify import GatewayMailer, Mailer\n",
            "from harbor.notify import GatewayMailer, Mailer\n"
            "from harbor.waitlist import expire_offers\n",
        ),
    )


def _commit(s: Session) -> None:
    s.turn(
        "All green. `make check` before I commit:",
        s.bash("make check", out("check-types"), "Run all checks", code=2, seconds=7.2),
    )
    s.turns(
        "mypy is right: a count may be `None` as far as it knows, and berth and expiry are `None`"
        " until something is on offer. The latter deserves a function of its own.",
        s.edit(WAITLIST, *file("edit-position.py").split("=====\n")),
        s.edit(WAITLIST, *file("edit-accept.py").split("=====\n")),
        s.edit(WAITLIST, *file("edit-expire.py").split("=====\n")),
    )
    s.turn("", s.bash("make check", out("check-waitlist"), "Run all checks", seconds=7.6))
    s.turn(
        "",
        s.bash(
            'git add -A && git commit -m "Waiting list: offers go to the first in line who fits"',
            out("commit-waitlist"),
            "Commit",
        ),
        s.todo(
            "x Add WaitingEntry to the models and generate the migration",
            "x Write waitlist.py with tests",
            "x Let free_berths leave out berths on offer",
            "x Make an offer when a booking is cancelled",
            "x Register expire_offers in the worker",
            "  Add routes and schemas for the waiting list",
            "  Move notify.py from requests to httpx",
            "  Write the calendar export",
            "  Document everything in docs/api.md, README.md and CHANGELOG.md",
        ),
    )
    s.done(out("answer-waitlist-done"))
