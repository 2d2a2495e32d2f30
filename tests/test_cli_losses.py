"""What `kedgeline compact` says of its probes and of what it left out."""

from __future__ import annotations

import shlex
from pathlib import Path

from kedgeline.cli.output import Hints
from kedgeline.cli.verdict import WORDS, losses_told, show_losses
from kedgeline.model import Compaction, Losses, Lost, Plan, Verdict
from kedgeline.probes.criteria import TARGETS
from tests.test_cli_handoff import Done
from tests.test_cli_probe import LONG, PROBE, one, ran, written
from tests.test_cli_verdict import printed

GIVEN = ("kedgeline", "facts", "'a", "session.jsonl'")


def compacted(*more: str) -> Done:
    done = ran("compact", LONG, "--window", "8k", *more)
    assert done.code == 0, done.err
    return done


def test_a_compaction_says_what_the_probes_found_and_what_is_left_out() -> None:
    lines = compacted().err.splitlines()
    found = one("compact", LONG, "--window", "8k")
    (probes,) = [line for line in lines if line.startswith("probes: ")]
    verdict = found["verdict"]
    passed = verdict["asked"] - verdict["failed"]
    assert f"{passed} of {verdict['asked']} pass" in probes
    assert f"{verdict['repaired']} of {verdict['failed_first']} repaired" in probes
    (left_out,) = [line for line in lines if line.startswith("left out: ")]
    counts = found["losses"]["left_out"]
    assert f"{counts['Index']} names" in left_out
    assert max(counts, key=counts.__getitem__) == "Commands", "the kind with the most is named"
    command = left_out.partition("see them with kedgeline ")[2].partition(" or kedgeline ")[0]
    assert ran(*shlex.split(command)).code == 0, command
    assert f" or kedgeline facts {LONG} --kind commands; " in left_out
    assert "--losses" in left_out


def test_the_verdict_and_the_losses_are_in_the_json_of_a_compaction(tmp_path: Path) -> None:
    found = one("compact", LONG, "--window", "8k", "--style", "outcomes")
    verdict = found["verdict"]
    assert verdict["accepted"] is False
    assert len(verdict["failures"]) == verdict["failed"] >= verdict["critical_failures"] > 0
    assert all(set(probe) == PROBE for probe in verdict["failures"])
    assert list(verdict["dimensions"]) == list(TARGETS)
    assert found["losses"] is None, "this style keeps no state to compare with"
    losses = one("compact", LONG, "--window", "8k")["losses"]
    assert set(losses) == {"turns", "tokens", "earlier", "left_out", "undetailed", "named"}
    assert all(set(lost) == {"section", "text", "turn"} for lost in losses["named"])
    left_alone = one("compact", written(tmp_path, "hello"))
    assert (left_alone["verdict"], left_alone["losses"]) == (None, None)


def test_the_loss_report_takes_the_place_of_the_summary() -> None:
    done = compacted("--losses")
    assert done.out.startswith("folded: ")
    assert "## Session Intent" not in done.out
    assert "tokens" in done.err
    found = one("compact", LONG, "--window", "8k")["losses"]
    for section, count in found["left_out"].items():
        one_of, many = WORDS[section]
        assert f"{count}  {one_of if count == 1 else many}" in done.out, section
    assert f"list a kind: kedgeline facts {LONG} --kind KIND" in done.out
    lines = [line.split() for line in done.out.splitlines()]
    for lost in found["named"]:
        mark = f"t{lost['turn']}" if lost["turn"] is not None else "–"
        words = [mark, *WORDS[lost["section"]][0].split(), *lost["text"].split()[:2]]
        assert words in [line[: len(words)] for line in lines], lost
    assert "ACCEPTED" in done.out


def test_the_loss_report_of_nothing_and_of_a_style_without_state(tmp_path: Path) -> None:
    done = ran("compact", written(tmp_path, "hello"), "--losses")
    assert done.out.startswith("nothing was folded: ")
    told = compacted("--losses", "--style", "outcomes").out
    assert "cannot say what it left out; the probes can" in " ".join(told.split())
    assert "NOT ACCEPTED" in told
    failed = one("compact", LONG, "--window", "8k", "--style", "outcomes")["verdict"]["failed"]
    assert f"\nfailed: {failed}\n" in told
    assert told.count("\n      expected ") == failed, "none of them is left out"


def test_losses_are_told_by_their_turns_where_they_have_one() -> None:
    lost = (
        Lost(section="Commands", text="`make ship`\nnow", turn=4),
        Lost(section="Index", text="knots", turn=-1),
    )
    losses = Losses(turns=9, tokens=900, left_out={"Commands": 1, "Index": 2}, named=lost)
    made = Compaction(plan=Plan(), losses=losses, verdict=Verdict(), summary_tokens=50)
    told = printed(show_losses, made, Hints("a session.jsonl", session=2))
    assert "folded: 9 turns, 900 tokens; the summary has 50 tokens" in told
    assert [line.split() for line in told.splitlines() if "--kind" in line] == [
        ["1", "command", "--kind", "commands"],
        ["2", "names", "--kind", "statements"],
        ["list", "a", "kind:", *GIVEN, "--kind", "KIND", "--session", "2"],
    ]
    assert "t4  command  `make ship` now" in told
    assert "see one again: kedgeline show 'a session.jsonl' t4 --session 2" in told
    assert losses_told(losses, Hints("-")) == (
        "left out: 2 names, 1 command; most salient: `make ship` now [t4]; knots [–]; see them "
        "with kedgeline show FILE t4 or kedgeline facts FILE --kind statements; --losses tells more"
    )
    nothing = Compaction(plan=Plan(), losses=Losses(turns=9), verdict=Verdict())
    assert "nothing that is known of them was left out" in printed(show_losses, nothing, Hints("f"))
    told = losses_told(Losses(turns=9), Hints("f"))
    assert told == "left out: nothing that is known of the folded turns"


def test_files_without_what_changed_in_them_are_counted() -> None:
    for count, words in ((1, "1 file"), (25, "25 files")):
        for left_out in ({}, {"Index": 2}):
            losses = Losses(turns=9, left_out=left_out, undetailed=count)
            made = Compaction(plan=Plan(), losses=losses, verdict=Verdict())
            told = printed(show_losses, made, Hints("f"))
            assert f"\nwhat changed in {words} is not told\n" in told
            assert "nothing" not in told.partition("NO SCORE")[0]
            assert f"what changed in {words} is not told" in losses_told(losses, Hints("f"))
