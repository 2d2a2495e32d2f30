"""Entries put into settings files of any kind and taken out again: all of theirs stays."""

from __future__ import annotations

import json
import random
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as tried
from hypothesis import strategies as st

from kedgeline.hosts import entries
from kedgeline.hosts.entries import (
    Malformed,
    comments_in,
    load_json,
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

few, many = tried(max_examples=25), tried(max_examples=4_000)
WANTED = settings()
OLD, MOVED = (
    settings(Launch((path,))) for path in ("/usr/lib/old/kedgeline", "/usr/lib/new/kedgeline")
)
STARTS = {LAUNCH.words[0], "/usr/lib/new/kedgeline"}
GAPS = ["", " ", "\n", "/* c */", "// c, }\n", " // c\n\t", "/* a\n b */"]
"""What may stand between a person's entry and its neighbours."""


@pytest.mark.parametrize("text", KINDS.values(), ids=KINDS)
def test_all_that_is_there_stays_and_nothing_is_put_in_twice(text: str) -> None:
    made = put_in(text, WANTED)
    assert plain(made.text) == with_kedgeline(plain(text), WANTED)
    assert not comments_in(text) - comments_in(made.text)
    assert put_in(made.text, WANTED) == (made.text, (), made.left)


@few
@given(texts())
def test_any_document_keeps_all_it_says(text: str) -> None:
    made = put_in(put_in(text, OLD).text, WANTED).text
    assert full(plain(made)) == full(with_kedgeline(plain(text), WANTED))
    assert not comments_in(text) - comments_in(made)


def full(value: Any) -> Any:
    """Without events for which there is no hook: who wrote one so misses nothing."""
    return {**value, "hooks": {event: one for event, one in value["hooks"].items() if one}}


@few
@given(texts())
def test_what_a_host_wrote_anew_meanwhile_stays(text: str) -> None:
    made = plain(put_in(text, WANTED).text)
    rewritten = json.dumps({"theme": "dark", **made, "added": [1]}, indent=4)
    rest = take_out(rewritten, WANTED).text
    assert without_kedgeline(plain(rest)) == {
        "theme": "dark",
        **without_kedgeline(plain(text)),
        "added": [1],
    }


REFUSED = {
    '{"hooks": []}': "line 1: `hooks` is a list",
    '{"hooks": null}': "line 1: `hooks` is true, false or null",
    '{\n"hooks": {\n"Stop": {}}}': "line 3: `hooks.Stop` is an object",
    "[]": "line 1: the whole file is a list",
    '{"a": 1': "line 1: expected ',' or '}' and found the end of the file",
    '{"a": 1}\n}': "line 2: expected the end of the file",
    "{'a': 1}": "line 1: expected a key in double quotes",
    '{"a" 1}': "expected ':'",
    '{"a": tru}': "expected a value",
    '{"a": "b\nc"}': "expected the end of this text",
    '{"a": 1,, "b": 2}': "expected a key",
    "/* open": "expected a value and found '/'",
    '{"a": ' + "[" * 5_000 + "/**/" + "]" * 5_000 + "}": "nested too deeply",
}


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_what_is_not_understood_is_refused_with_its_line(text: str) -> None:
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


def spots(value: Any) -> Iterator[tuple[entries.Path, str]]:
    """Every object and list that a person may write into, and what they would write there."""
    yield (), '"mine": {"name": "pro"}'
    hooks = value.get("hooks")
    if not isinstance(hooks, dict):
        return
    yield ("hooks",), f'"Mine": [{json.dumps({"hooks": [OTHERS]})}]'
    for event, groups in hooks.items():
        yield ("hooks", event), json.dumps({"hooks": [OTHERS]})
        for number, group in enumerate(groups):
            if isinstance(group, dict) and isinstance(group.get("hooks"), list):
                yield ("hooks", event, number, "hooks"), json.dumps(OTHERS)


def changed(text: str, hand: random.Random) -> str:
    """The text with an entry of a person's, before or behind any other, on the same line or not."""
    path, entry = hand.choice(list(spots(load_json(text))))
    container = entries.walk(text, path)[-1]
    children = container.value
    if isinstance(children, dict) and entry.split('"')[1] in children:
        return text
    written = f"{hand.choice(GAPS)}{entry}{hand.choice(GAPS)}"
    if not children:
        place = container.end - 1
        return f"{text[:place]}{written}{text[place:]}"
    keys = list(children) if isinstance(children, dict) else range(len(children))
    child = entries.walk(text, (*path, hand.choice(keys)))[-1]
    if hand.random() < 0.5:
        return f"{text[: child.end]},{written}{text[child.end :]}"
    return f"{text[: child.start]}{written},{hand.choice(GAPS)}{text[child.start :]}"


def check(text: str, seed: int) -> None:
    hand = random.Random(seed)
    made = put_in(text, WANTED).text
    for _ in range(hand.randint(1, 3)):
        made = changed(made, hand)
    expected = without_kedgeline(plain(made))
    updated = put_in(made, MOVED).text
    assert without_kedgeline(plain(updated)) == expected
    for grown in (made, updated):
        rest = take_out(grown, WANTED).text
        assert without_kedgeline(plain(rest)) == expected
        assert not any(start in rest for start in STARTS)


@few
@given(texts(), st.integers(0, 2**20))
def test_all_that_a_person_wrote_since_stays(text: str, seed: int) -> None:
    check(text, seed)


def test_comments_and_values_in_our_entries_stay_when_they_are_brought_up_to_date() -> None:
    made = put_in("{}", WANTED).text
    mine = made.replace('"timeout": 10', '// slow here\n "timeout": 10, "note": "mine"', 1)
    mine = mine.replace('"hooks": [', '"hooks": [ // of kedgeline\n', 1)
    updated = put_in(mine, MOVED).text
    assert updated == mine.replace(LAUNCH.words[0], MOVED.hooks["Stop"]["hooks"][0]["command"])


def test_an_edit_that_loses_an_entry_is_seen_before_it_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A planted bug: what stands in a file is lost as ours is put in, and as it is taken out."""
    text = '{"a": 1, // mine\n "b": {}}'
    made = put_in(text, WANTED).text
    monkeypatch.setattr(entries, "put", lambda text, path, value: json.dumps({path[0]: value}))
    with pytest.raises(Malformed, match="without loss; edit the file yourself"):
        put_in(text, WANTED)
    real = entries.removed
    loses = lambda text, path: real(text.replace('"a": 1,', ""), path)  # noqa: E731
    monkeypatch.setattr(entries, "removed", loses)
    with pytest.raises(Malformed, match="cannot be taken out alone; edit the file yourself"):
        take_out(made, WANTED)


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
    assert raised.value.line == 2
    assert "sk-" not in str(raised.value)
