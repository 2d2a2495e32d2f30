"""Many runs of the real programs with their compaction replaced, with failures of every kind among
them, as a table: `python -m tests.integrations.hooks.runs claude-code 10 docs/measurements.md`
(`make host-runs`). A row that breaks a promise says so in the table and ends the command with 1."""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.throughput import write_block
from kedgeline.errors import NothingToUndo
from kedgeline.hosts.places import replaced_in
from kedgeline.pipeline.view import problems
from kedgeline.session.session import Session
from kedgeline.store.protocol import open_store
from tests.integrations.hooks import test_replaced_hermes, test_replaced_pi
from tests.integrations.hooks.looping import RULE, Model, Program, texts
from tests.integrations.hooks.test_replaced_claude import BASH, GARBAGE, OURS, Replaced
from tests.integrations.hooks.test_replaced_claude import Model as ClaudeModel
from tests.integrations.hooks.test_replaced_hermes import Hermes
from tests.integrations.hooks.test_replaced_views import LONG, Cline, OpenClaw, ended
from tests.models.server import Server, serving

HEADER = (
    *("program", "what", "runs", "replaced", "host's own", "contexts broken", "rule missing"),
    *("originals missing", "not undone", "ended by the host"),
)
NEW = 5_000
"""Characters that a word, its answer and the notes of a host take, at the most."""
PLANTED = {"missing": "", **GARBAGE}
ARRAY = re.compile(r"(KEDGELINE(?:: string\[\])? = )\[.*\]")
LIMIT = re.compile(r"((?:MILLISECONDS|SECONDS) = )[\d_]+")


@dataclass
class Row:
    program: str
    what: str
    found: Counter[str] = field(default_factory=Counter)

    def cells(self) -> list[str]:
        return [self.program, self.what, *(str(self.found[name]) for name in HEADER[2:])]

    @property
    def is_kept(self) -> bool:
        """Whether every promise was: each run was ours, or each was the host's own."""
        done = self.found["host's own"] if self.what == "failures" else self.found["replaced"]
        wrong = self.found["replaced" if self.what == "failures" else "host's own"]
        broken = sum(self.found[name] for name in HEADER[5:])
        return done >= self.found["runs"] > 0 and not wrong and not broken


def planted(file: Path, place: Path, script: str, limit: str) -> None:
    """Another program in the place of kedgeline, or one that is not there."""
    if script:
        place.write_text(f"#!/bin/sh\n{script}\n")
        place.chmod(0o755)
    text = ARRAY.sub(rf'\1["{place}"]', file.read_text())
    file.write_text(LIMIT.sub(rf"\g<1>{limit}", text))


def broken(provider: str, messages: list[dict[str, Any]]) -> list[str]:
    """What a provider would refuse. Hosts put notes between messages, as a system's or a user's."""
    said = [one for one in messages if one["role"] != "system"]
    return [one for one in problems(provider, said) if "user twice" not in one]


def kept_in(store: Path, row: Row, outputs: Sequence[str]) -> None:
    """Whether all outputs are in the archive, and the newest compaction can be taken back."""
    with closing(open_store(str(store))) as kept:
        everything = ""
        for about in kept.sessions():
            session = Session(about.name, kept)
            turns = [*session.turns()]
            outputs_there = "\n".join(one.output for turn in turns for one in turn.tool_results)
            everything += outputs_there.replace("\\n", "\n")  # some hosts give them as JSON
            shown = session.context_tokens().total
            try:
                session.undo()
            except NothingToUndo:  # what hooks follow, beside what was compacted
                continue
            row.found["not undone"] += session.context_tokens().total <= shown
        row.found["originals missing"] += sum(one not in everything for one in outputs)


def claude_code(home: Path) -> Iterator[Row]:
    """Amid a loop, of a sub-agent, by hand, resumed, forked; then every failure."""
    rows = {what: Row("Claude Code", what) for what in ("amid a loop", "sub-agent", "by hand")}
    rows |= {what: Row("Claude Code", what) for what in ("resumed", "forked")}
    amid, auto = rows["amid a loop"], ("--autocompact", "100k", *BASH)
    with serving(rule=ClaudeModel()) as server:
        claude = Replaced(home / "a", server)

        def checked(row: Row, prompt: str, *options: str, runs: int = 1) -> None:
            native, seen = claude.native, len(server.requests)
            done = ours(claude.home)
            try:
                claude.says(prompt, *options)
            except AssertionError as error:
                row.found["ended by the host"] += 1
                sys.stderr.write(f"{error}\n")
            row.found["replaced"] += ours(claude.home) - done if runs else 1
            row.found["runs"] += (ours(claude.home) - done) or runs or 1
            row.found["host's own"] += claude.native - native
            for one in server.requests[seen:]:
                row.found["contexts broken"] += bool(broken("anthropic", one.body["messages"]))
                is_main = "title" not in one.text and "sub-agent" not in one.text
                row.found["rule missing"] += is_main and "LOOP" in one.text and RULE not in one.text

        checked(amid, f"LOOP 30 mend the harbour light. {RULE}", *auto)
        checked(rows["resumed"], "Go on", *auto, runs=0)
        checked(rows["sub-agent"], "AGENT for the quay", *auto)
        claude.says("LOOP 6 the pier", *BASH)
        checked(rows["by hand"], "/compact keep the lamps")
        checked(rows["resumed"], "Go on", runs=0)
        count, size = claude.sent().count(OURS), claude.size()
        checked(rows["resumed"], "And on", runs=0)
        grown = claude.sent().count(OURS) != count or abs(claude.size() - size) > NEW
        rows["resumed"].found["contexts broken"] += grown
        claude.says("LOOP 6 another way", "--fork-session", *BASH)
        checked(rows["forked"], "/compact")
        outputs = [f"lamp {number}\n" for number in range(30)]
        kept_in(home / "a" / "store", amid, outputs)
    yield from rows.values()
    row = Row("Claude Code", "failures")
    with serving(rule=ClaudeModel()) as server:
        claude = Replaced(home / "b", server)
        for number, script in enumerate(PLANTED.values()):
            planted(claude.module, home / "program", script, "3_000")
            claude.says(f"LOOP 2 lamp {number}. {RULE}", *BASH)
            native = claude.native
            claude.says("/compact")
            row.found["runs"] += 1
            row.found["host's own"] += claude.native > native
    yield row


