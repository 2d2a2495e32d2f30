"""aider's chat histories: nothing marks the assistant, so everything else must be told from it."""

from __future__ import annotations

import pytest

from kedgeline.formats.agents.aider import FORMAT
from kedgeline.formats.registry import FileHead
from kedgeline.model import Note, Usage
from kedgeline.pipeline.read import read as read_transcript
from tests.formats.aider_history import ENVIRONMENT, START, answer, console, edit, read, user


def test_lines_of_the_user_are_one_message_and_the_rest_is_told_apart() -> None:
    turns, log = read(
        START,
        ENVIRONMENT,
        user("rename it", "", "please"),
        answer("I would rename it so:\n\n- first\n- then"),
        console("Tokens: 5.2k sent, 233 received. Cost: $0.02 request, $0.02 session."),
        user("thanks"),
        answer("Gladly."),
    )
    assert [turn.user_message for turn in turns] == ["rename it\n\nplease", "thanks"]
    assert turns[0].assistant_response == "I would rename it so:\n\n- first\n- then"
    assert (turns[0].usage, turns[0].model) == (Usage(input=5200, output=233), "m-1")
    assert [note.kind for note in turns[0].notes] == ["environment"]
    facts = {change.name: change.value for change in log.changes}
    assert facts == {"start": "2031-02-03 19:04:05", "client": "aider v0.50.0", "model": "m-1"}
    assert log.damage == []


def test_headings_and_quotations_of_the_assistants_are_the_assistants() -> None:
    """A model must not speak as the user, nor as the console."""
    text = "#### Plan\n\n> quoted\n\n```markdown\n#### delete everything\n> Applied edit to x\n```"
    turns, log = read(START, ENVIRONMENT, user("go"), answer(text), user("ok"))
    assert turns[0].assistant_response == text
    assert (turns[0].tool_calls, log.pending[0, ""].user_message) == ((), "ok")


def test_an_interrupted_answer_does_not_swallow_the_user() -> None:
    """Its fence and its edit are never closed."""
    torn = "a.py\n```python\n<<<<<<< SEARCH\n1\n=======\n#### heading"
    turns, log = read(START, user("go"), console("", "^C again to exit"), answer(torn), user("no"))
    assert turns[0].assistant_response == torn
    assert [note.kind for note in turns[0].notes] == ["interruption"]
    assert log.pending[0, ""].user_message == "no"
    turns, log = read(START, user("go"), answer(torn), console("^C KeyboardInterrupt"))
    assert turns[0].assistant_response == torn
    assert [note.kind for note in log.pending[0, ""].notes] == ["interruption"]


def test_an_unclosed_edit_ends_with_the_session() -> None:
    turns, log = read(START, user("go"), answer("```\nx"), START, console("Aider v1"), user("hi"))
    assert turns[0].assistant_response == "```\nx"
    assert log.pending[0, ""].user_message == "hi"


def test_only_the_first_line_of_a_console_message_is_marked() -> None:
    """The output of a test run must become neither the assistant's words nor an edit."""
    output = (
        "> ===== test session starts =====\n    def test():\n    \n    x = 1\n>       assert x\n"
        "<<<<<<< SEARCH\n1\n=======\n2\n>>>>>>> REPLACE\n===== 1 failed =====  \n"
    )
    turns, _ = read(START, user("/test pytest a.py"), output, answer("I see."))
    assert [turn.assistant_response for turn in turns] == ["I see."]
    kinds = [(note.kind, note.text[-10:]) for note in turns[0].notes]
    assert kinds == [("shell", "ytest a.py"), ("shell_output", "iled =====")]


@pytest.mark.parametrize(
    ("typed", "words", "kinds"),
    [
        ("/diff", "", ["command"]),
        ("/run pytest", "", ["shell"]),
        ("!ls", "", ["shell"]),
        ("/git status", "", ["shell"]),
        ("/ask why?", "why?", []),
        ("/architect plan it", "plan it", []),
        ("/code do it", "do it", []),
        ("/commit", "", ["command"]),
        ("<blank>", "", []),
        ("# Fix any errors below, if possible.", "", ["injected"]),
        ("Add a.py? (Y)es/(N)o/(A)ll/(S)kip all [Yes]: all", "", ["injected"]),
        ("<system-reminder>x</system-reminder>", "", ["injected"]),
    ],
)
def test_only_what_the_user_wrote_is_the_users(typed: str, words: str, kinds: list[str]) -> None:
    turns, _ = read(START, user(typed), answer("Yes."))
    assert turns[0].user_message == words
    assert [note.kind for note in turns[0].notes] == kinds


def test_words_of_a_command_that_aider_repeats_are_said_once() -> None:
    turns, _ = read(START, user("/ask why?"), user(" why?"), answer("Because."), user("why?"))
    assert turns[0].user_message == "why?"


def test_the_output_of_a_command_is_a_note_and_a_new_model_a_fact() -> None:
    turns, log = read(
        START,
        user("/model m-9"),
        console("Aider v1.0", "Main model: m-9 with diff edit format"),
        user("hi"),
        answer("Hi."),
    )
    assert [note.kind for note in turns[0].notes] == ["command", "command_output"]
    assert (turns[0].model, log.facts().latest("client")) == ("m-9", "aider v1.0")


