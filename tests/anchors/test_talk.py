"""Anchors of talk: findings reported, searches answered, points the user approved."""

from __future__ import annotations

from typing import Any

import pytest

from kedgeline.anchors.detectors.talk import (
    InformationSynthesis,
    SuccessfulSearch,
    UserCheckpoint,
)
from kedgeline.model import (
    CallRef,
    Message,
    Note,
    Opaque,
    ResultRef,
    Text,
    ToolCall,
    ToolResult,
    Turn,
)
from tests.anchors.watching import found_by, memory_after, talk
from tests.turns import bash, called, edit, turn

REPORT = (
    "The login is slow because every request reads the whole session table.\n\n"
    "## Where\n\n- `auth.py` loads all sessions\n- `store.py` has no index\n- `web.py` calls both\n"
    "\n## What would help\n\nAn index on the session id, and one query instead of two. "
    "Both are small changes, and neither touches the format of what is stored."
)
HEADLINE = "The login is slow because every request reads the whole session table."
PLAIN = REPORT + "\n\nAll of this can be done in a day, and none of it can wait for the release."
ROWS = "".join(f"| f{number}.py | reads the session table |\n" for number in range(6))


def read(path: str, **fields: Any) -> Any:
    return called("Read", "def f(): ...", file_path=path, **fields)


A, B, C = read("auth.py"), read("store.py"), read("web.py")
LOOKS = (bash("cat auth.py"), bash("git log -3 | head"))


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ([A, B, C, REPORT, REPORT], {3: f"Findings reported from 3 sources: {HEADLINE}"}),
        (
            [
                called("Grep", "auth.py:3", pattern="session"),
                called("WebFetch", "a page", url="https://example.org"),
                called("get_session_details", "{}", session="s1"),
                called("mcp__crm__listCustomers", "[]"),
                *(called("calculate", "12", expression="3*4"), REPORT),
            ],
            {5: f"Findings reported from 5 sources: {HEADLINE}"},
        ),
        ([*LOOKS, bash("cd src && grep -rn login ."), REPORT], [3]),
        ([*LOOKS, bash("cd src && make"), REPORT], []),
        ([A, A, A, REPORT], []),
        ([A, B, read("web.py", success=False), REPORT], []),
        *(
            ([A, B, C, step, REPORT], [])
            for step in (
                edit("auth.py"),
                called("update_session", "ok", session="s1"),
                called("mcp__crm__send-mail", "sent"),
                bash("git commit -m fix", "[main 1a2b3c4] fix"),
                bash("git add auth.py"),
            )
        ),
        ([A, B, C, edit("auth.py", success=False), bash("pytest", "3 passed"), REPORT], [5]),
        ([A, B, C, f"{REPORT}\n\nWould you like me to add the index?"], [3]),
        ([A, B, C, f"| file | what |\n|---|---|\n{ROWS}"], [3]),
        ([A, B, C, "They read the session table. " * 8], []),
        ([A, B, C, "This is the file:\n\n```python\n" + "x = 1\n" * 200 + "```"], []),
        ([A, B, C, "It is slow."], []),
        ([A, B, C, "Could you please provide the session id, so that I can look? " * 8], []),
        (
            [
                *(A, B, C),
                "To go on I have a few questions:\n\n- Which database?\n- Which version?\n"
                + "- Where does it run, and since when has it been slow for everybody?\n" * 6,
            ],
            [],
        ),
        ([A, B, C, "I'm sorry, I could not open the log. " + REPORT], []),
        ([A, B, C, "Unfortunately nothing in these files explains it. " + REPORT], []),
        ([A, B, C, {"user": "and the colours?", "exchange": 1, "says": REPORT}], []),
        (
            [called("Task", "It reads all. " * 20, prompt="look"), REPORT],
            {1: f"Findings reported from another agent: {HEADLINE}"},
        ),
    ],
)
def test_findings_of_an_exchange_that_changed_nothing_are_reported(
    turns: list[Any], expected: Any
) -> None:
    found = found_by(InformationSynthesis(), *talk(*turns))
    assert (list(found) if isinstance(expected, list) else found) == expected


# Searches on the web

RESULTS = "Brisbane hires many nurses and electricians. " * 5
CLOSING = "Nurses and electricians are wanted most, and wages rose by four per cent. " * 4
ANSWERED = "Search answered: Brisbane job market"


