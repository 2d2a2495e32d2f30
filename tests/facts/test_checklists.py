"""Check lists in the plan-like files an agent writes."""

from __future__ import annotations

from kedgeline.facts.extractor import Setting
from kedgeline.facts.todos import FILES, TodoExtractor
from kedgeline.model import TodoSet, Turn
from tests.facts.todo_calls import seen
from tests.turns import called, turn


def todos(*turns: Turn, root: str = "") -> list[TodoSet]:
    return seen(TodoExtractor(Setting(root=root)), *turns)


def told(*turns: Turn) -> list[tuple[int, str, str]]:
    return [(fact.turn, fact.text, fact.status) for fact in todos(*turns)]


def test_a_check_list_in_a_plan_like_file_is_followed():
    facts = todos(
        turn(0, called("Write", "created", file_path="/r/TODO.md", content="- [ ] a\n- [x] b\n")),
        turn(
            1,
            called(
                "Edit", "ok", file_path="/r/TODO.md", old_string="- [ ] a", new_string="- [x] a"
            ),
        ),
        turn(2, called("Write", "updated", file_path="/r/TODO.md", content="- [ ] c\n")),
        root="/r",
    )

    assert [(f.turn, f.text, f.status, f.key) for f in facts] == [
        (0, "a", "pending", "TODO.md: a"),
        (0, "b", "completed", "TODO.md: b"),
        (1, "a", "completed", "TODO.md: a"),
        (2, "c", "pending", "TODO.md: c"),
    ]
    assert {fact.source for fact in facts} == {"checklist"}


def test_an_item_that_an_edit_takes_out_is_dropped():
    given = {"file_path": "tasks.md", "old_string": "- [ ] a\n- [ ] b", "new_string": "- [ ] b"}

    assert told(turn(0, called("Edit", "ok", **given)))[0] == (0, "a", "dropped")


def test_a_patch_leaves_alone_what_it_does_not_name():
    written = called("Write", "ok", file_path="plan.md", content="- [ ] a\n- [ ] b")
    patch = "*** Begin Patch\n*** Update File: plan.md\n-- [ ] a\n+- [x] a\n*** End Patch"

    assert told(turn(0, written), turn(1, called("apply_patch", "ok", input=patch)))[2:] == [
        (1, "a", "completed")
    ]


def test_a_patch_changes_check_lists_of_its_plan_files_only():
    patch = (
        "*** Begin Patch\n*** Update File: plan.md\n-- [ ] a\n+- [x] a\n"
        "*** Add File: notes.md\n+- [ ] z\n*** End Patch"
    )

    assert told(turn(0, called("apply_patch", "ok", input=patch))) == [(0, "a", "completed")]


def test_a_check_list_elsewhere_is_no_plan():
    written = called("Write", "created", file_path="docs/readme.md", content="- [ ] a")
    failed = called("Write", "no", success=False, file_path="todo.md", content="- [ ] a")

    assert told(turn(0, written), turn(1, failed)) == []


def test_the_list_written_longest_ago_is_forgotten():
    def written(index: int, name: str) -> Turn:
        return turn(index, called("Write", "ok", file_path=f"{name}/todo.md", content="- [ ] a"))

    first = [written(index, f"f{index}") for index in range(FILES + 1)]

    assert told(*first, written(FILES + 1, "f1")) == told(*first)
    assert told(*first, written(FILES + 1, "f0"))[-1] == (FILES + 1, "a", "pending")
