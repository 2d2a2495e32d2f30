"""A summary filed into a bank: what stands, once, with where it comes from."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kedgeline.bank.documents import new_file, read_document, with_entry
from kedgeline.bank.entries import NewEntry, cleaned
from kedgeline.bank.filing import filed
from kedgeline.model import AnyFact, Committed, Decided, FileChanged, Requested, Summary, TodoSet
from kedgeline.redact import REDACTOR
from kedgeline.summary import build

AT = datetime(2026, 11, 14, 10, 0, tzinfo=UTC)
LOGS = {
    "ours": {},
    "headings": {"decisionLog.md": "# Log\n\n### [2026-01-02T00:00:00Z] ann\n\nWe begin.\n"},
    "lines": {"decisionLog.jsonl": "", "activeContext.jsonl": "", "progress.md": "# Progress\n"},
    "lists": {"progress.md": "# Progress\n\n- [ ] Moor the barge\n"},
}


class Bank:
    """Files as they would be after writing."""

    def __init__(self, **files: str) -> None:
        self.documents = {name: read_document(name, text.encode()) for name, text in files.items()}
        self._at = AT

    def write(self, name: str, new: NewEntry) -> None:
        document = self.documents.get(name) or read_document(name, new_file(name))
        self.documents[name] = read_document(
            name, with_entry(document, cleaned(new, REDACTOR))[0].text.encode()
        )

    def file(self, summary: Summary) -> list[tuple[str, NewEntry]]:
        """What was new."""
        self._at += timedelta(minutes=1)
        documents = list(self.documents.values())
        new = filed(summary, documents, session="harbor", agent="ann", at=self._at)
        for name, entry in new:
            self.write(name, entry)
        return new

    def text(self, name: str) -> str:
        return self.documents[name].text

    def edit(self, name: str, old: str, new: str) -> None:
        assert old in self.text(name)
        self.documents[name] = read_document(name, self.text(name).replace(old, new).encode())


def chosen(
    turn: int, said: str, *, key: str = "storage", by: Any = "agent", **more: Any
) -> Decided:
    given = {"rationale": "it is smaller", **more}
    return Decided(turn=turn, key=key, decision=said, by=by, **given)


def test_what_an_agent_does_without_a_reason_is_no_decision_for_the_log() -> None:
    bare = {"rationale": ""}
    choices = [
        chosen(1, "I'll inline the logic", key="logic", **bare),
        chosen(2, "Use SQLite", key="storage", by="user", **bare),
        chosen(3, "Use spawn", key="start", rejected="fork", **bare),
    ]
    new = filed(build(choices), [], session="harbor", agent="ann", at=AT)
    titles = [entry.title for entry in only(new, "decisionLog.md")]
    assert titles == ["Use SQLite", "Use spawn"]


def only(new: list[tuple[str, NewEntry]], name: str) -> list[NewEntry]:
    return [entry for file, entry in new if file == name]


def test_a_decision_goes_into_the_log_with_its_reasons_and_whose_it_is() -> None:
    choice = chosen(
        12, "Use SQLite.", by="user", rationale="one file", rejected="Redis", offered=10
    )
    (name, new), *_ = filed(build([choice]), [], session="harbor", agent="ann", at=AT)
    assert name == "decisionLog.md"
    assert new.fields == {
        "Context": "Decided by the user.",
        "Decision": "Use SQLite.",
        "Rationale": "one file",
        "Alternatives": "Not taken: Redis",
    }
    assert (new.title, new.status, new.sources) == (
        "Use SQLite",
        "Active",
        ("harbor t12", "harbor t10"),
    )
    assert new.summary == "Use SQLite; one file."  # a turn is no file


def test_the_user_who_agrees_to_the_agents_choice_has_made_it() -> None:
    facts = [chosen(1, "Use SQLite."), chosen(3, "use sqlite", by="user")]
    (new,) = only(Bank().file(build(facts)), "decisionLog.md")
    assert (new.fields["Context"], new.sources) == ("Decided by the user.", ("harbor t3",))


@pytest.mark.parametrize("log", LOGS)
def test_filing_again_adds_nothing_and_more_turns_add_what_is_new(log: str) -> None:
    facts: list[AnyFact] = [
        Requested(turn=0, text="Plan the berths", by="user"),
        chosen(3, "Use SQLite."),
        TodoSet(turn=4, key="a", text="Write the parser", status="completed"),
        Committed(turn=5, what="commit", name="0123456789abcdef", about="Add the parser"),
        FileChanged(turn=5, path="src/berths.py", action="created"),
    ]
    bank = Bank(**LOGS[log])
    assert len(bank.file(build(facts))) == 4
    assert bank.file(build(facts)) == []
    facts.append(TodoSet(turn=8, key="b", text="Write the tests", status="completed"))
    facts.append(chosen(8, "Ship on Friday.", key="date"))
    added = bank.file(build(facts))
    assert [entry.title for _, entry in added if "State" not in entry.title] == [
        "Ship on Friday",
        "Write the tests",
    ]
    assert len(added) == 3
    assert bank.file(build(facts)) == []


def test_a_choice_that_replaces_another_names_it() -> None:
    """The old entry is never changed; the new one says which it supersedes."""
    bank = Bank()
    bank.file(build([chosen(3, "Use SQLite.")]))
    before = bank.text("decisionLog.md")
    replaced = build([chosen(3, "Use SQLite."), chosen(9, "Use PostgreSQL.")])
    (new,) = only(bank.file(replaced), "decisionLog.md")
    assert new.status == "Active (supersedes DEC-001)"
    assert new.fields["Context"] == "Decided by the agent. Before it: Use SQLite."
    assert bank.text("decisionLog.md").startswith(before.rstrip("\n"))
    assert only(bank.file(replaced), "decisionLog.md") == []


def test_going_back_to_an_earlier_choice_is_a_new_decision() -> None:
    facts = [chosen(3, "Use SQLite.")]
    bank = Bank()
    bank.file(build(facts))
    facts.append(chosen(9, "Use PostgreSQL."))
    bank.file(build(facts))
    facts.append(chosen(15, "Use SQLite."))
    (new,) = only(bank.file(build(facts)), "decisionLog.md")
    assert (new.fields["Decision"], new.status) == ("Use SQLite.", "Active (supersedes DEC-002)")
    assert only(bank.file(build(facts)), "decisionLog.md") == []


def test_what_a_person_wrote_in_the_same_words_is_known() -> None:
    log = "# Log\n\n### DEC-007: Storage\n\n**Date**: 2026-01-02\n**Decision**: use  *SQLite*\n"
    bank = Bank(**{"decisionLog.md": log, "progress.md": "# P\n\n- [x] write the parser!\n"})
    facts: list[AnyFact] = [
        chosen(3, "Use SQLite."),
        TodoSet(turn=4, key="a", text="Write the parser", status="completed"),
    ]
    assert [name for name, _ in bank.file(build(facts))] == ["activeContext.md"]


def test_an_entry_that_a_person_edited_is_known_by_its_source() -> None:
    bank = Bank()
    bank.file(build([chosen(3, "Use SQLite.")]))
    text = bank.text("decisionLog.md")
    bank.documents["decisionLog.md"] = read_document(
        "decisionLog.md", text.replace("Use SQLite", "SQLite holds all berths").encode()
    )
    assert only(bank.file(build([chosen(3, "Use SQLite.")])), "decisionLog.md") == []
    later = build([chosen(3, "Use SQLite."), chosen(9, "Use PostgreSQL.")])
    (new,) = only(bank.file(later), "decisionLog.md")
    assert new.status == "Active (supersedes DEC-001)"


def test_an_entry_of_the_same_turn_does_not_hide_another_decision() -> None:
    facts = [chosen(3, "Use SQLite."), chosen(3, "Keep tabs.", key="tabs")]
    bank = Bank()
    bank.file(build(facts[:1]))
    facts.append(chosen(9, "Use PostgreSQL."))
    told = [new.fields["Decision"] for new in only(bank.file(build(facts)), "decisionLog.md")]
    assert told == ["Keep tabs.", "Use PostgreSQL."]


@pytest.mark.parametrize(
    "said", ["We will not use SQLite", "**Alternatives**: use SQLite", "**Context**: use SQLite"]
)
def test_the_contrary_does_not_pass_for_the_decision(said: str) -> None:
    log = f"# Log\n\n### DEC-007: Storage\n\n{said}\n"
    new = Bank(**{"decisionLog.md": log}).file(build([chosen(3, "Use SQLite.")]))
    assert len(only(new, "decisionLog.md")) == 1


def test_what_is_open_is_no_milestone_and_does_not_hide_that_it_is_done() -> None:
    bank = Bank(**LOGS["lists"])
    begun = TodoSet(turn=1, key="a", text="Moor the barge", status="in_progress")
    assert only(bank.file(build([begun])), "progress.md") == []
    done = TodoSet(turn=5, key="a", text="Moor the barge", status="completed")
    (new,) = only(bank.file(build([begun, done])), "progress.md")
    assert (new.title, new.status, new.sources) == ("Moor the barge", "completed", ("harbor t5",))


def test_a_commit_that_was_amended_is_no_milestone() -> None:
    facts = [
        Committed(turn=1, what="commit", name="aaaaaaa1", about="Add the parser"),
        Committed(turn=2, what="commit", name="bbbbbbb2", about="Add parser", replaces="aaaaaaa"),
        Committed(turn=3, what="push", name="main"),
    ]
    (new,) = only(Bank().file(build(facts)), "progress.md")
    assert new.title == "Add parser (commit bbbbbbb2)"


def test_a_commit_is_known_by_its_hash_in_any_length() -> None:
    bank = Bank(**{"progress.md": "# P\n\n- [x] parser is in (0123456)\n"})
    commit = Committed(turn=1, what="commit", name="0123456789abcdef", about="Add the parser")
    assert only(bank.file(build([commit])), "progress.md") == []


def test_a_name_is_known_only_as_a_whole() -> None:
    bank = Bank(**{"progress.md": "# P\n\n- [x] v1.0.1 is out\n"})
    tag = Committed(turn=1, what="tag", name="v1.0")
    assert [new.title for new in only(bank.file(build([tag])), "progress.md")] == ["tag v1.0"]


def test_a_todo_and_its_commit_are_one_milestone() -> None:
    facts: list[AnyFact] = [
        TodoSet(turn=1, key="a", text="Add tides", status="completed"),
        Committed(turn=2, what="commit", name="abcdef1", about="Add tides."),
    ]
    assert len(only(Bank().file(build(facts)), "progress.md")) == 1


def test_the_state_is_one_entry_with_its_files() -> None:
    facts: list[AnyFact] = [
        Requested(turn=0, text="Plan the berths", by="user"),
        *(FileChanged(turn=n, path=f"src/b{n}.py", action="created") for n in range(30)),
    ]
    bank = Bank()
    (new,) = only(bank.file(build(facts)), "activeContext.md")
    assert new.text.startswith("OBJECTIVE: ")
    assert new.sources[:2] == ("harbor t29", "src/b29.py")
    assert new.sources[-1] == "+10 more files"
    assert only(bank.file(build(facts, through=40)), "activeContext.md") == []
