"""Conversations that the rows are asked of, as a provider's message list."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Self

import kedgeline
from kedgeline.model import Transcript

TIDE = "The tide table of the north pier lists high water at six and low water at noon. "

REMARK = "What the old module did with the winter timetable it does now with either timetable. "


class Talk:
    """A message list that grows by what is said and done."""

    def __init__(self, system: str = "") -> None:
        self._system, self._messages, self._calls = system, list[dict[str, Any]](), 0

    def user(self, text: str) -> Self:
        return self._say("user", [{"type": "text", "text": text}])

    def says(self, text: str) -> Self:
        return self._say("assistant", [{"type": "text", "text": text}])

    def call(self, tool: str, output: str = "ok", *, failed: bool = False, **given: Any) -> Self:
        self._calls += 1
        name = f"call{self._calls}"
        self._say("assistant", [{"type": "tool_use", "id": name, "name": tool, "input": given}])
        result = {"type": "tool_result", "tool_use_id": name, "content": output, "is_error": failed}
        return self._say("user", [result])

    def bash(self, command: str, output: str = "", *, failed: bool = False) -> Self:
        return self.call("Bash", output, failed=failed, command=command)

    def write(self, path: str, content: str) -> Self:
        return self.call("Write", f"File created at: {path}", file_path=path, content=content)

    def edit(self, path: str, old: str, new: str) -> Self:
        words = {"file_path": path, "old_string": old, "new_string": new}
        return self.call("Edit", f"The file {path} has been updated.", **words)

    def todos(self, **statuses: str) -> Self:
        listed = [
            {"content": text.replace("_", " "), "status": status, "activeForm": text}
            for text, status in statuses.items()
        ]
        return self.call("TodoWrite", todos=listed)

    def _say(self, role: str, content: list[dict[str, Any]]) -> Self:
        self._messages.append({"role": role, "content": content})
        return self

    def data(self) -> bytes:
        system = {"system": self._system} if self._system else {}
        return json.dumps({"model": "claude", **system, "messages": self._messages}).encode()

    def transcript(self) -> Transcript:
        return kedgeline.read(self.data())

    def at(self, path: Path) -> str:
        path.write_bytes(self.data())
        return str(path)


def desk() -> Talk:
    """Work on the ticket desk of a ferry: todos, edits, a test that fails and then passes."""
    talk = Talk(system="You are HIDDENPROMPT, the clerk of the ferry line.")
    talk.user(
        "Build the ticket desk for the ferry line: seats, fares and refunds. "
        "Always run the tests before you commit."
    )
    talk.todos(
        Add_the_seat_map="in_progress", Check_the_fares="pending", Write_the_refund_flow="pending"
    )
    talk.call("Read", "export const PIERS = ['north']\n" * 30, file_path="src/piers.ts")
    talk.says("I'll use signed tickets rather than a table of tickets because gates work offline.")
    talk.user("go on")
    talk.write("src/desk/seats.ts", "export function seatMap() { return [] }\n")
    talk.edit("src/desk/seats.ts", "return []", "return rows(deck)")
    talk.edit("src/api/fares.ts", "fare()", "fare(child)")
    talk.bash("npm test", "FAIL src/desk/seats.test.ts\nError: deck 3 has no rows", failed=True)
    talk.edit("src/desk/seats.ts", "rows(deck)", "rows(deck, 3)")
    talk.bash("npm test", "Tests:       14 passed, 14 total")
    talk.todos(
        Add_the_seat_map="completed", Check_the_fares="in_progress", Write_the_refund_flow="pending"
    )
    talk.says("The seat map is there and its tests pass.")
    return talk


def searches() -> Talk:
    """Questions, searches and answers with numbers in them; no file is touched."""
    talk = Talk()
    for turn in range(1, 49, 2):
        question = f"What does a berth on pier {turn} cost?"
        talk.user(question).call("WebSearch", TIDE * 12, query=question)
        answer = f"a berth on pier {turn} costs {400 + turn} crowns a week"
        talk.says(f"Based on the search results, {answer}. {REMARK * 6}")
    return talk


def chat(turns: int = 12) -> Talk:
    """Talk without any tool."""
    talk = Talk()
    for n in range(turns):
        talk.user(f"Tell me about lighthouse {n}.")
        talk.says(f"Lighthouse {n} was lit in {1800 + n}. " + "Its keeper kept a garden. " * 40)
    return talk


def voyage(legs: int = 30) -> Talk:
    """Long work in legs that are each asked for, changed, tested and closed."""
    talk = Talk()
    talk.user("Rewrite the booking engine in legs, one module each. Never touch legacy/ by hand.")
    talk.says("I'll use one queue per pier rather than a global queue because piers close alone.")
    for n in range(legs):
        talk.user(f"Now leg {n}: move module {n} over.")
        talk.call("Read", f"def old_{n}():\n    return {n}\n" * 40, file_path=f"legacy/m{n}.py")
        talk.write(f"src/m{n}.py", f"def module_{n}():\n    return {n}\n")
        talk.bash("pytest", f"{n + 1} passed in 0.10s")
        talk.says(f"Leg {n} is done: module {n} is moved and {n + 1} tests pass. {REMARK * 8}")
    return talk


def service() -> Talk:
    """A session whose last words state the plan, with a file read for a reason and one removed."""
    talk = Talk()
    talk.user("Build the berth service: list, book, cancel, extend and remind.")
    talk.call("Read", "import { tide } from './tide'\n" * 10, file_path="src/tide.ts")
    talk.says("I read src/tide.ts for the import style. Next I check the tables.")
    talk.user("go on")
    talk.call("Read", "model Berth { id Int }\n" * 10, file_path="db/schema.prisma")
    talk.write(
        "src/berths.ts",
        "export interface Berth { id: number; pier: string }\n"
        "export function book(berth: Berth, nights: number): Promise<Ticket> {\n"
        "  return hold(berth)\n}\n",
    )
    talk.edit("src/routes.ts", "post('/book')", "post('/book', validated)")
    talk.says(
        "I used SHA-256 for the tickets (not bcrypt) because tickets are compared, not verified. "
        "I chose one lock per pier over a global lock for shorter waits."
    )
    talk.user("And where do the holds live?")
    talk.bash("node redis.js", "Error: missing REDIS_URL", failed=True)
    talk.says("The Redis store failed due to missing REDIS_URL, so I switched to the database.")
    talk.user("continue")
    talk.bash("npm test", "Tests:       16 passed, 16 total")
    talk.bash("rm src/old.ts")
    return talk.says(
        "3 of 5 endpoints are there (list, book and cancel). All 16 tests pass.\n\n"
        "Next steps:\n1. Let a guest extend a stay\n2. Remind guests a day before\n"
        "3. Limit bookings per hour"
    )