def search(query: str = "Brisbane job market", output: str = RESULTS, **fields: bool) -> Any:
    return called("WebSearch", output, query=query, **fields)


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        *(
            ([{"steps": (search(),), "says": f"{cue} nurses are wanted."}], {0: ANSWERED})
            for cue in ("Based on the results,", "According to it,", "The search results show that")
        ),
        (
            [
                {"steps": (search(),), "says": "Let me search for that."},
                called("WebFetch", RESULTS, url="https://example.org/jobs", prompt="wages"),
                "Based on what I read, nurses are wanted.",
            ],
            {2: ANSWERED},
        ),
        ([search(), CLOSING], {1: ANSWERED}),
        (
            [
                *(search(), "According to the bureau, nurses.", "Based on that, electricians too."),
                {"steps": (search("wages"),), "user": "and wages?", "exchange": 1},
                {"says": "I found that they rose.", "exchange": 1},
            ],
            {1: ANSWERED, 4: "Search answered: wages"},
        ),
        *(
            ([search(), says], {})
            for says in (
                "I could not find anything about it.",
                "Unfortunately the search results are about another town. " * 8,
                "I found no figures.",
                "I found nothing.",
                "Fine.",
                "",
            )
        ),
        *(
            ([failed, "Based on the results, nurses."], {})
            for failed in (
                search(output="No results."),
                search(success=False),
                called("Grep", RESULTS, pattern="Brisbane"),
                called("mcp__notes__websearching", RESULTS, query="Brisbane"),
            )
        ),
        (
            [
                {"steps": (search(),), "says": "Based on your request, let me search the web."},
                {"steps": (search("b"),), "says": "Now I'll look for wages."},
                "According to both, nurses earn well.",
            ],
            {2: ANSWERED},
        ),
        (
            [search(), {"user": "stop, rename it", "exchange": 1, "says": "Based on that, done."}],
            {},
        ),
    ],
)
def test_a_search_counts_once_it_is_answered(turns: list[Any], expected: dict[int, str]) -> None:
    assert found_by(SuccessfulSearch(), *talk(*turns)) == expected


def laid_out(*parts: Text | Opaque | CallRef, calls: tuple[ToolCall, ...] = ()) -> Turn:
    results = tuple(ToolResult(call_id=call.id) for call in calls)
    answers = tuple(ResultRef(position=at) for at in range(len(results)))
    replied = (Message(role="tool", parts=answers),) if answers else ()
    return Turn(
        assistant_response="\n\n".join(part.text for part in parts if isinstance(part, Text)),
        tool_calls=calls,
        tool_results=results,
        messages=(Message(role="assistant", parts=parts), *replied),
    )


def test_a_search_the_provider_runs_is_answered_in_the_same_message() -> None:
    found = Opaque(kind="web_search_tool_result", wire={})
    answer = Text(text="According to the bureau, nurses are wanted.")
    assert found_by(SuccessfulSearch(), laid_out(found, answer)) == {0: "Search answered"}
    assert found_by(SuccessfulSearch(), laid_out(answer, found)) == {}
    assert found_by(SuccessfulSearch(), laid_out(found, Text(text="Fine."))) == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [(CLOSING, True), ("Six o'clock.", False), ("Sources: it", True)],
)
def test_results_that_are_not_shown_need_a_cue_or_an_answer_of_substance(
    text: str, found: bool
) -> None:
    call = ToolCall(id="w", tool="web_search", parameters={"query": "tides"})
    said = laid_out(CallRef(position=0), Text(text=text), calls=(call,))
    assert found_by(SuccessfulSearch(), said) == ({0: "Search answered: tides"} if found else {})


# What the user says

