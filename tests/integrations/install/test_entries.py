"""Entries put into settings files of any kind and taken out again: all of theirs stays."""

from __future__ import annotations

import json
import random
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as tried
from hypothesis import strategies as st

from kedgeline.hosts import entries
from kedgeline.hosts.entries import (
    Malformed,
    put_in,
    put_in_table,
    runs,
    take_out,
    take_out_table,
    with_surroundings,
)
from kedgeline.hosts.shared import Launch, ServerTable
from tests.integrations.install.wanted import (
    KINDS,
    LAUNCH,
    OTHERS,
    plain,
    settings,
    texts,
    with_kedgeline,
)

few = tried(max_examples=25)
WANTED = settings()
OLD, MOVED = (
    settings(Launch((path,))) for path in ("/usr/lib/old/kedgeline", "/usr/lib/new/kedgeline")
)
STARTS = {LAUNCH.words[0], "/usr/lib/new/kedgeline"}


@pytest.mark.parametrize("text", KINDS.values(), ids=KINDS)
def test_all_that_is_there_stays_and_nothing_is_put_in_twice(text: str) -> None:
    made = put_in(text, WANTED)
    assert plain(made.text) == with_kedgeline(plain(text), WANTED)
    assert put_in(made.text, WANTED) == (made.text, (), made.left)


@few
@given(texts)
def test_any_document_keeps_all_it_says(text: str) -> None:
    made = put_in(put_in(text, OLD).text, WANTED).text
    assert full(plain(made)) == full(with_kedgeline(plain(text), WANTED))


def full(value: Any) -> Any:
    """Without events for which there is no hook: who wrote one so misses nothing."""
    return {**value, "hooks": {event: one for event, one in value["hooks"].items() if one}}


REFUSED = {
    '{"hooks": []}': "`hooks` is a list",
    '{"hooks": null}': "`hooks` is true, false or null",
    '{\n"hooks": {\n"Stop": {}}}': "`hooks.Stop` is an object",
    "[]": "the whole file is a list",
    '{"a": 1': "line 1: it is not plain JSON (Expecting ',' delimiter)",
    '{"a": 1}\n}': "line 2: it is not plain JSON (Extra data)",
    '{\n"a": 1 // mine\n}': "line 2: it is not plain JSON",
    '{"a": 1,}': "comments and last commas included",
    '{"a": ' + "[" * 50_000 + "]" * 50_000 + "}": "nested too deeply",
}


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_what_is_not_understood_is_refused_and_said(text: str) -> None:
    with pytest.raises(Malformed) as raised:
        put_in(text, WANTED)
    assert REFUSED[text] in str(raised.value)


# What a person changed since.


def is_kedgeline(entry: Any) -> bool:
    command = entry.get("command") if isinstance(entry, dict) else None
    return isinstance(command, str) and command.split(" ")[0] in STARTS


def without_kedgeline(value: Any) -> Any:
    """What a document says without kedgeline, by dictionaries alone; what is empty then is left
    out."""
    made = json.loads(json.dumps(value or {}))
    if is_kedgeline(made.get("statusLine")):
        del made["statusLine"]
    events: dict[str, Any] = {}
    for event, groups in made.pop("hooks", {}).items():
        kept = [_group(group) for group in groups] if isinstance(groups, list) else groups
        events[event] = [group for group in kept if group is not None]
    hooks = {event: groups for event, groups in events.items() if groups}
    return {**made, "hooks": hooks} if hooks else made


def _group(group: Any) -> Any:
    """Nothing for a group that has only handlers of kedgeline."""
    handlers = group.get("hooks") if isinstance(group, dict) else None
    if not isinstance(handlers, list) or not any(is_kedgeline(one) for one in handlers):
        return group
    others = [one for one in handlers if not is_kedgeline(one)]
    return {**group, "hooks": others} if others else None


def groups_of(value: Any) -> list[list[Any]]:
    """Every list of handlers that a person may add one to."""
    hooks = value.get("hooks", {}).values()
    groups = [one for groups in hooks if isinstance(groups, list) for one in groups]
    found = [one["hooks"] for one in groups if isinstance(one, dict) and "hooks" in one]
    return [one for one in found if isinstance(one, list)]


@few
@given(texts, st.randoms(use_true_random=False))
def test_all_that_a_person_wrote_since_stays(text: str, hand: random.Random) -> None:
    """Beside our handlers, before or behind them, in our groups and in others."""
    made = plain(put_in(text, WANTED).text)
    for handlers in hand.sample(there := groups_of(made), min(3, len(there))):
        handlers.insert(hand.randint(0, len(handlers)), OTHERS)
    made |= {"mine": {"name": "pro"}}
    expected = without_kedgeline(made)
    grown = json.dumps(made, indent=4)
    updated = put_in(grown, MOVED).text
    assert without_kedgeline(plain(updated)) == expected
    for one in (grown, updated):
        rest = take_out(one, WANTED).text
        assert without_kedgeline(plain(rest)) == expected
        assert not any(start in rest for start in STARTS)


