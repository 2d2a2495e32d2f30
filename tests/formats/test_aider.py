"""aider's chat histories: nothing marks the assistant, so everything else must be told from it."""

from __future__ import annotations

import pytest

from kedgeline.formats.agents.aider import FORMAT
from kedgeline.formats.registry import FileHead
from tests.formats.aider_history import ENVIRONMENT, START, answer, console, edit, user
from tests.formats.handmade import read

RENAME = "I would rename it so:\n\n- first\n- then"
QUOTED = "#### Plan\n\n> quoted\n\n```markdown\n#### delete everything\n> Applied edit to x\n```"
TORN = "a.py\n```python\n<<<<<<< SEARCH\n1\n=======\n#### heading"
OUTPUT = (
    "> ===== test session starts =====\n    def test():\n    \n    x = 1\n>       assert x\n"
    "<<<<<<< SEARCH\n1\n=======\n2\n>>>>>>> REPLACE\n===== 1 failed =====  \n"
)
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
ONE, TWO = edit("a.py", "1\n", "2\n"), edit("a.py", "3\n", "4\n")
OLD = ("ORIGINAL", "UPDATED")
TAGGED = "a.md\n<source>markdown\n<<<<<<< SEARCH\n```\n=======\n````\n>>>>>>> REPLACE\n</source>"
APPLIED, FAILED = console("Applied edit to a.py"), console("Failed to apply edit to a.py")
MALFORMED = "The LLM did not conform to the edit format."
NO_MATCH = [
    MALFORMED,
    *("# 1 SEARCH/REPLACE block failed to match!", ""),
    "## SearchReplaceNoExactMatch: This SEARCH block failed to exactly match lines in a.py",
    *("<<<<<<< SEARCH", "x = 1", "=======", "x = 2", ">>>>>>> REPLACE", ""),
    "# The other 1 SEARCH/REPLACE block were applied successfully.",
]
ALLOW = "Allow edits to a.py which was not previously added to chat? n"
FIRST, THIRD = "path=a.py, search=1⏎, replace=2⏎", "path=a.py, search=3⏎, replace=4⏎"
TOLD: dict[str, tuple[list[str], list[str]]] = {
    "lines of the user are one message and the rest is told apart": (
        [
            *(START, ENVIRONMENT, user("rename it", "", "please"), answer(RENAME)),
            console("Tokens: 5.2k sent, 233 received. Cost: $0.02 request, $0.02 session."),
            *(user("thanks"), answer("Gladly.")),
        ],
        [
            "0.0 {environment: aider app.py⏎Aider v0.50.0⏎"
            "Models: m-1 with diff edit format, weak m-2} | > rename it⏎⏎please | "
            + RENAME.replace("\n", "⏎")
            + " | $5200+0+0>233",
            "1.1 {injected: Tokens: 5.2k sent, 233 received. "
            "Cost: $0.02 request, $0.02 session.} | "
            "> thanks | Gladly.",
        ],
    ),
    # A model must not speak as the user, nor as the console.
    "headings and quotations of the assistant's are the assistant's": (
        [START, user("go"), answer(QUOTED), user("ok")],
        ["0.0 > go | " + QUOTED.replace("\n", "⏎"), ".. > ok"],
    ),
    # Its fence and its edit are never closed.
    "an interrupted answer does not swallow the user": (
        [START, user("go"), console("", "^C again to exit"), answer(TORN), user("no")],
        [
            "0.0 {interruption: ^C again to exit} | > go | " + TORN.replace("\n", "⏎"),
            ".. > no",
        ],
    ),
    "an interruption behind a torn answer is seen": (
        [START, user("go"), answer(TORN), console("^C KeyboardInterrupt")],
        ["0.0 > go | " + TORN.replace("\n", "⏎"), ".. {interruption: ^C KeyboardInterrupt}"],
    ),
    "an unclosed fence ends with the session": (
        [START, user("go"), answer("```\nx"), START, console("Aider v1"), user("hi")],
        ["0.0 > go | ```⏎x", ".. {environment: Aider v1} | > hi"],
    ),
    # The output of a test run must become neither the assistant's words nor an edit.
    "only the first line of a console message is marked": (
        [START, user("/test pytest a.py"), OUTPUT, answer("I see.")],
        [
            "0.0 {shell: /test pytest a.py} | {shell_output: ===== test session starts =====⏎"
            "    def test():⏎⏎    x = 1⏎      assert x⏎<<<<<<< SEARCH⏎1⏎=======⏎2⏎"
            ">>>>>>> REPLACE⏎===== 1 failed =====} | I see."
        ],
    ),
    "words of a command that aider repeats are said once": (
        [START, user("/ask why?"), user(" why?"), answer("Because."), user("why?")],
        ["0.0 > why? | Because.", ".. > why?"],
    ),
    "the output of a command is a note": (
        [START, user("/model m-9"), console("Aider v1.0"), user("hi"), answer("Hi.")],
        ["0.0 {command: /model m-9} | {command_output: Aider v1.0} | > hi | Hi."],
    ),
    "a failed request is a note of its own": (
        [START, user("hi"), console("Unexpected error: overloaded")],
        [".. {failure: Unexpected error: overloaded} | > hi"],
    ),
    # Pages are edited by hand: no line end can be relied on.
    "of a web page only the chat is read": (
        [PAGE],
        [
            "0.0 {environment: $ aider greet.py} | > greet in French | edit_block(path=greet.py, "
            "search=</div>⏎, replace=<p>⏎) = Applied edit to greet.py",
            ".. {shell: /run python greet.py} | {shell_output: bonjour}",
        ],
    ),
    "a history that begins in an answer begins with it": (
        ["so that is it.\n", console("Tokens: 10 sent, 2 received."), user("ok")],
        [
            "0.0 so that is it. | $10+0+0>2",
            ".. {injected: Tokens: 10 sent, 2 received.} | > ok",
        ],
    ),
    # Edits: which were asked for, and which the console says were applied. Every answer with an
    # edit passed for one that goes on, and Next Steps asked for its end.
    "an edit block is a call and what the console says its result": (
        [
            *(START, user("fix it"), answer(f"So:\n\n{ONE}\n\nThat is all.")),
            console("Tokens: 1,234 sent, 56 received.", "Applied edit to a.py", "Commit 1 fix"),
        ],
        [
            f"0.0 > fix it | So: | edit_block({FIRST}) = "
            "Tokens: 1,234 sent, 56 received.⏎Applied edit to a.py⏎Commit 1 fix | $1234+0+0>56",
            "1.0 That is all.",
        ],
    ),
    "what is said behind an edit that failed belongs to it": (
        [START, user("fix it"), answer(f"{ONE}\n\nIt is fixed."), FAILED],
        [f"0.0 > fix it | It is fixed. | edit_block({FIRST}) ! Failed to apply edit to a.py"],
    ),
    "older blocks have their file inside the fence and a line each": (
        [
            user("go"),
            answer("\n\n".join(edit("a.py", f"{n}\n", f"{n + 1}\n", words=OLD) for n in (1, 3))),
            *(APPLIED, FAILED),
        ],
        [
            f"0.0 > go | edit_block({FIRST}) = Applied edit to a.py | edit_block({THIRD}) ! "
            "Applied edit to a.py⏎Failed to apply edit to a.py"
        ],
    ),
    "one line a file tells of all its blocks": (
        [START, user("go"), answer(f"{ONE}\n\n{TWO}"), APPLIED + console("Commit 1")],
        [
            f"0.0 > go | edit_block({FIRST}) = Applied edit to a.py | edit_block({THIRD}) = "
            "Applied edit to a.py⏎Commit 1"
        ],
    ),
    "an edit the user did not allow is refused": (
        [START, user("go"), answer(ONE), console(ALLOW), console("Skipping edits to a.py")],
        [f"0.0 > go | edit_block({FIRST}) refused ! {ALLOW}⏎Skipping edits to a.py"],
    ),
    "a created file is reported as created and under its full path": (
        [
            *(START, user("go"), answer(edit("new.py", "", "1\n"))),
            console("Allow creation of new file src/new.py? y", "Applied edit to src/new.py"),
        ],
        [
            "0.0 > go | edit_block(path=src/new.py, search=, replace=1⏎) create = "
            "Allow creation of new file src/new.py? y⏎Applied edit to src/new.py"
        ],
    ),
    # Whole-file answers hold no block; the console says what they changed.
    "a file changed without a block is still known": (
        [START, user("go"), answer("a.py\n```\n1\n```"), APPLIED],
        ["0.0 > go | edit_block(path=a.py) = Applied edit to a.py", "1.0 a.py⏎```⏎1⏎```"],
    ),
    "an edit nothing is said about has no result": (
        [START, user("go"), answer(ONE), user("wait")],
        [f"0.0 > go | edit_block({FIRST})", ".. > wait"],
    ),
    # Where the file itself holds backticks, aider has the assistant use tags.
    "fences may be tags": (
        [START, user("go"), answer(TAGGED), console("Applied edit to a.md")],
        [
            "0.0 > go | edit_block(path=a.md, search=```⏎, replace=````⏎) = Applied edit to a.md",
        ],
    ),
}