def test_a_failed_request_is_a_note_of_its_own() -> None:
    _, log = read(START, user("hi"), console("Unexpected error: overloaded"))
    assert log.pending[0, ""].notes == (Note(kind="failure", text="Unexpected error: overloaded"),)


PAGE = """---
parent: Examples
---

# Greeting

#### Not a chat yet

<div class="chat-transcript" markdown="1">

> $ aider greet.py  

#### greet in French

```python
greet.py
<<<<<<< ORIGINAL
</div>
=======
<p>
>>>>>>> UPDATED
```

> Applied edit to greet.py

</div>
And some words.
<div class="chat-transcript" markdown="1">
#### /run python greet.py

> bonjour

</div>
"""


@pytest.mark.parametrize("page", [PAGE, "# Greeting\n\nWords.\n\n" + PAGE[PAGE.index("<div") :]])
def test_of_a_web_page_only_the_chat_is_read(page: str) -> None:
    """Pages are edited by hand: no line end can be relied on."""
    transcript = read_transcript(page.encode(), format="aider")
    turn, rest = transcript.turns[0], transcript.pending
    assert (turn.user_message, turn.assistant_response) == ("greet in French", "")
    assert turn.notes == (Note(kind="environment", text="$ aider greet.py"),)
    assert turn.tool_calls[0].parameters["search"] == "</div>\n"
    assert turn.tool_results[0].success
    assert rest is not None
    assert [note.kind for note in rest.notes] == ["shell", "shell_output"]


def test_turns_go_on_across_starts_and_know_their_lines() -> None:
    later = START.replace("19:", "20:")
    parts = (START, user("one"), answer("1\n\nend"), later, user("two"), answer("2"))
    turns, log = read("-*- mode: fundamental -*-\n", *parts)
    lines = ("-*- mode: fundamental -*-\n" + "".join(parts)).encode().splitlines(keepends=True)
    assert [(turn.index, turn.exchange) for turn in turns] == [(0, 0), (1, 1)]
    assert [lines[turn.source.first] for turn in turns] == [b"#### one  \n", b"#### two  \n"]
    assert [lines[turn.source.last] for turn in turns] == [b"end\n", b"2\n"]
    starts = [(change.turn, change.value[-8:]) for change in log.changes]
    assert starts == [(0, "19:04:05"), (1, "20:04:05")]


def test_a_history_that_begins_in_an_answer_begins_with_it() -> None:
    turns, _ = read("so that is it.\n", console("Tokens: 10 sent, 2 received."), user("ok"))
    assert (turns[0].assistant_response, turns[0].usage) == (
        "so that is it.",
        Usage(input=10, output=2),
    )


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        (START + user("hi"), 3),
        (START + console("Aider v1"), 3),
        (PAGE, 2),
        (user("hi") + console("Tokens: 1 sent"), 2),
        ("# Readme\n\n#### Install\n\n> Note: read this\n", 0),
        ("# Readme\n\n#### Install\n\n> Note: read this  \n", 0),
        ("#### hi  \n\n> Stripped here\n", 1),
        ("#### hi\n\nYes.\n\n> Tokens: 10 sent, 2 received.\n", 1),
        ("#### hi\n\nYes.\n\n> Applied edit to a.py\n", 1),
        ("# Readme\n\n#### Install\n\nwith pip\n", 0),
        ("# aider chat started at noon\n", 0),
        ('{"text": "\\n#### hi\\n> x"}', 0),
    ],
)
def test_how_sure_the_content_makes_it(text: str, sure: int) -> None:
    assert FORMAT.sniff(FileHead(text.encode())) == sure


# Edits in aider's answers: which were asked for, and which the console says were applied.


def test_an_edit_block_is_a_call_and_what_the_console_says_its_result() -> None:
    turns, _ = read(
        START,
        user("fix it"),
        answer("So:\n\n" + edit("src/app.py", "a = 1\n", "a = 2\n") + "\n\nThat is all."),
        console("Tokens: 1,234 sent, 56 received.", "Applied edit to src/app.py"),
        console("Commit abc1234 fix: it", "You can use /undo to revert commit abc1234."),
    )
    call, result = turns[0].tool_calls[0], turns[0].tool_results[0]
    assert (call.tool, call.verb) == ("edit_block", "edit")
    assert call.parameters == {"path": "src/app.py", "search": "a = 1\n", "replace": "a = 2\n"}
    assert [turn.assistant_response for turn in turns] == ["So:", "That is all."]
    assert (result.success, "Commit abc1234 fix: it" in result.output) == (True, True)
    assert turns[0].usage == Usage(input=1234, output=56)


@pytest.mark.parametrize(
    ("said", "turns"),
    [("Applied", [("", 1), ("It is fixed.", 0)]), ("Failed to apply", [("It is fixed.", 1)])],
)
def test_what_is_said_behind_edits_that_were_applied_closes_the_request(
    said: str, turns: list[tuple[str, int]]
) -> None:
    """Every answer with an edit passed for one that goes on, and Next Steps asked for its end."""
    words = answer(edit("a.py", "1\n", "2\n") + "\n\nIt is fixed.")
    found, _ = read(START, user("fix it"), words, console(f"{said} edit to a.py"))
    assert [(turn.assistant_response, len(turn.tool_calls)) for turn in found] == turns


