"""The methods that are compared."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from bench.replay.methods import (
    PACKAGE,
    RECENT,
    RECORDED,
    Given,
    LangChainTrimming,
    Method,
    chosen,
    methods,
    ranked_names,
)
from bench.replay.names import EXACT, head, messages_of, newest, oldest, tail, turn_text
from kedgeline.errors import MissingExtra, UnknownName
from kedgeline.model import Note, Source, Transcript, Turn
from tests.turns import bash, edit, turn

LANGCHAIN = "LangChain trimming"
MAY_BE_EMPTY = ("kedgeline, rebuilt", LANGCHAIN)


def made(name: str, session: Transcript, tokens: int = 0) -> str:
    """By a method that remembers nothing yet."""
    return text_of({one.name: one for one in methods()}[name], session, tokens)


def text_of(method: Method, session: Transcript, tokens: int) -> str:
    found = method.text(Given(session, tokens))
    assert found is not None
    return found


def usable(*rooms: str) -> list[str]:
    return [one.name for one in methods() if one.room in rooms and not one.missing()]


LONG = "The tide table of the north pier was read again. " * 30


def before(count: int = 40, *, asked: str = "Make all piers fair.") -> Transcript:
    """A session; its last turn thinks about what comes next."""
    turns = [
        turn(
            n,
            bash(f"make pier{n}", LONG),
            says=f"Step {n}.",
            tokens=400,
            source=Source(first=n, last=n),
        )
        for n in range(1, count - 1)
    ]
    first = turn(0, edit("/home/sam/harbor/src/first.py"), user=asked, tokens=400)
    last = turn(
        count - 1, says="Next.", thinking="What now?", source=Source(first=count, last=count)
    )
    return Transcript(format="plain", turns=(first, *turns, last))


@pytest.mark.parametrize("name", [n for n in usable("budget") if n not in MAY_BE_EMPTY])
@pytest.mark.parametrize("tokens", [300, 2_048])
def test_every_method_keeps_the_budget(name: str, tokens: int) -> None:
    assert 0 < EXACT.count(made(name, before(), tokens)) <= tokens


def test_the_last_turns_are_the_newest_that_fit() -> None:
    text = made("last turns", before(), 1_000)
    assert "make pier38" in text
    assert "make pier30" not in text


def test_masking_leaves_outputs_out_and_reaches_further_back() -> None:
    text = made("masking", before(), 1_000)
    assert LONG[:40] not in text
    assert "make pier30" in text


def test_head_and_tail_has_both_ends() -> None:
    text = made("head and tail", before(), 1_500)
    assert "src/first.py" in text
    assert "make pier38" in text
    assert "make pier20" not in text


def test_turns_are_kept_by_count_however_long_they_are() -> None:
    text = made(f"last {RECENT} turns", before())
    assert text.count("## t") == RECENT
    assert "## t30\n" in text
    assert "## t29\n" not in text
    assert text.count(LONG) == RECENT - 1


def test_masking_by_count_keeps_every_turn_and_the_outputs_of_the_newest() -> None:
    text = made(f"masking before the last {RECENT}", before())
    assert text.count("## t") == 40
    assert text.count(LONG) == RECENT - 1
    assert text.index("## t29\n") < text.index(LONG) < text.index("## t31\n")


def test_the_newest_turns_stand_in_their_order() -> None:
    text = newest(before().turns, 1_000)
    assert text.index("Step 37.") < text.index("Step 38.")


def test_names_are_ranked_by_how_often_and_how_lately_they_were_said() -> None:
    turns = (
        turn(0, says="old_name"),
        turn(1, says="old_name"),
        *(turn(n) for n in range(2, 80)),
        turn(80, bash("ls", "shown_name")),
        turn(81, bash("ls", "shown_name"), says="once_name"),
        turn(82, says="often_name"),
        turn(83, says="often_name"),
    )
    ranked = ranked_names(Transcript(format="plain", turns=turns))
    assert ranked == ["often_name", "once_name", "old_name", "shown_name"]


def test_kedgeline_folds_everything_and_the_rebuilt_context_says_the_request_again() -> None:
    text = made("kedgeline, rebuilt", before(), 600)
    assert "Make all piers fair." in text
    assert made("kedgeline", before(), 600).strip() in text
    assert "## t" not in text
    ends_with_a_call = replace(before(), turns=before().turns[:-1])
    assert "## t" not in made("kedgeline, rebuilt", ends_with_a_call, 600)


def test_what_is_said_again_takes_no_room_from_the_summary() -> None:
    short, long = before(), before(asked="Make all piers fair. " * 60)
    sizes = [EXACT.count(made("kedgeline", one, 400)) for one in (short, long)]
    assert sizes[1] > 0.9 * sizes[0]


@pytest.mark.parametrize("name", usable("budget"))
def test_a_method_remembers_no_other_session_and_no_other_budget(name: str) -> None:
    sessions = before(), before(30, asked="Moor her.")
    used = {one.name: one for one in methods()}[name]
    for session in sessions:
        for tokens in (300, 900):
            assert text_of(used, session, tokens) == made(name, session, tokens)


def test_no_compaction_keeps_everything_and_a_recorded_summary_is_taken_as_it_is() -> None:
    every = {one.name: one for one in methods()}
    assert every["no compaction"].text(Given(before())) is None
    assert every[RECORDED].text(Given(before(), 5, "So far.")) == "So far."


def test_methods_are_chosen_by_name_in_the_order_of_the_tables() -> None:
    assert [one.name for one in chosen(["kedgeline", "masking"])] == ["masking", "kedgeline"]
    with pytest.raises(UnknownName, match="unknown method 'mask'; choose one of no compaction, "):
        chosen(["kedgeline", "mask"])


def test_a_method_whose_package_is_missing_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert Method("x", "budget", lambda of: "", "json", "some").missing() is None
    monkeypatch.setattr("bench.replay.methods.PACKAGE", "no_such_package")
    line = r"pip install 'kedgeline\[langchain\]'"
    with pytest.raises(MissingExtra, match=rf"^{LANGCHAIN} needs .* run {line}$"):
        chosen([LANGCHAIN])
    assert chosen(["kedgeline"])


def test_a_turn_as_messages_has_every_word_of_its_text() -> None:
    note = Note(kind="injected", text="mind the tide")
    one = turn(3, bash("ls", "pier"), bash("pwd", "/home"), user="Go.", says="So.", notes=(note,))
    found = list(messages_of(one))
    assert [role for role, _ in found] == ["human", "ai", "tool", "tool"]
    lines = sorted("".join(text for _, text in found).splitlines())
    assert ["## t3", *lines] == sorted(turn_text(one).splitlines())
    assert [role for role, _ in messages_of(turn(0, says="So."))] == ["ai"]
    assert [role for role, _ in messages_of(turn(0, notes=(note,)))] == ["human"]


def stand_in(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """A module in the place of LangChain's that keeps three messages; gives what it was asked."""
    asked: list[dict[str, Any]] = []

    def trim(messages: list[Any], **given: Any) -> list[Any]:
        asked.append({**given, "messages": messages})
        return messages[-3:]

    kinds = {
        f"{kind}Message": lambda kind=kind, **fields: SimpleNamespace(kind=kind, **fields)
        for kind in ("Human", "AI", "Tool")
    }
    module = ModuleType(f"{PACKAGE}.messages")
    vars(module).update(kinds, trim_messages=trim)
    monkeypatch.setitem(sys.modules, PACKAGE, ModuleType(PACKAGE))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return asked