def test_values_in_our_entries_stay_when_they_are_brought_up_to_date() -> None:
    made = put_in("{}", WANTED).text
    mine = made.replace('"timeout": 10', '"timeout": 10,\n            "note": "mine"', 1)
    updated = put_in(mine, MOVED).text
    assert updated == mine.replace(LAUNCH.words[0], MOVED.hooks["Stop"]["hooks"][0]["command"])


def test_an_edit_that_loses_an_entry_is_seen_before_it_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A planted bug: what stands in a file is lost as it is written anew."""
    made = put_in('{"a": 1, "b": {}}', WANTED).text
    written = json.dumps
    monkeypatch.setattr(
        entries.json,
        "dumps",
        lambda value, **how: written({**value, "a": 2} if "indent" in how else value, **how),
    )
    for run, text in ((put_in, '{"a": 1}'), (take_out, made)):
        with pytest.raises(Malformed, match="without loss; edit the file yourself"):
            run(text, WANTED)


# Entries that start kedgeline, known again whatever a person put around them.


def test_old_forms_of_our_hooks_are_known_and_become_one() -> None:
    forms = [
        {"type": "command", "command": "'/a b/kedgeline' hook", "timeout": 3},
        {"type": "command", "command": "/x/python", "args": ["-m", "kedgeline", "hook"]},
        {"type": "command", "command": "kedgeline", "args": ["hook", "--host=codex"]},
    ]
    lines = (*STARTING_MORE, "my-kedgeline hook", "kedgeline recall hook", "kedgeline 'hook", 7)
    others = [{"type": "command", "command": line} for line in lines]
    groups: list[Any] = [{"hooks": [form]} for form in forms]
    groups.append({"matcher": "x", "hooks": [forms[0], OTHERS]})
    text = json.dumps({"hooks": {"Stop": [*groups, {"hooks": others}], "Gone": [groups[0]]}})
    made = plain(put_in(text, WANTED).text)["hooks"]
    kept = [{"matcher": "x", "hooks": [OTHERS]}, {"hooks": others}]
    assert made["Stop"] == [{"hooks": [WANTED.hooks["Stop"]["hooks"][0]]}, *kept]
    assert "Gone" not in made
    assert plain(take_out(text, WANTED).text) == {"hooks": {"Stop": kept}}


STARTING_MORE = [
    "kedgeline hook | tee log",
    "kedgeline hook;reboot",
    "kedgeline hook && reboot",
    "kedgeline hook\nreboot",
    "kedgeline hook > /dev/null",
    "(kedgeline hook)",
    "sh -c 'kedgeline hook'",
]
"""Lines that start more than kedgeline, or start it in a way that is not known."""

PROGRAM = {"command": "/new/kedgeline", "args": ["hook", "--host=x"]}
LINE = {"command": "/new/kedgeline hook --host=x"}
AROUND: list[tuple[Any, Any, Any]] = [
    (
        PROGRAM,
        {"command": "/old/kedgeline", "args": ["hook", "--store", "/a b", "--host=y"]},
        {"command": "/new/kedgeline", "args": ["hook", "--host=x", "--store", "/a b"]},
    ),
    (
        PROGRAM,
        {"command": "/usr/bin/env", "args": ["-u", "B", "A=1", "kedgeline", "hook"]},
        {
            "command": "/usr/bin/env",
            "args": ["-u", "B", "A=1", "/new/kedgeline", "hook", "--host=x"],
        },
    ),
    (
        PROGRAM,
        {"command": 'KEDGELINE_STORE="$HOME/k" /x/python -P -m kedgeline hook'},
        {"command": 'KEDGELINE_STORE="$HOME/k" /new/kedgeline hook --host=x'},
    ),
    (
        LINE,
        {"command": 'env A="$HOME" /old/kedgeline hook --store ~/k'},
        {"command": 'env A="$HOME" /new/kedgeline hook --host=x --store ~/k'},
    ),
    (
        LINE,
        {"command": "/old/kedgeline", "args": ["hook", "--store", "$x; y"]},
        {"command": "/new/kedgeline hook --host=x --store '$x; y'"},
    ),
]
"""What is wanted, an entry as a person left it, and how it is brought up to date."""


@pytest.mark.parametrize(("wanted", "found", "expected"), AROUND, ids=range(len(AROUND)))
def test_what_a_person_put_around_a_command_stays(wanted: Any, found: Any, expected: Any) -> None:
    assert runs(found, "hook")
    assert not runs(found, "mcp")
    assert with_surroundings(wanted, found, "hook") == expected
    assert with_surroundings(wanted, expected, "hook") == expected


@pytest.mark.parametrize(
    "launch",
    [("kedgeline",), ("/a b/python", "-P", "-m", "kedgeline"), ("/q'x/kedgeline",)],
    ids=["name", "module", "path"],
)
def test_every_launch_is_known_again_in_every_form(launch: tuple[str, ...]) -> None:
    one = Launch(launch)
    for form in (one.program("hook"), {"command": one.line("hook")}):
        assert runs(form, "hook"), form


@pytest.mark.parametrize(
    "other", [None, [], "kedgeline hook", {}, {"command": ["kedgeline", 7]}, {"args": 3}]
)
def test_what_is_no_command_runs_nothing(other: Any) -> None:
    assert not runs(other, "hook")


# TOML: one table of a server.

TABLE = ServerTable(
    Path("config.toml"),
    ("mcp_servers", "kedgeline"),
    {"command": '/home/a "b"/kedgeline', "args": ["mcp"]},
    "mcp",
)
OLD_TABLE = TABLE._replace(value={"command": "/usr/lib/old/kedgeline", "args": ["mcp"]})
TOML = {
    "empty": "",
    "blank": "\n\n",
    "no end of the last line": 'model = "gpt"',
    "comments": '# mine\nmodel = "gpt" # why\n\n# last\n',
    "another server": '[mcp_servers.other]\ncommand = "x"\n',
    "a header in a text": "a = \"\"\"\n[mcp_servers.kedgeline]\n\"\"\"\nb = '''\n[x]\n'''\n",
    "lists over lines": "a = [\n  [1, 2],\n  [3],\n]\n[b]\nc = { d = [1,\n2] }\n",
    "quoted names": '["mcp_servers"."other"]\ncommand = "x"\n',
    "lists of tables": '[[profiles]]\nname = "a"\n[[profiles]]\nname = "b"\n',
}


@pytest.mark.parametrize("text", TOML.values(), ids=TOML)
def test_a_table_is_put_behind_and_taken_out_again(text: str) -> None:
    data = tomllib.loads(text)
    data.setdefault("mcp_servers", {})["kedgeline"] = dict(TABLE.value)
    made = put_in_table(put_in_table(text, OLD_TABLE).text, TABLE)
    assert made.done == ("MCP server updated",)
    assert made.text.startswith(text.rstrip("\n"))
    assert tomllib.loads(made.text) == data
    assert put_in_table(made.text, TABLE) == (made.text, (), ())
    rest = take_out_table(made.text, TABLE)
    assert rest.text.strip() == text.strip()


def test_what_stands_behind_it_and_what_was_added_to_it_are_told_apart() -> None:
    grown = (
        f"{put_in_table(chr(10), OLD_TABLE).text}startup_timeout_sec = 20 # mine\n\n"
        f'[mcp_servers.kedgeline.tools.recall]\nask = "no"\n\n'
        f"# of the next\n[projects]\na = 1\n"
    ).replace('["mcp"]', '["mcp", "--store", "/data/kedgeline"]')
    updated, done, _ = put_in_table(grown, TABLE)
    assert done == ("MCP server updated",)
    assert tomllib.loads(updated)["mcp_servers"]["kedgeline"] == {
        "command": TABLE.value["command"],
        "args": ["mcp", "--store", "/data/kedgeline"],
        "startup_timeout_sec": 20,
        "tools": {"recall": {"ask": "no"}},
    }
    assert "# mine" in updated
    rest = take_out_table(updated, TABLE).text
    assert rest.strip() == "# of the next\n[projects]\na = 1"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[mcp_servers.kedgeline]\ncommand = "boat"\n', "there is another mcp_servers.kedgeline"),
        ("mcp_servers = 3\n", "add `[mcp_servers.kedgeline]` with command = "),
    ],
)
def test_a_table_that_cannot_be_put_in_is_left_to_the_person(text: str, said: str) -> None:
    made = put_in_table(text, TABLE)
    assert (made.text, made.done) == (text, ())
    assert said in made.left[0]
    assert take_out_table(text, TABLE) == (text, (), ())


def test_a_broken_file_is_refused_with_its_line_and_without_its_words() -> None:
    with pytest.raises(Malformed) as raised:
        put_in_table('a = 1\nkey = sk-secret-value\n[b"c\n', TABLE)
    assert str(raised.value).startswith("line 2: ")
    assert "sk-" not in str(raised.value)
