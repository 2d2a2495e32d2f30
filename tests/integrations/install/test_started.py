"""Entries that start kedgeline, known again whatever a person put around them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kedgeline.hosts.settings import put_in, take_out
from kedgeline.hosts.shared import Launch, extended, mentions, runs
from tests.integrations.install.wanted import plain, settings

PROGRAM = {"command": "/new/kedgeline", "args": ["hook", "--host=x"]}
LINE = {"command": "/new/kedgeline hook --host=x"}
LIST = {"command": ["/new/kedgeline", "hook", "--host=x"]}

OURS: list[tuple[Any, Any]] = [
    (
        {"command": "/old/kedgeline", "args": ["hook", "--store", "/a b", "--host=y"]},
        {"command": "/new/kedgeline", "args": ["hook", "--host=x", "--store", "/a b"]},
    ),
    (
        {"command": "env KEDGELINE_STORE=/data /old/kedgeline hook --host=x"},
        {"command": "env KEDGELINE_STORE=/data /new/kedgeline hook --host=x"},
    ),
    (
        {"command": "A='b c' kedgeline hook"},
        {"command": "A='b c' /new/kedgeline hook --host=x"},
    ),
    (
        {"command": "/usr/bin/env", "args": ["-u", "B", "A=1", "kedgeline", "hook"]},
        {
            "command": "/usr/bin/env",
            "args": ["-u", "B", "A=1", "/new/kedgeline", "hook", "--host=x"],
        },
    ),
    (
        {"command": 'KEDGELINE_STORE="$HOME/k" /x/python -P -m kedgeline hook'},
        {"command": 'KEDGELINE_STORE="$HOME/k" /new/kedgeline hook --host=x'},
    ),
]
"""An entry as a person left it, and as it is brought up to date where the host starts programs."""

OTHERS = [
    "kedgeline hook | tee log",
    "kedgeline hook; reboot",
    "kedgeline hook;reboot",
    "kedgeline hook && reboot",
    "kedgeline hook\nreboot",
    "kedgeline hook > /dev/null",
    "(kedgeline hook)",
    "sh -c 'kedgeline hook'",
    "nice kedgeline hook",
]
"""Lines that start more than kedgeline, or start it in a way that is not known."""


@pytest.mark.parametrize(("found", "expected"), OURS, ids=range(len(OURS)))
def test_what_a_person_put_around_a_command_stays(found: Any, expected: Any) -> None:
    assert runs(found, "hook")
    assert extended(PROGRAM, found, "hook") == expected
    assert extended(PROGRAM, expected, "hook") == expected
    assert runs(expected, "hook")
    line = extended(LINE, found, "hook")
    assert runs(line, "hook")
    assert extended(LINE, line, "hook") == line
    assert "args" not in line
    words = extended(LIST, found, "hook")
    assert runs(words, "hook")
    assert extended(LIST, words, "hook") == words


def test_a_line_keeps_what_a_shell_reads() -> None:
    found = {"command": 'env A="$HOME" /old/kedgeline hook --store ~/k'}
    assert extended(LINE, found, "hook") == {
        "command": 'env A="$HOME" /new/kedgeline hook --host=x --store ~/k'
    }
    quoted = {"command": "/old/kedgeline", "args": ["hook", "--store", "$x; y"]}
    assert extended(LINE, quoted, "hook") == {
        "command": "/new/kedgeline hook --host=x --store '$x; y'"
    }


@pytest.mark.parametrize("line", OTHERS)
def test_what_starts_more_than_kedgeline_is_named_and_left(line: str) -> None:
    entry = {"type": "command", "command": line}
    assert not runs(entry, "hook")
    assert mentions(entry, "hook")
    text = json.dumps({"hooks": {"Stop": [{"hooks": [entry]}]}}, indent=2)
    made = put_in(text, settings(), reduce=None)
    assert made.left[0].startswith("hook in line 6 left: it runs kedgeline in a way of its own")
    assert take_out(made.text or "", settings(), text).text == text


def test_what_does_not_start_it_is_not_named() -> None:
    for line in (
        "my-kedgeline hook",
        "kedgeline recall hook",
        "kedgeline hookup",
        "echo kedgeline.hook",
        "kedgeline",
    ):
        assert not mentions({"command": line}, "hook"), line
    assert not mentions("kedgeline hook", "hook")
    assert not mentions({"command": None, "args": 3}, "hook")


def test_extended_entries_are_brought_up_to_date_once_and_go() -> None:
    old = settings(Launch(("/usr/lib/old/kedgeline",)))
    value = plain(put_in("{}", old, reduce=None).text)
    stop = value["hooks"]["Stop"][0]["hooks"][0]
    stop.update(
        command="env KEDGELINE_STORE=/data /usr/lib/old/kedgeline hook", statusMessage="mine"
    )
    del stop["args"]
    value["statusLine"]["command"] += " --wide"
    made = put_in(json.dumps(value), settings(), reduce=None)
    after = plain(made.text)
    (only,) = after["hooks"]["Stop"]
    (handler,) = only["hooks"]
    assert handler["command"].startswith("env KEDGELINE_STORE=/data /home/ada/")
    assert "args" not in handler
    assert handler["statusMessage"] == "mine"
    assert after["statusLine"]["command"].endswith("kedgeline statusline --wide")
    assert put_in(made.text, settings(), reduce=None).done == ()
    assert take_out(made.text, settings(), None).text is None


def test_half_a_character_in_a_persons_argument_can_be_written() -> None:
    value = plain(put_in("{}", settings(), reduce=None).text)
    value["hooks"]["Stop"][0]["hooks"][0]["args"] = ["hook", "--note", "\ud83d"]
    made = put_in(json.dumps(value), settings(), reduce=None)
    assert made.done == ("1 hook updated",)
    assert made.text.encode()
    assert plain(made.text)["hooks"]["Stop"][0]["hooks"][0]["args"][-1] == "\ud83d"
