"""Any program is a model: real small programs, well behaved and not."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from kedgeline.errors import BadSettings, ModelFailed
from kedgeline.model import Ask
from kedgeline.models import CommandModel
from kedgeline.models.command import COMPLAINT, LARGEST_REPLY

ASK = Ask(role="judge", system="Be fair.", prompt="Which is it?", most_tokens=10)


def program(code: str, *, seconds: float = 20) -> CommandModel:
    return CommandModel((sys.executable, "-c", code), seconds=seconds)


def failure(model: CommandModel, ask: Ask = ASK) -> ModelFailed:
    with pytest.raises(ModelFailed) as caught:
        model(ask)
    return caught.value


def test_the_prompt_is_its_input_and_its_output_the_reply() -> None:
    reply = program("import sys; print(sys.stdin.read()[::-1])")(ASK)
    assert reply.text[::-1] == "Be fair.\n\nWhich is it?"
    assert reply.usage is None


def test_a_structured_reply_is_asked_for_in_words() -> None:
    schema = {"type": "object", "title": "Scores"}
    structured = Ask(role="judge", system="", prompt="Score.", most_tokens=9, schema=schema)
    sent = program("import sys; sys.stdout.write(sys.stdin.read())")(structured).text
    assert sent.startswith("Score.\n\nReply with one JSON object of this JSON Schema")
    assert sent.endswith('\n{"type":"object","title":"Scores"}')


def test_it_is_known_by_its_program_alone_as_names_stand_in_reports() -> None:
    command = f"command:{shlex.quote(sys.executable)} -c 'print(1 + 1)' --key 'k 4f9c1d27ab63'"
    model = CommandModel.named(command)
    assert model.arguments == (sys.executable, "-c", "print(1 + 1)", "--key", "k 4f9c1d27ab63")
    assert model(ASK).model == model.name == f"command:{Path(sys.executable).name}"
    assert CommandModel(("/srv/my tools/lamp lit", "-q")).name == "command:'lamp lit'"


@pytest.mark.parametrize("text", ["command:no-such-program --key k-4f9c", "command:cat 'k-4f9c"])
def test_a_refused_name_does_not_repeat_its_arguments(text: str) -> None:
    with pytest.raises(BadSettings) as caught:
        CommandModel.named(text)
    assert "k-4f9c" not in str(caught.value)


def test_no_shell_sees_its_arguments(tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    code = "import sys; print(sys.argv[1:])"
    text = f"command:{sys.executable} -c {shlex.quote(code)} ; touch {trap} $HOME '*'"
    assert CommandModel.named(text)(ASK).text == f"{[';', 'touch', str(trap), '$HOME', '*']}"
    assert not trap.exists()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("command:", "no program is named; write command:PROGRAM"),
        ("command:   ", "no program is named"),
        ("command:no-such-program --fast", "no program 'no-such-program'; install it, or give its"),
        ("command:cat 'half", "No closing quotation; quote it as in a shell"),
    ],
)
def test_a_name_that_cannot_be_run_is_refused_at_once(text: str, problem: str) -> None:
    with pytest.raises(BadSettings, match=problem):
        CommandModel.named(text)


def test_a_failing_program_is_reported_with_its_last_words() -> None:
    code = (
        "import sys; print('a score of 5'); sys.exit('x' * 900 + ' no key\\n in the environment')"
    )
    broken = failure(program(code))
    why = broken.why
    assert (broken.kind, broken.passes) == ("failed", False)
    assert why.startswith("it exited with 1 and said 'xxx")
    assert why.endswith("no key in the environment'")
    assert len(why) < 400


def test_last_words_are_repeated_without_the_secrets_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LANTERN_KEY", "wick9-harbour-4f9c1d27")
    code = "import os, sys; sys.exit('refused: key=' + os.environ['LANTERN_KEY'] + ' ' * 290)"
    assert failure(program(code)).why == (
        "it exited with 1 and said 'refused: key=[secret: LANTERN_KEY]'"
    )
    cut = f"{code[:-13]} + 'x' * {COMPLAINT - 5})"
    assert failure(program(cut)).why.endswith("KEY]" + "x" * (COMPLAINT - 5) + "'")


@pytest.mark.parametrize("code", ["", "print()", "print(' \\n\\t')"])
def test_a_program_that_writes_nothing_has_not_replied(code: str) -> None:
    silent = failure(program(code))
    assert (silent.why, silent.kind) == ("it wrote nothing", "empty")
    assert silent.next_step == "run it by hand with a prompt on its standard input"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_program_that_writes_without_end_is_stopped(stream: str) -> None:
    code = f"import sys\nwhile True: sys.{stream}.write('x' * 65536)"
    endless = failure(program(code))
    assert endless.why == f"it wrote more than {LARGEST_REPLY:,} bytes"
    assert (endless.kind, endless.passes) == ("too large", False)


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()


def test_a_program_that_takes_too_long_is_stopped_with_what_it_started(tmp_path: Path) -> None:
    note = tmp_path / "child"
    script = f"sleep 60 & echo $! > {shlex.quote(str(note))}; wait"
    late = failure(CommandModel(("sh", "-c", script)), replace(ASK, seconds=1.5))
    assert late.why == "it took more than 1.5 seconds"
    assert late.next_step == "use a faster program or model, or allow more (model_call_seconds)"
    assert (late.kind, late.passes) == ("timed out", True)
    child = int(note.read_text())
    for _ in range(100):
        if not alive(child):
            break
        time.sleep(0.02)
    assert not alive(child)


ABANDONING = """
import sys, threading, time
from pathlib import Path
from kedgeline.errors import ModelFailed
from kedgeline.model import Ask
from kedgeline.models import CommandModel, drive

def step():
    try:
        yield Ask(role="judge", system="", prompt="?", most_tokens=9)
    except ModelFailed as failure:
        return failure.kind

stop, note = threading.Event(), Path(sys.argv[1])

def stopper():
    while not (note.exists() and note.read_text().endswith("\\n")):
        time.sleep(0.01)
    stop.set()

threading.Thread(target=stopper).start()
print(drive(step(), CommandModel(("sh", "-c", f"echo $$ > {note}; sleep 60")), stop=stop))
"""


def test_a_program_that_was_abandoned_ends_with_the_one_that_started_it(tmp_path: Path) -> None:
    note = tmp_path / "program"
    command = [sys.executable, "-c", ABANDONING, str(note)]
    ended = subprocess.run(command, capture_output=True, timeout=30, check=True)
    assert ended.stdout == b"cancelled\n"
    left = int(note.read_text())
    for _ in range(100):
        if not alive(left):
            break
        time.sleep(0.02)
    assert not alive(left)


def test_what_a_program_leaves_running_does_not_hold_up_its_reply() -> None:
    """With a pipe, a reader would wait until the last holder of the other end is gone."""
    reply = CommandModel(("sh", "-c", "sleep 60 & echo $!"), seconds=20)(ASK)
    left = int(reply.text)
    assert alive(left)
    os.kill(left, signal.SIGKILL)
