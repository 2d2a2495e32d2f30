"""`kedgeline plan` and `compact`: what is shown, what is left out, and what a model is asked."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

from kedgeline.cli.opening import choose_model
from kedgeline.cli.output import Hints
from kedgeline.cli.verdict import WORDS
from kedgeline.pipeline.view import PROVIDERS, problems
from kedgeline.probes.criteria import TARGETS
from tests.cli.running import LONG, Done, once, one, ran, started, talk, undocumented
from tests.conftest import EXAMPLES
from tests.redact.seeds import PREFIXED

SMALL = ("compact", LONG, "--window", "8k")


def test_a_plan_covers_every_turn_and_shows_the_window() -> None:
    plan = one("plan", LONG, "--window", "32k")
    spans = [*plan["folded"], *plan["kept"]]
    covered = [n for span in spans for n in range(span["first"], span["last"] + 1)]
    assert covered == list(range(194))
    assert all(span["reason"] and span["tokens"] > 0 for span in spans)
    assert (plan["decision"]["action"], bool(plan["decision"]["reason"])) == ("force", True)
    assert undocumented(*plan) == []
    shown = ran("plan", LONG, "--window", "32k").out
    for word in ("before", "after", "window", "folded", "kept", "triggers", "░"):
        assert word in shown


def test_a_plan_says_whether_it_pays_in_money_where_prices_are_known() -> None:
    assert one("plan", LONG, "--window", "32k")["decision"]["advice"]["unit"] == "USD"
    unknown = one("plan", str(EXAMPLES / "swe-agent.traj"), "--window", "32k")["decision"]
    assert "USD" not in str(unknown["advice"])


def test_a_window_is_written_as_people_write_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for given, size in (("32k", 32_000), ("32_000", 32_000), ("1m", 1_000_000)):
        assert one("plan", LONG, "--window", given)["window"] == size
    assert "window 200,000 (that of claude-" in ran("compact", LONG).err
    monkeypatch.setenv("KEDGELINE_WINDOW", "50000")
    assert one("plan", LONG)["window"] == 50_000


def test_a_compaction_as_json() -> None:
    done = one("compact", LONG, "--window", "32k", "--to", "anthropic")
    assert done["context_reduction"] >= 0.6
    assert done["over_budget"] is False
    assert done["markdown"].count("## Files Modified") == 1
    named = {*done["verdict"], *done["losses"], *done["losses"]["named"][0], *done["anchors"][0]}
    assert undocumented(*done, *named) == []
    outcomes = one(*SMALL, "--style", "outcomes")
    assert outcomes["markdown"].count("Key outcomes:") == 1
    assert outcomes["losses"] is None, "this style keeps no state to compare with"
    verdict = outcomes["verdict"]
    assert verdict["accepted"] is False
    assert len(verdict["failures"]) == verdict["failed"] >= verdict["critical_failures"] > 0
    assert list(verdict["dimensions"]) == list(TARGETS)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_rebuilt_list_is_written_to_stdout(provider: str) -> None:
    done = ran("compact", LONG, "--window", "32k", "--to", provider)
    messages = json.loads(done.out)
    assert problems(provider, messages) == []
    assert "kedgeline-summary" in json.dumps(messages[0])
    assert "freed" in done.err
    again = started(
        "compact", "-", "--window", "8k", "--json", "--to", provider, stdin=done.out.encode()
    )
    assert problems(provider, json.loads(again.stdout)["messages"]) == []


def test_a_short_session_is_left_alone_and_says_so(tmp_path: Path) -> None:
    session = talk(tmp_path, "hello")
    done = ran("compact", session)
    assert (done.code, done.out) == (0, "")
    assert "nothing was folded" in done.err
    assert json.loads(ran("compact", session, "--to", "anthropic").out)
    assert "nothing to do" in ran("plan", session).out
    left_alone = one("compact", session)
    assert (left_alone["verdict"], left_alone["losses"]) == (None, None)
    assert ran("compact", session, "--losses").out.startswith("nothing was folded: ")


# What is left out.


def compacted(*more: str) -> Done:
    done = once(*SMALL, *more)
    assert done.code == 0, done.err
    return done


def test_a_compaction_says_what_the_probes_found_and_what_is_left_out() -> None:
    done, found = compacted(), one(*SMALL, run=once)
    assert done.out.startswith("## Session Intent")
    assert "freed" in done.err
    (probes,) = [line for line in done.err.splitlines() if line.startswith("probes: ")]
    verdict = found["verdict"]
    assert f"{verdict['asked'] - verdict['failed']} of {verdict['asked']} pass" in probes
    assert f"{verdict['repaired']} of {verdict['failed_first']} repaired" in probes
    (left_out,) = [line for line in done.err.splitlines() if line.startswith("left out: ")]
    counts = found["losses"]["left_out"]
    assert f"{counts['Index']} names" in left_out
    assert max(counts, key=counts.__getitem__) == "Commands", "the kind with the most is named"
    command = left_out.partition("see them with kedgeline ")[2].partition(" or kedgeline ")[0]
    assert ran(*shlex.split(command)).code == 0, command
    assert f" or kedgeline facts {LONG} --kind commands; " in left_out


def test_the_loss_report_takes_the_place_of_the_summary() -> None:
    done, found = compacted("--losses"), one(*SMALL, run=once)["losses"]
    assert done.out.startswith("folded: ")
    assert "## Session Intent" not in done.out
    for section, count in found["left_out"].items():
        assert f"{count}  {WORDS[section][count != 1]}" in done.out, section
    assert f"list a kind: kedgeline facts {LONG} --kind KIND" in done.out
    lines = [line.split() for line in done.out.splitlines()]
    for lost in found["named"]:
        mark = f"t{lost['turn']}" if lost["turn"] is not None else "–"
        words = [mark, *WORDS[lost["section"]][0].split(), *lost["text"].split()[:2]]
        assert words in [line[: len(words)] for line in lines], lost
    told = compacted("--losses", "--style", "outcomes").out
    assert "cannot say what it left out; the probes can" in " ".join(told.split())
    failed = one(*SMALL, "--style", "outcomes", run=once)["verdict"]["failed"]
    assert told.count("\n      expected ") == failed, "none of them is left out"


def test_hints_lead_to_turns_of_the_file_and_only_to_those() -> None:
    assert Hints("a b.md", format="aider").facts("files") == (
        "kedgeline facts 'a b.md' --kind files --format aider"
    )
    assert Hints("x", session=2).shown((-1, 4, 5)) == "kedgeline show x t4 --session 2"
    assert (Hints("x").shown((-1,)), Hints("x").older) == ("", "")
    later = Hints("x", first=40)
    assert later.shown((-1, 39)) == ""
    assert later.shown((-1, 39, 44, 45)) == (
        "kedgeline show x t4 (it is t44: this list begins with t40)"
    )
    assert later.older == "what is older than t40 is in the session before this list"


# Language models.

KEY = PREFIXED["github"](Random(2))


@pytest.mark.parametrize("name", ["off", " OFF ", ""])
def test_off_is_off_in_any_case(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEDGELINE_MODEL", name)
    assert choose_model(None, "model") is None
    assert choose_model(name, "judge") is None


def test_a_program_is_named_without_its_arguments_and_its_complaints_without_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LANTERN_KEY", "wick9-harbour-4f9c1d27")
    code = "import os, sys; sys.exit('key=' + os.environ['LANTERN_KEY'])"
    model = f"command:{shlex.join([sys.executable, '-c', code, '--key', KEY])}"
    done = ran("compact", LONG, "--window", "32k", "--model", model, "--json")
    assert done.code == 0
    wording = json.loads(done.out)["wording"]
    name = f"command:{Path(sys.executable).name}"
    assert {wording["model"], *(call["model"] for call in wording["calls"])} == {name}
    assert "said 'key=[secret: LANTERN_KEY]'" in wording["why"]
    for secret in (KEY, "wick9", "--key"):
        assert secret not in done.out + done.err
    rehearsed = ran("compact", LONG, "--window", "32k", "--model", model, "--dry-run")
    assert "nothing was sent" in rehearsed.err
    assert KEY not in rehearsed.out + rehearsed.err


def test_a_request_that_was_never_sent_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pydantic_ai")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    wording = one("compact", LONG, "--window", "32k", "--model", "openai:gpt-5-mini")["wording"]
    assert (wording["fallback"], wording["calls"]) == ("not allowed", [])
    assert "OPENAI_API_KEY is not set" in wording["why"]


def _is_alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_to_end_also_ends_the_program_that_a_model_is(name: str, tmp_path: Path) -> None:
    """It has a session of its own, so nobody else would."""
    note = tmp_path / "program"
    model = f"command:sh -c 'echo $$ > {note}; exec sleep 60'"
    words = [sys.executable, "-m", "kedgeline", "compact", LONG, "--window", "32k"]
    command = [*words, "--model", model]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **quiet) as kedgeline:  # type: ignore[call-overload]
        try:
            for _ in range(1_000):
                if note.exists() and note.read_text().endswith("\n"):
                    break
                time.sleep(0.02)
            program = int(note.read_text())
            time.sleep(0.3)  # it may be ahead of the return of the call that has started it
            number = getattr(signal, name)
            kedgeline.send_signal(number)
            assert kedgeline.wait(20) == 128 + number
        finally:
            kedgeline.kill()
    for _ in range(100):
        if not _is_alive(program):
            break
        time.sleep(0.02)
    assert not _is_alive(program)
