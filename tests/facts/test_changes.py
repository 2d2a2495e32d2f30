"""What an edit changed, told from the edit itself."""

from __future__ import annotations

import pytest

from kedgeline.facts.edits import Replacement, change_of, replacements_of, symbols_in
from kedgeline.model import ToolCall


def what(path: str, old: str, new: str) -> str:
    return change_of(path, [Replacement(old, new)]).what


def contents(path: str, text: str) -> str:
    return change_of(path, [Replacement("", text, whole=True)], created=True).what


@pytest.mark.parametrize(
    ("path", "around", "told"),
    [
        ("a.go", "func (s *Shop) Sell(n int) error {", "in `Sell`: `1` → `2`"),
        ("a.py", "class Shop:\n    def sell(self, n):", "in `Shop.sell`: `1` → `2`"),
        ("a.md", "## Opening hours", "in “Opening hours”: `1` → `2`"),
        ("a.go", "import (", "`1` → `2`"),
        ("a.go", "", "`1` → `2`"),
    ],
)
def test_an_edit_names_the_definition_it_stands_in(path: str, around: str, told: str) -> None:
    pieces = [Replacement("n = 1", "n = 2")]
    assert change_of(path, pieces, around=around).what == told


@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        ("a.go", "func (s *Shop) Sell(n int) error {\n}\ntype Shop struct {\n\tName string\n}\n",
         ["Sell", "Shop", "Name"]),
        ("a.go", "const MaxItems = 3\nfunc TestSell(t *testing.T) {", ["MaxItems", "TestSell"]),
        ("a.py", "import os\nLIMIT = 3\nclass Shop:\n    def __init__(self):\n",
         ["os", "LIMIT", "Shop", "__init__"]),
        ("a.ts", "export interface Item {\n  name: string;\n}\nexport const sell = (n) => n;\n",
         ["Item", "name", "sell"]),
        ("a.ts", "class Shop {\n  async sell(n: number): Promise<void> {\n  }\n}\n",
         ["Shop", "sell"]),
        ("a.test.ts", "it('sells one item', () => {\n", ["sells one item"]),
        ("a.rs", "pub fn sell(n: u32) {}\npub struct Shop {\n    pub name: String,\n}\n",
         ["sell", "Shop", "name"]),
        ("A.java", "public class Shop {\n  public int sell(int n) {\n", ["Shop", "sell"]),
        ("a.sh", "sell() {\n", ["sell"]),
        ("a.sql", "CREATE TABLE IF NOT EXISTS items (id int);", ["items"]),
        ("a.css", ".item {\n  color: red;\n}\n", [".item"]),
        ("a.md", "# Title\ntext\n## Part\n", ["Title", "Part"]),
        ("a.json", '{\n  "name": 1\n}', ["name"]),
        ("a.yaml", "jobs:\n  build:\n", ["jobs", "build"]),
        ("a.toml", "[tool.shop]\nname = 1\n", ["tool.shop", "name"]),
        ("Makefile", "build: all\n", ["build"]),
        ("a.unknown", "func a() {}\n", []),
    ],
)  # fmt: skip
def test_names_by_language(path: str, text: str, names: list[str]) -> None:
    assert [symbol.name for symbol in symbols_in(text, path)] == names


@pytest.mark.parametrize(
    ("path", "old", "new", "expected"),
    [
        ("a.py", "x = 1\n", "x = 1\ndef sell():\n    pass\n", "adds `sell`"),
        ("a.py", "def sell():\n    pass\n", "", "removes `sell`"),
        ("a.py", "def sell(a):\n", "def sell(a, b):\n", "changes `sell` (signature)"),
        ("a.py", "def sell(a):\n", "def buy(a):\n", "renames `sell` to `buy`"),
        ("a.py", "LIMIT = 3\n", "LIMIT = 4\n", "changes `LIMIT`"),
        ("a.py", "import os\n", "import os\nimport re\n", "imports `re`"),
        ("a.py", "import os\nimport re\n", "import os\n", "no longer imports `re`"),
        (
            "a.go",
            "type Shop struct {\n\tName string\n}\n",
            "type Shop struct {\n\tName string\n\tOwner string\n}\n",
            "adds `Shop.Owner`",
        ),
        ("a.go", "", "type Shop struct {\n\tName string\n}\n", "adds `Shop`"),
        ("a.py", "return price(1)\n", "return price(2)\n", "`1` → `2`"),
        ("a.py", "a = total\n", "a = net_total\n", "`total` → `net_total`"),
        ("a.py", "f(a)\n", "f(a, tax)\n", "`a` → `a, tax`"),
        (
            "a.py",
            "def sell():\n    a = 1\n    return a\n",
            "def sell():\n    b = load_price()\n    c = b + 2\n    return c\n",
            "in `sell`: with `load_price`",
        ),
        ("a.py", "a = old_rate()\nb = 2\n", "", "without `old_rate`"),
        ("a.md", "# A\n", "# A\n## B c\n", "adds “B c”"),
        ("a.md", "One way.\n", "Another way.\nAnd more.\n", "“Another way.”"),
        ("a.json", '  "size": 3,\n', '  "size": 4,\n', "`size`: `3` → `4`"),
        ("a.json", '  "size": 3\n', '  "size": 3,\n  "more": 1\n', "adds `more`"),
        ("a.toml", 'version = "1"\n', 'version = "2"\n', "`version`: `1` → `2`"),
        ("a.py", "a = 1\n", "a  =  1\n", "blank space only"),
        ("a.py", "# why not\n", "# because of tax\n# law\n", "“# because of tax”"),
    ],
)  # fmt: skip
def test_what_changed(path: str, old: str, new: str, expected: str) -> None:
    assert what(path, old, new) == expected


