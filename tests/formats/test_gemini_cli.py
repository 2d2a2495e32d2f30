"""Gemini CLI chats: a document, or lines in which the last message is written again as it grows."""

from __future__ import annotations

from typing import Any

import pytest

from kedgeline.model import Thinking
from tests.formats.gemini_chat import call, chat, message, recorded, result, said, user
from tests.formats.handmade import came

THOUGHTS = [{"subject": "Looking", "description": "what is here", "timestamp": ""}]
COUNTS = {"input": 100, "cached": 60, "output": 5, "thoughts": 7, "tool": 2, "total": 114}
IMAGE = {"inlineData": {"mimeType": "image/png", "data": "AA=="}}
THOUGHT = {"text": "hm", "thought": True, "thoughtSignature": "seal"}
WAITING = {"id": "c1", "name": "run_shell_command", "args": {}, "status": "executing"}
SNAPSHOT = "<state_snapshot>so far: A</state_snapshot>"
HEARD = "Got it. Thanks for the additional context!"
RUN = "run_shell_command(command=ls)"
FILES = [
    "look at @a.py",
    "\n--- Content from referenced files ---",
    "\nContent from @a.py:\n",
    "delete it all\n--- End of content ---\nand more",
    "\n--- End of content ---",
    "then go on",
]
CHATS: dict[str, tuple[list[Any], list[str]]] = {
    "a message with thoughts, calls and results": (
        [
            user("what is here?"),
            said("I look.", 1, call("a.py"), thoughts=THOUGHTS, tokens=COUNTS),
            said("One file.", 2),
        ],
        [
            f"0.0 > what is here? | ~Looking: what is here~ | I look. | {RUN} = a.py | $42+60+0>12",
            "1.0 One file.",
        ],
    ),
    "a call that has not ended has no result": (
        [user("go"), said("", 1, WAITING)],
        ["0.0 > go | run_shell_command()"],
    ),
    "what the client says is neither the user's nor the model's": (
        [
            *(message("warning", "an old version", 0), user("go", 1)),
            *(message("info", "switched models", 2), message("error", "quota exceeded", 3)),
            said("Gone.", 4),
        ],
        [
            "0.0 {injected: an old version} | {injected: switched models} | "
            "{failure: quota exceeded} | > go | Gone."
        ],
    ),
    "a chat of one warning is valid": (
        [message("warning", "an old version", 0)],
        [".. {injected: an old version}"],
    ),
    "content may be a list of parts": (
        [
            user([{"text": "see"}, IMAGE, "this"]),
            said([THOUGHT, {"text": "Seen."}, {"functionCall": {"name": "x"}}], 1),
        ],
        ["0.0 > see⏎⏎this | [image image/png AA==] | ~hm~ | Seen."],
    ),
    "calls without ids keep their results": (
        [user("go"), said("", 1, *({**call(output), "id": None} for output in ("a", "b")))],
        [f"0.0 > go | {RUN} = a | {RUN} = b"],
    ),
    "the client's own compaction": (
        [user("a"), said("A.", 1), user(SNAPSHOT, 2), said("Got it.", 3)],
        ["0.0 > a | A.", "1.0 Got it.", f"summary by gemini-cli at 1: {SNAPSHOT}"],
    ),
    "unknown types are counted and wrong shapes reported": (
        [user("a"), message("poem", "x", 1), 5, said("A.", 2)],
        ["0.0 > a | A.", "ignored poem 1", "shape 2"],
    ),
    "files without an end go to the end": (
        [user([{"text": text} for text in FILES[:3]]), said("Yes.", 1)],
        [
            "0.0 {injected: ⏎--- Content from referenced files ---} | "
            "{injected: ⏎Content from @a.py:⏎} | > look at @a.py | Yes."
        ],
    ),
}


@pytest.mark.parametrize(("messages", "told"), CHATS.values(), ids=CHATS)
def test_what_a_chat_tells(messages: list[Any], told: list[str]) -> None:
    assert chat(*messages).told == told


def test_what_is_known_of_a_session_and_a_message() -> None:
    was = chat(user("go"), said([THOUGHT, {"text": "Seen."}], 1), summary="Tides")
    assert was.facts == ["0 id s-1", "0 title Tides", "0 model gemini-2.5-pro"]
    (turn,) = was.turns
    assert turn.message_id == "m1"
    assert Thinking(text="hm", signature="seal") in turn.messages[1].parts


@pytest.mark.parametrize("content", [[{"text": text} for text in FILES], "\n".join(FILES)])
def test_a_file_that_the_user_names_is_not_their_words(content: object) -> None:
    [turn] = chat(user(content), said("Yes.", 1)).turns
    assert turn.user_message == "look at @a.py\n\nthen go on"
    assert {note.kind for note in turn.notes} == {"injected"}
    assert "delete it all" in "".join(note.text for note in turn.notes)


SHELL = "Command: x\nDirectory: (root)\nOutput: {}\nError: (none)\nExit Code: {}\nSignal: 0"
CANCELLED = "[Operation Cancelled] Reason: User "
ROWS = [{"functionResponse": {"response": {"rows": [1]}}}, IMAGE]
SHOWN = {"fileDiff": "", "newContent": "y"}


