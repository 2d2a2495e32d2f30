"""The files a call touched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedgeline.model import ToolCall, ToolResult, Turn
from kedgeline.shell import Touch, outcomes_of
from tests.turns import bash, called, turn

Touched = list[tuple[str, str]]


def touched(step: tuple[ToolCall, ToolResult]) -> tuple[Touch, ...]:
    (found,) = outcomes_of(turn(0, step))
    return found.touched


def pairs(step: tuple[ToolCall, ToolResult]) -> Touched:
    return [(touch.action, touch.path) for touch in touched(step)]


def changed(tool: str, change: str, **given: object) -> Touched:
    call, _ = called(tool, **given)
    result = ToolResult(call_id=call.id, change=change)  # type: ignore[arg-type]
    (found,) = outcomes_of(Turn(tool_calls=(call,), tool_results=(result,)))
    return [(touch.action, touch.path) for touch in found.touched]


@pytest.mark.parametrize(
    ("tool", "given", "expected"),
    [
        ("Read", {"file_path": "/a.py"}, [("read", "/a.py")]),
        ("Write", {"file_path": "/a.py", "content": "x"}, [("created", "/a.py")]),
        ("Edit", {"file_path": "/a.py"}, [("modified", "/a.py")]),
        ("MultiEdit", {"file_path": "/a.py"}, [("modified", "/a.py")]),
        ("NotebookEdit", {"notebook_path": "/a.ipynb"}, [("modified", "/a.ipynb")]),
        ("NotebookRead", {"notebook_path": "/a.ipynb"}, [("read", "/a.ipynb")]),
        ("delete_file", {"path": "a.py"}, [("deleted", "a.py")]),
        ("str_replace_editor", {"command": "create", "path": "/a"}, [("created", "/a")]),
        ("str_replace_editor", {"command": "view", "path": "/a"}, [("read", "/a")]),
        ("str_replace_editor", {"command": "insert", "path": "/a"}, [("modified", "/a")]),
        ("read_many_files", {"paths": ["a", "b", "a"]}, [("read", "a"), ("read", "b")]),
        ("Grep", {"pattern": "x", "path": "src"}, []),
        ("WebFetch", {"url": "https://example.org"}, []),
        ("Task", {"prompt": "x", "path": "a"}, []),
    ],
)
def test_tools_by_their_verbs(tool: str, given: dict[str, object], expected: Touched) -> None:
    assert pairs(called(tool, **given)) == expected


def test_what_the_tool_reports_decides() -> None:
    assert changed("Write", "update", file_path="a") == [("modified", "a")]
    assert changed("Write", "create", file_path="a") == [("created", "a")]
    assert changed("Edit", "create", file_path="a") == [("created", "a")]
    assert changed("Edit", "delete", file_path="a") == [("deleted", "a")]
    assert changed("Read", "update", file_path="a") == [("read", "a")]


def test_moves_name_both_places() -> None:
    (found,) = touched(called("move_file", source="a.py", destination="b/a.py"))
    assert found == Touch(path="b/a.py", action="renamed", renamed_from="a.py")
    (found,) = touched(called("rename_file", old_path="a.py", new_path="b.py"))
    assert found == Touch(path="b.py", action="renamed", renamed_from="a.py")


PATCH = """*** Begin Patch
*** Add File: new.py
+x = 1
*** Update File: old.py
@@
-a
+b
*** Update File: from.py
*** Move to: to.py
@@
-a
+b
*** Delete File: gone.py
*** End Patch"""


def patched(folder: str) -> list[tuple[str, str, str]]:
    return [
        ("created", f"{folder}new.py", ""),
        ("modified", f"{folder}old.py", ""),
        ("renamed", f"{folder}to.py", f"{folder}from.py"),
        ("deleted", f"{folder}gone.py", ""),
    ]


@pytest.mark.parametrize(
    ("tool", "given", "folder"),
    [
        ("apply_patch", {"input": PATCH}, ""),
        ("shell", {"command": ["apply_patch", PATCH]}, ""),
        ("shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\nEOF"]}, ""),
        (
            "shell",
            {"command": ["bash", "-lc", f"cd sub && apply_patch <<'EOF'\n{PATCH}\nEOF"]},
            "sub/",
        ),
    ],
)
def test_patches_by_their_headers(tool: str, given: dict[str, object], folder: str) -> None:
    found = touched(called(tool, **given))
    assert [(touch.action, touch.path, touch.renamed_from) for touch in found] == patched(folder)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("cat > a.py <<'EOF'\nrm b.py\nEOF", [("created", "a.py")]),
        ("echo x >> a.md", [("modified", "a.md")]),
        (
            "echo x >| a; y &> b; z 2> c.log",
            [("created", "a"), ("created", "b"), ("created", "c.log")],
        ),
        ("{ a; b; } > out.txt", [("created", "out.txt")]),
        ("a | tee x.log | tail", [("created", "x.log")]),
        ("a | tee -a x.log", [("modified", "x.log")]),
        ("sed -i 's/a/b/' x.py y.py", [("modified", "x.py"), ("modified", "y.py")]),
        ("sed -i '' -e 's/a/b/' -e 's/c/d/' x.py", [("modified", "x.py")]),
        ("sed -i.bak 's/a/b/' x.py", [("modified", "x.py")]),
        ("sed -n '1,9p' x.py", [("read", "x.py")]),
        ("perl -pi -e 's/a/b/' x.py", [("modified", "x.py")]),
        ("perl -i -pe 's/a/b/' x.py", [("modified", "x.py")]),
        ("perl -ne 'print' x.py", []),
        ("rm -rf a.py build", [("deleted", "a.py"), ("deleted", "build")]),
        ("rm *.pyc", [("deleted", "*.pyc")]),
        ("touch a b", [("created", "a"), ("created", "b")]),
        ("mkdir -p a/b", []),
        ("cp a.py b.py", [("created", "b.py")]),
        ("cp a.py lib/", [("created", "lib/a.py")]),
        ("cp a.py src", [("created", "src/a.py")]),
        ("cp -r src dst", []),
        ("cp -t dst a.py b.py", [("created", "dst/a.py"), ("created", "dst/b.py")]),
        ("ln -s a.py b.py", [("created", "b.py")]),
        ("install -m 755 a.sh bin/a", [("created", "bin/a")]),
        ("cp .env.example .env", [("created", ".env")]),
        ("cp base.txt LICENSE", [("created", "LICENSE")]),
        ("dd if=/dev/zero of=x.img bs=1M", [("created", "x.img")]),
        ("truncate -s 0 a.log", [("modified", "a.log")]),
        ("patch a.py < x.diff", [("modified", "a.py")]),
        ("patch -p1 < x.diff", []),
        ("git rm a.py", [("deleted", "a.py")]),
        ("git rm --cached a.py", []),
        ("git checkout -- a.py", [("modified", "a.py")]),
        ("git checkout main", []),
        ("git checkout v1.2.rc1", []),
        ("git checkout -b fix.parser", []),
        ("git checkout HEAD~1 src/a.py", [("modified", "src/a.py")]),
        ("git checkout --ours LICENSE", [("modified", "LICENSE")]),
        ("go build -o bin/shop ./cmd/shop", [("created", "bin/shop")]),
        ("go test -c -o /dev/null ./...", []),
        ("gcc -O2 main.c -o main", [("created", "main")]),
        ("go build ./...", []),
        ("git restore a.py", [("modified", "a.py")]),
        ("git restore --staged a.py", []),
        ("git -C sub rm a.py", [("deleted", "sub/a.py")]),
        ("git apply x.diff; git stash pop", []),
        ("gofmt -w a.go", [("modified", "a.go")]),
        ("gofmt -l a.go", []),
        ("npx prettier --write a.ts src", [("modified", "a.ts")]),
        ("prettier --check a.ts", []),
        ("ruff check --fix a.py", [("modified", "a.py")]),
        ("ruff check a.py", []),
        ("ruff format a.py", [("modified", "a.py")]),
        ("ruff format --check a.py", []),
        ("python -m black a.py", [("modified", "a.py")]),
        ("black --check a.py", []),
        ("eslint --fix a.js", [("modified", "a.js")]),
        ("cargo fmt", []),
        ("curl -sL -o a.zip https://example.org/a", [("created", "a.zip")]),
        ("curl -O https://example.org/x/a.zip", [("created", "a.zip")]),
        ("wget -O a.zip https://example.org/a", [("created", "a.zip")]),
        ("cat a.py b.py", [("read", "a.py"), ("read", "b.py")]),
        ("head -n 20 a.py; tail -5 b.py", [("read", "a.py"), ("read", "b.py")]),
        ("cat a.py > b.py", [("created", "b.py")]),
        ("cat a.py 2>/dev/null | head", [("read", "a.py")]),
        ("grep x a.py", []),
        ("sudo rm a.py", [("deleted", "a.py")]),
        ("bash -c 'rm a.py'", [("deleted", "a.py")]),
        ("ls -la 2>&1", []),
    ],
)
def test_shell_commands(line: str, expected: Touched) -> None:
    assert pairs(bash(line)) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("python3 - <<'EOF'\nopen('a.py', 'w').write('x')\nEOF", [("created", "a.py")]),
        ("python -c \"open('a.py', 'a').write('x')\"", [("modified", "a.py")]),
        ("python3 <<'EOF'\nt = open('a.py').read()\nopen('a.py', 'w').write(t)\nEOF",
         [("modified", "a.py")]),
        ("python3 <<'EOF'\np = 'a.py'\nwith open(p, 'w') as f:\n    f.write('')\nEOF",
         [("created", "a.py")]),
        ("python3 <<'EOF'\np = Path('a.py')\np.write_text(p.read_text())\nEOF",
         [("modified", "a.py")]),
        ("cd lib && python3 <<'EOF'\nPath('a.py').write_text('')\nEOF", [("created", "lib/a.py")]),
        ("node -e \"fs.writeFileSync('a.js', x)\"", [("created", "a.js")]),
        ("cat > fix.py <<'EOF'\nopen('a.py', 'w')\nEOF\npython fix.py",
         [("created", "fix.py"), ("created", "a.py")]),
        ("cat > fix.py <<'EOF'\nopen('a.py', 'w')\nEOF", [("created", "fix.py")]),
        ("python3 <<'EOF'\nfor p in all:\n    open(p, 'w')\nEOF", []),
        ("python3 <<'EOF'\nopen(f'{folder}/a.py', 'w')\nEOF", []),
        ("python3 <<'EOF'\np = 'a'\np = 'b'\nopen(p, 'w')\nEOF", []),
        ("python3 <<'EOF'\nopen('a.py', 'r')\nEOF", []),
        ("ssh host python3 <<'EOF'\nopen('a.py', 'w')\nEOF", []),
        ("docker exec app python3 -c \"open('a.py', 'w')\"", []),
    ],
)  # fmt: skip
def test_files_that_a_script_writes(line: str, expected: Touched) -> None:
    assert pairs(bash(line)) == expected


@pytest.mark.parametrize(
    ("output", "action"),
    [
        ("File created successfully at: /a", "created"),
        ("The file /a has been updated. Here is a snippet", "modified"),
        ("Successfully overwrote file: /a.", "modified"),
        ("Successfully created and wrote to new file: /a.", "created"),
    ],
)
def test_the_tools_own_words_decide_where_nothing_else_does(output: str, action: str) -> None:
    for tool in ("Write", "Edit"):
        assert pairs(called(tool, output, file_path="/a")) == [(action, "/a")]


@pytest.mark.parametrize(
    ("line", "path", "before"),
    [
        ("mv a.py b.py", "b.py", "a.py"),
        ("mv a.py lib/", "lib/a.py", "a.py"),
        ("mv a.py lib", "lib/a.py", "a.py"),
        ("mv old new", "new", "old"),
        ("git mv a.py b.py", "b.py", "a.py"),
        ("cd x && mv a.py ../b.py", "b.py", "x/a.py"),
    ],
)
def test_shell_moves(line: str, path: str, before: str) -> None:
    expected = Touch(path=path, action="renamed", by="shell", renamed_from=before)
    assert touched(bash(line)) == (expected,)


@pytest.mark.parametrize(
    "line",
    [
        "a > /dev/null 2>&1",
        "a 2> /dev/stderr",
        "a > $LOG",
        'a > "$DIR/x"',
        "a > `mktemp`",
        "a > >(tee x | cat)",
        "cat -",
        "cat <(a)",
        "rm a.{py,txt}",
        "for f in *.py; do rm $f; done",
        "find . | xargs -I {} rm {}",
        "docker exec app rm /a.py",
        "docker exec app bash -c 'echo x > /a.py'",
        "test -f a.py || touch a.py",
        "echo 'rm a.py'",
        "rm",
        "mv a.py",
        "black .",
    ],
)
def test_what_is_no_file_here(line: str) -> None:
    assert pairs(bash(line)) == []


def test_files_are_seen_from_where_the_line_began() -> None:
    line = "cd web && echo x > a.ts; cd ../api; rm b.py /tmp/c; (cd d && touch e); touch f"
    assert pairs(bash(line)) == [
        ("created", "web/a.ts"),
        ("deleted", "api/b.py"),
        ("deleted", "/tmp/c"),
        ("created", "api/d/e"),
        ("created", "api/f"),
    ]


def test_a_command_that_complains_touched_nothing() -> None:
    output = "rm: cannot remove 'b.py': No such file or directory\n"
    assert pairs(bash("rm a.py b.py; ls", output)) == [("deleted", "a.py")]
    assert pairs(bash("cat a.py; ls", "cat: a.py: No such file or directory\n")) == []


def test_a_failed_refused_or_unanswered_call_touched_nothing() -> None:
    for call, _ in (bash("rm a.py"), called("Write", file_path="a"), called("Read", file_path="a")):
        results = (
            ToolResult(call_id=call.id, success=False),
            ToolResult(call_id=call.id, success=False, refused=True),
            ToolResult(call_id=call.id, success=False, interrupted=True),
        )
        for result in results:
            (found,) = outcomes_of(Turn(tool_calls=(call,), tool_results=(result,)))
            assert found.touched == ()
        (found,) = outcomes_of(Turn(tool_calls=(call,)))
        assert found.touched == ()


@given(
    st.dictionaries(st.text(), st.text()), st.sampled_from(["Write", "apply_patch", "mv", "Bash"])
)
def test_any_parameters_are_read(parameters: dict[str, str], tool: str) -> None:
    call = ToolCall(id="1", tool=tool, parameters=parameters)
    outcomes_of(Turn(tool_calls=(call,), tool_results=(ToolResult(call_id="1"),)))


_WORDS = ["sed", "-i", "mv", "cp", "git", "rm", "perl", "-pe", "--", "-", "", "a.py", "x/", "-t"]
_PROGRAMS = ["sed", "mv", "cp", "git", "rm", "perl", "tee", "curl", "ln", "dd", "ruff", "head"]


@given(st.sampled_from(_PROGRAMS), st.lists(st.sampled_from(_WORDS) | st.text(max_size=5)))
def test_any_words_are_read(program: str, words: list[str]) -> None:
    pairs(called("shell", command=[program, *words]))
