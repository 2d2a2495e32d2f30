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

from kedgeline.hosts import jsonc
from kedgeline.hosts import settings as code
from kedgeline.hosts.jsonc import Malformed, load
from kedgeline.hosts.settings import put_in, put_in_table, take_out, take_out_table
from kedgeline.hosts.shared import Launch, ServerTable, SettingsFile
from tests.integrations.install.wanted import LAUNCH, OTHERS, plain, settings, texts, with_kedgeline

few = tried(max_examples=25)
many = tried(max_examples=4_000)
WANTED = settings()
OLD = settings(Launch(("/usr/lib/old/kedgeline",)))
MOVED = settings(Launch(("/usr/lib/new/kedgeline",)))
STARTS = {LAUNCH.words[0], "/usr/lib/new/kedgeline"}

GAPS = ["", " ", "\n", "\r\n", "/* c */", "// c, }\n", " // c\r\n\t", "/* a\n b */"]
"""What may stand between a person's entry and its neighbours."""

KINDS = {
    "absent or empty": "",
    "blank": " \n\t\n",
    "nothing but a mark": "\ufeff",
    "nothing but a comment": "// mine",
    "an empty object": "{}",
    "an empty object with a blank": "{ }",
    "an empty object on lines": "{\n\n}\n",
    "an empty object with a comment": "{ // mine\n}",
    "one line": '{"model": "opus", "env": {"A": "1"}}',
    "indented": '{\n  "model": "opus"\n}\n',
    "commented": '{\n  // mine\n  "model": "opus" /* yes */ // and more\n  // last\n}\n',
    "a comma at the end": '{\n  "model": "opus",\n}\n',
    "a comma at the end and a comment": '{\n  "model": "opus", // mine\n}\n',
    "tabs": '{\n\t"env": {\n\t\t"A": "1"\n\t}\n}\n',
    "CRLF": '{\r\n    "model": "opus"\r\n}\r\n',
    "a mark of byte order": '\ufeff{\n  "model": "opus"\n}\n',
    "empty hooks": '{\n  "hooks": {}\n}\n',
    "empty hooks with blanks": '{"hooks": {  }, "model": "opus"}',
    "an empty event": '{\n  "hooks": {\n    "Stop": [ ]\n  }\n}\n',
    "other hooks for our events": json.dumps({"hooks": {"Stop": [{"hooks": [OTHERS]}]}}, indent=2),
    "other hooks, with commas": '{"hooks": {"Stop": [{"hooks": []},],},}',
    "another status line": '{\n  "statusLine": {"type": "command", "command": "mine"}\n}',
    "closed on the last line": '{\n  "model": "opus"}',
    "a comment that could swallow": '{"model": "opus" // mine\n}',
    "two of the same key": '{"hooks": 1, "model": "a", "hooks": {"Stop": []}}',
    "escaped key": '{"hoo\\u006bs": {"Stop": []}}',
    "surrogates": '{"env": "\\ud83d\\ude00\\ud83d"}',
}


def without(text: str, wanted: SettingsFile, earlier: str | None) -> str | None:
    return take_out(text, wanted, earlier).text


@pytest.mark.parametrize("text", KINDS.values(), ids=KINDS)
def test_what_is_put_in_can_be_taken_out_to_the_byte(text: str) -> None:
    made = put_in(text, WANTED, reduce=None)
    assert "\n" not in made.text.replace("\r\n", "") or "\r\n" not in text
    assert plain(made.text) == with_kedgeline(plain(text), WANTED)
    assert put_in(made.text, WANTED, reduce=None) == (made.text, (), made.left)
    assert without(made.text, WANTED, text) == text


@few
@given(texts())
def test_any_document_keeps_all_it_says_and_comes_back_to_the_byte(text: str) -> None:
    made = put_in(text, WANTED, reduce=None)
    assert plain(made.text) == with_kedgeline(plain(text), WANTED)
    assert put_in(made.text, WANTED, reduce=None).text == made.text
    assert without(made.text, WANTED, text) == text


@few
@given(texts())
def test_an_older_kedgeline_is_brought_up_to_date_and_goes_as_well(text: str) -> None:
    old = put_in(text, OLD, reduce=True).text
    kept = put_in(old, WANTED, reduce=None, earlier=text).text
    assert plain(kept)["hooks"]["PostToolUse"][-1] == WANTED.hooks["PostToolUse"]
    made = put_in(kept, WANTED, reduce=False, earlier=text).text
    assert plain(made) == with_kedgeline(plain(text), WANTED)
    assert without(made, WANTED, text) == text


@few
@given(texts())
def test_what_a_host_wrote_anew_meanwhile_stays(text: str) -> None:
    made = plain(put_in(text, WANTED, reduce=None).text)
    rewritten = json.dumps({"theme": "dark", **made, "added": [1]}, indent=4)
    rest = without(rewritten, WANTED, text)
    assert rest is not None
    assert plain(rest) == {"theme": "dark", **plain(text), "added": [1]}


