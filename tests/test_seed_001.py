"""The first seed's examples, business rules and success criteria, as settled in its notes.

The examples count messages; a turn here is an assistant message with its calls, and the user's
words before it. So each is told twice: with the seed's own numbers on rows of turns, and folded
into turns as they really are.
"""

from __future__ import annotations

import pytest

from kedge.anchors import Finder, detect_historical_anchors, registered_detectors
from kedge.compaction import compact
from kedge.context import extract_from_turns
from kedge.flow import flow_of
from kedge.model import WEIGHTS, Anchor, Budget, Compaction, Plan, Transcript, Turn
from kedge.planning import make_plan
from tests.conftest import ROOT
from tests.seed_conversations import coding, mixed, searching
from tests.turns import bash, called, edit, turn

LATEST_ONLY = Budget(recent_turns=1)


def rows(number: int) -> list[Turn]:
    """Large enough each that folding one is worth a summary."""
    return [turn(n, says=f"Row {n}.", tokens=1_000) for n in range(number)]


def done_at(index: int) -> Anchor:
    return Anchor(turn_index=index, type="task_completion", confidence=0.92, description="done")


def cut_of(number: int, *anchors: int, budget: Budget | None = None) -> int:
    return make_plan(rows(number), [*map(done_at, anchors)], budget or Budget()).cut


def compacted(turns: list[Turn], budget: Budget) -> Compaction:
    return compact(Transcript(format="plain", turns=tuple(turns)), budget, style="outcomes")


def kept(plan: Plan) -> list[int]:
    return [index for span in plan.kept for index in range(span.first, span.last + 1)]


# The examples


def test_example_1_coding_in_rows() -> None:
    plan = make_plan(rows(6), [done_at(3)], Budget())
    assert (plan.cut, kept(plan)) == (3, [3, 4, 5])


def test_example_1_coding_anchor() -> None:
    (anchor,) = detect_historical_anchors(coding())
    assert (anchor.turn_index, anchor.type) == (1, "task_completion")
    assert (anchor.confidence, anchor.weight) == (0.92, 0.8)


def test_example_1_coding_folded_is_all_recent() -> None:
    assert compacted(coding(), Budget()).plan.nothing_to_do


def test_example_1_coding_folded_keeps_from_the_anchor_on() -> None:
    found = compacted(coding(), LATEST_ONLY)
    assert kept(found.plan) == [1, 2]
    assert found.plan.anchor == 1
    assert found.summary == (
        "Active files: src/auth.rs, README.md\n"
        "Goals: Please also update the documentation\n"
        "Build: passing\n"
        "Last intent: Please also update the documentation\n"
        "\n"
        "Key outcomes:\n"
        'User: "Fix the login bug in auth.rs" [t0]\n'
        "✓ The token is never checked [t0]"
    )


def test_example_2_search_in_rows_keeps_the_last_three() -> None:
    """R5: the checkpoint at the end would keep one turn; the recent window outranks it."""
    flow = flow_of(rows(4))
    plan = make_plan(flow.turns, flow.anchor_points, Budget())
    assert flow.synthetic_anchor is not None
    assert flow.synthetic_anchor.turn_index == 3
    assert (plan.cut, kept(plan)) == (1, [1, 2, 3])


def test_example_2_search_has_natural_anchors() -> None:
    flow = flow_of(searching())
    found = [(anchor.turn_index, anchor.type) for anchor in flow.anchor_points]
    assert found == [(1, "user_checkpoint"), (3, "user_checkpoint")]
    assert flow.synthetic_anchor is None


def test_example_2_search_goals_are_the_users_words() -> None:
    assert flow_of(searching()).preservation_context.current_goals == (
        "Please tell me more about salaries",
    )


def test_example_3_mixed_in_rows() -> None:
    plan = make_plan(rows(8), [done_at(1), done_at(5)], Budget())
    assert (plan.cut, kept(plan)) == (5, [5, 6, 7])


def test_example_3_mixed_anchors() -> None:
    """R8: the run of tests alone had none; files had changed since the last one."""
    found = [(a.turn_index, a.type) for a in detect_historical_anchors(mixed())]
    assert found == [(0, "task_completion"), (2, "task_completion")]


def test_example_3_mixed_folded_tells_of_the_setup() -> None:
    found = compacted(mixed(), LATEST_ONLY)
    assert kept(found.plan) == [2, 3]
    lines = found.summary.split("\n")
    assert any(line.startswith("[ANCHOR] The project is set up.") for line in lines)
    assert (
        "✓ Modified src/index.ts, tsconfig.json: Created index.ts and the configuration [t1]"
        in lines
    )


# The business rules