@pytest.mark.parametrize(("parts", "told"), TOLD.values(), ids=TOLD)
def test_what_a_history_tells(parts: list[str], told: list[str]) -> None:
    assert read(FORMAT, "".join(parts)).told == told


def test_a_page_may_begin_with_words() -> None:
    told = TOLD["of a web page only the chat is read"][1]
    assert read(FORMAT, "# Greeting\n\nWords.\n\n" + PAGE[PAGE.index("<div") :]).told == told


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("/diff", "{command: /diff}"),
        ("/run pytest", "{shell: /run pytest}"),
        ("!ls", "{shell: !ls}"),
        ("/git status", "{shell: /git status}"),
        ("/ask why?", "> why?"),
        ("/architect plan it", "> plan it"),
        ("/code do it", "> do it"),
        ("/commit", "{command: /commit}"),
        ("<blank>", ""),
        *(
            (words, f"{{injected: {words}}}")
            for words in (
                "# Fix any errors below, if possible.",
                "Add a.py? (Y)es/(N)o/(A)ll/(S)kip all [Yes]: all",
                "<system-reminder>x</system-reminder>",
            )
        ),
    ],
)
def test_only_what_the_user_wrote_is_the_users(typed: str, told: str) -> None:
    was = read(FORMAT, START + user(typed) + answer("Yes."))
    assert was.told == [f"0.0 {told} | Yes." if told else "0.0 Yes."]


