"""An aider history: a rowing club's rota, edited block by block."""

from __future__ import annotations

import stored
from recorders.aider import History
from workspace import Workspace

ROTA, TEST = "rota.py", "test_rota.py"
PAIR = "        rows.append((day, CREW[week % len(CREW)], CREW[(week + 1) % len(CREW)]))\n"


def record() -> str:
    """The whole history."""
    history = History(Workspace("/home/finn/rota", stored.project("rowing")))
    history.start(
        "2026-03-28 16:02:44",
        "/home/finn/.local/bin/aider",
        "Aider v0.86.1",
        "Main model: claude-sonnet-4-5-20250929 with diff edit format, infinite output",
        "Weak model: claude-haiku-4-5-20251001",
        "Git repo: .git with 3 files",
        "Repo-map: using 4096 tokens, auto refresh",
    )
    for scene in (_weeks, _pairs, _again, _tests, _too_small, _partners, _close):
        scene(history)
    return history.document()


def _weeks(h: History) -> None:
    h.user("/add rota.py")
    h.console("Added rota.py to the chat")
    h.user(
        "Add a --weeks option, 8 by default. Do not add any library,",
        "and keep the names of the functions as they are, other scripts import them.",
    )
    h.answer(
        "I'll read the number of weeks from the command line with `argparse`, which is imported"
        " already, and leave `rota` and `main` as they are.",
        h.edit(
            ROTA,
            "def main():\n    for day, first, second in rota(date.today(), 8):\n",
            "def main():\n    parser = argparse.ArgumentParser(description=__doc__)\n"
            '    parser.add_argument("--weeks", type=int, default=8)\n'
            "    arguments = parser.parse_args()\n"
            "    for day, first, second in rota(date.today(), arguments.weeks):\n",
        ),
    )
    h.console(
        "Tokens: 2.6k sent, 241 received. Cost: $0.01 message, $0.01 session.",
        "Applied edit to rota.py",
        "Commit 5be1f07 feat: Add --weeks option to rota",
    )


def _pairs(h: History) -> None:
    h.user(
        "Bo complains: whoever is second one week is first the next.",
        "Nobody should row two weeks in a row.",
    )
    h.answer(
        "The second of a week is the first of the next, because the pairs overlap. They have to"
        " advance by two:",
        h.block(
            ROTA,
            "        rows.append((day, CREW[week], CREW[week + 1]))\n",
            "        first = 2 * week % len(CREW)\n"
            "        rows.append((day, CREW[first], CREW[(first + 1) % len(CREW)]))\n",
        ),
    )
    h.console(
        "The LLM did not conform to the edit format.",
        "https://aider.chat/docs/troubleshooting/edit-errors.html",
        "# 1 SEARCH/REPLACE block failed to match!",
        "",
        "## SearchReplaceNoExactMatch: This SEARCH block failed to exactly match lines in rota.py",
        "<<<<<<< SEARCH",
        "rows.append((day, CREW[week], CREW[week + 1]))",
        "=======",
        "first = 2 * week % len(CREW)",
        "rows.append((day, CREW[first], CREW[(first + 1) % len(CREW)]))",
        ">>>>>>> REPLACE",
        "",
        "The SEARCH section must exactly match an existing block of lines including all white"
        " space, comments, indentation, docstrings, etc",
    )


def _again(h: History) -> None:
    h.answer(
        "I had the line wrong. Here it is as it stands in the file:",
        h.edit(
            ROTA,
            PAIR,
            "        first = 2 * week % len(CREW)\n"
            "        rows.append((day, CREW[first], CREW[(first + 1) % len(CREW)]))\n",
        ),
    )
    h.console(
        "Tokens: 3.4k sent, 188 received. Cost: $0.01 message, $0.03 session.",
        "Applied edit to rota.py",
        "Commit 0c94d2e fix: Nobody rows two weeks in a row",
    )
    h.user("/run python rota.py --weeks 3")
    h.console(
        "2026-03-28 Ada Bo",
        "2026-04-04 Cleo Dov",
        "2026-04-11 Eri Ada",
        "Add 3 lines of command output to the chat? (Y)es/(N)o [Yes]: n",
    )


def _tests(h: History) -> None:
    h.user(
        "Write tests for it: nobody twice in a row, everybody equally often,",
        "and a crew of three has to be refused.",
    )
    h.answer(
        "These are the tests. The last one will fail until the crew is checked; I'll do that next.",
        h.edit(TEST, "", stored.file("rowing", "test_rota.py")),
    )
    h.console(
        "test_rota.py",
        "Create new file? (Y)es/(N)o [Yes]: y",
        "Tokens: 3.9k sent, 402 received. Cost: $0.02 message, $0.05 session.",
        "Applied edit to test_rota.py",
        "Commit 77a0b3c test: Add tests for the rota",
    )
    h.user("/test pytest -q")
    h.console(*stored.text("rowing", "red").split("\n"))
    h.console("Add 15 lines of command output to the chat? (Y)es/(N)o [Yes]: y")


def _too_small(h: History) -> None:
    h.answer(
        "With three people somebody has to row twice in a row, so `rota` refuses a crew of fewer"
        " than four:",
        h.edit(
            ROTA,
            "    rows = []\n    for week in range(weeks):\n",
            "    if len(CREW) < 4:\n"
            '        raise ValueError("a crew needs at least 4 people")\n'
            "    rows = []\n    for week in range(weeks):\n",
        ),
    )
    h.console(
        "Tokens: 4.6k sent, 176 received. Cost: $0.02 message, $0.07 session.",
        "Applied edit to rota.py",
        "Commit e19d5aa fix: Refuse a crew of fewer than four",
    )
    h.user("/test pytest -q")
    h.console(*stored.text("rowing", "green").split("\n"))


def _partners(h: History) -> None:
    h.user("What happens with a crew of four, does everybody always row with the same partner?")
    h.answer(
        "Yes. With four people the pairs are Ada and Bo, Cleo and Dov, and they never mix, because"
        " the list is taken two by two and four is even. The same is true for every even number. If"
        " you want them to mix, the list could be turned by one place each time everybody has had"
        " their turn. Shall I do that?"
    )
    h.console("Tokens: 4.9k sent, 131 received. Cost: $0.02 message, $0.09 session.")
    h.user("No, they like it that way. But say it in the docstring.")
    h.answer(
        h.edit(
            ROTA,
            '    """A row per week: the day and the two who row."""\n',
            '    """A row per week: the day and the two who row.\n\n'
            '    In a crew of even size everybody keeps their partner.\n    """\n',
        ),
    )
    h.console(
        "Tokens: 5.0k sent, 94 received. Cost: $0.02 message, $0.11 session.",
        "Applied edit to rota.py",
        "Commit 2d6f9c4 docs: Say that partners stay together in even crews",
    )


def _close(h: History) -> None:
    h.user("Print the day as 4 April instead of 2026-04-04.")
    h.answer(
        "`strftime` with `%-d` is not portable, so I put the parts together:",
        h.edit(
            ROTA,
            "        print(day, first, second)\n",
            '        print(f"{day.day} {day:%B}", first, second)\n',
        ),
    )
    h.console(
        "Tokens: 5.2k sent, 112 received. Cost: $0.02 message, $0.13 session.",
        "Applied edit to rota.py",
        "Commit b80c1e5 feat: Print days in words",
    )
    h.user("/tokens")
    h.console(
        "Approximate context window usage for claude-sonnet-4-5-20250929, in tokens:",
        "",
        "$ 0.0064    2,140 system messages",
        "$ 0.0069    2,301 chat history",
        "$ 0.0011      352 rota.py",
    )
