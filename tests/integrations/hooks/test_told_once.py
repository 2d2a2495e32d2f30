"""What stands in the agent's context already is not told again, and counts as what is there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kedgeline.hosts.hooks import entry, places
from kedgeline.hosts.hooks.blocks import STEERING
from kedgeline.hosts.hooks.compactions import replacing_messages
from kedgeline.hosts.hooks.entry import answered
from kedgeline.hosts.hooks.events import left_of
from kedgeline.hosts.hooks.work import work
from tests.claude import text
from tests.formats import codex_rollout as rollout
from tests.integrations.hooks.test_work import RULE, SHORT, Host

REQUEST = "Mend the harbour light."
DIM = ("\x1b[2m", "\x1b[22m")
"""How Claude Code writes down what it shows at a terminal."""


@pytest.fixture(autouse=True)
def nobody_works(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker runs where a test says so."""
    monkeypatch.setattr(entry, "start_worker", lambda event, folder: None)
    monkeypatch.setattr(entry, "is_busy", lambda folder: False)


class Claude(Host):
    """Claude Code, with all that it calls for and writes when it compacts."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.works()
        self.runs()

    def calls(self, name: str, **fields: Any) -> str:
        event = {"hook_event_name": name, "session_id": "s1", "transcript_path": str(self.path)}
        answer = answered(json.dumps({**event, **fields}).encode(), "claude-code")
        if not answer.startswith("{"):
            return answer
        return str(json.loads(answer)["hookSpecificOutput"]["additionalContext"])

    def begins(self, trigger: str = "manual") -> tuple[str, str]:
        """What is said before a compaction, and when the session is started anew."""
        steering = self.calls("PreCompact", trigger=trigger)
        return steering, self.calls("SessionStart", source="compact")

    def shows(self, steering: str, dim: bool = False) -> None:
        """What was printed, as a record behind the summary."""
        self.records.user("<local-command-caveat>Not for you.</local-command-caveat>", isMeta=True)
        command = "<command-name>/compact</command-name><command-args></command-args>"
        self.records.user(command)
        said = f"Compacted\nPreCompact [kedgeline hook] completed successfully: {steering.strip()}"
        if dim:
            on, off = DIM
            said = on + said.replace("\n", f"{off}\n{on}") + off
        self.records.user(f"<local-command-stdout>{said}</local-command-stdout>")

    def goes_on(self) -> str:
        return self.calls("UserPromptSubmit", prompt="Go on.")


@pytest.mark.parametrize("dim", [False, True])
def test_what_the_agent_reads_of_the_steering_is_not_told_again(home: Path, dim: bool) -> None:
    claude = Claude(home)
    steering, started = claude.begins()
    assert steering.count(RULE) == 1
    assert RULE not in started
    claude.compacts(SHORT)
    claude.shows(steering, dim)
    last = claude.runs()["last"]
    assert last["score"] < last["score_with_put_back"]
    assert RULE not in claude.goes_on()
    assert claude.runs()["last"]["score_with_put_back"] == 1
    assert RULE in claude.kept(places.PUT_BACK)  # the user sees what the agent was told


def test_a_compaction_that_is_only_told_of_counts_what_was_printed_as_well(home: Path) -> None:
    claude = Claude(home)
    steering, _ = claude.begins()
    claude.tells(SHORT)
    assert claude.runs()["last"]["steering_unseen"]
    claude.compacts(SHORT)
    claude.shows(steering)
    claude.records.assistant("g1", text("I do."))
    assert not claude.runs()["last"]["steering_unseen"]
    assert RULE not in claude.goes_on()


@pytest.mark.parametrize("early", [False, True])
def test_where_the_host_does_not_show_it_the_rules_come_with_the_next_word(
    home: Path, early: bool
) -> None:
    """Whether the summary was looked at before the transcript had it, or not."""
    claude = Claude(home)
    claude.begins()
    if early:
        claude.tells(SHORT)
        claude.runs()
    claude.compacts(SHORT)
    claude.shows("")
    claude.runs()
    told = claude.goes_on()
    assert f'- "{RULE}" [t1]' in told
    assert told.count(f'- "{RULE}" [t1]') == 1


@pytest.mark.parametrize("before", ["", "manual"])
def test_a_compaction_of_the_hosts_own_gets_the_rules_at_once(home: Path, before: str) -> None:
    """Also where the user gave up one of theirs before."""
    claude = Claude(home)
    if before:
        claude.calls("PreCompact", trigger=before)
    steering, started = claude.begins("auto")
    assert steering
    assert f'- "{RULE}" [t1]' in started
    claude.compacts(SHORT, trigger="auto")
    claude.runs()
    assert RULE not in claude.goes_on()


def test_what_did_not_reach_the_host_does_not_count_as_printed(home: Path) -> None:
    claude = Claude(home)

    def fails(said: str) -> None:
        raise BrokenPipeError

    event = {"hook_event_name": "PreCompact", "session_id": "s1", "trigger": "manual"}
    answered(json.dumps(event).encode(), "claude-code", fails)
    assert RULE in claude.calls("SessionStart", source="compact")


def test_what_was_printed_is_forgotten_when_the_user_begins_anew(home: Path) -> None:
    claude = Claude(home)
    claude.calls("PreCompact", trigger="manual")
    assert claude.kept(places.PRINTED).startswith(STEERING)
    claude.calls("SessionStart", source="clear")
    assert claude.kept(places.PRINTED) == ""


def test_what_short_words_answer_is_not_told_again_either(home: Path) -> None:
    claude = Claude(home)
    claude.records.user("Which lamp is next?")
    claude.records.assistant("q1", text("Shall I take the pier, with its two fuses?"))
    claude.records.user("Yes.")
    claude.records.assistant("q2", text("I do."))
    claude.runs()
    steering, _ = claude.begins()
    assert "its two fuses" in steering
    claude.compacts(SHORT)
    claude.shows(steering)
    claude.runs()
    assert "its two fuses" not in claude.goes_on()


PRINTED = """How to.

