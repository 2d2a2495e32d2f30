"""Keys that expire, which the user takes back, and keys that can be rotated."""

from __future__ import annotations

from harbor.material import Session, file, out

FEEDS = "src/harbor/feeds.py"
TESTS = "tests/test_calendar_routes.py"


def play(s: Session) -> None:
    before = s.mark()
    _expiring(s)
    s.rewind(before)
    _rotating(s)
    _documented(s)


def _expiring(s: Session) -> None:
    s.prompt("The keys in the calendar addresses should expire after 30 days.", after=2580)
    s.turn("", s.read(FEEDS), s.read(TESTS))
    s.turn(
        "The key has to carry its date then: `<day>-<signature>`, and the route refuses one that is"
        " older than 30 days.",
        s.edit(FEEDS, *file("edit-feeds-expiring.py").split("=====\n")),
        s.edit(
            FEEDS,
            "import hashlib\nimport hmac\n",
            "import hashlib\nimport hmac\nfrom datetime import date, timedelta\n",
        ),
        think="HMAC over category and day; the day stands in clear in front.",
    )
    s.turn(
        "",
        s.bash(
            "pytest tests/test_calendar_routes.py -q --tb=line",
            out("keys-expiring"),
            "Run the feed tests",
            code=1,
            seconds=1.9,
        ),
    )
    s.done(
        "`key_for` now takes the day. The route and the tests still have to follow, and one thing"
        " worries me: a calendar program subscribes once and cannot fetch a new address by itself,"
        " so every staff member would have to subscribe again each month. Do you want that?"
    )


def _rotating(s: Session) -> None:
    s.prompt(
        "Keys of the calendar addresses must not expire by themselves, a calendar program cannot"
        " renew them. But we must be able to make all old addresses invalid when somebody leaves:"
        " a number HARBOR_FEED_VERSION that goes into the key, raised by hand. Never log a key.",
        after=75,
    )
    s.turn("", s.read(FEEDS), s.read("src/harbor/config.py"))
    s.turns(
        "The version goes into what is signed, so raising it changes every key.",
        s.edit(FEEDS, *file("edit-feeds-version.py").split("=====\n")),
        s.edit(
            "src/harbor/config.py",
            '    feed_secret: str = "change-me"\n',
            '    feed_secret: str = "change-me"\n    feed_version: int = 1\n',
        ),
        s.edit(TESTS, *file("edit-feed-version-test.py").split("=====\n")),
        s.edit(
            TESTS,
            "from fastapi.testclient import TestClient\n\nfrom harbor.feeds import key_for\n",
            "import pytest\nfrom fastapi.testclient import TestClient\n\n"
            "from harbor.config import settings\nfrom harbor.feeds import key_for\n",
        ),
    )
    s.turn(
        "",
        s.bash(
            "pytest tests/test_calendar_routes.py -q --tb=short",
            out("keys-version"),
            "Run the feed tests",
            code=1,
            seconds=1.9,
        ),
    )
    s.turn(
        "The settings are cached for the life of the process, and my test leaves the changed ones"
        " behind. The fixture must clear the cache on both sides.",
        s.write(TESTS, file("test_calendar_routes_rotated.py")),
    )
    s.turn("", s.bash("pytest -q", out("keys-green"), "Run all tests", seconds=2.9))


def _documented(s: Session) -> None:
    s.turn("", s.task_update("3", "in_progress"), s.grep("print|log\\.", "src/harbor/*.py"))
    s.turns(
        "No key is logged anywhere: the only place that could is the access log of the server,"
        " which writes whole addresses. I'll say so in the documents.",
        s.edit(
            "docs/api.md",
            "| `DELETE /waitlist/{id}` | leaves the line; an offer goes to the next | 404 |\n",
            "| `DELETE /waitlist/{id}` | leaves the line; an offer goes to the next | 404 |\n"
            "| `GET /calendar/{category}.ics?key` | bookings of a category as iCalendar | 404,"
            " 422 |\n",
        ),
        s.edit("README.md", *file("edit-readme-feed.md").split("=====\n")),
        s.edit(
            "CHANGELOG.md",
            "- Mail is sent with httpx.\n",
            "- Bookings as calendar feeds, one per category. `HARBOR_FEED_SECRET` must be set;\n"
            "  raising `HARBOR_FEED_VERSION` makes all addresses given out so far invalid.\n"
            "- Mail is sent with httpx.\n",
        ),
    )
    s.turn("", s.bash("make check", out("check-keys"), "Run all checks", seconds=7.5))
    s.turn(
        "",
        s.bash(
            'git add -A && git commit -m "Feed keys can be rotated"', out("commit-keys"), "Commit"
        ),
        s.task_update("3", "completed"),
    )
    s.done(
        "Done: the key signs category and `HARBOR_FEED_VERSION`; raise the number and every address"
        " given out before is a 404. Keys do not expire otherwise.\n\nNothing in harbor logs a key,"
        " but uvicorn's access log writes addresses with their query. In production it should run"
        " with `--no-access-log` or behind a proxy that strips it; I have put that into the README."
    )
