"""Plans as they are said: next steps, what is in the way, and what becomes of them."""

from __future__ import annotations

import pytest

from kedgeline.facts import facts_of as all_facts
from kedgeline.model import Asked, TodoSet, Transcript, Turn
from kedgeline.pipeline.handoff import summarize
from kedgeline.summary import items_of
from tests.turns import bash, turn


def lines(section: str, *turns: Turn) -> list[str]:
    session = Transcript(format="test", turns=turns)
    return [item.text for item in items_of(summarize(session)) if item.section == section]


def steps(*turns: Turn) -> list[str]:
    return lines("Next Steps", *turns)


def blockers(*turns: Turn) -> list[str]:
    return lines("Blockers / Open Questions", *turns)


LISTED = (
    "The form works.\n\n**Next steps:**\n1. Sign the cookie\n2. Rotate the key",
    "The form works.\n\n## Next steps\n\n- Sign the cookie\n- Rotate the key\n\nThat is all.",
    "The form works.\n\nRemaining:\n* Sign the cookie\n* Rotate the key",
    "The form works.\n\nTODO: Sign the cookie\nTODO: Rotate the key",
    "The form works.\n\n- [x] Draw the form\n- [ ] Sign the cookie\n- [ ] Rotate the key",
    "The form works.\n\nWhat is left:\n- [x] Form\n- [ ] Sign the cookie\n- [ ] Rotate the key",
)


@pytest.mark.parametrize("says", LISTED)
def test_a_stated_plan_is_what_comes_next(says: str) -> None:
    assert steps(turn(0, user="Add a login", says=says)) == ["Sign the cookie", "Rotate the key"]


def test_a_plan_of_the_users_counts_too() -> None:
    asked = turn(0, user="The form is fine. TODO: rotate the key", says="Noted.")
    (fact,) = (one for one in all_facts(Transcript(format="test", turns=(asked,))) if is_todo(one))
    assert (fact.by, fact.text, fact.source) == ("user", "rotate the key", "stated")


def is_todo(fact: object) -> bool:
    return isinstance(fact, TodoSet)


def test_a_later_list_takes_the_place_of_an_earlier_one() -> None:
    first = turn(0, user="Add a login", says=LISTED[0])
    second = turn(1, user="go on", says="Remaining: write the page")
    assert steps(first, second) == ["write the page"]
    assert steps(first, turn(1, user="go on", says="Next steps: none")) == []


@pytest.mark.parametrize(
    "says",
    ["Sign the cookie: done.", "Sign the cookie is now finished."],
)
def test_what_was_done_is_ticked(says: str) -> None:
    turns = (turn(0, user="Add a login", says=LISTED[0]), turn(1, user="go on", says=says))
    assert steps(*turns) == ["Rotate the key"]
    assert "Done: Sign the cookie" in lines("Current State", *turns)


@pytest.mark.parametrize(
    "says",
    [
        "I will sign the cookie now.",
        "Looked at how to sign the cookie, not done yet.",
        "Signed the request.",
    ],
)
def test_what_was_not_done_stays(says: str) -> None:
    turns = (turn(0, user="Add a login", says=LISTED[0]), turn(1, user="go on", says=says))
    assert steps(*turns) == ["Sign the cookie", "Rotate the key"]


def test_a_list_ends_where_the_user_has_gone_on_to_other_things() -> None:
    stated = turn(0, user="Add a login", says=LISTED[0])
    others = [turn(n, user=f"What is part {n}?", says="It is a part.") for n in range(1, 9)]
    assert steps(stated, *others[:3])
    assert not steps(stated, *others)


NO_PLANS = (
    "The remaining balance is 5.",
    "Remaining balance: 5",
    "Next steps were taken by the team.",
    "```\nNext steps:\n- Sign the cookie\n```",
    "<details>\nTODO: Sign the cookie\n</details>",
    "The file:\n```\ntext\n```markdown\n- [ ] Sign\n```\nTODO: Sign the cookie\n```",
    "I read it:\n```\n- [ ] Sign\n```\n- [ ] Sign the cookie",
)


@pytest.mark.parametrize("says", NO_PLANS)
def test_other_words_code_and_folded_output_state_no_plan(says: str) -> None:
    assert steps(turn(0, user="Look at it", says=says)) == []


def test_tools_and_sub_agents_state_no_plan() -> None:
    said = "Next steps: 1. Sign the cookie\nBlocker: no key"
    read = turn(0, bash("cat plan.md", said), user="Look at it", says="I read it.")
    inner = turn(1, user=said, says=said, agent="explorer")
    found = list(all_facts(Transcript(format="test", turns=(read, inner))))
    assert not any(isinstance(one, (TodoSet, Asked)) for one in found)


def test_a_blocker_waits_until_others_are_said() -> None:
    first = turn(0, user="Deploy", says="I stopped. Blockers:\n- no staging key\n- the gate is red")
    assert blockers(first) == [
        "Blocker: no staging key (the agent)",
        "Blocker: the gate is red (the agent)",
    ]
    second = turn(1, user="and now?", says="Blocked by: the gate is red")
    assert blockers(first, second) == ["Blocker: the gate is red (the agent)"]
    assert blockers(first, turn(1, user="Blockers: none", says="Good.")) == []
