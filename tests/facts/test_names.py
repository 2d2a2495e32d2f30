"""Names worth remembering, with the file they belong to and their weight."""

from __future__ import annotations

from typing import Any

import pytest

from kedge.facts.extractor import Setting
from kedge.facts.names.names import NameExtractor
from kedge.model import NameSeen, Note, Transcript, Turn
from kedge.outcomes import outcomes_of
from tests.turns import bash, called, turn

ROOT = "/home/someone/work"


def names(*turns: Turn, **setting: Any) -> list[NameSeen]:
    extractor = NameExtractor(Setting(root=ROOT, **setting))
    return [fact for one in turns for fact in extractor.see(one, outcomes_of(one))]


def only(facts: list[NameSeen], name: str) -> NameSeen:
    (found,) = [fact for fact in facts if fact.name == name and fact.kind != "call_site"]
    return found


def kinds(facts: list[NameSeen]) -> dict[str, str]:
    return {fact.name: fact.kind for fact in facts}


def edit(path: str, new: str, old: str = "", **given: Any) -> Any:
    return called("Edit", "ok", file_path=f"{ROOT}/{path}", old_string=old, new_string=new, **given)


# what counts how much


def test_what_an_edit_declares_weighs_more_than_what_it_uses() -> None:
    facts = names(turn(3, edit("pkg/a.go", "func openDoor() {\n\tcheckLock(x)\n}")))
    assert only(facts, "openDoor").weight > only(facts, "checkLock").weight
    assert only(facts, "openDoor").topic == only(facts, "checkLock").topic == "pkg/a.go"
    assert only(facts, "openDoor").turn == 3
    assert kinds(facts)["pkg/a.go"] == "file"


def test_what_an_edit_only_takes_away_weighs_least() -> None:
    facts = names(turn(0, edit("a.go", "newName()", old="oldName()")))
    assert only(facts, "oldName").weight < only(facts, "newName").weight


@pytest.mark.parametrize("how", ["failed", "refused"])
def test_an_edit_that_did_not_happen_declares_nothing(how: str) -> None:
    call, result = edit("a.go", "func openDoor() {}")
    changed = {"success": False} if how == "failed" else {"success": False, "refused": True}
    result = type(result)(call_id=result.call_id, **changed)
    (fact,) = [fact for fact in names(turn(0, (call, result))) if fact.name == "openDoor"]
    done = only(names(turn(0, edit("a.go", "func openDoor() {}"))), "openDoor")
    assert fact.weight < done.weight / 4


def test_prose_about_code_declares_nothing() -> None:
    in_plan = only(names(turn(0, edit("docs/plan.md", "func openDoor() {}"))), "openDoor")
    in_code = only(names(turn(0, edit("door.go", "func openDoor() {}"))), "openDoor")
    assert in_plan.weight < in_code.weight


def test_what_a_read_shows_weighs_little_and_has_its_line() -> None:
    shown = "   41→func openDoor() {\n   42→\tcheckLock(x)\n   43→}\n"
    facts = names(turn(0, called("Read", shown, file_path=f"{ROOT}/pkg/a.go")))
    door = only(facts, "openDoor")
    assert (door.topic, door.place, door.by) == ("pkg/a.go", "41", "tool")
    assert only(facts, "checkLock").place == ""
    edited = names(turn(0, edit("pkg/a.go", "checkLock(x)")))
    assert only(facts, "checkLock").weight * 5 < only(edited, "checkLock").weight


def test_a_name_met_in_several_ways_has_the_weight_of_all_and_stands_once() -> None:
    said = names(turn(0, says="I rename `openDoor`."))
    both = names(turn(0, edit("a.go", "openDoor()"), says="I rename `openDoor`."))
    assert only(both, "openDoor").weight > only(said, "openDoor").weight
    assert only(both, "openDoor").topic == "a.go"


def test_the_same_use_twice_in_a_turn_counts_once() -> None:
    once = names(turn(0, edit("a.go", "openDoor()")))
    twice = names(turn(0, edit("a.go", "openDoor()"), edit("b.go", "openDoor()")))
    assert only(twice, "openDoor").weight == only(once, "openDoor").weight


def test_the_same_name_again_gives_a_fact_of_its_own_turn() -> None:
    facts = names(turn(0, says="openDoor"), turn(1, says="openDoor"))
    assert [fact.turn for fact in facts] == [0, 1]


def test_who_said_it() -> None:
    user = names(turn(0, user="fix openDoor", says="openDoor it is"))
    assert only(user, "openDoor").by == "user"
    assert only(names(turn(0, says="openDoor")), "openDoor").by == "agent"
    assert only(names(turn(0, bash("make openDoor"))), "openDoor").by == "tool"


