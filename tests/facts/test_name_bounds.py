"""What is no name, and what names may cost."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from kedge import read
from kedge.facts.extractor import Setting
from kedge.facts.names.names import MOST_A_CALL, REMEMBERED, NameExtractor
from kedge.model import NameSeen, Turn
from kedge.outcomes import outcomes_of
from tests.facts.test_names import ROOT, edit, kinds, names, only
from tests.turns import bash, called, turn


@pytest.mark.parametrize(
    "words",
    [
        "This is plain prose and/or nothing, input/output too. It works.",
        "GitHub and JavaScript, macOS, Node.js, OAuth",
        "strings.HasPrefix(x) and os.path.join and console.log(y) and t.TempDir()",
        "call toolu_01AbCdEfGhIjKl",
        "id 123e4567-e89b-12d3-a456-426614174000",
        "data aGVsbG8gd29ybGQhIQpXb3JsZDEy end",
        "in /tmp/some/folder/file.txt and /var/folders/ab/x.json",
        "UTF-8, SHA-256, ISO-8601",
        "1. first\n2.2.1 second point\n#3 third",
        "either null/empty/undefined or modified/new/deleted",
        "50% of color #303030",
        "run Get-ChildItem -Recurse",
        "use `errors.As` and `os.stat()`",
        "try sed -i 's/old/new/g' or 10s/one/two",
    ],
)
def test_what_is_no_name(words: str) -> None:
    assert names(turn(0, user=words)) == []


def test_temporary_files_are_no_names_whoever_names_them() -> None:
    step = called("Read", "openDoor()", file_path="/tmp/trial/door.go")
    assert "file" not in kinds(names(turn(0, step, bash("cat /tmp/trial/door.go")))).values()


def test_a_letter_behind_a_backslash_is_no_part_of_a_name() -> None:
    facts = names(turn(0, edit("a.go", r'fmt.Print("\nopenDoor\tcloseDoor")')))
    assert {"openDoor", "closeDoor"} < set(kinds(facts))
    assert "nopenDoor" not in kinds(facts)


def test_plain_words_count_only_where_they_are_declared() -> None:
    facts = names(turn(0, edit("a.py", "class Theme:\n    def run(self):\n        paint(door)")))
    assert {name for name, kind in kinds(facts).items() if kind == "symbol"} == {"Theme"}


# bounds


def test_a_turn_gives_its_heaviest_names_only() -> None:
    shown = "\n".join(f"shownName{place}()" for place in range(500))
    read_step = called("Read", shown, file_path=f"{ROOT}/big.go")
    facts = names(turn(0, read_step, says="openDoor"))
    assert len(facts) == MOST_A_CALL
    weights = [fact.weight for fact in facts]
    assert weights == sorted(weights, reverse=True)
    assert only(facts, "openDoor")


def test_memory_does_not_grow_with_the_turns() -> None:
    extractor = NameExtractor(Setting(root=ROOT))
    sizes = []
    for index in range(5_000):
        met = " ".join(f"door{place}Number{index}" for place in range(10))
        one = turn(index, edit(f"pkg/f{index}.go", met))
        for _ in extractor.see(one, outcomes_of(one)):
            pass
        if index + 1 in (500, 5_000):
            sizes.append(len(pickle.dumps(extractor)))
    assert sizes[1] < sizes[0] * 1.1


def test_what_was_met_longest_ago_is_forgotten_first() -> None:
    extractor = NameExtractor(Setting(root=ROOT))

    def see(one: Turn) -> list[NameSeen]:
        return [*extractor.see(one, outcomes_of(one))]

    see(turn(0, edit("old.go", "oldDoor()")))
    see(turn(1, edit("kept.go", "keptDoor()")))
    for index in range(2, REMEMBERED):
        see(turn(index, edit("f.go", f"doorNumber{index}()")))
        if index % 500 == 0:
            see(turn(index, edit("kept.go", "keptDoor()")))
    for index in range(REMEMBERED, REMEMBERED + 50):
        see(turn(index, edit("f.go", f"doorNumber{index}()")))
    assert see(turn(9_000, says="oldDoor"))[0].topic == ""
    assert see(turn(9_001, says="keptDoor"))[0].topic == "kept.go"


HOSTILE = (
    "\0\ud800\x1b[31m",
    "a" * 200_000,
    "a_" * 100_000,
    "/" * 50_000,
    "a/" * 50_000,
    "`" * 20_000,
    "1." * 50_000,
    "$" * 10_000 + "{A_" * 10_000,
    "(" * 20_000 + "#",
    "func " * 20_000,
    "https://" * 5_000,
    "[" * 30_000,
    "a." * 50_000,
)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_never_raises(text: str) -> None:
    steps = (
        called("Edit", text, file_path=text, old_string=text, new_string=text),
        called("Write", text, file_path="a.go", content=text),
        called("Read", text, file_path="a.go"),
        called("Grep", text, pattern=text),
        called("Task", text, prompt=text),
        called("strange", text, some_id=text, deep=[[[[[[[[text]]]]]]]], number=3, nothing=None),
        called("TodoWrite", text, todos=[{"content": text}, text, 3]),
        bash(text[:2_000], text, exit_code=1),
    )
    for fact in names(turn(0, *steps, user=text, says=text)):
        assert 0 < len(fact.name) <= 400


def test_names_of_real_sessions_stand_in_their_turns(corpus: Path) -> None:
    for path in sorted((corpus / "claude-code").glob("*.jsonl"))[:3]:
        transcript = read(path, counter=None)
        for one in transcript.turns:
            said = [one.user_message, one.assistant_response, *(note.text for note in one.notes)]
            said += [str(call.parameters) for call in one.tool_calls]
            said += [f"{result.output}{result.error}" for result in one.tool_results]
            text = "\n".join(said)
            for fact in names(one):
                assert fact.name.rpartition("/")[2] in text