## Standing Instructions
- "Never push." [t1]
- "Do this:
  one

  two" [t2]

## Session Intent
- Now: "Mend it." [t3]"""


@pytest.mark.parametrize(
    ("rules", "left"),
    [
        ('Head.\n\n## Standing Instructions\n- "Never push." [t1]', ""),
        ('Head.\n\n## Standing Instructions\n- "Do this:\n  one\n\n  two" [t2]', ""),
        (
            'Head.\n\n## Standing Instructions\n- "Never push." [t1]\n- "Never pull." [t4]',
            'Head.\n\n## Standing Instructions\n- "Never pull." [t4]',
        ),
        (
            'Head.\n\n## Standing Instructions\n- "Never push." [t1]\n\n## Session Intent\n- "B."',
            'Head.\n\n## Session Intent\n- "B."',
        ),
        (
            'Head.\n\n## Standing Instructions\n- "Never push."',  # a part of one is another
            'Head.\n\n## Standing Instructions\n- "Never push."',
        ),
        (
            'Head.\n\n## Standing Instructions\n- "Do this:\n  one" [t2]',
            'Head.\n\n## Standing Instructions\n- "Do this:\n  one" [t2]',
        ),
        ("Words without a list", "Words without a list"),
        ("", ""),
    ],
)
def test_only_an_entry_that_stands_there_whole_is_left_out(rules: str, left: str) -> None:
    assert left_of(rules, PRINTED) == left
    assert left_of(rules, "") == rules


def history(*messages: dict[str, Any]) -> dict[str, Any]:
    message = f"Another language model started to solve this problem. {SHORT}"
    items = [one["payload"] for one in (*messages, rollout.user(message))]
    return rollout.record("compacted", message=message, replacement_history=items)


def codex(home: Path, compacted: dict[str, Any]) -> dict[str, Any]:
    """A session of Codex in which the user said two things."""
    session = [
        rollout.record("session_meta", **rollout.META),
        *(rollout.user(REQUEST), rollout.said("Yes."), rollout.user(RULE), rollout.said("Noted.")),
        compacted,
    ]
    path = home / "rollout.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in session))
    folder = places.folder_of("s1")
    work("s1", "codex", str(path), folder)
    found: dict[str, Any] = json.loads(Path(folder, places.STATUS).read_bytes())["last"]
    return found


def test_what_codex_keeps_of_the_users_words_is_not_lost(home: Path) -> None:
    last = codex(home, history(rollout.user(REQUEST), rollout.user(RULE)))
    assert last["critical_failures"] == 0
    assert not [one for one in last["unanswered"] if "user" in one]
    assert REQUEST not in places.kept(places.folder_of("s1"), places.LACKING)


def test_what_codex_does_not_keep_is_lost(home: Path) -> None:
    last = codex(home, history(rollout.user(REQUEST)))
    assert last["critical_failures"]


@pytest.mark.parametrize(
    "items", [None, 7, "x", {}, [7], [None], [{"content": [7, {"text": None}, {"type": "image"}]}]]
)
def test_a_history_of_another_shape_says_nothing(items: object) -> None:
    record = {"payload": {"replacement_history": items}}
    assert replacing_messages(json.dumps(record).encode()) == []


def test_all_items_of_a_history_speak_but_sealed_ones() -> None:
    items = [
        rollout.user("one"),
        rollout.said("two"),
        rollout.call("c1", "make"),
        rollout.output("c1", "three"),
        rollout.reasoning(),
    ]
    record = {"payload": {"replacement_history": [one["payload"] for one in items]}}
    said = replacing_messages(json.dumps(record).encode())
    assert [one for one in said if "make" not in one] == ["one", "two", "three"]
    assert len(said) == 4
