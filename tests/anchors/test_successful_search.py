"""A search counts once it is answered; the answer is usually a later turn of the exchange."""

from __future__ import annotations

import pytest

from kedgeline.anchors.detectors.talk import SuccessfulSearch
from kedgeline.model import CallRef, Message, Opaque, ResultRef, Text, ToolCall, ToolResult, Turn
from tests.anchors.watching import found_by, memory_after
from tests.turns import called, turn

RESULTS = "Brisbane hires many nurses and electricians. " * 5
CLOSING = "Nurses and electricians are wanted most, and wages rose by four per cent. " * 4


def search(query: str = "Brisbane job market", output: str = RESULTS, **fields: bool):
    return called("WebSearch", output, query=query, **fields)


def test_the_seeds_turn_is_found():
    """Search and answer in one turn, as the seed has it."""
    for cue in (
        "Based on the results,",
        "According to the bureau,",
        "The search results show that",
    ):
        seed = turn(0, search(), user="how is the job market?", says=f"{cue} nurses are wanted.")

        assert found_by(SuccessfulSearch(), seed) == {0: "Search answered: Brisbane job market"}


def test_the_answer_may_come_turns_later():
    found = found_by(
        SuccessfulSearch(),
        turn(0, search(), user="how is the job market?", says="Let me search for that."),
        turn(1, called("WebFetch", RESULTS, url="https://example.org/jobs", prompt="wages")),
        turn(2, says="Based on what I read, nurses are wanted."),
    )

    assert found == {2: "Search answered: Brisbane job market"}


def test_an_exchange_is_answered_once():
    found = found_by(
        SuccessfulSearch(),
        turn(0, search(), user="jobs?"),
        turn(1, says="According to the bureau, nurses."),
        turn(2, says="Based on that, electricians too."),
        turn(3, search("wages"), user="and wages?", exchange=1),
        turn(4, says="I found that they rose.", exchange=1),
    )

    assert found == {1: "Search answered: Brisbane job market", 4: "Search answered: wages"}


@pytest.mark.parametrize(
    "says",
    [
        "I could not find anything about it.",
        "Unfortunately the search results are about another town. " * 8,
        "I found no figures.",
        "I found nothing.",
        "This is not based on the results.",
        "Fine.",
        "",
    ],
)
def test_a_search_without_an_answer_is_none(says: str):
    assert found_by(SuccessfulSearch(), turn(0, search()), turn(1, says=says)) == {}


@pytest.mark.parametrize(
    "failed",
    [
        search(output="No results."),
        search(success=False),
        called("Grep", RESULTS, pattern="Brisbane"),
        called("mcp__notes__websearching", RESULTS, query="Brisbane"),
    ],
)
def test_only_results_from_the_web_can_be_answered(failed: tuple[ToolCall, ToolResult]):
    found = found_by(
        SuccessfulSearch(), turn(0, failed), turn(1, says="Based on the results, nurses.")
    )

    assert found == {}


def test_an_announcement_is_no_answer():
    found = found_by(
        SuccessfulSearch(),
        turn(0, search(), says="Based on your request, let me search the web."),
        turn(1, search("wages"), says="Based on these results, I'll look for the wages too."),
        turn(2, says="According to both, nurses earn well."),
    )

    assert list(found) == [2]


def test_an_answer_of_another_exchange_does_not_count():
    found = found_by(
        SuccessfulSearch(),
        turn(0, search()),
        turn(1, user="stop, rename the file instead", exchange=1, says="Based on that, done."),
    )

    assert found == {}


def laid_out(*parts: Text | Opaque | CallRef, calls: tuple[ToolCall, ...] = ()) -> Turn:
    results = tuple(ToolResult(call_id=call.id) for call in calls)
    answers = tuple(ResultRef(position=at) for at in range(len(results)))
    return Turn(
        assistant_response="\n\n".join(part.text for part in parts if isinstance(part, Text)),
        tool_calls=calls,
        tool_results=results,
        messages=(
            Message(role="assistant", parts=parts),
            *((Message(role="tool", parts=answers),) if answers else ()),
        ),
    )


def test_a_search_the_provider_runs_is_answered_in_the_same_message():
    found = Opaque(kind="web_search_tool_result", wire={})
    answer = Text(text="According to the bureau, nurses are wanted.")

    assert found_by(SuccessfulSearch(), laid_out(found, answer)) == {0: "Search answered"}
    assert found_by(SuccessfulSearch(), laid_out(answer, found)) == {}
    assert found_by(SuccessfulSearch(), laid_out(found, Text(text="Fine."))) == {}


def test_a_search_without_results_in_the_transcript_needs_a_cue_or_a_link():
    call = ToolCall(id="w", tool="web_search", parameters={"query": "tides"})
    inside = (CallRef(position=0),)

    def answered(text: str) -> dict[int, str]:
        said = laid_out(*inside, Text(text=text), calls=(call,))
        return found_by(SuccessfulSearch(), said)

    assert answered(CLOSING) == {}
    assert answered(f"{CLOSING} https://example.org/tides") == {0: "Search answered: tides"}
    assert answered("Sources: the almanac") == {0: "Search answered: tides"}


def test_memory_does_not_grow():
    def make(index: int) -> Turn:
        return turn(index, search("q" * 5_000), exchange=index // 4, says="Let me search. " * 50)

    small = memory_after(SuccessfulSearch(), 500, make)
    assert memory_after(SuccessfulSearch(), 5_000, make) <= small * 1.1
