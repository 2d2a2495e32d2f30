"""The agent's own review, the pull request, and what a colleague finds in it."""

from __future__ import annotations

from recorders.claude_code import events

from harbor.material import Session, file, out

CALENDAR = "src/harbor/routes/calendar.py"
WAITLIST = "src/harbor/waitlist.py"
URL = "https://github.com/example-marina/harbor/pull/57"


def play(s: Session) -> None:
    _own_review(s)
    _own_fixes(s)
    _pull_request(s)
    _colleague(s)
    _withdrawn(s)
    _answered(s)
    _decided(s)


def _own_review(s: Session) -> None:
    s.skill("review-diff", "main", out("skill-review-diff"))
    s.turn(
        "",
        s.bash("git diff main --stat", out("diff-stat"), "What changed against main"),
        s.bash(
            "git diff main -- src/harbor/routes src/harbor/waitlist.py",
            out("diff-src"),
            "The new code",
        ),
    )
    s.turn(
        "Two places I want to see as they are now, not as a diff.",
        s.read(CALENDAR),
        s.read(WAITLIST, 54, 26),
        think="Findings: keys compared with != (timing); the feed touches booking.boat and"
        " booking.berth lazily, two queries per booking; _is_free loads all free berths to look"
        " for one, acceptable with 60 berths. Withdraw: fine? Fix the first two.",
    )


def _own_fixes(s: Session) -> None:
    s.turns(
        "Two findings worth fixing now: the key is compared with `!=`, which takes longer the more"
        " of it is right, and the feed loads boat and berth one by one for every booking.",
        s.edit(CALENDAR, *file("edit-calendar-key.py").split("=====\n")),
        s.edit(CALENDAR, *file("edit-calendar-load.py").split("=====\n")),
        s.edit(CALENDAR, *file("edit-calendar-import.py").split("=====\n")),
    )
    s.turn(
        "",
        s.bash(
            "pytest tests/test_calendar_routes.py -q",
            out("review-green"),
            "Run the feed tests",
            seconds=1.8,
        ),
    )
    s.turn("", s.bash("make check", out("check-review"), "Run all checks", seconds=7.6))
    s.turn(
        "",
        s.bash(
            'git commit -am "Compare feed keys in constant time, load the feed in one query"',
            out("commit-review"),
            "Commit",
        ),
    )
    s.done(out("answer-review"))


def _pull_request(s: Session) -> None:
    s.prompt("Good. Push it and open the pull request, reviewer is Bea.", after=3780)
    events.failed_request(s, "API Error: 529 Overloaded. Please try again in a moment.")
    s.prompt("go on", after=65)
    s.turn(
        "",
        s.task_update("4", "in_progress"),
        s.bash("git push -u origin waiting-list", out("push"), "Push the branch", seconds=2.2),
    )
    body = out("pull-request-body")
    s.turn(
        "",
        s.bash(
            'gh pr create --reviewer bea --title "Waiting list and calendar feeds" --body "$(cat'
            f" <<'EOF'\n{body}\nEOF\n)\"",
            URL,
            "Open the pull request",
            seconds=2.8,
        ),
    )
    s.journal.loose(
        {
            "type": "pr-link",
            "sessionId": s.journal.session_id,
            "prNumber": 57,
            "prUrl": URL,
            "prRepository": "example-marina/harbor",
            "timestamp": s.journal.clock.iso(),
        }
    )
    s.turn("", s.task_update("4", "completed"))
    s.done(f"The pull request is open: {URL}. Bea is asked to review it.")


def _colleague(s: Session) -> None:
    s.journal.loose(
        {"type": "session-metrics", "sessionId": s.journal.session_id, "linesAdded": 812}
    )
    s.prompt(out("prompt-bea"), after=5400)
    s.turn(
        "",
        s.task_create("Refuse to withdraw what is no longer open", "Bea, point 1"),
        s.task_create("Note the guessable numbers as a known limit", "Bea, point 2"),
        s.task_create("Answer the question about two offers for one berth", "Bea, point 3"),
        s.task_update("5", "in_progress"),
    )
    s.turn(
        "Point 1 first: is it as Bea says?",
        s.read(WAITLIST, 96, 14),
        s.grep("withdraw", "*.py"),
        think="withdraw sets the state whatever it was. After accept the booking would stay while"
        " the entry says withdrawn. She is right.",
    )


def _withdrawn(s: Session) -> None:
    s.turn(
        "She is right: `withdraw` never looks at the state. A test that shows it, before the fix:",
        s.edit("tests/test_waitlist_routes.py", *file("edit-withdraw-test.py").split("=====\n")),
    )
    s.turn(
        "",
        s.bash(
            "pytest tests/test_waitlist_routes.py -q --tb=short",
            out("withdraw-red"),
            "See the test fail",
            code=1,
            seconds=1.9,
        ),
    )
    s.turns(
        "",
        s.edit(WAITLIST, *file("edit-withdraw.py").split("=====\n")),
        s.edit(WAITLIST, *file("edit-withdraw-error.py").split("=====\n")),
        s.edit("src/harbor/routes/waitlist.py", *file("edit-withdraw-route.py").split("=====\n")),
        s.edit(
            "docs/api.md",
            "| `DELETE /waitlist/{id}` | leaves the line; an offer goes to the next | 404 |\n",
            "| `DELETE /waitlist/{id}` | leaves the line; an offer goes to the next | 404, 409 |\n",
        ),
    )
    s.turn(
        "",
        s.bash(
            "pytest tests/test_waitlist_routes.py tests/test_waitlist.py -q",
            out("withdraw-green"),
            "Run the waiting list tests",
            seconds=2.1,
        ),
    )
    s.turn("", s.task_update("5", "completed"), s.task_update("6", "in_progress"))


def _answered(s: Session) -> None:
    s.turn(
        "",
        s.edit("docs/waiting-list.md", *file("edit-known-limits.md").split("=====\n")),
    )
    s.turn("", s.bash("make check", out("check-bea"), "Run all checks", seconds=7.8))
    s.turn(
        "",
        s.bash(
            'git commit -am "An entry that is no longer open cannot be withdrawn"',
            out("commit-bea"),
            "Commit",
        ),
        s.task_update("6", "completed"),
        s.task_update("7", "in_progress"),
    )
    s.turn(
        "Now point 3, with a short experiment instead of an opinion.",
        s.bash(
            out("experiment-command"),
            out("experiment"),
            "Two free spans of one berth, two people waiting",
            seconds=1.4,
        ),
    )
    s.done(out("answer-bea"))


def _decided(s: Session) -> None:
    s.prompt(
        "Keep the index as it is for this season, Tomas says he never has two spans of one berth"
        " free at once. Write it down as a known limit and push. From now on put the ticket number"
        " into every commit message: this one is HAR-31.",
        after=700,
    )
    s.turn(
        "",
        s.edit("docs/waiting-list.md", *file("edit-known-limit-spans.md").split("=====\n")),
        s.bash("make check", out("check-limit"), "Run all checks", seconds=7.7),
    )
    s.turn(
        "",
        s.bash(
            'git commit -am "HAR-31: one open offer per berth is a known limit"',
            out("commit-limit"),
            "Commit",
        ),
        s.task_update("7", "completed"),
    )
    s.turn("", s.bash("git push", out("push-again"), "Push", seconds=2.0))
    s.done(
        "Written down and pushed as HAR-31. All three of Bea's points are answered; the pull"
        " request waits for her approval."
    )
