"""A picture of a calendar: the day of departure is taken twice."""

from __future__ import annotations

from picture import bars, image_block

from harbor.material import Session, file, out

ICAL = "src/harbor/ical.py"
BLUE, GREEN = (52, 101, 164), (78, 154, 6)


def play(s: Session) -> None:
    shown = [(1, 1, 5, BLUE), (2, 4, 6, GREEN)]
    s.prompt(
        "[Image #1] Tomas subscribed with his phone, this is June. Petrel (blue) leaves on the"
        " morning of the 4th and Dunlin (green) comes that day, but the calendar shows both on the"
        " 4th, as if the berth were double booked.",
        after=5040,
        image=image_block(bars(8, 4, shown)),
    )
    s.turn(
        "The blue bar runs through the 4th. The end date in the feed is one day too late then; let"
        " me look at what I write.",
        s.read(ICAL, 34, 18),
        think="DTEND is exclusive. departs is already exclusive (half-open stay, see CLAUDE.md)."
        " I added a day as if departs were the last night. The tests never looked at DTEND.",
    )
    _repaired(s)


def _repaired(s: Session) -> None:
    s.turns(
        "My mistake: DTEND is exclusive, and so is `departs` (a stay is half-open). I added a day"
        " on top, and no test looked at DTEND.",
        s.edit(
            ICAL,
            '        f"DTEND;VALUE=DATE:{booking.departs + timedelta(days=1):%Y%m%d}",\n',
            '        f"DTEND;VALUE=DATE:{booking.departs:%Y%m%d}",\n',
        ),
        s.edit(
            ICAL, "from datetime import datetime, timedelta\n", "from datetime import datetime\n"
        ),
        s.edit("tests/test_ical.py", *file("edit-ical-test.py").split("=====\n")),
    )
    s.turn("", s.bash("make check", out("check-dtend"), "Run all checks", seconds=7.6))
    s.turn(
        "",
        s.bash(
            'git commit -am "A stay ends on the day of departure in the feed, not after it"',
            out("commit-dtend"),
            "Commit",
        ),
    )
    s.done(
        "Fixed and committed: `DTEND` is the day of departure. There is a test now that reads as"
        " the calendar does. Tomas has to refresh the subscription once."
    )
