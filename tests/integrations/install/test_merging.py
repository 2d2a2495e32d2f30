"""Entries put into settings files of any kind and taken out again, to the byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as tried

from kedge.integrations.hosts.launch import Launch
from kedge.integrations.installing import editing
from kedge.integrations.installing.documents import Malformed, parsed
from kedge.integrations.installing.merging import merged
from kedge.integrations.installing.removing import without
from tests.integrations.install.wanted import OTHERS, plain, settings, texts, with_kedge

few = tried(max_examples=20)
"""Enough to see what is wrong everywhere; the long run looks for what is wrong somewhere."""
many = tried(max_examples=3_000)
WANTED = settings()
OLD = settings(Launch(("/usr/lib/old/kedge",)))

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


@pytest.mark.parametrize("text", KINDS.values(), ids=KINDS)
def test_what_is_put_in_can_be_taken_out_to_the_byte(text: str) -> None:
    made = merged(text, WANTED, reduce=None)
    assert "\n" not in made.text.replace("\r\n", "") or "\r\n" not in text
    assert plain(made.text) == with_kedge(plain(text), WANTED)
    assert merged(made.text, WANTED, reduce=None) == (made.text, (), made.left)
    assert without(made.text, WANTED, text) == text


@few
@given(texts())
def test_any_document_keeps_all_it_says_and_comes_back_to_the_byte(text: str) -> None:
    made = merged(text, WANTED, reduce=None)
    assert plain(made.text) == with_kedge(plain(text), WANTED)
    assert merged(made.text, WANTED, reduce=None).text == made.text
    assert without(made.text, WANTED, text) == text


@few
@given(texts())
def test_an_older_kedge_is_brought_up_to_date_and_goes_as_well(text: str) -> None:
    old = merged(text, OLD, reduce=True).text
    kept = merged(old, WANTED, reduce=None, earlier=text).text
    assert plain(kept)["hooks"]["PostToolUse"][-1] == WANTED.hooks["PostToolUse"]
    made = merged(kept, WANTED, reduce=False, earlier=text).text
    assert plain(made) == with_kedge(plain(text), WANTED)
    assert without(made, WANTED, text) == text


@few
@given(texts())
def test_what_a_host_wrote_anew_meanwhile_stays(text: str) -> None:
    made = plain(merged(text, WANTED, reduce=None).text)
    rewritten = json.dumps({"theme": "dark", **made, "added": [1]}, indent=4)
    rest = without(rewritten, WANTED, text)
    assert rest is not None
    assert plain(rest) == {"theme": "dark", **plain(text), "added": [1]}


@pytest.mark.torture
@many
@given(texts())
def test_thousands_of_documents_come_back_to_the_byte(text: str) -> None:
    old = merged(text, OLD, reduce=True).text
    assert without(old, WANTED, text) == text
    made = merged(old, WANTED, reduce=False, earlier=text).text
    assert plain(made) == with_kedge(plain(text), WANTED)
    assert without(made, WANTED, text) == text


def test_a_file_that_holds_nothing_else_goes() -> None:
    made = merged("", WANTED, reduce=None).text
    assert without(made, WANTED, None) is None
    assert without(f"// mine\n{made}", WANTED, None) == "// mine\n{}\n"


def test_without_the_copy_empty_containers_of_ours_go_and_others_stay() -> None:
    made = merged('{"model": "a"}', WANTED, reduce=None).text
    assert without(made, WANTED, None) == '{"model": "a"}'
    with_other = '{"hooks": {"Stop": [{"hooks": []}]}}'
    assert without(merged(with_other, WANTED, reduce=None).text, WANTED, None) == with_other


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
    '{"hooks": ' + "[" * 300 + "]" * 300 + "}": "more than 200 brackets deep",
    "{} {}": "expected the end of the file",
}


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_what_is_not_understood_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(Malformed) as raised:
        merged(text, WANTED, reduce=None)
    assert REFUSED[text] in str(raised.value)


def test_no_message_shows_more_than_one_character_of_a_file() -> None:
    with pytest.raises(Malformed) as raised:
        parsed('{"key": sk-ant-secret}')
    assert "sk-" not in str(raised.value)
    assert "found 's'" in str(raised.value)


@few
@given(texts())
def test_values_are_read_as_the_standard_library_reads_them(text: str) -> None:
    document = parsed(text)
    assert document.root is not None
    assert document.value(document.root) == plain(text)


def test_old_forms_of_our_hooks_are_known_and_become_one() -> None:
    forms = [
        {"type": "command", "command": "'/a b/kedge' hook", "timeout": 3},
        {"type": "command", "command": "/x/python", "args": ["-m", "kedge", "hook"]},
        {"type": "command", "command": "kedge", "args": ["hook", "--host=codex"]},
    ]
    others = [
        {"type": "command", "command": "kedge hook | tee log"},
        {"type": "command", "command": "my-kedge hook"},
        {"type": "command", "command": "kedge recall hook"},
        {"type": "command", "command": "kedge hook --host=codex; reboot"},
        {"type": "command", "command": "kedge hook --host=codex;reboot"},
        {"type": "command", "command": "kedge 'hook"},
        {"type": "command", "command": 7},
    ]
    groups: list[Any] = [{"hooks": [form]} for form in forms]
    groups.append({"matcher": "x", "hooks": [forms[0], OTHERS]})
    text = json.dumps({"hooks": {"Stop": [*groups, {"hooks": others}], "Gone": [groups[0]]}})
    made = plain(merged(text, WANTED, reduce=None).text)["hooks"]
    ours = WANTED.hooks["Stop"]["hooks"][0]
    kept = [{"matcher": "x", "hooks": [OTHERS]}, {"hooks": others}]
    assert made["Stop"] == [{"hooks": [ours]}, *kept]
    assert "Gone" not in made
    assert plain(without(text, WANTED, None) or "") == {"hooks": {"Stop": kept}}


def test_another_matcher_is_brought_up_to_date() -> None:
    value = plain(merged("{}", WANTED, reduce=None).text)
    value["hooks"]["SessionStart"][0]["matcher"] = "startup"
    value["hooks"]["Stop"][0]["matcher"] = "nothing"
    made = merged(json.dumps(value), WANTED, reduce=None)
    assert plain(made.text) == with_kedge({}, WANTED)
    assert made.done == ("2 hooks updated",)


def test_a_comment_does_not_swallow_what_stands_behind_ours() -> None:
    ours = json.dumps(dict(WANTED.members[0].value))
    text = f'{{"a": 1, // mine\n"statusLine": {ours}}}'
    assert without(text, WANTED, None) == '{"a": 1 // mine\n}'


def test_what_a_person_added_to_our_entries_stays() -> None:
    value = plain(merged("{}", OLD, reduce=None).text)
    value["hooks"]["Stop"][0]["hooks"][0]["statusMessage"] = "kedge"
    value["statusLine"]["padding"] = 0
    made = plain(merged(json.dumps(value), WANTED, reduce=None).text)
    assert made["hooks"]["Stop"][0]["hooks"][0]["statusMessage"] == "kedge"
    assert made["statusLine"]["padding"] == 0
    assert "/usr/lib/old" not in json.dumps(made)


def test_a_large_file_is_merged() -> None:
    projects = {f"/home/ada/{n}": {"history": ["x" * 50] * 20} for n in range(100)}
    text = json.dumps({"projects": projects}, indent=2)
    made = merged(text, WANTED, reduce=None).text
    assert without(made, WANTED, text) == text


def test_a_removal_that_leaves_a_blank_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: the merge itself proves that it can be undone, and refuses."""
    real = editing.Layout.take

    def careless(self: Any, container: Any, gone: Any) -> list[editing.Edit]:
        return [edit._replace(start=edit.start + 1) for edit in real(self, container, gone)]

    monkeypatch.setattr(editing.Layout, "take", careless)
    with pytest.raises(Malformed, match="cannot add its entries"):
        merged('{\n  "a": 1\n}', WANTED, reduce=None)


def test_an_insertion_that_forgets_the_style_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: no comma behind the last entry of a file that has them."""

    def put(self: Any, container: Any, entries: Any) -> list[editing.Edit]:
        edits = real(self, container, entries)
        return [edit._replace(text=edit.text.removesuffix(",")) for edit in edits]

    real = editing.Layout.put
    monkeypatch.setattr(editing.Layout, "put", put)
    with pytest.raises(Malformed):
        merged('{\n  "a": 1,\n}', WANTED, reduce=None)