def test_br_001_a_file_read_is_no_anchor_and_a_successful_test_run_is() -> None:
    finder = Finder()
    assert finder.add(turn(0, called("Read", "…", file_path="a.py"), says="I read it.")) is None
    assert finder.add(turn(1, edit("a.py"), says="Edited.")) is None
    anchor = finder.add(turn(2, bash("pytest", "5 passed in 0.10s")))
    assert anchor is not None
    assert anchor.confidence >= 0.9


def test_br_001_the_threshold_holds_for_every_detector() -> None:
    """R1: with the seed's own 0.85 and 0.88 those two detectors could never speak."""
    search = searching()[:2]
    install = [turn(0, bash("npm install", "added 120 packages in 4s"))]
    for turns, confidence in ((search, 0.85), (install, 0.88)):
        assert len(detect_historical_anchors(turns)) == 1
        assert detect_historical_anchors(turns, profile="literal") == ()
        found = detect_historical_anchors(turns, profile="literal", threshold=0.85)
        assert [anchor.confidence for anchor in found] == [confidence]
    assert detect_historical_anchors(coding(), threshold=0.99) == ()


def test_br_002_the_weight_follows_from_the_type() -> None:
    assert WEIGHTS == {
        "error_resolution": 0.9,
        "task_completion": 0.8,
        "feature_milestone": 0.75,
        "user_checkpoint": 0.7,
    }
    assert done_at(0).weight == 0.8
    assert {detector.type for detector in registered_detectors()} == set(WEIGHTS)


def test_br_003_the_last_three_turns_are_kept() -> None:
    """R3: "10 turns keeps 8-10" counts from one."""
    assert kept(make_plan(rows(10), [], Budget())) == [7, 8, 9]
    assert kept(make_plan(rows(10), [done_at(9)], Budget())) == [7, 8, 9]
    assert kept(make_plan(rows(10), [done_at(9)], Budget(target=1))) == [7, 8, 9]
    assert (cut_of(10, 5), cut_of(10, 7), cut_of(90, 40)) == (5, 7, 40)
    assert make_plan(rows(3), [], Budget()).nothing_to_do


def test_br_004_a_synthetic_checkpoint_stands_at_the_end() -> None:
    flow = flow_of(rows(10))
    (anchor,) = flow.anchor_points
    assert anchor == flow.synthetic_anchor
    assert (anchor.turn_index, anchor.type, anchor.weight) == (9, "user_checkpoint", 0.7)
    assert (anchor.confidence, anchor.synthetic) == (1.0, True)
    assert "synthetic" in anchor.description.lower()
    assert flow_of(coding()).synthetic_anchor is None
    assert flow_of([]).synthetic_anchor is None


def test_br_004_a_synthetic_checkpoint_never_moves_the_cut() -> None:
    """R5: also where the conversation has gone on since it was set."""
    early = flow_of(rows(4)).anchor_points
    assert make_plan(rows(10), early, Budget()).cut == 7


def test_br_005_a_low_ratio_is_warned_of_and_nothing_fails() -> None:
    """Four turns of 400 tokens: little can be freed."""
    turns = [
        turn(n, bash("ls", "x"), user=f"Step {n}", says=f"Did step {n}.", exchange=n, tokens=100)
        for n in range(4)
    ]
    found = compacted(turns, Budget())
    assert found.context_reduction < 0.60
    assert found.warnings
    large = [turn(n, bash("ls", "x"), says="Did it.", tokens=5_000) for n in range(40)]
    well = compacted(large, Budget())
    assert well.context_reduction >= 0.60
    assert not any("60%" in warning for warning in well.warnings)


def test_br_005_the_warning_names_the_ratio() -> None:
    turns = [turn(n, bash("ls", "x"), says="Did it.", tokens=500) for n in range(6)]
    found = compacted(turns, Budget())
    assert 0 < found.context_reduction < 0.60
    assert any(f"{int(100 * found.context_reduction)}%" in told for told in found.warnings)


def test_br_006_the_context_is_extracted() -> None:
    turns = [
        turn(0, called("Read", "{}", file_path="config.json"), user="Please fix the auth bug"),
        turn(1, edit("src/auth.rs"), bash("node x", "error: cannot find module xyz", exit_code=1)),
        turn(
            2,
            called("Write", "File created", file_path="src/login.ts", content="…"),
            bash("cargo test", "test result: ok. 15 passed; 0 failed; 0 ignored"),
            user="Help me implement OAuth",
        ),
    ]
    assert extract_from_turns(turns[:2]).error_states == ("error: cannot find module xyz",)
    assert extract_from_turns(turns).format_for_summary() == (
        "Active files: src/auth.rs, src/login.ts, config.json\n"
        "Goals: Please fix the auth bug; Help me implement OAuth\n"
        "Build: passing\n"
        "Last intent: Help me implement OAuth"
    )


