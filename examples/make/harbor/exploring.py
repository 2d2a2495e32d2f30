"""Monday morning: how does harbor book berths today?"""

from __future__ import annotations

from recorders.claude_code import events

from harbor.material import Session, out


def play(s: Session) -> None:
    _start(s)
    _code(s)
    _edges(s)
    _answer(s)


def _start(s: Session) -> None:
    events.title(s, "Waiting list and calendar export for harbor")
    command = "uv run scripts/session-note.py"
    events.hook(s, "SessionStart", "SessionStart:startup", command)
    s.prompt(
        "Morning! harbor needs a waiting list, and after that an iCal export for the staff. Before"
        " you write anything: read the code and tell me how a booking comes about today and where"
        " a waiting list would hook in.\n\nTwo rules for this repository: always run `make check`"
        " before committing, and never touch the migrations by hand, they are generated with"
        " `make migration name=...`.",
        after=2,
    )
    s.turn(
        "I'll look around first, without changing anything.",
        s.bash("ls", out("ls"), "List the repository root"),
        s.bash("git log --oneline -8", out("git-log-start"), "Recent commits"),
        think="The user wants an explanation first. Rules: make check before every commit;"
        " migrations only through make migration. Let me get an overview.",
    )
    s.turn("", s.read("CLAUDE.md"), s.read("Makefile"), s.read("pyproject.toml"))
    s.turn(
        "The rules of the house are clear. Now the domain.",
        s.read("src/harbor/models.py"),
        s.read("src/harbor/bookings.py"),
    )


def _code(s: Session) -> None:
    s.turn(
        "",
        s.read("src/harbor/routes/bookings.py"),
        s.read("src/harbor/routes/__init__.py"),
        think="book() looks for free berths and place() writes the booking. cancel() only sets the"
        " state: nothing happens with the freed berth. Let me see how routes and jobs call these.",
    )
    s.turn("", s.read("src/harbor/worker.py"), s.read("src/harbor/notify.py"))
    s.turn(
        "Who else asks for free berths?",
        s.grep(r"free_berths|\bplace\(", "*.py"),
    )
    s.turn("", s.read("tests/conftest.py"), s.read("tests/test_bookings.py"))
    s.turn(
        "",
        s.glob("migrations/versions/*.py"),
        s.read("migrations/env.py"),
        think="Migrations are numbered, with autogenerate against the configured database.",
    )


def _edges(s: Session) -> None:
    s.turn("", s.read("src/harbor/settings.py"))
    s.turn(
        "The settings live in `config.py`.",
        s.read("src/harbor/config.py"),
        s.read("src/harbor/database.py"),
    )
    s.turn("", s.read("src/harbor/schemas.py"), s.read("docs/api.md"))
    s.turn(
        "Last, a baseline, so that I know what green looks like here.",
        s.bash("make check", out("check-baseline"), "Run lint, types and tests", seconds=7.8),
    )


def _answer(s: Session) -> None:
    s.done(
        out("answer-how-booking-works"),
        think="I have all I need: hook points are cancel (frees a berth), the worker (expiry) and"
        " free_berths (holds). The half-open stay from CLAUDE.md matters for overlap checks.",
    )