def test_a_file_that_holds_nothing_else_goes() -> None:
    made = put_in("", WANTED, reduce=None).text
    assert without(made, WANTED, None) is None
    assert without(f"// mine\n{made}", WANTED, None) == "// mine\n{}\n"


def test_without_the_copy_empty_containers_of_ours_go_and_others_stay() -> None:
    made = put_in('{"model": "a"}', WANTED, reduce=None).text
    assert without(made, WANTED, None) == '{"model": "a"}'
    with_other = '{"hooks": {"Stop": [{"hooks": []}]}}'
    assert without(put_in(with_other, WANTED, reduce=None).text, WANTED, None) == with_other


REFUSED = {
    '{"hooks": []}': "line 1: `hooks` is a list",
    '{"hooks": null}': "line 1: `hooks` is true, false or null",
    '{\n"hooks": {\n"Stop": {}}}': "line 3: `hooks.Stop` is an object",
    "[]": "line 1: the whole file is a list",
    '"text"': "line 1: the whole file is a text",
    '{"a": 1': "line 1: expected ',' or '}' and found the end of the file",
    '{"a": 1}\n}': "line 2: expected the end of the file",
    "{'a': 1}": "line 1: expected a key in double quotes",
    '{"a" 1}': "expected ':'",
    '{"a": tru}': "expected a value",
    '{"a": 01}': "expected ',' or '}'",
    '{"a": "b\nc"}': "expected the end of this text",
    '{"a": "\\x"}': "expected the end of this text",
    '{"a": 1,, "b": 2}': "expected a key",
    "{,}": "expected a key",
    "/* open": "expected a value and found '/'",
    '{"hooks": ' + "[" * 300 + "/**/" + "]" * 300 + "}": "more than 200 brackets deep",
    "{} {}": "expected the end of the file",
}


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_what_is_not_understood_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(Malformed) as raised:
        put_in(text, WANTED, reduce=None)
    assert REFUSED[text] in str(raised.value)


def test_old_forms_of_our_hooks_are_known_and_become_one() -> None:
    forms = [
        {"type": "command", "command": "'/a b/kedgeline' hook", "timeout": 3},
        {"type": "command", "command": "/x/python", "args": ["-m", "kedgeline", "hook"]},
        {"type": "command", "command": "kedgeline", "args": ["hook", "--host=codex"]},
    ]
    others = [
        {"type": "command", "command": "kedgeline hook | tee log"},
        {"type": "command", "command": "my-kedgeline hook"},
        {"type": "command", "command": "kedgeline recall hook"},
        {"type": "command", "command": "kedgeline hook --host=codex; reboot"},
        {"type": "command", "command": "kedgeline hook --host=codex;reboot"},
        {"type": "command", "command": "kedgeline 'hook"},
        {"type": "command", "command": 7},
    ]
    groups: list[Any] = [{"hooks": [form]} for form in forms]
    groups.append({"matcher": "x", "hooks": [forms[0], OTHERS]})
    text = json.dumps({"hooks": {"Stop": [*groups, {"hooks": others}], "Gone": [groups[0]]}})
    made = plain(put_in(text, WANTED, reduce=None).text)["hooks"]
    ours = WANTED.hooks["Stop"]["hooks"][0]
    kept = [{"matcher": "x", "hooks": [OTHERS]}, {"hooks": others}]
    assert made["Stop"] == [{"hooks": [ours]}, *kept]
    assert "Gone" not in made
    assert plain(without(text, WANTED, None) or "") == {"hooks": {"Stop": kept}}


def test_what_a_person_added_to_our_entries_stays() -> None:
    value = plain(put_in("{}", OLD, reduce=None).text)
    value["hooks"]["Stop"][0]["hooks"][0]["statusMessage"] = "kedgeline"
    value["statusLine"]["padding"] = 0
    made = plain(put_in(json.dumps(value), WANTED, reduce=None).text)
    assert made["hooks"]["Stop"][0]["hooks"][0]["statusMessage"] == "kedgeline"
    assert made["statusLine"]["padding"] == 0
    assert "/usr/lib/old" not in json.dumps(made)


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


def spots(text: str, value: Any) -> Iterator[tuple[jsonc.Path, str]]:
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
    path, entry = hand.choice(list(spots(text, load(text))))
    container = jsonc.walk(text, path)[-1]
    children, _ = jsonc.children_of(text, container.at)
    if any(child.key and child.key == entry.split('"')[1] for child in children):
        return text
    written = f"{hand.choice(GAPS)}{entry}{hand.choice(GAPS)}"
    if not children:
        place = container.end - 1
        return f"{text[:place]}{written}{text[place:]}"
    child = hand.choice(children)
    if hand.random() < 0.5:
        return f"{text[: child.end]},{written}{text[child.end :]}"
    return f"{text[: child.start]}{written},{hand.choice(GAPS)}{text[child.start :]}"