def test_what_is_known_of_a_session() -> None:
    other = user("/model m-9") + console("Aider v1.0", "Main model: m-9 with diff edit format")
    parts = (
        START,
        ENVIRONMENT,
        user("hi"),
        answer(ONE),
        APPLIED,
        other,
        user("on"),
        answer("Yes."),
    )
    was = read(FORMAT, "".join(parts))
    assert was.facts == [
        *("0 start 2031-02-03 19:04:05", "0 client aider v0.50.0", "0 model m-1"),
        *("1 client aider v1.0", "1 model m-9"),
    ]
    assert [turn.model for turn in was.turns] == ["m-1", "m-9"]
    assert was.turns[0].tool_calls[0].verb == "edit"


def test_turns_go_on_across_starts_and_know_their_lines() -> None:
    later = START.replace("19:", "20:")
    parts = (START, user("one"), answer("1\n\nend"), later, user("two"), answer("2"))
    text = "-*- mode: fundamental -*-\n" + "".join(parts)
    was, lines = read(FORMAT, text), text.encode().splitlines(keepends=True)
    assert was.told == ["0.0 > one | 1⏎⏎end", "1.1 > two | 2"]
    assert [lines[turn.source.first] for turn in was.turns] == [b"#### one  \n", b"#### two  \n"]
    assert [lines[turn.source.last] for turn in was.turns] == [b"end\n", b"2\n"]
    assert was.facts == ["0 start 2031-02-03 19:04:05", "1 start 2031-02-03 20:04:05"]


def test_a_block_that_did_not_match_failed_and_the_others_did_not() -> None:
    """The console repeats the block, without its indentation; it is no second edit."""
    blocks = edit("a.py", "    x = 1\n", "x = 2\n") + "\n\n" + edit("b.py", "y\n", "z\n")
    told = START + user("go") + answer(blocks) + console(*NO_MATCH) + answer("Again.")
    first, second = read(FORMAT, told).turns
    assert [result.success for result in first.tool_results] == [False, True]
    assert "SearchReplaceNoExactMatch" in (first.tool_results[0].error or "")
    assert (second.previous_error, second.user_message, second.tool_calls) == (True, "", ())


def test_a_malformed_answer_changes_nothing() -> None:
    torn = f"{ONE}\n\nb.py\n```\n<<<<<<< SEARCH\n1\n```"
    said = console(MALFORMED, "^^^ Expected `=======`")
    (turn,) = read(FORMAT, START + user("go") + answer(torn) + said).turns
    assert [result.success for result in turn.tool_results] == [False]


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