def test_a_new_file_by_its_main_names() -> None:
    text = "import os\n\nLIMIT = 3\n\nclass Shop:\n    name: str = ''\n\n    def sell(self):\n"
    assert contents("a.py", text) == "`LIMIT`, `Shop`, `Shop.sell`"
    assert contents("a.txt", "Dear all,\nhello") == "“Dear all,”"
    assert contents("a.py", "") == "empty"


def test_a_file_written_anew_says_so() -> None:
    change = change_of("a.py", [Replacement("", "def sell():\n", whole=True)])
    assert change == ("rewritten: `sell`", 0, 0)


def test_lines_that_came_and_went_are_counted() -> None:
    change = change_of("a.py", [Replacement("a\nb\nc\n", "a\nx\nc\nd\n"), Replacement("q\n", "")])
    assert (change.added, change.removed) == (2, 2)


def test_an_edit_that_does_not_say_what_it_replaces_counts_only_what_came() -> None:
    change = change_of("a.py", [Replacement("", "def sell():\n    pass\n", blind=True)])
    assert change == ("puts in `sell`", 2, 0)


@pytest.mark.parametrize(
    ("tool", "given", "pieces"),
    [
        ("Edit", {"old_string": "a", "new_string": "b"}, [("a", "b")]),
        ("edit", {"oldString": "a", "newString": "b"}, [("a", "b")]),
        ("edit", {"oldText": "a", "newText": "b"}, [("a", "b")]),
        ("str_replace_editor", {"command": "str_replace", "old_str": "a", "new_str": "b"},
         [("a", "b")]),
        ("str_replace_editor", {"command": "insert", "new_str": "b"}, [("", "b")]),
        ("edit_block", {"search": "a", "replace": "b"}, [("a", "b")]),
        ("MultiEdit", {"edits": [{"old_string": "a", "new_string": "b"}, 3, {}]}, [("a", "b")]),
        ("replace_in_file",
         {"diff": "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n"}, [("a\n", "b\n")]),
        ("NotebookEdit", {"notebook_path": "x", "new_source": "b"}, [("", "b")]),
        ("Write", {"content": "b"}, [("", "b")]),
        ("create_file", {"content": ""}, [("", "")]),
        ("Edit", {"old_string": 1, "new_string": None}, []),
    ],
)  # fmt: skip
def test_pieces_of_every_agents_tools(
    tool: str, given: dict[str, object], pieces: list[tuple[str, str]]
) -> None:
    call = ToolCall(id="1", tool=tool, parameters=given)
    assert [(piece.old, piece.new) for piece in replacements_of(call, "a.py")] == pieces


def test_a_patch_gives_each_file_its_own_lines() -> None:
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n@@\n-one\n+two\n"
        "*** Update File: lib/a.py\n@@\n same\n+three\n"
        "*** Add File: lib/aa.py\n+four\n*** End Patch"
    )
    call = ToolCall(id="1", tool="apply_patch", parameters={"input": patch})
    assert replacements_of(call, "a.py") == [Replacement("one", "two")]
    assert replacements_of(call, "lib/aa.py") == [Replacement("", "four", whole=True)]
    assert replacements_of(call, "sub/lib/a.py")[-1] == Replacement("same", "same\nthree")


def test_the_lines_that_git_puts_around_two_versions_are_no_change() -> None:
    old = "<<<<<<< HEAD\nx = mast()\n=======\nx = boom()\n>>>>>>> theirs\n"
    told = change_of("crane.py", [Replacement(old, "x = boom()\n")]).what
    assert told == "resolves a conflict; removes `x = mast()`"


def test_the_comment_above_a_definition_says_what_it_is_for() -> None:
    new = "// lowerCrane is for when the wind is up. More.\nfunc lowerCrane() {}\n"
    told = change_of("crane.go", [Replacement("", new)]).what
    assert told == "adds `lowerCrane` (`lowerCrane`: “is for when the wind is up”)"
