"""A shell line as the commands it runs."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedgeline.shell.parsing import LONGEST_LINE, Command, commands_in, script_in
from tests.shell.lines import Case, lines


def words(line: str) -> list[tuple[str, ...]]:
    return [command.words for command in commands_in(line) if command.words]


def only(line: str) -> Command:
    (command,) = commands_in(line)
    return command


def deciding(line: str) -> list[str]:
    return [command.words[0] for command in commands_in(line) if command.decides and command.words]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("""a 'b'"c"\\ d""", ("a", "bc d")),
        ('a "x \\"y\\" \\$z" \'q\\n\'', ("a", 'x "y" $z', "q\\n")),
        (r"a $'one\ttwo\'s'", ("a", "one\ttwo's")),
        ("a 'don'\\''t'", ("a", "don't")),
        ('a --name="x y" $V "${W}/p" *.py', ("a", "--name=x y", "$V", "${W}/p", "*.py")),
        ("a one \\\n  two", ("a", "one", "two")),
        ("python - < in.txt", ("python", "-")),
        ("A=1 B='x y' make test", ("make", "test")),
        ("cat > out.txt first second", ("cat", "first", "second")),
        ('a "multi\nline"', ("a", "multi\nline")),
        ("find . -exec grep x {} \\;", ("find", ".", "-exec", "grep", "x", "{}", ";")),
        ("größe 'ähm' 日本", ("größe", "ähm", "日本")),
    ],
)
def test_words_are_what_the_program_gets(line: str, expected: tuple[str, ...]) -> None:
    assert only(line).words == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a; b\nc && d || e | f & g", list("abcdefg")),
        ("( a; b ) && { c; d; }", list("abcd")),
        ("if a; then b; elif c; then d; else e; fi", list("abcde")),
        ("for i in 1 2; do a; b; done", list("ab")),
        ("while a; do b; done < list", list("ab")),
        ("case $x in one) a;; *) b;; esac", list("ab")),
        ("f() { a; }; b", list("ab")),
        ("! a && b", list("ab")),
        ("a # b; c\n# d\ne", list("ae")),
        ("a && b 2>&1 | c && d", list("abcd")),
        ("a $(b) `c` <(d)", ["a"]),
        ("X=$(a); b", ["b"]),
        ("bash -c 'a && b' && sh -lc \"c\"; eval 'd; e'", list("abcde")),
        ("sudo timeout 60 bash -c 'a; b'", list("ab")),
    ],
)
def test_every_simple_command_is_found_in_order(line: str, expected: list[str]) -> None:
    assert [found[0] for found in words(line)] == expected


def test_a_script_in_a_script_stays_a_word() -> None:
    assert words("bash -c \"bash -c 'a; b'\"") == [("bash", "-c", "a; b")]


def test_text_is_not_run() -> None:
    line = "cat <<'EOF' > notes.md\nrm -rf build\nnpm install\nEOF\necho 'git push'"
    assert words(line) == [("cat",), ("echo", "git push")]


def test_two_here_documents_in_one_line() -> None:
    first, second, third = commands_in("cat > a <<A && cat > b <<'B' && ls\n1\nA\n2\nB\n")
    assert (first.heredoc, second.heredoc) == ("1\n", "2\n")
    assert (first.redirects[0].target, second.redirects[0].target) == ("a", "b")
    assert third.words == ("ls",)
    assert all(command.decides for command in (first, second, third))


def test_a_here_document_with_a_pipe_behind_it() -> None:
    """The grammar alone loses the pipe, and the lone dash."""
    python, tail = commands_in("python - <<'PY' 2>&1 | tail -3\nprint(1)\nPY")
    assert (python.words, python.heredoc, python.piped) == (("python", "-"), "print(1)\n", True)
    assert (tail.words, tail.joint, tail.decides) == (("tail", "-3"), "|", True)


def test_what_looks_like_a_here_document_and_is_none() -> None:
    assert words('echo "a << b"; x $((1 << 2)); y <<< word\nz') == [
        ("echo", "a << b"),
        ("x", "$((1 << 2))"),
        ("y",),
        ("z",),
    ]


def test_a_printed_here_document_is_its_text() -> None:
    """The usual way to give a commit a message of several lines."""
    line = 'git commit -m "$(cat <<\'EOF\'\nAdd a\n\nIt\'s "b".\nEOF\n)" && git push'
    assert words(line) == [("git", "commit", "-m", 'Add a\n\nIt\'s "b".'), ("git", "push")]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a", "a"),
        ("a && b && c", "abc"),
        ("a; b", "b"),
        ("a\nb", "b"),
        ("a || b", ""),
        ("a || b && c", "c"),
        ("a && b || true", ""),
        ("a | b", "b"),
        ("cd x && a 2>&1 | b", "cdb"),
        ("set -o pipefail; a | b", "ab"),
        ("set -euo pipefail\na | b\nc", "abc"),
        ("set -e\na && b\nc", "c"),
        ("set -e; a; set +e; b; c", "ac"),
        ("( a && b )", "ab"),
        ("{ a; b; } && c", "bc"),
        ("! a", ""),
        ("! a | b", ""),
        ("if a; then b; fi", ""),
        ("for i in 1; do a; done", ""),
        ("a &", ""),
        ("a & b", "b"),
        ("a; exit 0", "exit"),
        ("a; echo $?", "echo"),
        ("bash -c 'a; b' && c", "bc"),
        ("bash -c 'a && b'; c", "c"),
        ("a; X=1", ""),
    ],
)
def test_whose_status_is_the_lines(line: str, expected: str) -> None:
    assert "".join(name for name in deciding(line) if name != "set") == expected


@given(lines())
def test_a_line_that_succeeded_proves_what_decides(case: Case) -> None:
    """Against a small interpreter: whichever commands fail, a line that succeeds proves that each
    command that decides was run and succeeded."""
    found = [command for command in commands_in(case.text) if command.words]
    assert [command.words[0] for command in found] == case.names
    decides = {command.words[0] for command in found if command.decides}
    for failing in case.failures():
        success, succeeded = case.run(failing)
        if success:
            assert decides <= succeeded
    success, succeeded = case.run(frozenset())
    assert not case.must_decide or case.names[-1] in decides


def test_the_folder_is_followed() -> None:
    line = "cd a && x; cd b/.. ; y; (cd c && z); v; cd - && w; cd /abs && u | cd q; cd $D && t"
    folders = {command.words[0]: command.folder for command in commands_in(line)}
    expected = {"x": "a", "y": "a", "z": "a/c", "v": "a", "w": "a", "u": "/abs", "t": "/abs/$D"}
    assert {name: folders[name] for name in expected} == expected


def test_pipes_background_and_joints() -> None:
    first, second, third, fourth = commands_in("a | b && c & d")
    assert [first.piped, second.piped, third.piped] == [True, False, False]
    assert [first.joint, second.joint, third.joint, fourth.joint] == ["", "|", "&&", "&"]
    assert [first.background, third.background, fourth.background] == [True, True, False]


def test_redirections() -> None:
    found = commands_in("a > 1.txt 2>> 2.txt; b &> 3.txt; c >| 4.txt 2>&1; > 5.txt; { d; } > 6")
    given = [[(one.operator, one.target) for one in command.redirects] for command in found]
    assert given == [
        [(">", "1.txt"), (">>", "2.txt")],
        [("&>", "3.txt")],
        [(">|", "4.txt")],
        [(">", "5.txt")],
        [(">", "6")],
    ]


def test_what_stands_in_a_branch_is_marked() -> None:
    assert [one.inside for one in commands_in("a; if b; then c; fi; d")] == [
        False,
        True,
        True,
        False,
    ]


def test_the_script_of_a_shell() -> None:
    assert script_in(["bash", "-lc", "a"]) == "a"
    assert script_in(["/bin/sh", "-e", "-c", "a"]) == "a"
    assert script_in(["powershell.exe", "-NoProfile", "-Command", "a"]) == "a"
    assert script_in(["bash", "script.sh", "-c"]) == ""
    assert script_in([]) == ""


@pytest.mark.parametrize(
    "garbage",
    [
        "(" * 30_000,
        "$(" * 9_000,
        "a && " * 4_000,
        "a > b && " * 2_000,
        "{ " * 9_000,
        '"' * 20_001,
        "cat <<A\n" * 2_000,
        "if a; then " * 2_000,
        "\0a\0 b",
        "a \ud800 b",
        "\\" * 9_999,
        "sudo " * 3_000,
        "! " * 3_000,
        "f() { " * 2_000,
    ],
    ids=lambda text: text[:6].encode(errors="replace").hex(),
)
def test_garbage_is_no_reason_to_fail(garbage: str) -> None:
    assert [one for one in commands_in(garbage) if not (one.words or one.redirects)] == []


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert isinstance(commands_in(text), tuple)


@given(st.lists(st.sampled_from([*"ab \n;&|<>(){}$'\"\\`#!=-", "<<E", "E\n", "$(", "if ", "cd "])))
def test_any_pieces_of_shell_are_read(pieces: list[str]) -> None:
    assert isinstance(commands_in("".join(pieces)), tuple)


def test_what_is_left_off_could_have_decided() -> None:
    for line in ("a; " * 600 + "b", "a && " * 600 + "b", f"a && b '{'x' * LONGEST_LINE}'"):
        assert not any(command.decides for command in commands_in(line))


def test_a_long_here_document_hides_nothing() -> None:
    body = "line of text\n" * 20_000
    assert words(f"cat > a <<'EOF'\n{body}EOF\nls") == [("cat",), ("ls",)]


def test_no_character_crashes_the_parser() -> None:
    """The grammar's scanner reads outside a table for some of them, behind a brace most easily."""
    code = (
        "from kedgeline.shell.parsing import commands_in\n"
        "for code in (*range(0x80, 0x110000, 0x1235), 0x31860, 0x6acb1, 0xa7e3d):\n"
        "    for text in ('{%c', 'a %c', '${%c}', '$%c', '[[ %c', '%c=(', 'cat <<%c\\n%c'):\n"
        "        commands_in(text.replace('%c', chr(code)))\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_importing_loads_no_parser() -> None:
    code = "import sys, kedgeline.shell; sys.exit('tree_sitter' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