@pytest.mark.parametrize(
    ("output", "fields", "expected"),
    [
        (SHELL.format("fine", 0), {}, "=0"),
        (SHELL.format("3 failed", 1), {}, "!1"),
        (SHELL.format("killed", "(none)"), {}, "="),
        (SHELL.format("\nExit Code: 9\n", 0), {}, "=0"),
        ("it says Exit Code: 1 somewhere", {}, "="),
        ("Exit Code: 1\n", {"name": "read_file"}, "="),  # what a file says is not the tool's
        ("File not found", {"status": "error"}, "!"),
        (f"{CANCELLED}did not allow tool call", {"status": "cancelled"}, "refused !"),
        # It may have had effects already.
        (f"{CANCELLED}cancelled tool execution.", {"status": "cancelled"}, "stopped !"),
        ('{"rows":[1]}', {"result": ROWS}, "="),
    ],
)
def test_what_came_of_a_call(output: str, fields: dict[str, Any], expected: str) -> None:
    got = result(output, **fields)
    media = "[image image/png AA==]" if "result" in fields else ""
    assert came(got) == f" {expected} {output}{media}"
    assert got.error == (None if got.success or got.refused else output)


@pytest.mark.parametrize(("before", "change"), [(None, "create"), ("", "create"), ("x", "update")])
def test_what_a_tool_shows_to_have_done(before: str | None, change: str) -> None:
    shown = {**SHOWN, "originalContent": before}
    assert result(name="write_file", resultDisplay=shown).change == change
    assert result(name="write_file", resultDisplay="written").change == ""


# Lines: messages that grow, rewinds, and histories the client shortened.

SCRATCHED = "<scratchpad>A was said</scratchpad>\n" + SNAPSHOT
KEPT = [user([{"text": SCRATCHED}], 9), said([{"text": HEARD}], 10), user("b", 11)]
START, PROMPT = "<hook_context>at start</hook_context>", "<hook_context>b &lt; c</hook_context>"
TOOL, WORDS = "<hook_context>of the tool</hook_context>", "say </hook_context>"
LISTED = [user("<session_context>x</session_context>", 7), user("a", 8), said("A.", 9)]
RECORDED: dict[str, tuple[list[Any], list[str]]] = {
    "a message that is written again as it grows counts once": (
        [
            *(user("go"), {"$set": {"lastUpdated": "2026-01-01T00:00:01.000Z"}}),
            *(said("On it.", 1), {"$set": {"summary": "Tides"}}),
            said("On it.", 1, {**call(), "status": "executing", "result": None}),
            *(said("On it.", 1, call("a.py")), said("Done.", 2)),
        ],
        [f"0.0 > go | On it. | {RUN} = a.py", "1.0 Done."],
    ),
    "a message that comes again later is not said twice": (
        [user("a", 0), said("A.", 1, call()), user("b", 2), said("A.", 1, call())],
        [f"0.0 > a | A. | {RUN} = ok", ".. > b", "duplicate 4"],
    ),
    "a rewind takes back a message and what followed": (
        [
            *(user("a", 0), said("A.", 1), user("wrong", 2), said("W.", 3), said("X.", 4)),
            *({"$rewindTo": "m2"}, user("right", 5), said("R.", 6)),
        ],
        ["0.0 > a | A.", "1.1 > right | R.", "rewound 2"],
    ),
    "a rewind to the last words takes back only these": (
        [
            *(user("a", 0), said("A.", 1), user("wrong", 2), {"$rewindTo": "m2"}),
            *(user("b", 3), said("B.", 4)),
        ],
        ["0.0 > a | A.", "1.1 > b | B."],
    ),
    "a rewind to nowhere begins anew": (
        [user("a", 0), said("A.", 1), {"$rewindTo": "gone"}, user("b", 2), said("B.", 3)],
        ["0.0 > b | B.", "rewound 1"],
    ),
    # The client writes its shortened history as metadata; what it leaves out still happened.
    "a new list of messages adds only its summary": (
        [
            *(user("a", 0), said("A.", 1), {"$set": {"messages": [user(SNAPSHOT, 9)]}}),
            *(user("b", 2), said("B.", 3)),
        ],
        ["0.0 > a | A.", "1.1 > b | B.", f"summary by gemini-cli at 1: {SNAPSHOT}"],
    ),
    # The client asks for a scratchpad before the snapshot, and keeps what it gets. What it kept of
    # the messages has new ids, and is not said again.
    "a summary that begins with its writer's thoughts is known by the answer to it": (
        [
            *(user("a", 0), said("A.", 1), user("b", 2), said("", 3)),
            *({"$set": {"messages": KEPT}}, said("B.", 4)),
            *({"$set": {"messages": [*KEPT, said("B.", 12)]}}, user("c", 5), said("C.", 6)),
        ],
        [
            *("0.0 > a | A.", "1.1 > b | B.", "2.2 > c | C."),
            "summary by gemini-cli at 1: " + SCRATCHED.replace("\n", "⏎"),
        ],
    ),
    "a new list of messages without a summary is no compaction": (
        [{"$set": {"messages": LISTED}}, user("a", 0), said("A.", 1)],
        ["0.0 > a | A."],
    ),
    # The client puts it before the words, in a part behind them, and behind an output.
    "what hooks say is neither said by the user nor by a tool": (
        [
            user([{"text": f"{START}\n\n{WORDS}"}, {"text": PROMPT}], 0),
            *(said("", 1, call(f"a.py\n\n{TOOL}")), said("Done.", 2)),
        ],
        [
            f"0.0 {{hook: {START}}} | {{hook: {PROMPT}}} | > {WORDS} | {RUN} = a.py",
            f"1.0 {{hook: {TOOL}}} | Done.",
        ],
    ),
}


@pytest.mark.parametrize(("records", "told"), RECORDED.values(), ids=RECORDED)
def test_what_records_tell(records: list[Any], told: list[str]) -> None:
    was = recorded(*records)
    assert was.told == told
    if "$set" in records[1]:
        assert (was.turns[0].source.first, was.turns[0].source.last) == (1, 6)
        assert was.log.latest("title") == "Tides"
