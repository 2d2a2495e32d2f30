"""The decision log held against git, in a repository that may be anybody's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.bank.banks import decision, decisions
from tests.bank.proving.repository import LOG, checked, commit, lost, run


def test_a_log_that_only_grew_is_sound(bank: Path) -> None:
    for count in (1, 2, 5):
        commit(bank, decisions(range(count)))
    assert lost(bank) == []
    assert "git history: 3 committed versions of decisionLog.md were read" in checked(bank).checked


def test_an_entry_that_some_version_had_is_missed(bank: Path) -> None:
    commit(bank, decisions([0, 1, 2]))
    commit(bank, decisions([0, 2]))
    commit(bank, decisions([0, 2, 3]))
    (what,) = lost(bank)
    assert what.startswith("the entry DEC-001 of commit ")
    assert what.endswith(" is gone")


def test_an_entry_that_was_changed_is_named_with_its_line(bank: Path) -> None:
    commit(bank, decisions([0, 1]))
    (bank / LOG).write_text(decisions([0, 1]).replace("way 1.", "way 5."), "utf-8")
    (finding,) = [f for f in checked(bank).found if f.gravity == "violation"]
    assert finding.line == 11
    assert finding.what.endswith("was changed since")
    assert "git show" in finding.advice


def test_a_decision_that_was_superseded_is_no_loss(bank: Path) -> None:
    commit(bank, decisions([0, 1]))
    commit(bank, decisions([0, 1]).replace(decision(0), decision(0, "Superseded by DEC-001")))
    assert lost(bank) == []


def test_an_entry_that_a_merge_dropped_is_missed(bank: Path) -> None:
    """The branch that had it is simplified away by a plain `git log`."""
    commit(bank, decisions([0]))
    run(bank, "checkout", "-q", "-b", "side")
    commit(bank, decisions([0, 1]))
    run(bank, "checkout", "-q", "main")
    commit(bank, "words", "other.md")
    run(bank, "merge", "-q", "-s", "ours", "--no-edit", "side")
    assert (bank / LOG).read_text("utf-8") == decisions([0])
    assert len(lost(bank)) == 1


def test_a_log_that_was_renamed_is_followed(bank: Path) -> None:
    commit(bank, decisions([0, 1, 2, 3]), "decisions.md")
    run(bank, "mv", "decisions.md", LOG)
    commit(bank, decisions([0, 1, 2]))
    assert len(lost(bank)) == 1


def test_a_version_that_was_malformed_is_a_note(bank: Path) -> None:
    commit(bank, decisions([0]))
    commit(bank, decisions([0]) + "<<<<<<< ours\n")
    commit(bank, decisions([0]))
    findings = checked(bank)
    assert findings.sound
    assert any("was not compared" in finding.what for finding in findings.found)


def test_a_repository_without_commits_and_a_log_that_was_never_committed_are_said(
    bank: Path,
) -> None:
    (bank / LOG).write_text(decisions([0]), "utf-8")
    assert "the repository has no commits" in checked(bank).checked[-1]
    commit(bank, decisions([0]))
    run(bank, "rm", "-q", "--cached", LOG)
    (bank / "decisionLog.jsonl").write_text("", "utf-8")
    said = checked(bank, "decisionLog.jsonl").checked
    assert any("no version of decisionLog.jsonl was ever committed" in one for one in said)


def test_a_git_that_hangs_is_given_up(bank: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(bank, decisions([0]))
    fake = bank.parent.parent / "bin"
    fake.mkdir()
    (fake / "git").write_text("#!/bin/sh\nexec sleep 30\n", "utf-8")
    (fake / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake}:/usr/bin:/bin")
    monkeypatch.setattr("kedgeline.bank.verify.GIT_SECONDS", 0.2)
    assert "no answer within" in checked(bank).checked[-1]


def test_an_object_that_is_missing_is_said(bank: Path) -> None:
    commit(bank, decisions([0]))
    blob = run(bank, "rev-parse", f"HEAD:./{LOG}").strip()
    (bank.parent / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    assert "not looked at: the object" in checked(bank).checked[-1]


def stranger(bank: Path) -> Path:
    """A repository whose settings name a program wherever git would run one."""
    commit(bank, decisions([0]))
    commit(bank, decisions([0, 1]))
    mark = bank.parent.parent / "ran"
    program = bank.parent.parent / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\nexit 1\n", "utf-8")
    program.chmod(0o755)
    for setting in (
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "diff.external",
        "diff.words.textconv",
        "diff.words.command",
        "gpg.program",
        "gpg.ssh.program",
        "credential.helper",
        "filter.words.clean",
        "filter.words.smudge",
        "filter.words.process",
        "pager.log",
        "alias.log",
    ):
        run(bank, "config", setting, str(program))
    run(bank, "config", "log.showSignature", "true")
    (bank.parent / ".git" / "info").mkdir(exist_ok=True)
    (bank.parent / ".git" / "info" / "attributes").write_text("*.md diff=words filter=words\n")
    hooks = bank.parent / ".git" / "hooks"
    for hook in ("post-index-change", "reference-transaction", "pre-auto-gc"):
        (hooks / hook).write_bytes(program.read_bytes())
        (hooks / hook).chmod(0o755)
    return mark


def signed(folder: Path) -> None:
    """A last commit with a signature, which git would show to the named program."""
    head = run(folder, "cat-file", "commit", "HEAD")
    header, _, message = head.partition("\n\n")
    lines = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
    done = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"],
        cwd=folder,
        input=f"{header}\n{lines}\n\n{message}",
        capture_output=True,
        text=True,
        check=True,
    )
    ref = folder.parent / ".git" / "refs" / "heads" / "main"
    ref.write_text(done.stdout)


def test_nothing_that_a_strange_repository_names_is_run(bank: Path) -> None:
    mark = stranger(bank)
    signed(bank)
    assert lost(bank) == []
    assert "2 committed versions" in checked(bank).checked[-1]
    assert not mark.exists()


def test_the_environment_cannot_point_git_elsewhere(
    bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(bank, decisions([0]))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path))
    assert "1 committed versions" in checked(bank).checked[-1]