def test_older_blocks_have_their_file_inside_the_fence_and_a_line_each() -> None:
    words = ("ORIGINAL", "UPDATED")
    one, two = (edit("a.py", f"{n}\n", f"{n}{n}\n", words=words) for n in "12")
    turns, _ = read(
        user("go"),
        answer(f"{one}\n\n{two}"),
        console("Applied edit to a.py", "Failed to apply edit to a.py"),
    )
    assert [call.parameters["path"] for call in turns[0].tool_calls] == ["a.py", "a.py"]
    assert [result.success for result in turns[0].tool_results] == [True, False]
    assert turns[0].assistant_response == ""


def test_one_line_a_file_tells_of_all_its_blocks() -> None:
    blocks = edit("a.py", "1\n", "2\n") + "\n\n" + edit("a.py", "3\n", "4\n")
    turns, _ = read(START, user("go"), answer(blocks), console("Applied edit to a.py", "Commit 1"))
    outputs = [result.output for result in turns[0].tool_results]
    assert outputs == ["Applied edit to a.py", "Applied edit to a.py\nCommit 1"]
    assert [result.success for result in turns[0].tool_results] == [True, True]


def test_a_block_that_did_not_match_failed_and_the_others_did_not() -> None:
    """The console repeats the block, without its indentation; it is no second edit."""
    blocks = edit("a.py", "    x = 1\n", "x = 2\n") + "\n\n" + edit("b.py", "y\n", "z\n")
    turns, _ = read(
        START,
        user("go"),
        answer(blocks),
        console(
            "The LLM did not conform to the edit format.",
            "# 1 SEARCH/REPLACE block failed to match!",
            "",
            "## SearchReplaceNoExactMatch: This SEARCH block failed to exactly match lines in a.py",
            "<<<<<<< SEARCH",
            "x = 1",
            "=======",
            "x = 2",
            ">>>>>>> REPLACE",
            "",
            "# The other 1 SEARCH/REPLACE block were applied successfully.",
        ),
        answer("Again."),
    )
    assert [len(turn.tool_calls) for turn in turns] == [2, 0]
    assert [result.success for result in turns[0].tool_results] == [False, True]
    assert "SearchReplaceNoExactMatch" in (turns[0].tool_results[0].error or "")
    assert (turns[1].previous_error, turns[1].user_message) == (True, "")


def test_a_malformed_answer_changes_nothing() -> None:
    turns, _ = read(
        START,
        user("go"),
        answer(edit("a.py", "1\n", "2\n") + "\n\nb.py\n```\n<<<<<<< SEARCH\n1\n```"),
        console("The LLM did not conform to the edit format.", "^^^ Expected `=======`"),
    )
    assert [result.success for result in turns[0].tool_results] == [False]


def test_an_edit_the_user_did_not_allow_is_refused() -> None:
    turns, _ = read(
        START,
        user("go"),
        answer(edit("a.py", "1\n", "2\n")),
        console("Allow edits to a.py which was not previously added to chat? n"),
        console("Skipping edits to a.py"),
    )
    assert [(r.refused, r.failed) for r in turns[0].tool_results] == [(True, False)]


def test_a_created_file_is_reported_as_created_and_under_its_full_path() -> None:
    turns, _ = read(
        START,
        user("go"),
        answer(edit("new.py", "", "1\n")),
        console("Allow creation of new file src/new.py? y", "Applied edit to src/new.py"),
    )
    assert turns[0].tool_calls[0].paths() == ("src/new.py",)
    assert turns[0].tool_results[0].change == "create"


def test_a_file_changed_without_a_block_is_still_known() -> None:
    """Whole-file answers hold no block; the console says what they changed."""
    turns, _ = read(START, user("go"), answer("a.py\n```\n1\n```"), console("Applied edit to a.py"))
    assert [call.paths() for call in turns[0].tool_calls] == [("a.py",)]
    assert [turn.assistant_response for turn in turns] == ["", "a.py\n```\n1\n```"]


def test_an_edit_nothing_is_said_about_has_no_result() -> None:
    turns, log = read(START, user("go"), answer(edit("a.py", "1\n", "2\n")), user("wait"))
    assert turns[0].tool_results == ()
    assert log.pending[0, ""].user_message == "wait"


def test_fences_may_be_tags() -> None:
    """Where the file itself holds backticks, aider has the assistant use tags."""
    block = "a.md\n<source>markdown\n<<<<<<< SEARCH\n```\n=======\n````\n>>>>>>> REPLACE\n</source>"
    turns, _ = read(START, user("go"), answer(block), console("Applied edit to a.md"))
    assert turns[0].tool_calls[0].parameters == {
        "path": "a.md",
        "search": "```\n",
        "replace": "````\n",
    }
    assert turns[0].assistant_response == ""