def check(text: str, seed: int) -> None:
    hand = random.Random(seed)
    made = put_in(text, WANTED, reduce=hand.choice([None, True])).text
    for _ in range(hand.randint(1, 3)):
        made = changed(made, hand)
    expected = without_kedgeline(plain(made))
    updated = put_in(made, MOVED, reduce=hand.choice([None, False]), earlier=text).text
    assert without_kedgeline(plain(updated)) == expected
    for grown in (made, updated):
        for earlier in (None, text):
            rest = without(grown, WANTED, earlier)
            assert without_kedgeline(plain(rest or "")) == expected
            assert not any(start in (rest or "") for start in STARTS)


@few
@given(texts(), st.integers(0, 2**20))
def test_all_that_a_person_wrote_since_stays(text: str, seed: int) -> None:
    check(text, seed)


@pytest.mark.torture
@many
@given(texts(), st.integers(0, 2**20))
def test_thousands_of_changes_stay(text: str, seed: int) -> None:
    check(text, seed)


def swallowed() -> str:
    made = put_in('{"ui": {"theme": "dark"} // mine\n}', WANTED, reduce=None).text
    return made.rstrip().removesuffix("}").rstrip() + ', "model": {"name": "pro"}\n}\n'


def test_a_comment_before_several_of_ours_does_not_swallow_what_comes_behind() -> None:
    rest = without(swallowed(), WANTED, None)
    assert plain(rest or "") == {"ui": {"theme": "dark"}, "model": {"name": "pro"}}
    assert "// mine" in (rest or "")


def test_comments_and_values_in_our_entries_stay_when_they_are_brought_up_to_date() -> None:
    made = put_in("{}", WANTED, reduce=None).text
    mine = made.replace('"timeout": 10', '// slow here\n "timeout": 10, "note": "\\ud83d"', 1)
    mine = mine.replace('"hooks": [', '"hooks": [ // of kedgeline\n', 1)
    updated = put_in(mine, MOVED, reduce=None).text
    assert updated == mine.replace(LAUNCH.words[0], MOVED.hooks["Stop"]["hooks"][0]["command"])


def test_what_is_none_of_ours_is_not_looked_into() -> None:
    deep = "[" * 400 + "]" * 400
    for value in ("1" * 5_000, deep, '"\\ud83d"', "{}", "1e999"):
        text = f'{{\n  "mine": {value}\n}}\n'
        made = put_in(text, WANTED, reduce=None).text
        assert f'"mine": {value},' in made
        assert without(made, WANTED, text) == text


@pytest.mark.parametrize("value", ["NaN", "[1, -Infinity]", "{'a': 1}", "[1 2]", '["\n"]', "[tru]"])
def test_what_is_wrong_is_seen_also_where_nobody_looks(value: str) -> None:
    with pytest.raises(Malformed):
        load(f'{{"mine": {value}}}')


