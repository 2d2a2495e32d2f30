"""The conversations of the first seed's examples, user rows folded into the turns behind them."""

from __future__ import annotations

from kedgeline.model import Turn
from tests.turns import bash, called, edit, turn

FOUND = "Salaries in Brisbane rose, and so did the number of vacancies. " * 4


def coding() -> list[Turn]:
    """Example 1."""
    read = called("Read", "fn login() {}\n" * 200, file_path="src/auth.rs")
    tests = bash("cargo test", "test result: ok. 15 passed; 0 failed; 0 ignored")
    return [
        turn(
            0,
            read,
            user="Fix the login bug in auth.rs",
            says="The token is never checked. I can add that.",
            tokens=2_000,
        ),
        turn(
            1,
            edit("src/auth.rs"),
            tests,
            user="Yes, do that",
            says="Fixed the authentication bug in auth.rs. Tests pass.",
            exchange=1,
        ),
        turn(
            2,
            edit("README.md"),
            user="Please also update the documentation",
            says="Updated the documentation.",
            exchange=2,
        ),
    ]


def searching() -> list[Turn]:
    """Example 2: a search, and the answer in the turn behind it; twice."""
    return [
        turn(0, called("WebSearch", FOUND, query="jobs"), user="How is Brisbane's job market?"),
        turn(1, says="Based on the search results, it grows."),
        turn(
            2,
            called("WebSearch", FOUND, query="salaries"),
            user="Please tell me more about salaries",
            exchange=1,
        ),
        turn(3, says="According to the results, they rose by 4 %.", exchange=1),
    ]


def mixed() -> list[Turn]:
    """Example 3."""
    return [
        turn(
            0,
            bash("npm init -y", "Wrote to package.json"),
            bash("npm install", "added 120 packages, and audited 121 packages in 4s"),
            user="Set up a new project",
            says="The project is set up.",
            tokens=1_000,
        ),
        turn(
            1,
            called("Write", "File created", file_path="src/index.ts", content="…"),
            called("Write", "File created", file_path="tsconfig.json", content="{}"),
            user="Create the initial files",
            says="Created index.ts and the configuration.",
            exchange=1,
            tokens=1_000,
        ),
        turn(
            2,
            bash("npm test", "Tests:       4 passed, 4 total"),
            user="Run the tests",
            says="All tests pass.",
            exchange=2,
        ),
        turn(
            3,
            called("WebSearch", FOUND, query="deployment"),
            user="What are the options for deployment?",
            exchange=3,
        ),
    ]