def test_an_item_of_a_list_that_is_done_is_no_plan_any_more() -> None:
    todos = [
        {"content": "rename openDoor", "status": "completed"},
        {"content": "rename closeDoor", "status": "pending"},
    ]
    facts = names(turn(0, called("TodoWrite", "ok", todos=todos)))
    assert kinds(facts) == {"closeDoor": "symbol"}


def test_an_approved_plan_counts_and_other_injected_text_does_not() -> None:
    plan, other = Note(kind="plan", text="`openDoor`"), Note(kind="injected", text="`closeDoor`")
    assert kinds(names(turn(0, notes=(plan, other)))) == {"openDoor": "symbol"}


# where a name belongs


def test_a_name_in_prose_belongs_to_the_only_file_of_its_line() -> None:
    facts = names(turn(0, says="In pkg/door.go I saw openDoor.\nThen closeDoor in a.go and b.go."))
    assert only(facts, "openDoor").topic == "pkg/door.go"
    assert only(facts, "closeDoor").topic == ""


def test_a_name_without_a_file_has_the_one_it_was_last_met_in() -> None:
    first = turn(0, edit("pkg/a.go", "openDoor()"))
    second = turn(1, edit("pkg/b.go", "openDoor()"))
    facts = names(first, second, turn(2, says="openDoor is done"))
    assert facts[-1].topic == "pkg/b.go"


def test_an_edited_file_goes_before_one_that_was_read() -> None:
    shown = called("Read", "openDoor()", file_path=f"{ROOT}/read.go")
    for steps in ((shown, edit("a.go", "openDoor()")), (edit("a.go", "openDoor()"), shown)):
        assert only(names(turn(0, *steps)), "openDoor").topic == "a.go"


def test_paths_are_given_from_the_root() -> None:
    facts = names(turn(0, bash(f"cat {ROOT}/src/main.go"), says="see ./src/other.go:12"))
    assert {fact.name for fact in facts} == {"src/main.go", "src/other.go"}
    assert only(facts, "src/other.go").place == "12"


def test_a_stroke_before_a_path_of_the_project_is_none_of_it() -> None:
    facts = names(turn(0, says="see /src/main.go and /home/someone/notes.md"))
    assert set(kinds(facts)) == {"src/main.go", "/home/someone/notes.md"}


def test_an_import_is_named_from_where_it_stands() -> None:
    facts = names(turn(0, edit("web/src/app.ts", 'import { x } from "../lib/door.ts"')))
    assert "web/lib/door.ts" in kinds(facts)


def test_a_patch_tells_its_files_apart() -> None:
    patch = (
        "*** Begin Patch\n*** Update File: a.go\n@@\n-oldDoor()\n+newDoor()\n"
        "*** Add File: b.go\n+func shutDoor() {}\n*** End Patch"
    )
    facts = names(turn(0, called("apply_patch", "ok", input=patch)))
    assert only(facts, "newDoor").topic == "a.go"
    assert only(facts, "shutDoor").topic == "b.go"
    assert only(facts, "oldDoor").weight < only(facts, "newDoor").weight


def test_what_a_sub_agent_changed_counts() -> None:
    step = called("Task", "Done.", prompt="do it")
    inner = Transcript(format="x", turns=(turn(0, edit("a.go", "func openDoor() {}")),))
    facts = names(turn(0, step), agents={step[0].id: inner})
    assert only(facts, "openDoor").topic == "a.go"


# call sites, errors


def test_a_search_for_a_name_gives_its_call_sites_whole() -> None:
    output = (
        f"{ROOT}/pkg/a.go:12:openDoor(1)\n{ROOT}/pkg/a.go:40:openDoor(2)\npkg/b.go:7:openDoor()\n"
    )
    facts = names(turn(0, called("Grep", output, pattern=r"openDoor\(", path=ROOT)))
    sites = [(f.name, f.topic, f.place) for f in facts if f.kind == "call_site"]
    assert sites == [
        ("pkg/a.go", "openDoor", "pkg/a.go:12 40"),
        ("pkg/b.go", "openDoor", "pkg/b.go:7"),
    ]


def test_call_sites_that_are_not_all_there_say_so() -> None:
    output = "".join(f"pkg/f{number}.go:1:openDoor()\n" for number in range(30))
    facts = names(turn(0, called("Grep", output, pattern="openDoor")))
    sites = [fact for fact in facts if fact.kind == "call_site"]
    assert len(sites) == 24
    assert {fact.note for fact in sites} == {"24 of 30 files"}