@pytest.mark.parametrize("text", ['{\n  "a": 1\n}', '{"a": 1, // mine\n "b": {}}'])
def test_an_edit_that_loses_an_entry_is_seen_before_it_is_written(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted bug: what stands in a file is lost as ours is put in, and as it is taken out."""
    made = put_in(text, WANTED, reduce=None).text or ""
    monkeypatch.setattr(code, "put", lambda text, path, value: json.dumps({path[0]: value}))
    with pytest.raises(Malformed, match="without loss; do it yourself"):
        put_in(text, WANTED, reduce=None)
    monkeypatch.setattr(code, "removed", lambda text, path: "{}")
    with pytest.raises(Malformed, match="cannot be taken out alone; do it yourself"):
        take_out(made, WANTED, text)


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
    "one key": 'model = "gpt"\n',
    "no end of the last line": 'model = "gpt"',
    "comments": '# mine\nmodel = "gpt" # why\n\n# last\n',
    "CRLF": 'model = "gpt"\r\n[tui]\r\nx = 1\r\n',
    "another server": '[mcp_servers.other]\ncommand = "x"\n',
    "a header in a text": "a = \"\"\"\n[mcp_servers.kedgeline]\n\"\"\"\nb = '''\n[x]\n'''\n",
    "lists over lines": "a = [\n  [1, 2],\n  [3],\n]\n[b]\nc = { d = [1,\n2] }\n",
    "quoted names": '["mcp_servers"."other"]\ncommand = "x"\n',
    "lists of tables": '[[profiles]]\nname = "a"\n[[profiles]]\nname = "b"\n',
}


@pytest.mark.parametrize("text", TOML.values(), ids=TOML)
def test_a_table_is_put_behind_and_taken_out_to_the_byte(text: str) -> None:
    made, done, left = put_in_table(text, TABLE)
    assert made.startswith(text)
    assert (done, left) == (("MCP server added",), ())
    data = tomllib.loads(text)
    data.setdefault("mcp_servers", {})["kedgeline"] = dict(TABLE.value)
    assert tomllib.loads(made) == data
    assert put_in_table(made, TABLE) == (made, (), ())
    assert take_out_table(made, TABLE, text).text == text
    updated, _, _ = put_in_table(put_in_table(text, OLD_TABLE)[0], TABLE)
    assert tomllib.loads(updated) == data
    assert take_out_table(updated, TABLE, text).text == text


def test_what_stands_behind_it_and_what_was_added_to_it_are_told_apart() -> None:
    made, _, _ = put_in_table('model = "gpt"\n', OLD_TABLE)
    grown = (
        f'{made}startup_timeout_sec = 20\nallow = [\n["x"]\n]\n\n'
        f'[mcp_servers.kedgeline.tools.recall]\nask = "no"\n\n'
        f"# of the next\n[projects]\na = 1\n"
    )
    updated, done, _ = put_in_table(grown, TABLE)
    kedgeline = tomllib.loads(updated)["mcp_servers"]["kedgeline"]
    assert done == ("MCP server updated",)
    assert kedgeline == {
        **TABLE.value,
        "startup_timeout_sec": 20,
        "allow": [["x"]],
        "tools": {"recall": {"ask": "no"}},
    }
    rest = take_out_table(updated, TABLE, 'model = "gpt"\n').text
    assert rest == 'model = "gpt"\n\n# of the next\n[projects]\na = 1\n'


def test_a_file_that_held_nothing_else_goes_and_servers_of_others_stay() -> None:
    assert take_out_table(put_in_table("", TABLE).text or "", TABLE, None).text is None
    other = '[mcp_servers.kedgeline]\ncommand = "boat"\n'
    assert put_in_table(other, TABLE) == (
        other,
        (),
        ("MCP server left: there is another mcp_servers.kedgeline",),
    )
    assert take_out_table(other, TABLE, None) == (other, (), ())


@pytest.mark.parametrize("others", ["", 'other = { command = "x" }, '])
def test_a_server_in_an_inline_table_is_edited_there(others: str) -> None:
    own = 'kedgeline = { command = "/old/kedgeline", args = ["mcp"] }'
    inline = f"mcp_servers = {{ {others}{own} }} # a\n"
    made = put_in_table(inline, TABLE).text or ""
    kept = tomllib.loads(inline)["mcp_servers"]
    assert tomllib.loads(made) == {"mcp_servers": {**kept, "kedgeline": dict(TABLE.value)}}
    rest = take_out_table(made, TABLE, None)
    del kept["kedgeline"]
    if others:
        assert tomllib.loads(rest.text or "") == {"mcp_servers": kept}
        again = put_in_table(rest.text or "", TABLE)
        assert tomllib.loads(again.text or "") == tomllib.loads(made)
    assert "is no table" in put_in_table("mcp_servers = 3\n", TABLE).left[0]


def test_what_a_person_put_around_the_command_and_beside_its_keys_stays() -> None:
    made = put_in_table("", OLD_TABLE).text or ""
    grown = made.replace('["mcp"]', '["mcp", "--store", "/data/kedgeline"] # mine')
    updated = put_in_table(grown, TABLE).text or ""
    kedgeline = tomllib.loads(updated)["mcp_servers"]["kedgeline"]
    assert kedgeline == {
        "command": TABLE.value["command"],
        "args": ["mcp", "--store", "/data/kedgeline"],
    }
    assert "# mine" in updated
    assert put_in_table(updated, TABLE).done == ()
    assert take_out_table(updated, TABLE, None).text is None


def test_hooks_of_kedgeline_in_the_same_file_are_named() -> None:
    text = '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "kedgeline hook"\n'
    for result in (put_in_table(text, TABLE), take_out_table(text, TABLE, None)):
        assert "`hooks.Stop` left: it runs kedgeline" in result.left[0]
    assert put_in_table(text.replace("kedgeline hook", "other"), TABLE).left == ()
    assert put_in_table("hooks = 3\n", TABLE).left == ()


def test_numbers_and_brackets_that_python_cannot_hold_are_refused() -> None:
    for value in ("1" * 5_000, "[" * 5_000 + "]" * 5_000):
        with pytest.raises(Malformed, match="correct it"):
            put_in_table(f"a = {value}\n", TABLE)


def test_a_broken_file_is_refused_with_its_line_and_without_its_words() -> None:
    with pytest.raises(Malformed) as raised:
        put_in_table('a = 1\nkey = sk-secret-value\n[b"c\n', TABLE)
    assert raised.value.line == 2
    assert "sk-" not in str(raised.value)
