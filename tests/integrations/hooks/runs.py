"""Many runs of the real programs with their compaction replaced, with failures of every kind among
them, as a table: `python -m tests.integrations.hooks.runs claude-code 10 docs/measurements.md`
(`make host-runs`). A row that breaks a promise says so in the table and ends the command with 1."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bench.tables import write_block
from kedgeline.errors import NothingToUndo
from kedgeline.hosts import relay as relaying
from kedgeline.hosts.places import replaced_in
from kedgeline.hosts.relay import MARK, PROMPT, Relay
from kedgeline.pipeline.view import problems
from kedgeline.session.session import Session
from kedgeline.store.protocol import open_store
from tests.integrations.hooks import (
    test_codex,
    test_opencode,
    test_replaced_codex,
    test_replaced_hermes,
    test_replaced_pi,
)
from tests.integrations.hooks.looping import RULE, Model, Program, texts
from tests.integrations.hooks.opencode_program import MODEL
from tests.integrations.hooks.opencode_program import texts as opencode_texts
from tests.integrations.hooks.responses_server import Says as CodexSays
from tests.integrations.hooks.responses_server import serving as responses
from tests.integrations.hooks.test_codex import FULL, LIGHT, Codex
from tests.integrations.hooks.test_replaced_claude import BASH, GARBAGE, OURS, Replaced
from tests.integrations.hooks.test_replaced_claude import Model as ClaudeModel
from tests.integrations.hooks.test_replaced_hermes import Hermes
from tests.integrations.hooks.test_replaced_opencode import WORDS
from tests.integrations.hooks.test_replaced_views import LONG, Cline, OpenClaw, ended
from tests.loopback import running
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


def opencode(home: Path) -> Iterator[Row]:
    """A summary asked for again and again, with kedgeline and with each of the others."""
    rows = {True: Row("OpenCode", "answered"), False: Row("OpenCode", "failures")}
    for number, script in enumerate((None, *PLANTED.values())):
        row = rows[script is None]
        with test_opencode.opened(home / str(number), "--room", "0") as (host, server):
            if script is not None:
                host.use_as_kedgeline(f"#!/bin/sh\n{script}\n" if script else "")
            with host.serving() as program:
                for round in range(3 if script is None else 1):
                    for words in WORDS:
                        program.says(f"{words} In round {round}.")
                    program._ask(f"/{program.session}/summarize", MODEL)
                    program.says("Go on")
                    sent = server.requests[-1]
                    said = "\n".join(opencode_texts(sent))
                    row.found["runs"] += 1
                    row.found["replaced"] += OURS in said
                    row.found["host's own"] += OURS not in said
                    row.found["rule missing"] += script is None and RULE not in said
                    row.found["contexts broken"] += bool(
                        broken("openai-chat", sent.body["messages"])
                    )
        if script is None:
            kept_in(host.home / "store", row, ())
    yield from rows.values()


CODEX_CALLS, CODEX_ROUNDS = 8, 3


def codex(home: Path) -> Iterator[Row]:
    """Amid runs, by the relay: answered, without time for it, with a store that is none, and with
    an answer that fails; and between runs, by the rollout."""
    rows = {what: Row("Codex", what) for what in ("amid a run", "between runs", "failures")}
    spoiled = ("", *("no time", "no store", "it fails") * 2)
    for number, wrong in enumerate(spoiled):
        _amid_a_run(home / str(number), rows["failures" if wrong else "amid a run"], wrong)
    row = rows["between runs"]
    with responses(test_replaced_codex.works) as server:
        program = Codex(home / "rollout", server)
        program.says(f"Mend the harbour light. {RULE}")
        for words in ("Go on", "And on", "On and on"):
            told = program.kedgeline("apply", "--host", "codex", "--room", "3000")
            program.says(words)
            sent = server.requests[-1].body["input"]
            row.found["runs"] += 1
            row.found["replaced"] += told["tokens_after"] < told["tokens_before"]
            row.found["contexts broken"] += bool(problems("openai-responses", sent))
            row.found["rule missing"] += RULE not in json.dumps(sent)
        row.found["host's own"] += sum(map(test_codex.is_summarising, server.requests))
    yield from rows.values()


def _amid_a_run(home: Path, row: Row, wrong: str) -> None:
    home.mkdir(parents=True)
    store = home / "store"
    if wrong == "no store":
        store.mkdir()
        (store / "kedgeline.db").write_text("a lamp " * 1_000)
    calls = iter(range(CODEX_ROUNDS * CODEX_CALLS if not wrong else CODEX_CALLS))

    def rule(request: Any) -> Any:
        if request.texts("user")[-1].startswith(MARK):
            return CodexSays("The harbour light is being mended.", input_tokens=LIGHT)
        tokens = FULL if len(json.dumps(request.body["input"])) > FULL else LIGHT
        if (number := next(calls, None)) is None:
            return CodexSays("Mended.", input_tokens=LIGHT)
        command = {"cmd": f"echo lamp {number}; seq 1 4000"}
        return CodexSays(tool="exec_command", arguments=command, input_tokens=tokens)

    patch = pytest.MonkeyPatch()
    patch.setenv("XDG_STATE_HOME", str(home / "state"))
    patch.setenv("KEDGELINE_STORE", str(store))
    if wrong == "no time":
        patch.setattr(relaying, "REPLACE_SECONDS", 0.0)
    elif wrong == "it fails":
        patch.setattr(relaying, "host_compacted", lambda *_: 1 / 0)
    with responses(rule) as server, running(Relay(f"{server.address}/v1")) as relay:  # type: ignore[type-var]
        program = Codex(home / "home", server)
        path = program.home / "config.toml"
        text = path.read_text().replace(f"{server.address}/v1", relay.address)
        path.write_text(f'compact_prompt = "{PROMPT}"\n{text}')
        program.says(f"Mend the harbour light. {RULE}")
        program.says("Go on")
        native = sum(one.texts("user")[-1].startswith(MARK) for one in server.requests)
        sent = [one.body["input"] for one in server.requests]
    patch.undo()
    found = replaced_in(str(home / "state" / "kedgeline" / "hooks" / program.session))
    replaced = found["replaced"] if found and not native else 0
    row.found["replaced"] += replaced
    row.found["host's own"] += native
    row.found["runs"] += replaced + native
    row.found["contexts broken"] += sum(bool(problems("openai-responses", one)) for one in sent)
    row.found["rule missing"] += RULE not in json.dumps(sent[-1])
    if not wrong:
        kept_in(store, row, [f"lamp {number}\n" for number in range(CODEX_CALLS)])


PROGRAMS: dict[str, Callable[[Path], Iterator[Row]]] = {
    "claude-code": claude_code,
    "opencode": opencode,
    "codex": codex,
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
