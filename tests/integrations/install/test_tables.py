"""A server in the TOML file of a host."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from kedge.integrations.hosts.pieces import ServerTable
from kedge.integrations.installing.documents import Malformed
from kedge.integrations.installing.tables import with_table, without_table

WANTED = ServerTable(
    Path("config.toml"),
    ("mcp_servers", "kedge"),
    {"command": '/home/a "b"/kedge', "args": ["mcp"]},
    "mcp",
)
OLD = WANTED._replace(value={"command": "/usr/lib/old/kedge", "args": ["mcp"]})

KINDS = {
    "empty": "",
    "blank": "\n\n",
    "one key": 'model = "gpt"\n',
    "no end of the last line": 'model = "gpt"',
    "comments": '# mine\nmodel = "gpt" # why\n\n# last\n',
    "CRLF": 'model = "gpt"\r\n[tui]\r\nx = 1\r\n',
    "another server": '[mcp_servers.other]\ncommand = "x"\n',
    "a header in a text": "a = \"\"\"\n[mcp_servers.kedge]\n\"\"\"\nb = '''\n[x]\n'''\n",
    "lists over lines": "a = [\n  [1, 2],\n  [3],\n]\n[b]\nc = { d = [1,\n2] }\n",
    "quoted names": '["mcp_servers"."other"]\ncommand = "x"\n',
    "lists of tables": '[[profiles]]\nname = "a"\n[[profiles]]\nname = "b"\n',
}


@pytest.mark.parametrize("text", KINDS.values(), ids=KINDS)
def test_a_table_is_put_behind_and_taken_out_to_the_byte(text: str) -> None:
    made, done, left = with_table(text, WANTED)
    assert made.startswith(text)
    assert (done, left) == (("MCP server added",), ())
    data = tomllib.loads(text)
    data.setdefault("mcp_servers", {})["kedge"] = dict(WANTED.value)
    assert tomllib.loads(made) == data
    assert with_table(made, WANTED) == (made, (), ())
    assert without_table(made, WANTED, text).text == text
    updated, _, _ = with_table(with_table(text, OLD)[0], WANTED)
    assert tomllib.loads(updated) == data
    assert without_table(updated, WANTED, text).text == text


def test_what_stands_behind_it_and_what_was_added_to_it_are_told_apart() -> None:
    made, _, _ = with_table('model = "gpt"\n', OLD)
    grown = (
        f'{made}startup_timeout_sec = 20\nallow = [\n["x"]\n]\n\n'
        f'[mcp_servers.kedge.tools.recall]\nask = "no"\n\n'
        f"# of the next\n[projects]\na = 1\n"
    )
    updated, done, _ = with_table(grown, WANTED)
    kedge = tomllib.loads(updated)["mcp_servers"]["kedge"]
    assert done == ("MCP server updated",)
    assert kedge == {
        **WANTED.value,
        "startup_timeout_sec": 20,
        "allow": [["x"]],
        "tools": {"recall": {"ask": "no"}},
    }
    rest = without_table(updated, WANTED, 'model = "gpt"\n').text
    assert rest == 'model = "gpt"\n\n# of the next\n[projects]\na = 1\n'


def test_a_file_that_held_nothing_else_goes_and_servers_of_others_stay() -> None:
    assert without_table(with_table("", WANTED).text or "", WANTED, None).text is None
    other = '[mcp_servers.kedge]\ncommand = "boat"\n'
    assert with_table(other, WANTED) == (
        other,
        (),
        ("MCP server left: there is another mcp_servers.kedge",),
    )
    assert without_table(other, WANTED, None) == (other, (), ())


def test_forms_that_cannot_be_edited_by_lines_are_left_and_named() -> None:
    inline = 'mcp_servers = { kedge = { command = "/old/kedge", args = ["mcp"] } }\n'
    assert with_table(inline, WANTED).text == inline
    taken = without_table(inline, WANTED, None)
    assert (taken.text, taken.done) == (inline, ())
    assert "take it out yourself" in taken.left[0]
    others = 'mcp_servers = { other = { command = "x" } }\n'
    made = with_table(others, WANTED)
    assert (made.text, made.done) == (others, ())
    told = made.left[0].partition("add `")[2].partition("` to it yourself")[0]
    by_hand = others.replace(" } }", f" }}, {told} }}")
    assert with_table(by_hand, WANTED) == (by_hand, (), ())
    assert "is no table" in with_table("mcp_servers = 3\n", WANTED).left[0]


def test_a_mark_of_byte_order_stays_and_is_no_part_of_the_first_key() -> None:
    for text in ("\ufeff", '\ufeffmodel = "gpt"\n'):
        made = with_table(text, WANTED)
        assert made.done
        assert made.text is not None
        assert made.text.startswith("\ufeff")
        assert with_table(made.text, WANTED) == (made.text, (), ())
        assert without_table(made.text, WANTED, text).text == text


def test_what_a_person_put_around_the_command_and_beside_its_keys_stays() -> None:
    made = with_table("", OLD).text or ""
    grown = made.replace('["mcp"]', '["mcp", "--store", "/data/kedge"] # mine')
    updated = with_table(grown, WANTED).text or ""
    kedge = tomllib.loads(updated)["mcp_servers"]["kedge"]
    assert kedge == {"command": WANTED.value["command"], "args": ["mcp", "--store", "/data/kedge"]}
    assert "# mine" in updated
    assert with_table(updated, WANTED).done == ()
    assert without_table(updated, WANTED, None).text is None


def test_hooks_of_kedge_in_the_same_file_are_named() -> None:
    text = '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "kedge hook"\n'
    for result in (with_table(text, WANTED), without_table(text, WANTED, None)):
        assert "`hooks.Stop` left: it runs kedge" in result.left[0]
    assert with_table(text.replace("kedge hook", "other"), WANTED).left == ()
    assert with_table("hooks = 3\n", WANTED).left == ()


def test_numbers_and_brackets_that_python_cannot_hold_are_refused() -> None:
    for value in ("1" * 5_000, "[" * 5_000 + "]" * 5_000):
        with pytest.raises(Malformed, match="correct it"):
            with_table(f"a = {value}\n", WANTED)


def test_a_broken_file_is_refused_with_its_line_and_without_its_words() -> None:
    with pytest.raises(Malformed) as raised:
        with_table('a = 1\nkey = sk-secret-value\n[b"c\n', WANTED)
    assert raised.value.line == 2
    assert "sk-" not in str(raised.value)