def test_two_names_of_one_search_have_their_own_call_sites() -> None:
    output = "pkg/a.go:12:openDoor(1)\npkg/a.go:40:closeDoor(2)\n"
    facts = names(turn(0, called("Grep", output, pattern="openDoor|closeDoor")))
    sites = {(f.topic, f.place) for f in facts if f.kind == "call_site"}
    assert sites == {("openDoor", "pkg/a.go:12"), ("closeDoor", "pkg/a.go:40")}


def test_a_search_shows_what_is_declared_where() -> None:
    output = "pkg/door.go:7:func openDoor() error {\n"
    facts = names(turn(0, bash("grep -rn 'func ' pkg", output)))
    assert (only(facts, "openDoor").topic, only(facts, "openDoor").place) == ("pkg/door.go", "7")


def test_a_failed_build_gives_the_places_of_its_errors() -> None:
    output = "# pkg\npkg/a.go:57:9: undefined: openDoor\npkg/a.go:190:2: undefined: openDoor\n"
    facts = names(turn(0, bash("go build ./...", output, exit_code=1)))
    assert only(facts, "pkg/a.go").place == "57 190"
    assert only(facts, "pkg/a.go").note == "error"
    assert only(facts, "openDoor").topic == "pkg/a.go"
    fine = names(turn(0, bash("tail build.txt", output)))
    assert {fact.place for fact in fine} == {""}


# kinds


@pytest.mark.parametrize(
    ("words", "name", "kind", "note"),
    [
        ("see ABC-123 please", "ABC-123", "ticket", ""),
        ("fixed in PR #412", "#412", "ticket", "PR"),
        ("it listens on port 5432", "5432", "port", "port"),
        ("open localhost:8080 now", "8080", "port", "localhost"),
        ("uses golangci-lint@v2.8.0 here", "v2.8.0", "version", "golangci-lint"),
        ("we have go 1.25.6 there", "1.25.6", "version", "go"),
        ("docs at https://site.test/a/b?q=1#top", "https://site.test/a/b", "url", ""),
        ("commit 48e7f29 broke it", "48e7f29", "hash", ""),
        ("set a timeout of 500ms", "500ms", "number", "timeout of"),
        ("pass --dry-run to it", "--dry-run", "flag", ""),
        ("set MY_SETTING=1 first", "MY_SETTING", "variable", ""),
        ("use `session.State` there", "session.State", "symbol", ""),
    ],
)
def test_names_of_other_kinds(words: str, name: str, kind: str, note: str) -> None:
    fact = only(names(turn(0, user=words)), name)
    assert (fact.kind, fact.note) == (kind, note)


def test_a_variable_of_the_environment_in_code_is_one() -> None:
    facts = names(turn(0, edit("a.py", 'x = os.environ.get("MY_SETTING")\nOTHER_VALUE = 3')))
    assert kinds(facts)["MY_SETTING"] == "variable"
    assert kinds(names(turn(0, says="OTHER_VALUE")))["OTHER_VALUE"] == "symbol"


def test_a_number_in_code_means_what_it_is_given_to() -> None:
    facts = names(turn(0, edit("a.go", "const maxDoors = 500")))
    assert (only(facts, "500").kind, only(facts, "500").note) == ("number", "maxDoors")
    assert "300" not in kinds(names(turn(0, edit("a.go", "count = 300"))))


def test_a_flag_belongs_to_its_program() -> None:
    facts = names(turn(0, bash("cd x && tool build --dry-run --out=made/thing.json")))
    assert only(facts, "--dry-run").topic == "tool"
    assert "made/thing.json" in kinds(facts)


def test_git_prints_hashes_and_a_push_its_address() -> None:
    log = names(turn(0, bash("git log -2", "48e7f29 One someName v1.2.3\n619f25f Two\n")))
    assert kinds(log) == {"48e7f29": "hash", "619f25f": "hash"}
    push = bash("git push origin x", "remote: https://host.test/team/repo/pull/new/x\n")
    assert kinds(names(turn(0, push)))["https://host.test/team/repo/pull/new/x"] == "url"
    other = names(turn(0, bash("cat notes", "48e7f29 https://host.test/x\n")))
    assert not {"hash", "url"} & {fact.kind for fact in other}


def test_ids_given_to_unknown_tools_are_names() -> None:
    fact = only(names(turn(0, called("find_booking", "{}", booking_id="QX71P2"))), "QX71P2")
    assert (fact.kind, fact.note) == ("ticket", "booking id")