def test_trimming_is_asked_for_as_its_documentation_does(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = stand_in(monkeypatch)
    text = LangChainTrimming()(before(4), 900)
    (given,) = asked
    kinds = [message.kind for message in given["messages"]]
    assert kinds == ["Human", "AI", "Tool", *["AI", "Tool"] * 2, "AI"]
    assert (given["strategy"], given["start_on"], given["include_system"]) == (
        "last",
        "human",
        True,
    )
    assert given["max_tokens"] == 900
    assert "Step 1." not in text
    assert text.index("Step 2.") < text.index("Next.")


def test_tokens_are_counted_up_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = stand_in(monkeypatch)
    LangChainTrimming()(before(), 500)
    messages, count = asked[0]["messages"], asked[0]["token_counter"]
    assert count(messages[-2:]) == sum(EXACT.count(one.content) for one in messages[-2:]) <= 500
    assert 500 < count(messages) < 1_500


def test_trimming_keeps_the_newest_whole_messages_from_one_of_the_user_on() -> None:
    pytest.importorskip(PACKAGE)
    asked = turn(40, says="Moored.", user="Moor her.")
    session = replace(before(), turns=(*before().turns, asked))
    assert made(LANGCHAIN, session, 300) == "User: Moor her.\nMoored.\n"
    assert made(LANGCHAIN, before(), 300) == ""
    assert made(LANGCHAIN, before(), 10**6).startswith("User: Make all piers fair.")


def test_a_giant_line_is_cut_and_not_lost() -> None:
    giant = [Turn(assistant_response="x1 " * 20_000 + "the end")]
    assert newest(giant, 200).endswith("the end\n")
    assert oldest(giant, 200).startswith("## t0\nx1 x1")
    assert EXACT.count(newest(giant, 200)) <= 200
    assert head("", 5) == tail("", 5) == ""


def test_a_turn_as_text_has_the_command_on_a_line_of_its_own() -> None:
    assert "\ncommand: make pier\n" in turn_text(turn(0, bash("make pier", "done")))
