"""What a host is told before its compaction, and what is put back after it."""

from __future__ import annotations

import re

from kedgeline.hosts import places
from kedgeline.hosts.advice import (
    MOST,
    MOST_RULES,
    PUT_BACK_TOKENS,
    AgentReading,
    exam,
    lacking_of,
)
from kedgeline.hosts.judgement import texts_scored
from kedgeline.hosts.store import opened_session
from kedgeline.session.keeping_up import pinned_words
from kedgeline.tokens import Estimate
from tests.claude import text, use
from tests.integrations.hooks.following import RULE, SHORT, Host

COUNT = Estimate().count
PLAN = "# New lamps on the pier\n\nThe oldest first."


def lacking(host: Host, *there: str, rules: str = "") -> str:
    return lacking_of(host.facts(), there, "s1", COUNT, rules=rules)


def test_what_is_put_back_takes_nothing_from_what_the_host_wrote(host: Host) -> None:
    known = host.facts()
    wrote = 'Changed src/mod0.py and src/mod1.py. They said: "Do lamp 2."'
    probes = exam(known)
    alone, more = (
        texts_scored((wrote,), probes),
        texts_scored((wrote, "## Commands\n- `make`"), probes),
    )
    assert alone.score == more.score
    assert (alone.failed, alone.critical) == (more.failed, more.critical)
    full = texts_scored((wrote, lacking(host, wrote)), probes)
    assert (full.score, full.critical, full.failed) == (1.0, 0, ())
    assert 0 < (alone.score or 0) < 1
    assert 0 < alone.critical < len(alone.failed)


def test_a_host_that_compacts_in_the_middle_of_an_answer_is_not_told_that_all_is_answered(
    host: Host,
) -> None:
    host.records.user("Now the lamp of the pier.")
    host.records.assistant("p", text("First I need the wiring plan of the pier."))
    host.runs()
    told = host.kept(places.RULES)
    assert '- Asked last: "Now the lamp of the pier." [t8]' in told
    state = lacking(host, SHORT)
    assert "- The agent said last: First I need the wiring plan of the pier. [t8]" in state
    assert "answered" not in told + state
    assert "closed" not in told + state


def test_a_rule_in_a_request_that_stands_there_whole_is_not_told_twice(host: Host) -> None:
    host.records.user("Wire the pier. Never touch the buoy.")
    host.runs()
    told = host.kept(places.RULES)
    assert told.count("Never touch the buoy.") == 1
    assert RULE in told
    # a summariser is told which of the words are rules
    steering = host.kept(places.STEERING)
    assert '- "Never touch the buoy." [t8]' in steering
    assert steering.index("## Standing Instructions") < steering.index("## Session Intent")
    assert steering.count("## Standing Instructions") == 1


def test_a_request_that_is_cut_keeps_its_end(host: Host) -> None:
    host.records.user("What is wrong here?\n" + "a line of the log\n" * 2_000 + "It began today.")
    host.runs()
    known = host.facts()
    for name, most in ((places.STEERING, MOST), (places.RULES, MOST_RULES)):
        told = host.kept(name)
        assert len(told) <= most
        assert "What is wrong here?" in told
        assert 'It began today." [t8]' in told
        failed = AgentReading([told]).lacks(exam(known))
        assert "request" not in {probe.matter for probe in failed}


def test_what_the_user_said_and_decided_since_comes_with_the_request(host: Host) -> None:
    host.records.user("Show me what the pier needs, all of its lamps, in the order of their age.")
    host.records.assistant("e1", use("e2", "ExitPlanMode", plan=PLAN))
    host.records.result("e2", "User has approved your plan. You can now start coding.")
    host.records.user("ok, let's implement this")
    host.calls("Bash", "lamps", command="ls pier")
    host.runs()
    told = host.kept(places.RULES)
    assert "- Asked last: " in told
    assert "- Now: " not in told
    assert "- plan approved: New lamps on the pier (no reason given) [t8]" in told
    assert '- Said since: "ok, let\'s implement this" [t9]' in told
    assert "Do lamp 0." not in told


def test_words_that_waited_when_the_host_compacted_are_asked_of_its_summary(host: Host) -> None:
    waiting = "Ah, the fuse of the pier was out, so these numbers are off?"
    host.records.user(waiting)
    host.compacts(SHORT)
    asked = "What did the user last ask for, in their own words?"
    for _ in range(2):  # right behind it, and when it was answered
        last = host.runs()["last"]
        assert waiting in host.kept(places.LACKING)
        assert asked in last["unanswered"]
        host.records.assistant("o1", text("They are."))
        (host.folder / places.STATUS).unlink()
    host.records.user("Good. Now paint the pier.")
    host.records.assistant("o2", text("I paint."))
    assert asked not in host.runs()["last"]["unanswered"]
    assert "paint" not in host.kept(places.LACKING)


def test_commands_that_will_be_needed_again_are_told_once(host: Host) -> None:
    host.records.user("Check it.")
    host.calls("Bash", "a b c", command="ls -la lamps")
    host.calls("Bash", "0 issues", command="make lint 2>&1 | head -5")
    host.calls("Bash", "0 issues", command="make lint 2>&1 | tail -5")
    host.calls("Bash", "clean", command="git status")
    host.calls("Bash", "clean", command="git status")
    host.calls("Bash", "1 passed in 0.1s", command="pytest tests/lamps.py -k pier")
    told = lacking(host, SHORT)
    assert "ls -la" not in told
    assert told.count("make lint") == 1
    asked = [probe.key for probe in exam(host.facts(), 4_000) if probe.matter == "command"]
    assert "ls -la lamps" not in asked
    assert sum("make lint" in line for line in asked) == 1
    assert asked.count("git status") == 1  # run again, though it checks nothing
    assert told.count("pytest tests/lamps.py -k pier") == 1


def test_an_earlier_request_that_the_host_quotes_whole_is_not_lacking(host: Host) -> None:
    long = "Now paint every lamp of the pier, " + "first the red ones and then the others, " * 20
    host.records.user(f"{long}and be done.")
    host.records.assistant("y1", text("I paint."))
    host.records.user("What is left of the lamps, and which of them are dark at night?")
    host.records.assistant("y2", text("Two."))
    assert "Now paint every lamp" in lacking(host, SHORT)
    assert "Now paint every lamp" not in lacking(host, f'They asked: "{long}and be done."')


def test_all_that_is_put_back_keeps_to_its_tokens(host: Host) -> None:
    for n in range(20, 150):
        host.records.user(f"Do lamp {n} of the harbour with its wires.")
        host.edits(f"src/a/long/path/of/lamps/lamp_number_{n}.py", f"mains {n}")
    host.runs()
    rules = host.kept(places.RULES)
    told = lacking(host, SHORT, rules=rules)
    there = len(set(re.findall(r"lamp_number_\d+\.py|src/mod\d\.py", told)))
    assert there > 125, "files without detail share a row"
    both = COUNT(rules) + COUNT(told)
    assert PUT_BACK_TOKENS * 0.8 < both <= PUT_BACK_TOKENS


def test_a_pin_that_the_host_tells_is_not_lacking(host: Host) -> None:
    known = host.facts()
    with opened_session("s1") as session:
        session.pin("The port is 4711")
        pins = pinned_words(session)
    assert "4711" in lacking_of(known, [SHORT], "s1", COUNT, pins=pins)
    assert "4711" not in lacking_of(known, ["Mind: The port is 4711."], "s1", COUNT, pins=pins)
