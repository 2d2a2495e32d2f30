"""Facts about files that were changed."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kedgeline.facts import facts_of
from kedgeline.facts.extractor import Setting
from kedgeline.facts.paths import Paths, root_of
from kedgeline.model import (
    Change,
    FileChanged,
    Note,
    SessionFacts,
    ToolCall,
    ToolResult,
    Transcript,
)
from tests.facts.changed import ROOT, Step, edit, pairs, read, seen, write
from tests.turns import bash, called, turn


def test_paths_are_given_from_the_root() -> None:
    assert pairs([edit("/srv/shop/src/a.py"), edit("src/./a.py"), edit("/etc/hosts")]) == [
        ("modified", "src/a.py"),
        ("modified", "src/a.py"),
        ("modified", "/etc/hosts"),
    ]
    assert pairs([edit("/srv/shop2/a.py")]) == [("modified", "/srv/shop2/a.py")]


def test_a_path_that_leaves_the_root_is_given_in_full() -> None:
    assert pairs([bash("rm ../other/a.py")]) == [("deleted", "/srv/other/a.py")]


def test_paths_with_a_drive() -> None:
    setting = Setting(root="C:\\work\\shop")
    (fact,) = seen([edit("C:\\work\\shop\\src\\a.py")], setting=setting)
    assert fact.path == "src/a.py"


def test_the_root_is_widened_to_an_earlier_one_around_it() -> None:
    def facts(*roots: str) -> SessionFacts:
        return SessionFacts(
            changes=tuple(Change(turn=0, name="root", value=root) for root in roots)
        )

    assert root_of(facts("/srv/shop", "/srv/shop/src")) == "/srv/shop"
    assert root_of(facts("/srv/shop", "/srv/shop2")) == "/srv/shop2"
    assert root_of(facts()) == ""


def test_a_file_never_seen_is_created_by_a_write() -> None:
    assert pairs([write("a.py")]) == [("created", "a.py")]


@pytest.mark.parametrize("before", [read("/srv/shop/a.py"), edit("a.py"), bash("cat a.py")])
def test_a_file_seen_before_is_modified_by_a_write(before: Step) -> None:
    assert pairs([before], [write("a.py")])[-1] == ("modified", "a.py")


def test_a_deleted_file_is_created_again() -> None:
    assert pairs([write("a.py")], [bash("rm a.py")], [write("a.py")]) == [
        ("created", "a.py"),
        ("deleted", "a.py"),
        ("created", "a.py"),
    ]


def test_what_the_tool_reports_outranks_what_is_known() -> None:
    assert pairs([read("a.py")], [write("a.py", change="create")]) == [("created", "a.py")]
    assert pairs([write("a.py", change="update")]) == [("modified", "a.py")]
    said = "The file /srv/shop/a.py has been updated. Here is a snippet"
    assert pairs([write("a.py", output=said)]) == [("modified", "a.py")]
    said = "File created successfully at: /srv/shop/a.py"
    assert pairs([read("a.py")], [write("a.py", output=said)]) == [("created", "a.py")]


def test_an_edit_that_replaces_nothing_fills_a_new_file() -> None:
    assert pairs([edit("a.py", old="", new="x = 1\n")]) == [("created", "a.py")]
    assert pairs([read("a.py")], [edit("a.py", old="", new="x")]) == [("modified", "a.py")]


@pytest.mark.parametrize(
    "result",
    [
        {"success": False},
        {"success": False, "refused": True},
        {"success": False, "interrupted": True},
    ],
)
def test_a_call_that_did_not_succeed_changed_nothing(result: dict[str, bool]) -> None:
    call, _ = edit("a.py")
    failed = ToolResult(call_id=call.id, **result)
    assert pairs([(call, failed)]) == []
    unanswered = replace(turn(0), tool_calls=(call,))
    assert pairs(unanswered) == []


def test_a_write_that_failed_leaves_the_file_unknown() -> None:
    assert pairs([write("a.py", success=False)], [write("a.py")]) == [("created", "a.py")]


def test_renames_name_both_places() -> None:
    (fact,) = seen([bash("git mv src/a.py src/b.py")])
    assert (fact.action, fact.path, fact.renamed_from) == ("renamed", "src/b.py", "src/a.py")
    assert fact.source == "shell"


def test_what_a_patch_does_to_each_file() -> None:
    patch = (
        "*** Begin Patch\n*** Add File: new.py\n+def fresh():\n+    pass\n"
        "*** Update File: old.py\n@@\n-def gone():\n+def came():\n     pass\n"
        "*** Update File: from.py\n*** Move to: to.py\n@@\n-LIMIT = 1\n+LIMIT = 2\n"
        "*** Delete File: dead.py\n*** End Patch"
    )
    facts = seen([called("apply_patch", input=patch)])
    assert [(fact.action, fact.path, fact.what) for fact in facts] == [
        ("created", "new.py", "`fresh`"),
        ("modified", "old.py", "renames `gone` to `came`"),
        ("renamed", "to.py", "changes `LIMIT`"),
        ("deleted", "dead.py", ""),
    ]
    assert [(fact.added, fact.removed) for fact in facts] == [(2, 0), (1, 1), (1, 1), (0, 0)]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("sed -i 's/old/new/g' a.py", "by `sed -i s/old/new/g a.py`"),
        ("sed -i '' -e 's/old/new/' a.py", "by `sed -i -e s/old/new/ a.py`"),
        ("cat > a.py <<'EOF'\ndef hello():\n    pass\nEOF", "`hello`"),
        ("cat >> a.py <<'EOF'\ndef hello():\n    pass\nEOF", "puts in `hello`"),
        ("git checkout -- a.py", "restored from git"),
        ("git checkout --theirs a.py", "by `git checkout --theirs a.py`"),
        ("cp b.py a.py", "by `cp b.py a.py`"),
        ("gofmt -w a.go", "formatted by gofmt"),
        ("make list > a.txt", "output of `make list`"),
        ("python3 - <<'EOF'\nopen('a.py', 'w').write('x')\nEOF", "by a script"),
    ],
)
def test_what_a_command_did(line: str, what: str) -> None:
    (fact,) = seen([bash(line)])
    assert (fact.what, fact.source) == (what, "shell")


def test_a_script_written_and_run_in_one_line_changes_the_file_it_opens() -> None:
    line = (
        "cat > /tmp/fix.py <<'EOF'\np = 'src/a.ts'\ntext = open(p).read()\n"
        "open(p, 'w').write(text)\nEOF\npython3 /tmp/fix.py"
    )
    facts = seen([bash(line)])
    assert [(fact.action, fact.path, fact.scratch) for fact in facts] == [
        ("created", "/tmp/fix.py", True),
        ("modified", "src/a.ts", False),
    ]


@pytest.mark.parametrize(
    "line",
    ["gofmt -w .", "echo x > /dev/null", "sed -i s/a/b/ src/*.go", "touch 'x[1].py'", "git stash"],
)
def test_what_gives_no_row(line: str) -> None:
    assert pairs([bash(line)]) == []


def test_a_glob_that_is_removed_is_kept() -> None:
    assert pairs([bash("rm build/*.log")]) == [("deleted", "build/*.log")]


@pytest.mark.parametrize(
    ("path", "scratch"),
    [
        ("/tmp/x.py", True),
        ("/private/tmp/x.py", True),
        ("/home/me/.claude/plans/a-plan.md", True),
        ("~/.config/tool.json", False),
        ("/srv/shop/.git/config", True),
        ("/srv/shop/tmp/x.log", True),
        ("/srv/shop/src/a.py", False),
        ("src/template/a.py", False),
        ("/elsewhere/shop/src/a.py", False),
        ("/srv/thing/a.py", False),
    ],
)
def test_scratch_files_are_marked(path: str, scratch: bool) -> None:
    (fact,) = seen([write(path)])
    assert fact.scratch is scratch


def test_a_built_binary_is_scratch_until_it_is_gone() -> None:
    facts = seen([bash("go build -o shop ./cmd/shop")], [bash("rm ./shop")], [write("shop")])
    assert [(fact.action, fact.path, fact.scratch) for fact in facts] == [
        ("created", "shop", True),
        ("deleted", "shop", True),
        ("created", "shop", False),
    ]


def test_a_shell_that_stays_is_followed() -> None:
    assert pairs(
        [bash("cd web && npm test")],
        [bash("rm a.ts")],
        [bash("cd ../api; touch b.py")],
        [bash("touch c.py")],
    ) == [
        ("deleted", "web/a.ts"),
        ("created", "api/b.py"),
        ("created", "api/c.py"),
    ]


@pytest.mark.parametrize(
    "step",
    [
        bash("cd web && npm test", exit_code=1),
        bash("cd $DIR && npm test"),
        bash("(cd web && npm test)"),
        bash("cd web; ls", "bash: line 1: cd: web: No such file or directory\n"),
        bash("pushd web; ls; popd"),
        bash("cd /tmp && ls", "x\nShell cwd was reset to /srv/shop"),
        called("bash", "", command="cd web && ls"),
        called("Bash", "", command="cd web && npm start", run_in_background=True),
    ],
)
def test_a_shell_that_went_nowhere_for_certain_is_at_the_root(step: Step) -> None:
    assert pairs([step], [bash("rm a.ts")]) == [("deleted", "a.ts")]


def test_a_shell_that_was_put_back_is_where_the_client_says() -> None:
    back = bash("cd /tmp && ls", "x\nShell cwd was reset to /srv/shop")
    assert pairs([bash("cd web && ls")], [back], [bash("rm a.ts")]) == [("deleted", "a.ts")]


def test_the_folder_a_call_names_counts() -> None:
    step = called("shell", "", command=["bash", "-lc", "rm a.py"], workdir="/srv/shop/api")
    assert pairs([step]) == [("deleted", "api/a.py")]


def test_the_agents_sentence_about_the_change() -> None:
    says = "I looked at it.\n\nNow add a `retry` option to the client:"
    (fact,) = seen(turn(0, edit("client.py"), says=says))
    assert fact.said == "Now add a `retry` option to the client"


@pytest.mark.parametrize(
    "says",
    [
        "Let me check whether all updates use the new client:",
        "Let me fix it.",
        "Should I add another option to the client?",
        "Now update server.py to use the new client:",
        "",
    ],
)
def test_a_sentence_about_something_else_is_left_out(says: str) -> None:
    facts = seen(turn(0, edit("client.py"), edit("server.py"), says=says))
    assert facts[0].said == ""


@pytest.mark.parametrize(
    ("root", "written"),
    [
        (r"D:\work\app", (r"d:\work\app\src\a.py", "D:/Work/App/src/a.py", "/d/work/app/src/a.py")),
        (r"D:\work\app", ("/mnt/d/work/app/src/a.py", "/cygdrive/d/work/app/src/a.py", "src/a.py")),
        ("/mnt/c/me/app", (r"C:\me\app\src\a.py", "/c/me/app/src/a.py", "/mnt/c/me/app/src/a.py")),
        ("/me/app", ("/me/app/.claude/worktrees/x/src/a.py", "/me/app/.worktrees/y/src/a.py")),
        ("/me/app/.claude/worktrees/x", ("/me/app/src/a.py", "./src/a.py")),
        ("/var/folders/app", ("/private/var/folders/app/src/a.py", "src/a.py")),
    ],
)
def test_a_file_has_one_name_however_it_is_spelt(root: str, written: tuple[str, ...]) -> None:
    assert {Paths(root).name(one) for one in written} == {"src/a.py"}


def test_a_folder_of_one_letter_is_a_drive_on_windows_only() -> None:
    assert Paths("/me/app").name("/d/other/a.py") == "/d/other/a.py"
    assert Paths("D:/app").name("/e/other/a.py") == "E:/other/a.py"


# Changes of files that the conversation's own calls did not make.


def test_a_file_the_client_says_was_edited_outside() -> None:
    note = Note(kind="edited", text="/srv/shop/a.py\n12\tnew line")
    (fact,) = seen(turn(0, user="go on", notes=(note,)))
    assert (fact.path, fact.source, fact.by, fact.action) == ("a.py", "outside", "user", "modified")
    assert "new line" in fact.what


def test_other_notes_are_no_edits() -> None:
    assert seen(turn(0, notes=(Note(kind="instructions", text="/srv/shop/a.py\nrule"),))) == []


def agent(*turns_of_agent: Any) -> Transcript:
    return Transcript(format="x", turns=tuple(turns_of_agent), delegated_by="call-agent")


def delegated(**result: Any) -> Step:
    return (
        ToolCall(id="call-agent", tool="Task", parameters={"prompt": "do it"}),
        ToolResult(call_id="call-agent", **result),
    )


@pytest.mark.parametrize("refused", [False, True])
def test_what_a_sub_agent_did_stands_at_the_turn_that_started_it(refused: bool) -> None:
    inner = agent(turn(0, write("/srv/shop/a.py")), turn(1, edit("a.py", success=False)))
    setting = Setting(root=ROOT, agents={"call-agent": inner})
    own = replace(turn(7, delegated(success=not refused, refused=refused)), index=7)
    facts = seen(own, [write("a.py")], setting=setting)
    assert [(fact.turn, fact.action, fact.path, fact.source) for fact in facts] == [
        (7, "created", "a.py", "agent"),
        (1, "modified", "a.py", "tool"),
    ]


def test_a_sub_agent_that_starts_itself_ends() -> None:
    inner = agent(turn(0, write("a.py"), delegated()))
    setting = Setting(root=ROOT, agents={"call-agent": inner})
    assert 1 <= len(seen([delegated()], setting=setting)) <= 5


# Worktrees of one repository, wherever on the disk they are.

APART = "/elsewhere/x"
PORCELAIN = f"worktree {ROOT}\nHEAD 1a2b3c4\n\nworktree {APART}\nHEAD 5d6e7f8\n"
LISTED = f"{ROOT}  1a2b3c4 [main]\n{APART}  5d6e7f8 [fix]\n"


def moved(*roots: str) -> SessionFacts:
    return SessionFacts(changes=tuple(Change(turn=0, name="root", value=one) for one in roots))


@pytest.mark.parametrize(
    ("session", "told"),
    [
        (moved(ROOT), bash(f"git worktree add -b fix {APART}", "Preparing worktree")),
        (moved(ROOT), bash("git worktree add ../../elsewhere/x main")),
        (moved(ROOT), bash(f"cd /tmp && git -C {ROOT} worktree add {APART}")),
        (moved(ROOT), bash("git worktree list", LISTED)),
        (
            moved(ROOT),
            bash("git worktree list --porcelain", f"worktree {ROOT}\n\nworktree {APART}"),
        ),
        (moved(ROOT, APART), bash(f"git worktree add {APART} && cd {APART}")),
        (moved(ROOT, APART), bash("git worktree list", LISTED)),
    ],
)
def test_a_file_edited_in_two_worktrees_is_one(session: SessionFacts, told: Step) -> None:
    """Incident: a worktree elsewhere on the disk had a row of its own for each file."""
    turns = (
        turn(0, told),
        turn(1, edit(f"{APART}/src/a.py"), edit(f"{ROOT}/src/a.py"), bash(f"rm {APART}/b.py")),
        turn(2, bash(f"cd {APART} && rm src/c.py")),
    )
    facts = facts_of(Transcript(format="test", turns=turns, session=session))
    changed = [fact.path for fact in facts if isinstance(fact, FileChanged)]
    assert changed == ["src/a.py", "src/a.py", "b.py", "src/c.py"]


def test_a_worktree_of_another_repository_is_named_by_that() -> None:
    turns = (
        turn(0, bash("cd /srv/other && git worktree add ../apart")),
        turn(1, edit("/srv/apart/a.py"), edit("/srv/other/a.py"), edit("/srv/apartment/a.py")),
    )
    facts = facts_of(Transcript(format="test", turns=turns, session=moved(ROOT)))
    changed = [fact.path for fact in facts if isinstance(fact, FileChanged)]
    assert changed == ["/srv/other/a.py", "/srv/other/a.py", "/srv/apartment/a.py"]