DONE = "The parser is rewritten and its cases are covered."
PROPOSES = "I would split the parser in two files. Would you like me to go ahead?"
ASKS = "Which of the two databases does the staging server use?"
APPROVED, SAVED = "User approved: ", "User saved this point: "
WORDS: dict[tuple[str, str], tuple[str, ...]] = {
    (DONE, APPROVED): (
        *("looks good", "Looks good to me!", "that looks great, now add the docs", "LGTM"),
        *("the new layout looks perfect", "Perfect!", "perfect, thanks", "That works"),
        *("ok perfect. Please also update the readme", "nice, it works now", "great job"),
        *("ship it", "Approved.", "sounds good", "I love it", "looks good, thanks"),
        *("Great! That works for me.", "Do it."),
    ),
    (PROPOSES, APPROVED): (
        *("yes", "yes please", "Yes, go ahead", "yep, do it", "ok", "sure"),
        "I'll go with the second",
    ),
    (DONE, SAVED): (
        *("save this", "Please save our progress", "checkpoint", "ok, let's checkpoint this"),
        *("remember this point", "let's commit this state"),
    ),
    (ASKS, ""): ("yes", "yeah, the second", "ok", "sure", "exactly", "option 2"),
    (PROPOSES, ""): (
        *("yes, but only the first file", "ok, what would that change in the tests?", "no"),
        *("Option 1 doesn't work since the hash changes", "yes? why would you"),
    ),
    (DONE, ""): (
        *("looks good but the margins are off", "Looks good. But the margins are off"),
        *("not perfect", "it doesn't work", "that doesn't look good", "looks good?"),
        *("that works, right?", "if it looks good, push it", "make sure it looks good"),
        *("it works only on my machine", "perfect numbers are listed twice", "no, thanks"),
        *("thanks, but that is not what I meant", "could you add a test? Thanks!"),
        *("thanks in advance for a fix", "what does looks good mean here"),
        *("```\nperfect\n```\nwhat does this print", '"looks good" is what it must say'),
        *('"It fails. Perfect." is what it printed', "> looks good\nwho wrote this"),
        *("`perfect` is printed twice", "great, the login is broken again"),
        *("I ran the suite again. Two cases fail. Perfect would be none", "works for nobody"),
        *(" \n\t", "```\nonly code\n```", "", "correct the typo in line 3"),
        *("yeah you can undo that", "the save button is broken", "did you save this?"),
        *("save the user's name in the profile table", "checkpoints are written twice"),
        *("the checkpoint of the model is missing",),
        # Words in the middle of a long message are pasted.
        "The build fails. See below.\nHere is the log.\n" + "Looks good\nLGTM\nfailed\n" * 100,
    ),
}


@pytest.mark.parametrize(
    ("after", "words", "expected"),
    [(after, words, kind) for (after, kind), each in WORDS.items() for words in each],
)
def test_only_what_the_user_really_says_counts(after: str, words: str, expected: str) -> None:
    turns = talk({"user": "do it", "says": after}, {"user": words, "exchange": 1, "says": "Fine."})
    found = found_by(UserCheckpoint(), *turns).get(1, "")
    assert found.startswith(expected)
    assert bool(found) == bool(expected)
    assert len(found) <= len(SAVED) + 82


PLAN = "We go on like this:\n\n# Split the parser\n\n1. Two files"
CALL = ToolCall(id="p", tool="ExitPlanMode", parameters={"plan": "# Split"})
REFUSED = ToolResult(call_id="p", success=False, refused=True, reason="looks good but wait")


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ([{"user": "perfect, now build the parser", "says": "Building."}], {}),
        # A tool's output and a reminder of the client said "looks good"; nobody had approved.
        (
            [
                {"user": "check it", "says": PROPOSES},
                {
                    "steps": (bash("cat review.txt", "Looks good! LGTM, ship it"),),
                    "notes": (Note(kind="injected", text="Looks good to me, thanks!"),),
                    "says": "Looks good! Perfect.",
                },
            ],
            {},
        ),
        (
            [
                called("ExitPlanMode", "User has approved your plan.", plan=PLAN),
                called("exit_plan_mode", "approved"),
            ],
            {0: "Plan approved: Split the parser", 1: "Plan approved"},
        ),
        ([(CALL, REFUSED)], {}),
        ([{"notes": (Note(kind="plan", text=PLAN),)}], {0: "Plan approved: Split the parser"}),
    ],
)
def test_points_that_the_user_approves(turns: list[Any], expected: dict[int, str]) -> None:
    assert found_by(UserCheckpoint(), *talk(*turns)) == expected


@pytest.mark.parametrize("detector", [InformationSynthesis, SuccessfulSearch, UserCheckpoint])
def test_memory_does_not_grow(detector: Any) -> None:
    def make(index: int) -> Turn:
        steps = (search("q" * 5_000), called("Grep", "x", pattern=f"{index}" * 300))
        words = f"thanks for step {index}" if index % 3 == 0 else f"do step {index}"
        exchange = index if detector is UserCheckpoint else index // 2_000
        return turn(index, *steps, user=words, exchange=exchange, says=PROPOSES * 40)

    small = memory_after(detector(), 500, make)
    assert memory_after(detector(), 2_500, make) <= small * 1.1
