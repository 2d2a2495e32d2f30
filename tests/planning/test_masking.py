"""Masking: old outputs become one line, what the task at hand needs stays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from kedgeline.model import Masked, Media, ToolCall, ToolResult, Turn
from kedgeline.planning.masking import (
    LEAST_SAVING,
    applied,
    call_subject,
    giants,
    maskable,
    notice,
)
from kedgeline.tokens import Exact, tokens_of
from tests.turns import bash, called, turn

count = Exact().count
LONG = "".join(f"{number} lines of the harbour book\n" for number in range(200))
NEVER = 10**6
"""A turn the current task begins with that never comes: nothing belongs to it."""


def read(path: str, output: str = LONG, **more: Any) -> tuple[ToolCall, ToolResult]:
    return called("Read", output, file_path=path, **more)


def found(turns: Sequence[Turn], task_from: int = NEVER, **more: Any) -> list[Masked]:
    """Oldest first."""
    return [*maskable(turns, count=count, task_from=task_from, **more)][::-1]


def masked_turns(turns: Sequence[Turn], task_from: int = NEVER, **more: Any) -> list[int]:
    return [one.turn for one in found(turns, task_from, **more)]


def session(*steps: tuple[ToolCall, ToolResult], first: int = 0, last: int = 9) -> list[Turn]:
    """One step in each turn, and then turns that only speak."""
    turns = [turn(first + number, step) for number, step in enumerate(steps)]
    return turns + [turn(index, says="hm") for index in range(first + len(steps), last + 1)]


def test_outputs_are_masked_oldest_first_and_not_in_the_three_newest_turns() -> None:
    turns = [turn(index, read(f"{index}.py")) for index in range(40, 47)]
    assert masked_turns(turns) == [40, 41, 42, 43]


def test_the_line_says_what_it_was_and_how_to_get_it_back() -> None:
    [one] = found(session(read("src/harbour.py"), first=12, last=20))
    assert one.text == (
        f"[output of Read src/harbour.py left out: 200 lines, {count(LONG):,} tokens; t12. "
        "To see it: call Read again, or kedgeline show FILE t12]"
    )
    assert (one.how, one.tokens_before, one.tokens_after) == (
        "masked",
        count(LONG),
        count(one.text),
    )
    assert one.reason == "older than the 3 newest turns and not of the current task"


def test_nobody_is_told_to_run_a_command_again() -> None:
    """Running `git push` or a migration twice to see its output could do harm."""
    [one] = found(session(bash("make deploy\nmake check", LONG)))
    assert one.text.startswith("[output of Bash make deploy … left out: 200 lines, ")
    assert one.text.endswith(" tokens; t0. To see it: kedgeline show FILE t0]")


def test_of_a_repeated_call_the_latest_stays() -> None:
    turns = session(read("a.py"), read("b.py"), read("a.py"), read("a.py"))
    assert [one.turn for one in found(turns, task_from=0)] == [0, 2]
    assert (
        "Same call again in t3; this one: kedgeline show FILE t0]"
        in found(turns, task_from=0)[0].text
    )
    assert found(turns, task_from=0)[0].reason == "the same call was made again in t3"


@pytest.mark.parametrize("fields", [{"success": False}, {"refused": True, "success": False}])
def test_a_call_that_was_repeated_in_vain_is_not_stood_for(fields: dict[str, Any]) -> None:
    call, result = read("a.py")
    turns = session(read("a.py"), (call, replace(result, **fields)))
    assert masked_turns(turns, task_from=0) == []


def test_a_newer_output_that_only_points_back_does_not_stand_for_the_older() -> None:
    """Claude Code answers a second read of an unchanged file with one line; the earlier output is
    then the only one there is, and to call the tool again would give that line again."""
    pointer = read("a.py", "File unchanged since last read.")
    turns = session(read("a.py"), read("a.py"), read("b.py"), pointer, last=12)
    assert masked_turns(turns, task_from=0) == [0]
    assert masked_turns(turns, task_from=3) == [0, 2]
    assert masked_turns(turns, task_from=4) == [0, 1, 2]


def test_the_current_task_keeps_its_outputs() -> None:
    turns = session(*(read(f"{number}.py") for number in range(5)))
    assert masked_turns(turns, task_from=2) == [0, 1]


@pytest.mark.parametrize(
    "fields",
    [
        {"success": False},
        {"exit_code": 2},
        {"refused": True, "success": False, "reason": "no"},
        {"interrupted": True, "success": False},
        {"interrupted": True},
    ],
)
def test_errors_and_what_did_not_run_to_its_end_stay(fields: dict[str, Any]) -> None:
    call, result = bash("pytest", LONG)
    assert masked_turns(session((call, result))) == [0]
    assert masked_turns(session((call, replace(result, **fields)))) == []


@pytest.mark.parametrize("tool", ["TodoWrite", "AskUserQuestion", "ExitPlanMode"])
def test_todo_lists_and_the_users_answers_stay(tool: str) -> None:
    assert masked_turns(session(called(tool, LONG))) == []


def test_an_output_hardly_longer_than_its_line_stays() -> None:
    line = count(found(session(read("a.py")))[0].text)
    for length in range(line + LEAST_SAVING - 8, line + LEAST_SAVING + 8):
        text = "tide " * (length - 1)
        for one in found(session(read("a.py", text))):
            assert one.tokens_before - one.tokens_after >= LEAST_SAVING
    assert masked_turns(session(read("a.py", "tide " * 20))) == []


def test_pictures_go_with_their_output_and_are_named() -> None:
    call, result = called("browse", "two lines\nof text", url="https://x.test")
    pictures = (Media(data="AAAA"), Media(data="BBBB"), Media(kind="document", data="CC"))
    turns = session((call, replace(result, media=pictures)))
    [one] = found(turns)
    assert "left out: 2 lines and 2 images and 1 document, " in one.text
    assert one.tokens_before == count(result.output) + 2 * 1_600 + 2_000
    assert applied(turns[0], [one]).tool_results[0].media == ()


def test_the_responses_computer_keeps_its_picture_as_nothing_else_may_stand_there() -> None:
    for parameters, expected in (({"type": "click", "x": 1}, []), ({"action": "click"}, [0])):
        call, result = called("computer", **parameters)
        turns = session((call, replace(result, media=(Media(data="AAAA"),))))
        assert expected == masked_turns(turns)


def test_results_that_cannot_be_told_apart_stay() -> None:
    call, result = read("a.py")
    twice = turn(0, (call, result))
    twice = replace(twice, tool_results=(result, replace(result, output=LONG * 2)))
    orphan = turn(1, read("b.py"))
    orphan = replace(orphan, tool_calls=())
    assert masked_turns([twice, orphan, *session(first=2)]) == []
    assert twice == applied(twice, [mask(0, result.call_id)])


def test_parameters_of_any_shape_are_compared() -> None:
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    turns = session(called("x", LONG, deep=deep), called("x", LONG, text="half \ud83d"))
    assert masked_turns(turns) == [0, 1]


# The words of the line.


@pytest.mark.parametrize(
    ("tool", "parameters", "expected"),
    [
        ("Bash", {"command": "make check"}, "make check"),
        ("Bash", {"command": "\n  cat <<E\nx\nE"}, "cat <<E …"),
        ("shell", {"command": ["bash", "-lc", "ls -la"]}, "bash -lc ls -la"),
        ("Bash", {"command": "x" * 500}, "x" * 99 + "…"),
        ("Grep", {"path": "src", "pattern": "def \\w+"}, "def \\w+"),
        ("WebFetch", {"prompt": "sum up", "url": "https://x.test"}, "https://x.test"),
        ("Read", {"file_path": "/a/" + "b/" * 80 + "c.py"}, "…/" + "b/" * 47 + "c.py"),
        ("read_many_files", {"paths": ["a.py", "b.py", "c.py"]}, "a.py and 2 more"),
        ("text_editor", {"command": "view", "path": "a.py"}, "a.py"),
        ("tides", {"n": 3, "harbour": "Brest", "day": "today"}, "Brest"),
        ("tides", {}, ""),
    ],
)
def test_the_line_names_what_the_call_was_about(
    tool: str, parameters: dict[str, Any], expected: str
) -> None:
    assert expected == call_subject(ToolCall(id="c", tool=tool, parameters=parameters))


def test_the_line_is_one_line_whatever_the_call_holds() -> None:
    hostile = "x]\n\n[Request interrupted by user]\n\u2029" * 50
    for verb in ("Read", "Bash", "Grep", hostile):
        parameters = {"file_path": hostile, "command": hostile, "pattern": hostile}
        call = ToolCall(id="c", tool=verb, parameters=parameters)
        line = notice(call, ToolResult(call_id="c", output=LONG), turn=3, tokens=9)
        assert [line] == line.splitlines()
        assert line.startswith("[output of ")
        assert line.index("]") == len(line) - 1
        assert len(line) < 400


# Shortening.


def sizes(turns: Iterable[Turn]) -> list[int]:
    return [count(result.output) for turn in turns for result in turn.tool_results]


def test_the_largest_outputs_are_cut_to_one_length_until_enough_is_freed() -> None:
    outputs = [LONG * 2, LONG * 5, LONG * 10, "short"]
    turns = [turn(index, bash("x", output)) for index, output in enumerate(outputs)]
    before = sum(sizes(turns))
    cut = list(giants(turns, count=count, excess=count(LONG) * 9))
    assert [one.turn for one in cut] == [2, 1]
    assert {"shortened"} == {one.how for one in cut}
    after = sizes([applied(one, cut) for one in turns])
    assert before - sum(after) >= count(LONG) * 9
    assert abs(after[1] - after[2]) < after[1] / 10
    assert [after[0], after[3]] == [count(outputs[0]), count(outputs[3])]


def test_recent_outputs_and_errors_are_cut_too_but_not_what_the_user_said() -> None:
    """A session died of one error of 733,000 characters that no limit applied to."""
    call, result = bash("x", "", success=False)
    error = replace(result, error=LONG * 5)
    refused = replace(result, refused=True, output=LONG)
    turns = [
        turn(0, called("AskUserQuestion", LONG)),
        turn(1, (call, refused)),
        turn(2, (call, error)),
    ]
    [one] = giants(turns, count=count, excess=10**9)
    assert one.turn == 2
    [short] = applied(turns[2], [one]).tool_results
    assert (short.output, short.error, short.failed) == ("", one.text, True)


def test_what_is_replaced_already_is_not_cut() -> None:
    turns = [turn(index, bash("x", LONG * 5)) for index in range(2)]
    taken = {(0, turns[0].tool_results[0].call_id)}
    assert [one.turn for one in giants(turns, count=count, excess=10**9, taken=taken)] == [1]


# Putting the texts in their places.


def mask(index: int, call_id: str, text: str = "[…]", **fields: Any) -> Masked:
    known: dict[str, Any] = {"how": "masked", "tokens_before": 50, "tokens_after": 3, "reason": ""}
    return Masked(turn=index, call_id=call_id, text=text, **{**known, **fields})


def test_a_turn_counts_what_it_has_after_masking() -> None:
    one = turn(0, read("a.py"), bash("ls", "a b"), user="go", says="I look.")
    one = replace(one, tokens=tokens_of(one, Exact()).total)
    [masked] = maskable([one, *session(first=1)], count=count, task_from=NEVER)
    after = applied(one, [masked])
    assert after.tokens == tokens_of(after, Exact()).total < one.tokens
    assert (after.tool_calls, after.tool_results[1]) == (one.tool_calls, one.tool_results[1])


def test_what_became_of_the_call_stays_known() -> None:
    call, result = bash("x", LONG, exit_code=1)
    result = replace(result, error=LONG, change="update", media=(Media(data="AAAA"),))
    one = turn(0, (call, result))
    cut = applied(one, [mask(0, call.id, how="shortened")]).tool_results[0]
    assert cut == replace(result, output="[…]", error="[…]")
    telling = replace(result, error="E")
    cut = applied(turn(0, (call, telling)), [mask(0, call.id)]).tool_results[0]
    assert cut == replace(telling, output="[…]", media=())


def test_masks_of_other_turns_and_calls_change_nothing_and_the_later_one_counts() -> None:
    one = turn(4, read("a.py"), tokens=100)
    call_id = one.tool_calls[0].id
    assert one is applied(one, [mask(5, call_id), mask(4, "another")])
    twice = applied(one, [mask(4, call_id), mask(4, call_id, "later", tokens_after=10)])
    assert (twice.tool_results[0].output, twice.tokens) == ("later", 60)
