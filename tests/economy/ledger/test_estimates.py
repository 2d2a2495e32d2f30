"""What nobody reported is estimated and marked; calls always are."""

from __future__ import annotations

from pathlib import Path

from kedgeline.economy.counting import LedgerBuilder, Made, count_turns
from kedgeline.economy.ledger import Ledger, sizes_of
from kedgeline.model import Turn
from kedgeline.tokens import EXACT
from tests.claude import use
from tests.economy.ledger.sessions import Charged, ledger_of, used
from tests.turns import bash, turn

WORDS = "a berth is free when its vessel has left the pier " * 40
GPT = "gpt-5"
"""Its vocabulary is public: counts are exact."""


def counted(*turns: Turn, made: tuple[Made, ...] = ()) -> Ledger:
    builder = LedgerBuilder()
    count_turns(builder, turns, source="s", made=made)
    return builder.ledger()


def test_without_usage_input_is_what_was_carried_and_output_what_was_written() -> None:
    first = turn(0, user=WORDS, says="yes", model=GPT)
    second = turn(1, user="and now?", says="no", model=GPT)
    ledger = counted(first, second)
    words, yes, now, no = map(EXACT.count, (WORDS, "yes", "and now?", "no"))
    assert ledger.total.tokens == used(words + (words + yes + now), yes + no)
    assert ledger.total.estimated == ledger.total.tokens
    assert (ledger.total.messages, ledger.total.estimated_messages) == (2, 2)


def test_a_report_before_is_where_the_estimate_goes_on_from() -> None:
    """The system prompt and the tools are in what was reported, and in nothing we can count."""
    reported = turn(0, user="go", says="yes", model=GPT, usage=used(20_000, 5))
    silent = turn(1, user="on", says="no", model=GPT)
    ledger = counted(reported, silent)
    on, yes, no = map(EXACT.count, ("on", "yes", "no"))
    assert ledger.total.estimated == used(20_000 + yes + on, no)
    assert ledger.total.estimated_messages == 1


def test_a_compaction_makes_what_is_carried_smaller() -> None:
    turns = [turn(i, user=WORDS, says=f"yes {i}", model=GPT) for i in range(4)]
    made = Made(turn=3, by="kedgeline", before=9_000, after=50, by_model=False)
    last = counted(*turns, made=(made,)).total.tokens.input - counted(*turns[:3]).total.tokens.input
    assert last == 50 + EXACT.count(WORDS)


def test_a_rewind_takes_back_what_is_carried_and_not_what_was_paid() -> None:
    first = turn(0, user="a", says="b", model=GPT)
    large = turn(1, user=WORDS, says="c", model=GPT)
    instead = turn(1, user="d", says="e", model=GPT)
    both = counted(first, large, instead).total
    assert both.messages == 3
    alone = counted(first, instead).total.tokens.input
    assert both.tokens.input == counted(first, large).total.tokens.input + (
        alone - counted(first).total.tokens.input
    )


def test_a_call_has_its_share_of_what_its_message_cost_to_write() -> None:
    one = turn(0, bash("ls"), bash("x" * 400, "out " * 50), model=GPT, usage=used(1, 1_000))
    sizes = sizes_of(one)
    tools = counted(one).tools
    assert tools["Bash"].calls == 2
    assert tools["Bash"].input == EXACT.count("out " * 50)
    assert abs(tools["Bash"].output - 1_000) <= 1, "nothing but calls was written"
    assert sizes.calls[1].written > 3 * sizes.calls[0].written


def test_tools_of_agents_are_kept_apart(tmp_path: Path) -> None:
    records = Charged()
    records.user("go")
    records.charged(1, use("c1", "Read", file_path="a.py"))
    records.result("c1", "text")
    records.user("look", isSidechain=True, agentId="a1")
    records.charged(2, use("c2", "Grep"), isSidechain=True, agentId="a1")
    ledger = ledger_of(records.written(tmp_path / "a.jsonl"))
    assert {(cell.agent, cell.tool) for cell in ledger.tool_cells} == {("", "Read"), ("a1", "Grep")}


def test_what_is_new_is_without_what_earlier_messages_were_sent() -> None:
    """R41: a claim says what was new to the model, also where nobody reported it."""
    turns = [turn(i, user=WORDS, says=f"yes {i}", model=GPT) for i in range(5)]
    words = EXACT.count(WORDS)
    total = counted(*turns).total
    assert total.new.input == 5 * words + sum(EXACT.count(f"yes {i}") for i in range(4))
    assert total.new.output == total.tokens.output
    assert total.tokens.input > 2 * total.new.input
