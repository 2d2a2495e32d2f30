"""Every message counts once: not per record, not per file, rewound or not."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kedgeline.economy.counting import LedgerBuilder, count_reading
from kedgeline.economy.counting import ledger_of as everything
from kedgeline.economy.ledger import sizes_of
from kedgeline.errors import NotATranscript
from kedgeline.model import ToolCall, ToolResult, Turn
from kedgeline.pipeline.read import stream
from tests.claude import text, use
from tests.conftest import EXAMPLES
from tests.economy.ledger.sessions import Charged, ledger_of, message_id, used
from tests.formats.opencode_export import export, said, user
from tests.formats.opencode_export import text as part


def streamed() -> Charged:
    """A message in three records, whose usage grows while it is written."""
    records = Charged()
    records.user("make the berths fair")
    records.charged(1, text("I look."), output=1, read=100)
    records.charged(1, use("c1"), output=1, read=100)
    records.charged(1, use("c2"), output=42, read=100)
    records.result("c1")
    records.result("c2")
    records.charged(2, text("Done."), output=7, read=200, write=30)
    return records


def test_records_of_one_message_count_once_and_the_last_stands(tmp_path: Path) -> None:
    ledger = ledger_of(streamed().written(tmp_path / "a.jsonl"))
    assert ledger.total.messages == 2
    assert ledger.total.tokens == used(6, 49, 300, 30)
    assert (ledger.total.estimated_messages, ledger.total.estimated) == (0, used())


def test_a_resumed_session_with_copies_of_earlier_messages_counts_them_once(tmp_path: Path) -> None:
    first = streamed().written(tmp_path / "a.jsonl")
    resumed = streamed()
    resumed.user("go on")
    resumed.charged(3, output=5)
    second = resumed.written(tmp_path / "b.jsonl")
    ledger = ledger_of(first, second)
    assert ledger.total.tokens == used(9, 54, 300, 30)
    assert ledger.copies == 2
    assert {name[-7:]: spent.messages for name, spent in ledger.per("session").items()} == {
        "a.jsonl": 2,
        "b.jsonl": 1,
    }
    assert ledger.tools["Bash"].calls == 2


def test_turns_that_the_user_rewound_were_paid_for(tmp_path: Path) -> None:
    records = Charged()
    records.user("one")
    fork = records.charged(1, output=1)
    records.user("two")
    records.charged(2, output=20)
    records.user("two, but better", parent=fork)
    records.charged(3, output=300)
    path = records.written(tmp_path / "a.jsonl")
    assert ledger_of(path).total.tokens.output == 321


def test_sub_agents_count_once_wherever_the_client_writes_them(tmp_path: Path) -> None:
    """In progress records, and again in a file beside the session."""
    session, beside = Charged(), Charged()
    session.user("delegate")
    session.charged(1, use("t1", "Task", prompt="look around"), output=10)
    session.result("t1", "found", toolUseResult={"agentId": "a1"})
    agent = Charged()
    agent.user("look around", isSidechain=True, agentId="a1")
    agent.charged(8, output=77, model="claude-haiku-4-5-20251001", isSidechain=True, agentId="a1")
    beside.lines = agent.lines
    beside.written(tmp_path / "s" / "subagents" / "agent-a1.jsonl")
    path = session.written(tmp_path / "s.jsonl")
    companion = tmp_path / "s" / "subagents" / "agent-a1.jsonl"
    ledger = ledger_of(path, companion)
    assert {agent: spent.tokens.output for agent, spent in ledger.per("agent").items()} == {
        "a1": 77,
        "": 10,
    }
    assert {model: spent.messages for model, spent in ledger.per("model").items()} == {
        "claude-haiku-4-5-20251001": 1,
        "claude-opus-4-5-20251101": 1,
    }
    assert list(ledger.per("session")) == [str(path)]
    assert ledger.unseen_agents == ()


def test_a_sub_agent_whose_messages_are_nowhere_is_named(tmp_path: Path) -> None:
    records = Charged()
    records.user("delegate")
    records.charged(1, use("t1", "Task", prompt="look around"))
    records.result("t1", toolUseResult={"agentId": "gone1", "totalTokens": 5_000})
    assert ledger_of(records.written(tmp_path / "a.jsonl")).unseen_agents == ("gone1",)


def test_the_message_that_wrote_a_summary_counts_where_the_file_has_it() -> None:
    tokens = {"input": 9_000, "output": 300}
    data = msgspec.json.encode(
        export(
            user("a"),
            said(1, part("A."), tokens={"input": 10, "output": 1}),
            said(3, part("so far: A"), summary=True, tokens=tokens),
        )
    )
    builder = LedgerBuilder()
    for source in ("one", "its copy"):
        count_reading(builder, stream(data), source=source)
    assert builder.ledger().total.tokens == used(9_000 + 10, 300 + 1)


def test_short_ids_hold_within_their_file_only() -> None:
    """Ids that somebody wrote by hand come again elsewhere for other messages."""
    builder = LedgerBuilder()
    turn = Turn(message_id="m1", usage=used(1, 2), timestamp=datetime(2026, 1, 1, tzinfo=UTC))
    grown = replace(turn, usage=used(1, 5))
    other = replace(turn, assistant_response="something else")
    for source, one in (("a", turn), ("a", grown), ("b", other), ("copy of a", turn)):
        builder.take(one, sizes_of(one), source=source, session=source, carried=0)
    assert builder.ledger().total.tokens == used(2, 7)


EXAMPLE_FILES = sorted(p for p in EXAMPLES.iterdir() if p.is_file() and p.suffix != ".py")


@pytest.mark.parametrize("path", EXAMPLE_FILES, ids=lambda path: path.name)
def test_a_copy_of_any_session_counts_once(path: Path, tmp_path: Path) -> None:
    """Also without ids and times, named twice or copied under another name."""
    try:
        once = everything(path)
    except NotATranscript:
        return
    copy = tmp_path / f"other{path.suffix}"
    copy.write_bytes(path.read_bytes())
    for twice in (everything(path, path), everything(path, copy)):
        assert (twice.cells, twice.tool_cells) == (once.cells, once.tool_cells)
        assert twice.copies >= once.total.messages


def test_short_messages_of_different_sessions_without_ids_are_not_one() -> None:
    builder = LedgerBuilder()
    for number in range(2):
        said = Turn(
            user_message="go",
            tool_calls=(ToolCall(id="1", tool="Bash", parameters={"command": "ls"}),),
            tool_results=(ToolResult(call_id="1", output=f"file-{number}"),),
        )
        builder.take(said, sizes_of(said), source="s", session=f"s{number}", carried=1)
    assert builder.ledger().total.messages == 2


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_what_was_reported_stands_and_not_what_is_estimated_of_a_copy(
    order: tuple[int, int],
) -> None:
    reported = Turn(message_id=message_id(1), usage=used(5, 1), assistant_response="word " * 9)
    silent = replace(reported, usage=None)
    builder = LedgerBuilder()
    for number in order:
        turn = (reported, silent)[number]
        builder.take(turn, sizes_of(turn), source="s", session="s", carried=900)
    total = builder.ledger().total
    assert (total.messages, total.tokens, total.estimated_messages) == (1, used(5, 1), 0)


Events = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from("abc"), st.integers(0, 9)), max_size=30
)


@given(Events)
def test_however_messages_repeat_the_ledger_has_each_id_once(
    events: list[tuple[int, str, int]],
) -> None:
    """Messages grow while they are written: the most of one that any source has is what it was."""
    builder = LedgerBuilder()
    most: dict[int, int] = {}
    for number, source, output in sorted(events, key=lambda event: event[1:]):
        turn = Turn(message_id=message_id(number), usage=used(0, output))
        builder.take(turn, sizes_of(turn), source=source, session=source, carried=0)
        most[number] = max(output, most.get(number, 0))
    total = builder.ledger().total
    assert (total.messages, total.tokens.output) == (len(most), sum(most.values()))
