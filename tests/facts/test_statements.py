"""What was said, cut into statements: nothing is lost on the way and nothing is put in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kedgeline.facts import facts_of
from kedgeline.facts.extractor import Setting
from kedgeline.facts.statements import AnswerExtractor, pieces_of
from kedgeline.model import Called, Note, Stated, ToolCall, ToolResult, Transcript, Turn
from tests.facts.speaking import told_by
from tests.turns import bash, called, turn

ANSWER = """I found it. The lock in `a.go`, e.g. at line 5, is stale since v1.2.3.

## Findings
There are two problems:
1. **First**: the lock is never removed
   after a crash
2. Second:
   - the reader waits
   - the writer does not

| File | What |
|---|---|
| a.go | adds `Unlock` |

```go
func Unlock() {}
```
Now let me fix it:"""

lines = st.sampled_from(
    (
        "One sentence. Another one!",
        "- an item",
        "  - a deeper item",
        "3) a number",
        "Leads to:",
        "# A heading",
        "**Bold heading**",
        "| a cell | another |",
        "|---|---|",
        "```",
        "x = 1.",
        "",
        "words that go on",
        "語りました。次です。",
    )
)


def letters(text: str) -> str:
    return "".join(character for character in text if character.isalnum())


def of(*turns: Turn) -> list[Stated]:
    return [
        fact
        for fact in facts_of(Transcript(format="x", turns=turns))
        if isinstance(fact, Stated) and fact.where != "said"
    ]


def calls(*turns: Turn, root: str = "") -> list[Called]:
    from kedgeline.model import Change, SessionFacts

    session = SessionFacts((Change(turn=0, name="root", value=root),)) if root else SessionFacts()
    found = facts_of(Transcript(format="x", turns=turns, session=session))
    return [fact for fact in found if isinstance(fact, Called)]


def test_sentences_items_rows_and_code_each_with_what_introduces_them() -> None:
    assert [(piece.text, piece.head) for piece in pieces_of(ANSWER)] == [
        ("I found it.", ""),
        ("The lock in `a.go`, e.g. at line 5, is stale since v1.2.3.", ""),
        ("First: the lock is never removed after a crash", "There are two problems:"),
        ("the reader waits", "Second:"),
        ("the writer does not", "Second:"),
        ("a.go | adds `Unlock`", "Findings"),
        ("func Unlock() {}", "Findings"),
        ("Now let me fix it:", "Findings"),
    ]


@given(st.lists(lines, max_size=14).map("\n".join))
def test_every_piece_was_said_and_all_that_was_said_stands_in_a_piece(text: str) -> None:
    pieces = list(pieces_of(text))
    whole = letters(text)
    assert all(letters(piece.text) in whole for piece in pieces)
    told = "".join(letters(f"{piece.head}{piece.text}") for piece in pieces)
    for sentence in ("Another one", "an item", "a deeper item", "a number", "Leads to"):
        assert letters(sentence) not in whole or letters(sentence) in told


def test_where_it_stood_is_known() -> None:
    found = of(
        turn(0, bash("ls"), user="Look", says="Let me look at the folder first."),
        turn(1, says="The folder holds three files."),
        turn(2, thinking="Perhaps the fourth file is hidden.", says=""),
    )
    assert [(one.turn, one.where) for one in found] == [
        (0, "narration"),
        (1, "answer"),
        (2, "thought"),
    ]


def test_what_a_sub_agent_reports_is_stated_and_what_a_tool_prints_is_not() -> None:
    report = called("Task", "The cache is never cleared.\n", description="look", prompt="Look")
    printed = bash("cat notes.txt", "The cache is always cleared.")
    found = of(turn(0, report, user="Look"), turn(1, printed))
    assert [(one.where, one.text) for one in found] == [("report", "The cache is never cleared.")]


def test_reasons_for_refusing_are_the_user_s_words() -> None:
    refused = Turn(
        index=0,
        user_message="Go",
        tool_calls=(ToolCall(id="c", tool="Bash", parameters={"command": "rm x"}),),
        tool_results=(
            ToolResult(call_id="c", success=False, refused=True, reason="keep the old file"),
        ),
    )
    (reason,) = of(refused)
    assert (reason.by, reason.where, reason.text) == ("user", "refusal", "keep the old file")


def test_a_summary_of_ours_is_not_said_again() -> None:
    ours = Note(
        kind="summary", text="<kedgeline-summary>\nThe lock is stale.\n</kedgeline-summary>"
    )
    words = "Earlier, the agent fixed the lock."
    client = "This session is being continued from a previous conversation. More below.\n\n"
    for said in (words, client + words):
        theirs = Note(kind="summary", text=said)
        assert [one.text for one in of(turn(0, user="Go", notes=(ours, theirs)))] == [words]


def test_calls_are_told_in_words_with_what_came_of_them() -> None:
    changed = called(
        "Edit",
        "updated",
        file_path="/home/jo/app/src/lock.py",
        old_string="def free(lock):\n    lock.drop()",
        new_string="def free(lock):\n    lock.release()",
    )
    ran = bash("pytest -q /home/jo/app/tests", "9 passed in 0.2s")
    failed = bash("make", "make: *** No rule", exit_code=2)
    told = calls(turn(0, changed, ran, failed, user="Go"), root="/home/jo/app")
    assert [(one.kind, one.what, one.path, one.state) for one in told] == [
        ("edit", "edited", "src/lock.py", ""),
        ("run", "ran `pytest -q tests`", "", ""),
        ("run", "ran `make`", "", "failed"),
    ]
    assert told[0].came == "`lock.release()` instead of `lock.drop()`"
    assert told[1].came == "9 passed in 0.2s"


def test_a_file_that_was_read_is_told_with_its_lines() -> None:
    text = "\n".join(f"{n}\tline {n} of the file" for n in range(1, 80))
    whole = called("Read", text, file_path="a.py")
    part = called("Read", text[:200], file_path="a.py", offset=1, limit=8)
    first, second = calls(turn(0, whole, part, user="Read"))
    assert (first.about, first.came) == ("", text.replace("\t", "→"))
    assert second.about == ":1-8"
    assert second.came.startswith("1→line 1 of the file")


def test_a_call_without_a_result_waits() -> None:
    call = ToolCall(id="c", tool="Bash", parameters={"command": "make test"})
    (told,) = calls(Turn(index=0, user_message="Go", tool_calls=(call,)))
    assert (told.what, told.state) == ("ran `make test`", "waiting")


def test_an_answer_that_announces_a_call_closes_nothing() -> None:
    cut_off = turn(0, says="The imports are missing. Need to add `os` and `sys`.")
    assert told_by(AnswerExtractor(Setting()), cut_off) == []


def test_an_answer_that_calls_nothing_closes_and_one_that_asks_does_not() -> None:
    turns = (turn(0, bash("make"), says="I run it."), turn(1, says="It works. Which one now?"))
    found = told_by(AnswerExtractor(Setting()), *turns)
    assert [(fact.turn, fact.text, fact.asks) for fact in found] == [
        (1, "It works. Which one now?", True)
    ]