@pytest.mark.parametrize(
    ("output", "exit_code", "status"),
    [
        ("test result: ok. 15 passed; 0 failed; 0 ignored", 0, "passing"),
        ("test result: FAILED. 3 passed; 1 failed; 0 ignored", 101, "failing"),
        ("test result: FAILED. 3 passed; 1 failed; 0 ignored", 0, "failing"),
        ("the password may bypass the test", 0, "unknown"),
    ],
)
def test_br_006_the_build_is_what_a_run_counted(output: str, exit_code: int, status: str) -> None:
    """R11: the seed calls "3 passed; 1 failed" passing, its first code calls "0 failed" failing."""
    command = "cat notes" if status == "unknown" else "cargo test"
    turns = [turn(0, bash(command, output, exit_code=exit_code))]
    assert extract_from_turns(turns).build_status == status


# The success criteria


def test_success_criterion_1_conversations_without_code_have_anchors() -> None:
    install = [turn(0, bash("pip install rich", "Successfully installed rich-14.0.0"))]
    assert flow_of(searching()).synthetic_anchor is None
    assert flow_of(install).synthetic_anchor is None


def test_success_criterion_2_no_summary_has_fixed_text() -> None:
    for turns in (coding(), searching(), mixed(), rows(9)):
        large = [turn_with(tokens=2_000, of=one) for one in turns]
        text = compacted(large, LATEST_ONLY).summary
        assert text
        for fixed in ("[from conversation]", "Continue", "Build: unknown", "None", "Goals: \n"):
            assert fixed not in text


def test_success_criterion_2_another_conversation_has_another_summary() -> None:
    one, other = (compacted(turns, LATEST_ONLY).summary for turns in (coding(), mixed()))
    assert set(one.split("\n")) & set(other.split("\n")) <= {"", "Key outcomes:", "Build: passing"}


@pytest.mark.parametrize("number", [1, 2, 5, 50])
def test_success_criterion_3_there_is_always_a_checkpoint(number: int) -> None:
    (anchor,) = flow_of(rows(number)).anchor_points
    assert (anchor.turn_index, anchor.synthetic) == (number - 1, True)


def test_success_criterion_4_the_context_is_populated() -> None:
    context = flow_of(coding()).preservation_context
    assert context.active_files == ("src/auth.rs", "README.md")
    assert context.current_goals == (
        "Fix the login bug in auth.rs",
        "Please also update the documentation",
    )
    assert context.build_status == "passing"
    assert context.last_user_intent == "Please also update the documentation"


@pytest.mark.parametrize("number", [5, 8, 30, 300])
def test_success_criterion_5_sixty_percent_is_freed_from_five_turns_on(number: int) -> None:
    """Old turns are the large ones in work that has gone on for a while."""
    turns = [
        turn(
            n,
            edit(f"src/part{n}.py"),
            user=f"Please change part {n}",
            says=f"Changed part {n}.",
            exchange=n,
            tokens=2_000 if n < number - 3 else 200,
        )
        for n in range(number)
    ]
    found = compacted(turns, Budget(least_reduction=0.60))
    assert found.context_reduction >= 0.60
    assert not any("60%" in warning for warning in found.warnings)


def test_success_criterion_6_the_patterns_there_were_still_hold() -> None:
    tests = bash("pytest", "5 passed in 0.10s")
    done = detect_historical_anchors([turn(3, edit("a.py"), tests)])
    assert [(a.turn_index, a.type, a.weight) for a in done] == [(3, "task_completion", 0.8)]
    fixed = detect_historical_anchors([turn(3, edit("a.py"), tests, previous_error=True)])
    assert [(a.turn_index, a.type, a.weight) for a in fixed] == [(3, "error_resolution", 0.9)]


def test_success_criterion_6_evidence_may_lie_in_several_turns_of_an_exchange() -> None:
    turns = [
        turn(0, bash("pytest", "1 failed in 0.10s", exit_code=1), user="Fix the tests"),
        turn(1, called("Read", "…", file_path="a.py")),
        turn(2, edit("a.py")),
        turn(3, bash("pytest", "1 passed in 0.10s")),
    ]
    assert [(a.turn_index, a.type) for a in detect_historical_anchors(turns)] == [
        (3, "error_resolution")
    ]


@pytest.mark.parametrize("detector", registered_detectors(), ids=lambda detector: detector.name)
def test_success_criterion_7_every_pattern_has_its_tests(detector: object) -> None:
    name = getattr(detector, "name", "").replace("-", "_")
    assert (ROOT / "tests" / "anchors" / f"test_{name}.py").read_text("utf-8").count("\ndef test_")


def turn_with(*, of: Turn, tokens: int) -> Turn:
    return Turn(**{name: getattr(of, name) for name in of.__struct_fields__} | {"tokens": tokens})