def ours(home: Path) -> int:
    """Compactions of the main conversation that were noted, and those of sub-agents."""
    folders = {path.parent for path in home.glob("state/kedgeline/hooks/*/replaced")}
    noted = sum((replaced_in(str(folder)) or {"replaced": 0})["replaced"] for folder in folders)
    if not (home / "store").exists():
        return 0
    with closing(open_store(str(home / "store"))) as kept:
        names = {about.name.removeprefix("claude-code-") for about in kept.sessions()}
        mine = {folder.name for folder in folders}
        agents = {name for name in names if any(name.startswith(f"{one}-") for one in mine)}
    return noted + len(agents)


def by_program(
    name: str,
    make: Callable[[Path, Server], Program],
    file: Callable[[Any], Path],
    model: Callable[[], Model],
    says: Callable[[Any, Model], None],
    limit: str = "1_500",
) -> Callable[[Path], Iterator[Row]]:
    """A session of a program that is answered, and one for each failure."""

    def run(home: Path) -> Iterator[Row]:
        rows = {None: Row(name, "answered"), "": Row(name, "failures")}
        for number, script in enumerate((None, *PLANTED.values())):
            played, row = model(), rows[script and "" if script is not None else None]
            with serving(rule=played) as server, ended(home):
                program = make(home / str(number), server)
                if script is not None:
                    planted(file(program), home / f"program-{number}", script, limit)
                try:
                    says(program, played)
                except AssertionError as error:
                    row.found["ended by the host"] += 1
                    sys.stderr.write(f"{name} {script} {str(error)[-600:]}\n")
                _count(row, program, played, server, script)
        yield from rows.values()

    return run


def _count(row: Row, program: Program, played: Model, server: Server, script: str | None) -> None:
    """A failure after which the host made no summary left the context as it was."""
    sent = [one for one in server.requests if not played.is_summarising(one)]
    sent = [one for one in sent if '"tools"' in one.text]
    own, about = any(map(played.is_summarising, server.requests)), program.noted() or {}
    replaced = int(str(about.get("replaced") or 0))
    row.found["replaced"] += replaced
    row.found["runs"] += max(1, replaced) if script is None else 1
    row.found["host's own"] += own if script is None else not replaced
    for one in sent:
        row.found["contexts broken"] += bool(broken("openai-chat", one.body["messages"]))
    row.found["rule missing"] += not sent or RULE not in texts(sent[-1])
    if script is None:
        outputs = [f"lamp {number}\n" for number in range(1, played.number // 2)]
        kept_in(program.home / "store", row, outputs)


def _in_one(calls: int) -> Callable[[Any, Model], None]:
    def says(program: Any, played: Model) -> None:
        played.calls = calls
        program.says(f"Mend the harbour light. {RULE}")

    return says


def _in_turns(turns: int, calls: int, more: str = "") -> Callable[[Any, Model], None]:
    def says(program: Any, played: Model) -> None:
        for number in range(turns):
            played.calls = calls
            program.says(f"Mend lamp {number}. {RULE}{more}")

    return says


PROGRAMS: dict[str, Callable[[Path], Iterator[Row]]] = {
    "claude-code": claude_code,
    "pi": by_program(
        "pi",
        lambda home, server: test_replaced_pi.Pi(home, server),
        lambda pi: pi.extension,
        test_replaced_pi.model,
        _in_turns(4, 8),
    ),
    "hermes": by_program(
        "Hermes", Hermes, lambda one: one.module, test_replaced_hermes.model, _in_one(24), "2"
    ),
    "openclaw": by_program(
        "OpenClaw",
        OpenClaw,
        lambda one: one.view,
        lambda: Model("exec", '{"command": "COMMAND"}'),
        _in_turns(4, 2, f" {LONG}"),
    ),
    "cline": by_program(
        "Cline",
        Cline,
        lambda one: one.view,
        lambda: Model("run_commands", '{"commands": ["COMMAND"]}'),
        _in_one(24),
    ),
}


def main(program: str, rounds: int, page: str = "") -> int:
    rows: dict[str, Row] = {}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            for row in PROGRAMS[program](Path(folder)):
                rows.setdefault(row.what, Row(row.program, row.what)).found.update(row.found)
        lines = [f"| {' | '.join(row.cells())} |" for row in rows.values()]
        sys.stderr.write("\n".join([*lines, ""]))
    if page:
        head = [f"| {' | '.join(HEADER)} |", f"|---|---|{'--:|' * (len(HEADER) - 2)}"]
        write_block(Path(page), f"host-runs-{program}", "\n".join([*head, *lines]))
    return int(not all(row.is_kept for row in rows.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:4]))
