"""What is said again of folded turns: the request that is under way, and the rules files."""

from __future__ import annotations

from kedgeline.model import Budget, Media, Note, Transcript, Turn
from kedgeline.pipeline.job import Job
from kedgeline.planning import make_plan
from kedgeline.planning.rules import Repeats, parts_of
from kedgeline.tokens import Estimate
from tests.turns import bash, turn

ESTIMATE = Estimate()
IMAGE = Media(mime="image/png", data="iVBORw0KGgo=")


def steps(user: str = "Port the parser", count: int = 30) -> list[Turn]:
    """One request and many steps."""
    return [turn(0, user=user), *(turn(n, bash("make")) for n in range(1, count))]


def requests(history: list[Turn], pending: Turn | None = None) -> list[int]:
    """Turns whose request is said again; what asks for something new is known by the facts."""
    transcript = Transcript(format="test", turns=tuple(history), pending=pending)
    job = Job(transcript, Budget(), "", None, ESTIMATE, masking=False)
    plan = make_plan(history, [], Budget(), asked=job.asked, pending=pending)
    return [one.turn for one in plan.repeated if one.what == "request"]


def waiting(words: str, *, exchange: int = 1, **fields: object) -> Turn:
    return turn(30, user=words, exchange=exchange, **fields)


# The request that is under way.


def test_the_request_is_said_again_where_its_turn_is_folded() -> None:
    """One user message and 300 steps: the cut falls inside the exchange."""
    plan = make_plan(steps(count=300), [], Budget())
    assert plan.cut == 297
    assert [(one.turn, one.what) for one in plan.repeated] == [(0, "request")]


def test_a_request_that_a_newer_one_follows_is_history() -> None:
    assert requests(steps(), waiting("Now the lexer")) == []
    command = waiting("", notes=(Note(kind="command", text="/review"),))
    assert requests(steps(), command) == []


def test_an_exchange_that_only_agrees_belongs_to_the_request_before_it() -> None:
    history = steps()
    for n in range(10, 30):
        history[n] = turn(n, bash("make"), exchange=1 + (n >= 20))
    history[10] = turn(10, bash("make"), exchange=1, user="go on")
    history[20] = turn(20, bash("make"), exchange=2, user="继续")
    assert requests(history) == [0, 10, 20]
    history[10] = turn(10, bash("make"), exchange=1, user="Now the lexer")
    assert requests(history) == [10, 20]


def test_all_the_user_said_in_the_exchange_is_said_again() -> None:
    history = steps()
    history[4] = turn(4, bash("make"), user="and keep the old name")
    assert requests(history) == [0, 4]


def screenshots(count: int = 60) -> list[Turn]:
    """Each step shows an image behind the result before it, which opens an exchange."""
    shown = [turn(n, bash("click"), exchange=n, media=(IMAGE,)) for n in range(1, count)]
    return [turn(0, bash("click"), user="Book the flight"), *shown]


def test_an_image_that_a_tool_gave_back_is_no_request() -> None:
    history = screenshots()
    assert requests(history) == [0]
    history[12] = turn(12, bash("click"), exchange=11, user="a window seat", media=(IMAGE,))
    assert requests(history) == [0, 12]
    shown = waiting("", exchange=60, media=(IMAGE,))
    assert requests(history, shown) == [0, 12]


def test_an_image_that_the_user_sends_without_a_word_belongs_to_the_request_before_it() -> None:
    history = steps()
    history[9] = turn(9, says="Show me.")
    for n in range(10, 30):
        history[n] = turn(n, bash("make"), exchange=1)
    history[10] = turn(10, bash("make"), exchange=1, media=(IMAGE,))
    assert requests(history) == [0, 10]
    history = [*steps(count=29), turn(29, says="Done.")]
    shown = waiting("", media=(IMAGE,))
    assert requests(history, shown) == [0]


# Rules files.


def given(n: int, *texts: str) -> Turn:
    notes = tuple(Note(kind="instructions", text=text) for text in texts)
    return turn(n, user="go", exchange=n, notes=notes)


def with_rules(*texts: tuple[int, tuple[str, ...]]) -> list[Turn]:
    history = [turn(n, exchange=n, user=f"request {n}", says="done") for n in range(20)]
    for position, rules in texts:
        history[position] = given(position, *rules)
    return history


def test_rules_files_are_said_again_the_newest_of_each_once() -> None:
    history = with_rules(
        (0, ("# AGENTS.md\nUse tabs.",)),
        (3, ("# AGENTS.md\nUse spaces.",)),
        (5, ("# TEAM.md\nBe brief.",)),
    )
    plan = make_plan(history, [], Budget())
    assert [(one.turn, one.what, one.heading) for one in plan.repeated] == [
        (3, "instructions", "# AGENTS.md"),
        (5, "instructions", "# TEAM.md"),
    ]


def test_a_record_without_a_heading_says_all_notes_of_the_turn_again() -> None:
    both = given(0, "# AGENTS.md\nUse tabs.", "# TEAM.md\nBe brief.")
    assert len(parts_of(both, "instructions")) == 2
    assert len(parts_of(both, "instructions", "# TEAM.md")) == 1


def test_what_is_said_again_is_counted_as_it_is_said() -> None:
    """For every cut: the sums that cuts are compared by, and the parts themselves."""
    history = steps()
    history[4] = turn(4, bash("make"), user="and keep the old name", media=(IMAGE,))
    for n in (2, 5, 9):
        history[n] = given(n, f"# AGENTS.md\nRule {n} " * n, f"# TEAM{n % 2}.md\nRule.")
    history[6] = turn(6, notes=(Note(kind="environment", text="in /work"),))
    history[0] = turn(0, user="Port it", notes=(Note(kind="summary", text="what came before"),))
    repeats = Repeats(history, ESTIMATE.count)
    for cut in range(len(history) + 1):
        assert repeats.tokens(cut) == sum(one.tokens for one in repeats.before(cut))
    assert repeats.tokens(1) > 0


def test_the_summary_of_another_system_leaves_room_for_what_came_since() -> None:
    long = "The harbour was mended. " * 4_000
    noted = turn(0, user="Port the parser", notes=(Note(kind="summary", text=long),))
    history = [noted, *(turn(n, bash("make")) for n in range(1, 60))]
    target = 2_000
    (summary,) = (
        one
        for one in Repeats(history, ESTIMATE.count, target=target).before(50)
        if one.what == "summary"
    )
    assert 0 < summary.tokens <= 0.25 * target
    (part,) = parts_of(noted, "summary", most=summary.most)
    assert isinstance(part, Note)
    assert part.text.startswith("The harbour was mended.")
    assert len(part.text) <= summary.most
